"""Searches: where an optimizer gets its batches from, and what it tells their outcome.

`Single` is one core with one treatment of integers, as in the paper. `Saltus` is the default: it composes
runs, descents and restarts from small pieces, a file each.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import _serialize
from .._checks import did_you_mean
from .._typing import FloatArray
from ..strategy import STRATEGIES as SINGLE
from ..strategy import cmaes, dxnesic, scaled
from ..strategy.leap import Boundary
from .proposal import FOREIGN, LONE, Batch, Domain, Mask, Others, Point, Told
from .restarts import Saltus
from .single_run import Single
from .stopping import RunLog, Stop

__all__ = ["SAVED", "STRATEGIES", "Search", "begin", "mirrored"]
__all__ += ["FOREIGN", "LONE", "Batch", "Domain", "Mask", "Others", "Point", "Told"]

STRATEGIES = ("saltus", *SINGLE)
# what a state may hold besides plain data
SAVED = _serialize.kinds(Point, RunLog, Boundary, dxnesic.State, scaled.State, cmaes.State)


class Search(Protocol):
    """Draw, then take the batch, then tell: in turns. `stop` is advice to restart."""

    restarts: int
    stop: Stop | None

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""

    def draw(self, rng: np.random.Generator) -> None:
        """What is random about the next batch."""

    def batch(self) -> Batch:
        """The next points: the same ones as long as nothing is told or drawn."""

    def take(self, told: Told, rng: np.random.Generator) -> None:
        """Learn from the outcome of the batch."""

    @property
    def focus(self) -> object:
        """What the batches are for at present: another object when that changes."""

    def spare(self, k: int, rng: np.random.Generator) -> Batch | None:
        """Asynchronously: further points, the k-th few, for who is free while the batch is on its way."""

    def enough(self, told: Told, known: Mask, others: int) -> bool:
        """Asynchronously: whether to take the batch with what is known of it and as many others."""

    def take_some(
        self, told: Told, known: Mask, others: Others, extra: np.random.Generator, rng: np.random.Generator
    ) -> None:
        """Asynchronously: learn from what is known of the batch and its spares, and from other points.

        Integer coordinates of others may be NaN: then only their plateaus are known. What is random about
        that is drawn from `extra`.
        """

    @property
    def paired(self) -> bool:
        """Asynchronously: whether candidates come in pairs, of which both sides are needed.

        The halves of a batch are the two sides; spares come side by side.
        """

    def welcomes(self, plateaus: FloatArray) -> bool:
        """Asynchronously: whether a point with these integers can be one of the others."""

    def hear(self, point: Point) -> None:
        """Asynchronously: the outcome of a point that is not welcome."""

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run."""

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviations of where it is looking."""

    def state(self) -> dict[str, Any]:
        """Everything, for `_serialize.pack`."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""


def begin(
    name: str, domain: Domain, population: int, margin: float | None, m: FloatArray, exact: bool
) -> Search:
    """The search of that name, from N(m, I)."""
    if name == "saltus":
        return Saltus(domain, population, margin, m, exact)
    return Single(domain, SINGLE[name], population, margin, m, exact)


def mirrored(name: str) -> bool:
    """Whether its population must be even; if there is no such strategy, a ValueError that lists them."""
    if name == "saltus":
        return True
    if isinstance(name, str) and name in SINGLE:
        return bool(SINGLE[name].core.MIRRORED)
    hint = did_you_mean(name, STRATEGIES)
    raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {name!r}{hint}")
