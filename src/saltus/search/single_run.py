"""One core and one treatment of integers, as in the paper; a restart doubles the population."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..strategy import Integers, Strategy, rank
from .proposal import Batch, Domain, Mask, Others, Point, Told
from .stopping import RunLog, Stop, stop_reason


class Single:
    """A run that goes on for ever; `stop` advises to end when it has nothing left to find."""

    def __init__(
        self,
        domain: Domain,
        strategy: Strategy,
        population: int,
        margin: float | None,
        m: FloatArray,
        exact: bool = False,
    ) -> None:
        """Begin with a run from N(m, I)."""
        self.domain = domain
        self.core, self.treatment = strategy.core, strategy.treatment
        self.margin, self.exact = margin, exact
        self.restarts = 0
        self._begin(population, m)

    def _begin(self, population: int, m: FloatArray) -> None:
        """Begin a run: the first, or one after a restart."""
        N = self.domain.N
        self.population = population
        alpha = 1 / (N * population) if self.margin is None else self.margin
        self.integers = Integers(self.domain.first, self.domain.lattice, alpha, self.treatment)
        self.constants = self.core.constants(N, population, exact=self.exact)
        self.gaussian = self.core.start(self.constants, m, self.integers)
        self.log = RunLog.start(N, population, self.integers)
        self.z: FloatArray | None = None  # what was drawn for the generation that is on its way
        self.stop: Stop | None = None

    def draw(self, rng: np.random.Generator) -> None:
        """What is random about the next generation."""
        self.z = self.core.draw(self.constants, rng)

    def batch(self) -> Batch:
        """The next generation."""
        self._cloud = self.core.spread(self.constants, self.gaussian, self.z)
        return self._batch(self._cloud.x)

    def _batch(self, x: FloatArray) -> Batch:
        return Batch(x, self.integers.plateaus(self.gaussian.memory, self.gaussian.m, x))

    @property
    def focus(self) -> object:
        """The run."""
        return self.constants

    def spare(self, k: int, rng: np.random.Generator) -> Batch | None:
        """One more candidate of the same Gaussian, or pair of them."""
        z = self.core.draw(self.constants, rng)[:1]
        return self._batch(self.core.spread(self.constants, self.gaussian, z).x)

    def enough(self, told: Told, known: Mask, others: int) -> bool:
        """At least as many as a generation, whichever they are."""
        return int(np.count_nonzero(known)) + others >= self.population

    def take_some(
        self, told: Told, known: Mask, others: Others, extra: np.random.Generator, rng: np.random.Generator
    ) -> None:
        """Learn from points of this Gaussian and of others as if all were of this one."""
        if not others.none_but(known, self.population):
            told, *kinds = others.arranged(told, known)
            g = self.gaussian
            x = self.integers.imagined(*told.batch, g.m, g.sd, extra)
            self._cloud = self.core.placed(self.constants, g, x, *kinds)
        self.take(told, rng)

    @property
    def paired(self) -> bool:
        """Whether its core draws pairs."""
        return bool(self.core.MIRRORED)

    def welcomes(self, plateaus: FloatArray) -> bool:
        """Any point."""
        return True

    def hear(self, point: Point) -> None:
        """Nothing: the optimizer knows the best point."""

    def take(self, told: Told, rng: np.random.Generator) -> None:
        """Rank the generation and update the Gaussian."""
        ranking = rank(told.values, told.violations, self._cloud, self.integers)
        c, size = self.constants, len(told.values)
        if size != self.population:
            c = self.core.constants(self.domain.N, size, exact=self.exact)
        self.gaussian = self.core.update(c, self.gaussian, self._cloud, ranking, self.integers)
        self.z = None
        first = int(ranking.order[0])
        violation = 0.0 if told.violations is None else float(told.violations[first])
        self.log = self.log.after(float(told.values[first]), violation, told.batch.plateaus[first])
        self.stop = stop_reason(self.log, self.gaussian, self.integers)

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run, with twice the population, from anywhere in the ranges."""
        self.restarts += 1
        self._begin(2 * self.population, rng.uniform(self.domain.low, self.domain.high))

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian."""
        return self.gaussian.m, self.gaussian.sd

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        return {
            "population": self.population,
            "restarts": self.restarts,
            "stop": None if self.stop is None else self.stop.name,
            "gaussian": self.gaussian,
            "log": self.log,
            "z": self.z,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""
        self._begin(int(state["population"]), np.zeros(self.domain.N))
        self.restarts = int(state["restarts"])
        self.stop = None if state["stop"] is None else Stop[state["stop"]]
        self.gaussian = _serialize.alike(self.gaussian, state["gaussian"], "gaussian")
        self.log = _serialize.alike(self.log, state["log"], "log")
        violation, value = self.log.best
        self.log = self.log._replace(best=(violation, value))
        self.z = state["z"]
