"""Polish: the same Gaussian on the continuous variables alone, with the integers fixed."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..order import WORST, Key
from ..strategy import Gaussian, MovingGaussian, Ranking, crfmnes, default_population, no_integers, scaled
from ..strategy.late import embed_crfmnes, embed_scaled
from .gaussian_phase import GaussianPhase
from .proposal import Domain, Evaluated, Proposals, Results
from .settings import LARGEST_MATRIX, MANY_VARIABLES
from .stopping import LARGEST_SD, SAME_VALUE, SMALLEST_SD

RATE = 0.45  # least learning rate of A: larger than in a mixed run, there are fewer variables
RECENT = 5  # generations over which the recent gain is measured, at least
COARSE = 0.01  # a coarse polish ends when that gain is less than this share of all the gain
HOPE = 3.0  # a deep one, when that many times the gain of twice as many would not reach the goal
NARROWER = 0.1  # a deep one that has found nothing better than its start begins there again, so much narrower
FLATTEST = 1e-12  # least variance along any axis, of the correlations
LONGEST = 100  # windows; while something is violated, values do not tell when to end


class Polish(GaussianPhase):
    """A run on the continuous variables from a point; coarse first, and to full depth if it is worth it."""

    saved = (
        *("goal", "start", "best", "covariance", "narrow"),
        *("trail", "generations", "bests", "price", "done"),
    )
    # near the optimum the two sides of a pair are about equally good: so it knows that it is there
    waits_for_pairs = True

    def __init__(
        self, domain: Domain, point: Evaluated, covariance: FloatArray, goal: Key | None = None
    ) -> None:
        """Without a goal it is coarse; with one it goes on while it may reach that.

        The covariance is as `MixedRun.conditional` gives it.
        """
        self.domain = domain
        self.goal = goal
        self.best = self.start = point
        self.covariance = covariance  # of its beginning
        self.narrow = False  # it has begun again
        self._begin(1.0)

    def _begin(self, width: float) -> None:
        """The first generation at the start, with this part of the first standard deviations."""
        if self.domain.n_continuous > LARGEST_MATRIX:
            scales, v = self.covariance
            self.gaussian = self._gaussian_of_many(np.maximum(width * scales, SMALLEST_SD), v)
        else:
            sd = np.sqrt(np.maximum(self.covariance.diagonal(), SMALLEST_SD**2))
            variances, axes = np.linalg.eigh(self.covariance / np.outer(sd, sd))
            A = axes * np.sqrt(np.maximum(variances, FLATTEST))
            self.gaussian = self._gaussian(np.maximum(width * sd, SMALLEST_SD), A)
        self.trail: list[float] = []  # the best value so far, after each of the last generations
        self.generations = 0
        self.bests: list[float] = []  # of the last generations, each for itself
        self.done = False

    def _gaussian(self, sd: FloatArray | float, A: FloatArray | None) -> MovingGaussian:
        n = self.domain.n_continuous
        integers = no_integers(n)
        constants = partial(scaled.constants, n, least_rate=RATE)
        start = partial(scaled.start, m=self.start.x[:n], integers=integers, sd=sd, A=A)
        return Gaussian(scaled, embed_scaled, integers, default_population(n), constants, start)

    def _gaussian_of_many(self, scales: FloatArray | float, v: FloatArray | None) -> MovingGaussian:
        n = self.domain.n_continuous
        integers = no_integers(n)
        constants = partial(crfmnes.constants, n)
        start = partial(crfmnes.start, m=self.start.x[:n], integers=integers, scales=scales, v=v)
        return Gaussian(crfmnes, embed_crfmnes, integers, default_population(n), constants, start)

    def _prepare(self) -> None:
        n = self.domain.n_continuous
        many = n > LARGEST_MATRIX
        _serialize.shaped(self.covariance, (2, n) if many else (n, n), "covariance")
        self.gaussian = (self._gaussian_of_many if many else self._gaussian)(1.0, None)

    @property
    def window(self) -> int:
        """Generations over which nothing must have changed before it ends."""
        return 10 + 10 * self.domain.n_continuous // self.gaussian.size

    @property
    def _recent(self) -> int:
        """Generations over which the recent gain is measured: of many variables, an evaluation for each."""
        n = self.domain.n_continuous
        return RECENT if n <= MANY_VARIABLES else max(RECENT, n // self.gaussian.size)

    def deepen(self, goal: Key | None) -> None:
        """Go on where a coarse polish has stopped, as long as the goal, if there is one, may be reached."""
        self.goal = WORST if goal is None else goal
        self.done = False

    def propose(self) -> Proposals:
        """The next generation, with the integers of the point."""
        return self.domain.proposals(self.gaussian.sample(), self.start.plateaus[None, :])

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """One more pair of the same Gaussian."""
        return self.domain.proposals(self.gaussian.extra(rng), self.start.plateaus[None, :])

    def accepts(self, plateaus: FloatArray) -> bool:
        """Points with the same integers."""
        return bool(np.array_equal(plateaus, self.start.plateaus))

    def _after(self, results: Results, ranking: Ranking) -> None:
        found = results.best()
        if found.key < self.best.key:
            self.best = found
        self.generations += 1
        self.trail = [*self.trail[-2 * self._recent :], self.best.value]
        self.bests = [*self.bests[1 - self.window :], found.value]
        self.done = not self.gaussian.state.sd.max() < LARGEST_SD or self._flat(results) or self._finished()
        if self.done and not self._flat(results):
            self._narrow_if_lost()

    def _narrow_if_lost(self) -> None:
        """Begin again, once, if a covariance from elsewhere has led a deep polish out of its valley."""
        if self.goal is not None and not self.narrow and not self.best.key < self.start.key:
            self.narrow = True
            self._begin(NARROWER)

    def _flat(self, results: Results) -> bool:
        """Whether a whole generation is as good as the best point: it lies on a plateau."""
        if self.best.violation > 0:
            return False
        spread = np.ptp(np.append(results.known_part().values, self.best.value))
        return bool(spread <= SAME_VALUE * abs(self.best.value))

    def _finished(self) -> bool:
        if self.gaussian.state.sd.max() < SMALLEST_SD:
            return True
        if len(self.bests) == self.window:
            spread = max(self.bests) - min(self.bests)
            if not spread > SAME_VALUE * abs(self.best.value):
                return True
        if self.best.violation > 0:
            return self.generations > LONGEST * self.window
        if len(self.trail) <= self._recent:
            return False
        if self.goal is None:
            recent = self.trail[-1 - self._recent] - self.trail[-1]
            return recent <= COARSE * (self.start.value - self.best.value)
        recent = self.trail[0] - self.trail[-1]
        return self.best.key > self.goal and self.best.value - HOPE * recent > self.goal[1]

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian, and the integers as they are."""
        n = self.domain.n_continuous
        m, sd = self.start.x.copy(), np.zeros(self.domain.N)
        m[:n], sd[:n] = self.gaussian.state.m, self.gaussian.state.sd
        return m, sd
