"""Searches: where an optimizer gets its proposals from, and what it tells their results.

`Single` is one core with one treatment of integers, as in the paper. `Saltus` is the default: runs, descents
and restarts, made of phases, a file each. Read `phase.py` first, then `schedule.py` and `restarts.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import numpy as np

from .._checks import did_you_mean
from .._typing import FloatArray
from ..strategy import STRATEGIES as SINGLE
from .memory import Memory
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .restarts import OPTIONAL, Saltus
from .single_run import Single
from .stopping import Stop

__all__ = ["STRATEGIES", "Domain", "Evaluated", "Memory", "Proposals", "Results", "Search", "Stop"]
__all__ += ["begin", "checked_without", "mirrored"]

STRATEGIES = ("saltus", *SINGLE)


class Search(Protocol):
    """Draw, propose, observe: in turns, one batch after the other. `stop` is advice to restart."""

    restarts: int

    @property
    def stop(self) -> Stop | None:
        """Why the current run should end, or None."""

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""

    @property
    def phase(self) -> Phase:
        """What the proposals are for at present."""

    @property
    def phases(self) -> int:
        """The number of the present phase: how many have begun."""

    def draw(self, rng: np.random.Generator) -> None:
        """Draw what is random about the next batch."""

    def propose(self) -> Proposals:
        """The next points to be evaluated: the same ones as long as nothing is observed or drawn."""

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from the results of the batch, and go on to the next phase if this one is done."""

    def inject(self, point: Evaluated) -> None:
        """A result that the phase cannot learn from: of an older phase, or of somebody else."""

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run: where, and with which population, is the search's own decision."""

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviations of where it is looking."""

    def state(self) -> dict[str, Any]:
        """Everything, for `_serialize.pack`."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""


def begin(
    name: str,
    domain: Domain,
    population: int,
    margin: float | None,
    m: FloatArray,
    exact: bool = False,
    without: frozenset[str] = frozenset(),
) -> Search:
    """The search of that name, from N(m, I)."""
    if name == "saltus":
        return Saltus(domain, population, margin, m, exact, without)
    return Single(domain, SINGLE[name], population, margin, m, exact)


def mirrored(name: str) -> bool:
    """Whether its population must be even; if there is no such strategy, a ValueError that lists them."""
    if name == "saltus":
        return True
    if isinstance(name, str) and name in SINGLE:
        return SINGLE[name].mirrored
    hint = did_you_mean(name, STRATEGIES)
    raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {name!r}{hint}")


def checked_without(without: Collection[str], strategy: str) -> frozenset[str]:
    """Names of what is left out of a strategy, or a ValueError that lists what can be."""
    known = OPTIONAL if strategy == "saltus" else ()
    for name in [without] if isinstance(without, str) else without:
        if name not in known:
            which = ", ".join(map(repr, known)) or f"nothing of {strategy!r}"
            raise ValueError(f"without takes {which}; got {name!r}{did_you_mean(name, known)}")
    return frozenset([without] if isinstance(without, str) else without)
