"""One core and one treatment of integers, as in the paper; a restart doubles the population."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..strategy import AnyStrategy, Ranking, integers_of
from .gaussian_phase import GaussianPhase
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .stopping import RunLog, Stop, stop_reason


class SingleRun(GaussianPhase):
    """A run that goes on for ever; `stop` advises to end when it has nothing left to find."""

    priced = False

    def __init__(
        self,
        domain: Domain,
        strategy: AnyStrategy,
        population: int,
        margin: float | None,
        m: FloatArray,
        exact: bool,
    ) -> None:
        """Begin with N(m, I)."""
        self.domain = domain
        n = domain.n_continuous
        integers = integers_of(domain.lattice, n, population, margin, strategy.treatment)
        self.gaussian = strategy.gaussian(integers, m, population, exact=exact)
        self.log = RunLog.start(domain.N, population, integers)
        self.waits_for_pairs = strategy.mirrored  # near the optimum both sides are about equally good
        self.best = domain.nowhere()
        self.done = False
        self.stop: Stop | None = None

    def accepts(self, plateaus: FloatArray) -> bool:
        """Any point, whatever its plateaus: a Gaussian can learn from points that it did not draw."""
        return True

    def _after(self, results: Results, ranking: Ranking) -> None:
        found = results.point(int(ranking.order[0]))
        if found.key < self.best.key:
            self.best = found
        self.log = self.log.after(found)
        self.stop = stop_reason(self.log, self.gaussian.state, self.gaussian.integers)


class Single:
    """Searches by one run at a time: the paper's systems."""

    def __init__(
        self,
        domain: Domain,
        strategy: AnyStrategy,
        population: int,
        margin: float | None,
        m: FloatArray,
        exact: bool = False,
    ) -> None:
        """Begin with a run from N(m, I)."""
        self.domain = domain
        self._strategy, self._margin, self._exact = strategy, margin, exact
        self.restarts = 0
        self._begin(population, m)

    def _begin(self, population: int, m: FloatArray) -> None:
        self.run = SingleRun(self.domain, self._strategy, population, self._margin, m, self._exact)

    @property
    def phase(self) -> Phase:
        """The present run, which is the only phase of this search."""
        return self.run

    @property
    def phases(self) -> int:
        """How many runs have begun."""
        return self.restarts + 1

    @property
    def stop(self) -> Stop | None:
        """Why the run should end, or None."""
        return self.run.stop

    @property
    def population(self) -> int:
        """Candidates in a generation."""
        return self.run.gaussian.size

    def draw(self, rng: np.random.Generator) -> None:
        """Draw what is random about the next generation."""
        self.run.draw(rng)

    def propose(self) -> Proposals:
        """The next generation of the present run, from what `draw` drew."""
        return self.run.propose()

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from a generation."""
        self.run.observe(results)

    def inject(self, point: Evaluated) -> None:
        """A result that the run cannot learn from: the memory has it."""

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run, with twice the population, from anywhere in the ranges."""
        self.restarts += 1
        self._begin(2 * self.population, rng.uniform(self.domain.low, self.domain.high))

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian."""
        return self.run.where()

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        run = self.run
        return {
            "population": self.population,
            "restarts": self.restarts,
            "stop": None if run.stop is None else run.stop.name,
            "best": run.best,
            "log": run.log,
            "gaussian": run.gaussian.saved(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""
        self.restarts = int(state["restarts"])
        self._begin(int(state["population"]), np.zeros(self.domain.N))
        run = self.run
        run.stop = None if state["stop"] is None else Stop[state["stop"]]
        run.best = _serialize.like(run.best, state["best"], "best")
        run.log = _serialize.like(run.log, state["log"], "log")
        run.gaussian.restore(state["gaussian"])
