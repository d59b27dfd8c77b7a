"""The nearest name, for messages about one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A hint at the nearest of several names, or nothing.

    >>> did_you_mean("budgett", ["name", "budget"])
    "; did you mean 'budget'?"
    """
    near = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
