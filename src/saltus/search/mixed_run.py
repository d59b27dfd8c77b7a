"""Mixed run: the Gaussian moves over all variables until integers and categories have settled."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from .._typing import FloatArray
from ..order import Key
from ..strategy import (
    Gaussian,
    GaussianState,
    Leap,
    MovingGaussian,
    Ranking,
    crfmnes,
    integers_of,
    no_gaussian,
    scaled,
    with_categories,
)
from ..strategy.late import embed_crfmnes, embed_scaled
from .gaussian_phase import GaussianPhase
from .proposal import Domain, Results
from .settings import LARGEST_MATRIX, MANY_VARIABLES
from .stopping import LARGEST_SD

STILL = 5  # generations without a new integer vector, at least ...
STILL_PER_VARIABLE = 5  # ... and so many evaluations for each variable besides, unless the Gaussian is sure
SURE = 0.3  # summed probability of integers to differ from their mode
LOCAL = 0.1  # without integers: it has found a valley when it has shrunk to this
RECENT = 10  # generations over which the recent gain is measured ...
PACE = 5  # evaluations for each variable over which the pace is measured, of many variables
HOPE = 10.0  # ... and how many times that gain a run may be away from its goal


class MixedRun(GaussianPhase):
    """One run of DX-NES-ICI with diagonal scaling, until its best integer vector stays the same.

    With more than `LARGEST_MATRIX` variables it is one of CR-FM-NES.
    """

    saved = ("population", "goal", "first_sd", "best", "unchanged", "trail", "price", "done")

    def __init__(
        self,
        domain: Domain,
        m: FloatArray,
        sd: FloatArray | float,
        goal: Key | None = None,
        population: int | None = None,
        share: float | None = None,
    ) -> None:
        """From N(m, sd^2). With a goal, the run also ends when it is unlikely to get there.

        Categories begin with all values alike; with a share, with the values of m, from which each of them
        differs with that probability.

        The population is that of the settings, unless another one is given. Without scaling the diagonal
        matrix stays as it is: the core is DX-NES-IC then.
        """
        self.domain = domain
        self.population = domain.settings.population if population is None else population
        self.goal = goal
        n, about = domain.n_ordered, None if share is None else m[domain.n_ordered :]
        gaussian = self._gaussian(m[:n], sd if isinstance(sd, float) else sd[:n])
        self.gaussian = with_categories(gaussian, domain.sizes, domain.settings.margin, about, share or 0.0)
        self.first_sd = self.gaussian.state.sigma
        self.best = domain.nowhere()
        # generations since the best integer vector changed (without integers: the best); -1: there is none
        self.unchanged = -1
        self.trail: list[float] = []  # the best value so far, after each of the last generations
        self.done = False

    def _gaussian(self, m: FloatArray, sd: FloatArray | float) -> MovingGaussian:
        domain, settings = self.domain, self.domain.settings
        integers = integers_of(
            *(domain.integers, domain.n_continuous, self.population, settings.margin),
            *(Leap(bias=True), domain.n_categories),
        )
        N = domain.n_ordered
        if not N:
            return no_gaussian(integers, self.population)
        scaling = "scaling" not in settings.without
        if scaling and N > LARGEST_MATRIX:
            return Gaussian(
                crfmnes,
                embed_crfmnes,
                integers,
                self.population,
                partial(crfmnes.constants, N),
                partial(crfmnes.start, m=m, integers=integers, scales=sd),
            )
        constants = partial(scaled.constants, N, exact=settings.exact, scaling=scaling)
        start = partial(scaled.start, m=m, integers=integers, sd=sd)
        return Gaussian(scaled, embed_scaled, integers, self.population, constants, start)

    def _prepare(self) -> None:
        gaussian = self._gaussian(np.zeros(self.domain.n_ordered), 1.0)
        self.gaussian = with_categories(gaussian, self.domain.sizes, self.domain.settings.margin)

    @property
    def diverged(self) -> bool:
        """Whether the Gaussian has grown beyond all bounds."""
        return not self.gaussian.state.sd.max(initial=0.0) < LARGEST_SD  # also if it is not a number

    @property
    def patience(self) -> int:
        """Generations without a new integer vector after which the integers have settled."""
        return STILL + STILL_PER_VARIABLE * self.domain.N // self.population

    def accepts(self, plateaus: FloatArray) -> bool:
        """Any point, whatever its plateaus: a Gaussian can learn from points that it did not draw."""
        return True

    def _after(self, results: Results, ranking: Ranking) -> None:
        found = results.best()
        self.unchanged += 1
        if found.key < self.best.key or self.unchanged == 0:
            if not self.domain.lattice.size or not np.array_equal(found.plateaus, self.best.plateaus):
                self.unchanged = 0
            self.best = found
        self.trail = [*self.trail[-self._remembered :], self.best.value]
        self.done = self._settled() or self.hopeless() or self.diverged

    def _settled(self) -> bool:
        if not self.domain.lattice.size:
            return self.gaussian.state.sigma < LOCAL * self.first_sd or self.unchanged >= 10 * self.patience
        if self.unchanged >= self.patience:
            return True
        if self.unchanged < STILL:
            return False
        return _uncertainty(self.domain, self.gaussian.state) + self.gaussian.doubt < SURE

    def hopeless(self) -> bool:
        """Whether the goal is out of reach at the pace of the last generations."""
        if self.best.violation == math.inf:
            return self.done or self.unchanged >= self.patience
        if self.goal is None or self.best.key <= self.goal or len(self.trail) <= RECENT:
            return False
        if self.best.violation > 0 or self.goal[0] > 0:
            return False
        return self.best.value - HOPE * (self.trail[-1 - RECENT] - self.trail[-1]) > self.goal[1]

    @property
    def _remembered(self) -> int:
        """Generations in the trail: of many variables so many that there is a pace."""
        N = self.domain.N
        return RECENT if N <= MANY_VARIABLES else max(RECENT, PACE * N // self.population)

    @property
    def pace(self) -> float:
        """What an evaluation of the last generations has gained, on average."""
        if len(self.trail) < 2 or self.best.violation > 0:
            return 0.0
        return (self.trail[0] - self.trail[-1]) / ((len(self.trail) - 1) * self.population)

    def conditional(self) -> FloatArray:
        """Covariance of the continuous coordinates, given the integers.

        Of more than `LARGEST_MATRIX` it is two rows: scales and direction, as `crfmnes.matrix` takes them.
        """
        state, n = self.gaussian.state, self.domain.n_continuous
        if isinstance(state, crfmnes.State):
            rows = state.conditional(n)
            return rows if n > LARGEST_MATRIX else crfmnes.matrix(*rows)
        C = state.covariance
        if n < len(C):
            C = np.asarray(C[:n, :n] - C[:n, n:] @ np.linalg.solve(C[n:, n:], C[n:, :n]))
        return C if n <= LARGEST_MATRIX else np.stack((np.sqrt(C.diagonal()), np.zeros(n)))


def _uncertainty(domain: Domain, g: GaussianState) -> float:
    """Probability of each integer to differ from its mode, added up."""
    from scipy.special import ndtr

    m, sd = g.m[domain.n_continuous :], g.sd[domain.n_continuous :]
    lattice = domain.integers
    low, high = lattice.ends_of(lattice.plateau(m))
    return float((ndtr((low - m) / sd) + ndtr((m - high) / sd)).sum())
