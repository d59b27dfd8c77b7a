"""Polish: the same Gaussian on the continuous variables alone, with the integers fixed."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..space.lattice import Lattice
from ..strategy import Integers, Round, default_population, scaled
from .gaussian import GaussianPiece
from .proposal import WORST, Batch, Domain, Key, Point, Told
from .stopping import SAME_VALUE, SMALLEST_SD

RATE = 0.45  # least learning rate of A: larger than in a mixed run, there are fewer variables
RECENT = 5  # generations over which the recent gain is measured
COARSE = 0.01  # a coarse polish ends when that gain is less than this share of all the gain
HOPE = 3.0  # a deep one, when that many times the gain of twice as many would not reach the goal
FLATTEST = 1e-12  # least variance along any axis, of the correlations
LONGEST = 100  # windows; while something is violated, values do not tell when to end

_NO_INTEGERS = Lattice([])


class Polish(GaussianPiece):
    """A run on the continuous variables from a point; coarse first, and to full depth if it is worth it."""

    saved = ("goal", "start", "best", "gaussian", "z", "trail", "generations", "bests", "price", "done")

    def __init__(self, domain: Domain, point: Point, covariance: FloatArray, goal: Key | None = None) -> None:
        """Without a goal it is coarse; with one it goes on while it may reach that."""
        self.domain = domain
        self.goal = goal
        self.best = self.start = point
        self._constants()
        n = domain.first
        sd = np.sqrt(np.maximum(covariance.diagonal(), SMALLEST_SD**2))
        variances, axes = np.linalg.eigh(covariance / np.outer(sd, sd))
        A = axes * np.sqrt(np.maximum(variances, FLATTEST))
        self.gaussian = scaled.start(self.constants, point.x[:n], self.integers, sd, A)
        self.z = None
        self.trail = []
        self.generations = 0
        self.bests: list[float] = []  # of the last generations, each for itself
        self.done = False

    def _constants(self) -> None:
        n = self.domain.first
        self.population = default_population(n)
        self.integers = Integers(n, _NO_INTEGERS, 0.5, Round())
        self.constants = self._constants_for(self.population)
        self.window = 10 + 10 * n // self.population

    def _constants_for(self, population: int) -> scaled.Constants:
        return scaled.constants(self.domain.first, population, least_rate=RATE)

    def _prepare(self) -> None:
        self._constants()
        self._check_gaussian()

    def deepen(self, goal: Key | None) -> None:
        """Go on where a coarse polish has stopped, as long as the goal, if there is one, may be reached."""
        self.goal = WORST if goal is None else goal
        self.done = False

    def batch(self) -> Batch:
        """The next generation."""
        return self._batch(self._spread())

    def _batch(self, x: FloatArray) -> Batch:
        return self.domain.batch(x, self.start.plateaus[None, :])

    @property
    def paired(self) -> bool:
        """Near the optimum, the two sides of a pair are about equally good: so it knows that it is there."""
        return True

    def welcomes(self, plateaus: FloatArray) -> bool:
        """Points with the same integers."""
        return bool(np.array_equal(plateaus, self.start.plateaus))

    def take(self, told: Told) -> None:
        """Learn from a generation."""
        found = self._learn(told)
        if found.key < self.best.key:
            self.best = found
        self.generations += 1
        self.trail = [*self.trail[-2 * RECENT :], self.best.value]
        self.bests = [*self.bests[1 - self.window :], found.value]
        self.done = self.diverged or self._finished()

    def _finished(self) -> bool:
        if self.gaussian.sd.max() < SMALLEST_SD:
            return True
        if len(self.bests) == self.window:
            spread = max(self.bests) - min(self.bests)
            if not spread > SAME_VALUE * abs(self.best.value):
                return True
        if self.best.violation > 0:
            return self.generations > LONGEST * self.window
        if len(self.trail) <= RECENT:
            return False
        if self.goal is None:
            recent = self.trail[-1 - RECENT] - self.trail[-1]
            return recent <= COARSE * (self.start.value - self.best.value)
        recent = self.trail[0] - self.trail[-1]
        return self.best.key > self.goal and self.best.value - HOPE * recent > self.goal[1]

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian, and the integers as they are."""
        n = self.domain.first
        m, sd = self.start.x.copy(), np.zeros(self.domain.N)
        m[:n], sd[:n] = self.gaussian.m, self.gaussian.sd
        return m, sd
