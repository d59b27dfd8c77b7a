"""The report of a study: one HTML page that needs nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ..study.summary import Summary
from ..study.trial import Snapshot, Trial
from .digest import gather
from .page import page

__all__ = ["render"]


def render(
    summary: Summary, trials: Iterable[Trial], snapshots: Iterable[Snapshot], *, now: float | None = None
) -> str:
    """The page as text, to be written as UTF-8; `trials` and `snapshots` in their order, each read once.

    `now` is the date on the page, in seconds since 1970.
    """
    return page(summary, gather(summary, trials, snapshots), time.time() if now is None else now)
