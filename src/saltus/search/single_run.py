"""One core and one treatment of integers, as in the paper; a restart doubles the population."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..strategy import STRATEGIES, Ranking, integers_of, with_categories
from .gaussian_phase import GaussianPhase
from .proposal import Domain, Evaluated, Results
from .stopping import RunLog, Stop, stop_reason


class SingleRun(GaussianPhase):
    """A run that goes on for ever; `stop` advises to end when it has nothing left to find."""

    priced = False

    def __init__(self, domain: Domain, m: FloatArray, population: int) -> None:
        """Begin with N(m, I)."""
        self.domain = domain
        settings, n = domain.settings, domain.n_continuous
        strategy = STRATEGIES[settings.strategy]
        integers = integers_of(
            domain.integers, n, population, settings.margin, strategy.treatment, domain.n_categories
        )
        gaussian = strategy.gaussian(integers, m[: domain.n_ordered], population, exact=settings.exact)
        self.gaussian = with_categories(gaussian, domain.sizes, settings.margin)
        self.log = RunLog.start(domain.N, population, integers, domain.n_categories)
        self.waits_for_pairs = strategy.mirrored  # near the optimum both sides are about equally good
        self.best = domain.nowhere()
        self.done = False
        self.stop: Stop | None = None

    def accepts(self, plateaus: FloatArray) -> bool:
        """Any point, whatever its plateaus: a Gaussian can learn from points that it did not draw."""
        return True

    def _after(self, results: Results, ranking: Ranking) -> None:
        found = results.point(int(ranking.order[0]))
        log, self.log = self.log, self.log.after(found)
        if self.log.best is not log.best:
            self.best = found
        self.stop = stop_reason(self.log, self.gaussian.state, self.gaussian.integers)


class Single:
    """Searches by one run at a time: the paper's systems."""

    def __init__(self, domain: Domain, m: FloatArray) -> None:
        """Begin with a run from N(m, I)."""
        self.domain = domain
        self.restarts = 0
        self.phase = SingleRun(domain, m, domain.settings.population)

    @property
    def phases(self) -> int:
        """How many runs have begun."""
        return self.restarts + 1

    @property
    def stop(self) -> Stop | None:
        """Why the run should end, or None."""
        return self.phase.stop

    @property
    def population(self) -> int:
        """Candidates in a generation."""
        return self.phase.gaussian.size

    def centres(self) -> list[FloatArray]:
        """The mean of the present phase."""
        return [self.phase.where()[0]]

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from a generation."""
        self.phase.observe(results)

    def inject(self, point: Evaluated) -> None:
        """A result that the run cannot learn from: the memory has it."""

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run, with twice the population, from anywhere in the ranges."""
        self.restarts += 1
        m = self.domain.anywhere(rng.uniform(self.domain.low, self.domain.high), rng)
        self.phase = SingleRun(self.domain, m, 2 * self.population)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        run = self.phase
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
        self.phase = run = SingleRun(self.domain, np.zeros(self.domain.N), int(state["population"]))
        run.stop = None if state["stop"] is None else Stop[state["stop"]]
        run.best = _serialize.like(run.best, state["best"], "best")
        run.log = _serialize.like(run.log, state["log"], "log")
        run.gaussian.restore(state["gaussian"])
