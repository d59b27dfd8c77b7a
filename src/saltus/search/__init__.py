"""Searches: where an optimizer gets its proposals from, and what it tells their results.

`Single` is one core with one treatment of integers, as in the paper. `Saltus` is the default: runs, descents
and restarts, made of phases, a file each; `Noisy` takes its place where values are noisy. Read `phase.py`
first, then `schedule.py` and `restarts.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray
from .confined import Confined
from .memory import Memory
from .noisy_run import Noisy
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .restarts import Saltus
from .settings import MANY_PHASES, STRATEGIES, Settings
from .single_run import Single
from .stopping import Stop

__all__ = ["STRATEGIES", "Domain", "Evaluated", "Memory", "Proposals", "Results", "Search", "Settings"]
__all__ += ["SEARCHES", "Noisy", "Stop", "begun", "confine"]


class Search(Protocol):
    """Its `phase` draws and proposes, the search observes: in turns, one batch after the other.

    `stop` is advice to restart.
    """

    @property
    def restarts(self) -> int:
        """How many runs there were before this one."""

    @property
    def stop(self) -> Stop | None:
        """Why the current run should end, or None."""

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""

    @property
    def phase(self) -> Phase:
        """What the proposals are for at present."""

    def centres(self) -> list[FloatArray]:
        """Where what it has found may be: the mean that it has now first, and those of earlier runs."""

    @property
    def phases(self) -> int:
        """The number of the present phase: how many have begun."""

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from the results of the batch, and go on to the next phase if this one is done."""

    def inject(self, point: Evaluated) -> None:
        """A result that the phase cannot learn from: of an older phase, or of somebody else."""

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run: where, and with which population, is the search's own decision."""

    def state(self) -> dict[str, Any]:
        """Everything, for `_serialize.pack`."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""


# from a domain, whose settings name the strategy, and a mean: the search from N(m, I)
SEARCHES: dict[str, Callable[[Domain, FloatArray], Saltus | Single | Noisy]] = dict.fromkeys(
    STRATEGIES, Single
)
SEARCHES |= dict.fromkeys(MANY_PHASES, Saltus)


def begun(domain: Domain, m: FloatArray, known: Evaluated | None = None) -> Search:
    """The search from N(m, I) that the settings of a domain ask for.

    If something was evaluated before, the best of which is `known`, the Gaussian begins there; the first
    model run begins where it would anyway, but with all that the memory has.
    """
    strategy, noisy = domain.settings.strategy, domain.settings.noisy
    if domain.known is not None:
        m = domain.known.start
        if known is not None and domain.known.excess(known.x[None], known.plateaus[None], given=True)[0] > 0:
            known = None  # it breaks a rule
    start = m if known is None else known.x
    if strategy not in MANY_PHASES:
        return confine(SEARCHES[strategy](domain, start))
    return confine(Noisy(domain, start) if noisy else Saltus(domain, m, known))


def confine(search: Saltus | Single | Noisy) -> Search:
    """A search of which only allowed points are evaluated, if the domain has known constraints."""
    known = search.domain.known
    return search if known is None else Confined(search, search.domain, known)
