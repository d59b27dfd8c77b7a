"""Mixed run: the Gaussian moves over all variables until the integers have settled."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from .._typing import FloatArray
from ..strategy import Integers, Leap, scaled
from .gaussian import GaussianPiece
from .proposal import Batch, Domain, Key, Told, nowhere

STILL = 5  # generations without a new integer vector, at least ...
STILL_PER_VARIABLE = 5  # ... and so many evaluations for each variable besides, unless the Gaussian is sure
SURE = 0.3  # summed probability of integers to differ from their mode
LOCAL = 0.1  # without integers: it has found a valley when it has shrunk to this
RECENT = 10  # generations over which the recent gain is measured ...
HOPE = 10.0  # ... and how many times that gain a run may be away from its goal


class MixedRun(GaussianPiece):
    """One run of DX-NES-ICI with diagonal scaling, until its best integer vector stays the same."""

    saved = (
        *("population", "margin", "exact", "goal", "first_sd"),
        *("gaussian", "z", "best", "unchanged", "trail", "price", "done"),
    )

    def __init__(
        self,
        domain: Domain,
        population: int,
        margin: float | None,
        m: FloatArray,
        sd: FloatArray | float,
        goal: Key | None = None,
        exact: bool = False,
    ) -> None:
        """With a goal, the run also ends when it is unlikely to get there."""
        self.domain = domain
        self.population, self.margin, self.exact = population, margin, exact
        self.goal = goal
        self._constants()
        self.gaussian = scaled.start(self.constants, m, self.integers, sd)
        self.first_sd = self.gaussian.sigma
        self.z = None
        self.best = nowhere(domain)
        # generations since the best integer vector changed (without integers: the best); -1: there is none
        self.unchanged = -1
        self.trail = []
        self.done = False

    def _constants(self) -> None:
        domain, population = self.domain, self.population
        alpha = 1 / (domain.N * population) if self.margin is None else self.margin
        self.integers = Integers(domain.first, domain.lattice, alpha, Leap(bias=True))
        self.constants = self._constants_for(population)
        self.patience = STILL + STILL_PER_VARIABLE * domain.N // population

    def _constants_for(self, population: int) -> scaled.Constants:
        return scaled.constants(self.domain.N, population, exact=self.exact)

    def _prepare(self) -> None:
        self._constants()
        self._check_gaussian()

    def batch(self) -> Batch:
        """The next generation."""
        return self._batch(self._spread())

    def _batch(self, x: FloatArray) -> Batch:
        return Batch(x, self.domain.lattice.plateau(x[:, self.domain.first :]))

    def welcomes(self, plateaus: FloatArray) -> bool:
        """Any point."""
        return True

    def take(self, told: Told) -> None:
        """Learn from a generation."""
        found = self._learn(told)
        self.unchanged += 1
        if found.key < self.best.key or self.unchanged == 0:
            if not self.domain.lattice.size or not np.array_equal(found.plateaus, self.best.plateaus):
                self.unchanged = 0
            self.best = found
        self.trail = [*self.trail[-RECENT:], self.best.value]
        self.done = self.diverged or self._settled() or self.hopeless()

    def _settled(self) -> bool:
        if not self.domain.lattice.size:
            return self.gaussian.sigma < LOCAL * self.first_sd or self.unchanged >= 10 * self.patience
        if self.unchanged >= self.patience:
            return True
        return self.unchanged >= STILL and _uncertainty(self.domain, self.gaussian) < SURE

    def hopeless(self) -> bool:
        """Whether the goal is out of reach at the pace of the last generations."""
        if self.best.violation == math.inf:
            return self.done or self.unchanged >= self.patience
        if self.goal is None or self.best.key <= self.goal or len(self.trail) <= RECENT:
            return False
        if self.best.violation > 0 or self.goal[0] > 0:
            return False
        return self.best.value - HOPE * (self.trail[0] - self.trail[-1]) > self.goal[1]

    def conditional(self) -> FloatArray:
        """Covariance of the continuous coordinates, given the integers."""
        C, n = self.gaussian.covariance, self.domain.first
        if n == len(C):
            return C
        return np.asarray(C[:n, :n] - C[:n, n:] @ np.linalg.solve(C[n:, n:], C[n:, :n]))

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian."""
        return self.gaussian.m, self.gaussian.sd


def _uncertainty(domain: Domain, g: scaled.State) -> float:
    """Probability of each integer to differ from its mode, added up."""
    m, sd = g.m[domain.first :], g.sd[domain.first :]
    lattice = domain.lattice
    mode = lattice.plateau(m)
    low = np.where(mode > 0, lattice.threshold(np.maximum(mode - 1.0, 0.0)), -math.inf)
    high = np.where(mode < lattice.last, lattice.threshold(np.minimum(mode, lattice.last - 1.0)), math.inf)
    return float((ndtr((low - m) / sd) + ndtr((m - high) / sd)).sum())
