"""Integer evolution: where all variables are integers, differences of good points lead to new ones.

A Gaussian that has shrunk onto a few integers proposes the same points again and again, and a sweep changes
one integer at a time. Where only several together help, the differences between points that are good already
show which: x_a + F (x_b - x_c), as in differential evolution, with all coordinates at once. So a population
moves along a valley however it lies. Categories have no differences: where x_b and x_c are not the same, that
of x_b may be taken, and now and then any value is. No point that is known is proposed.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _serialize
from .._typing import FloatArray
from ..order import WORST
from .acquisition import Seen
from .phase import Phase
from .proposal import Domain, Proposals, Results

PER_VARIABLE = 5  # points of the population, ...
FEWEST = 12  # ... at least
FACTORS = (0.5, 1.0)  # F is drawn from here, for each generation
PATIENCE = 15  # generations in which nothing gets better, until it ends
TRIES = 20  # differences that are drawn for a point until it is new
ROOM = 10.0  # points of the space for each that is known: at least


def roomy(domain: Domain) -> bool:
    """Whether there are only integers, several, and far more points than are known."""
    if domain.n_continuous or domain.lattice.size < 2:
        return False
    known = len(domain.memory) + _population(domain)
    return float(np.log(domain.lattice.last + 1).sum()) > math.log(ROOM * known)


def _population(domain: Domain) -> int:
    return max(FEWEST, PER_VARIABLE * domain.N)


class IntegerEvolution(Phase):
    """A population from anywhere; each point gives way to a new one that is no worse."""

    saved = ("crowd", "keys", "trials", "rows", "still", "best", "done")

    def __init__(self, domain: Domain) -> None:
        """With a population that is drawn from all of the ranges."""
        self.domain = domain
        count, size = _population(domain), domain.lattice.size
        self.crowd: FloatArray = np.zeros((count, size))  # plateaus, one row each ...
        self.keys: FloatArray = np.tile(np.array(WORST), (count, 1))  # ... and what they are compared by
        self.trials: FloatArray = np.empty((0, size))  # the batch: new plateaus ...
        self.rows: list[int] = []  # ... and whose place each of them may take
        self.still = -1  # generations in which nothing got better; -1: there was none yet
        self.best = domain.nowhere()
        self.done = False

    def draw(self, rng: np.random.Generator) -> None:
        """A new point for each of the population, as far as there are some."""
        count, size = self.crowd.shape
        last = self.domain.lattice.last
        factor = rng.uniform(*FACTORS)
        seen = Seen(self.domain.model.known()[0])
        found: dict[int, FloatArray] = {}
        taken: set[bytes] = set()
        for _ in range(TRIES):
            missing = [row for row in range(count) if row not in found]
            if not missing:
                break
            anywhere = np.floor(rng.random((len(missing), size)) * (last + 1))
            tried = anywhere
            if self.still >= 0:
                a, b, c = (self.crowd[rows] for rows in _different(rng, len(missing), count))
                tried = np.round(a + factor * (b - c))
                tried = np.where((tried < 0) | (tried > last), anywhere, tried)
                n = self.domain.n_categories
                if n:
                    tried[:, -n:] = _recombined(rng, factor, *(each[:, -n:] for each in (a, b, c, anywhere)))
            u = self._cube(tried)
            new = ~seen.which(u)
            for row, plateaus, point, is_new in zip(missing, tried, u, new.tolist(), strict=True):
                if is_new and point.tobytes() not in taken:
                    found[row] = plateaus
                    taken.add(point.tobytes())
        if not found:  # they are all the same, or all around them is known
            found[0] = np.floor(rng.random(size) * (last + 1))
        self.rows = sorted(found)
        self.trials = np.array([found[row] for row in self.rows])

    def _cube(self, plateaus: FloatArray) -> FloatArray:
        return self.domain.model.cube.of_points(*self._proposals(plateaus))

    def _proposals(self, plateaus: FloatArray) -> Proposals:
        return self.domain.proposals(np.empty((1, 0)), plateaus)

    def propose(self) -> Proposals:
        """The points that were drawn, each for the place of a worse one."""
        return self._proposals(self.trials)

    def observe(self, results: Results) -> None:
        """Take what is no worse than what was there."""
        better = False
        for i, row in enumerate(self.rows):
            key, own = results.key(i), (float(self.keys[row, 0]), float(self.keys[row, 1]))
            better |= key < own
            if key <= own:
                self.crowd[row], self.keys[row] = self.trials[i], key
            if key < self.best.key:
                self.best = results.point(i)
        self.still = 0 if better or self.still < 0 else self.still + 1
        self.done = self.still >= PATIENCE or bool((self.crowd == self.crowd[0]).all())

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviations of the population."""
        x = self._proposals(self.crowd).x
        return x.mean(axis=0), x.std(axis=0)

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Self:
        """The phase whose state this is."""
        self = super().restored(domain, state)
        count, size = _population(domain), domain.lattice.size
        self.crowd = _serialize.shaped(self.crowd, (count, size), "crowd").copy()
        self.keys = _serialize.shaped(self.keys, (count, 2), "keys").copy()
        self.trials = _serialize.shaped(self.trials, (len(self.rows), size), "trials")
        return self


def _different(rng: np.random.Generator, rows: int, count: int) -> NDArray[np.intp]:
    """For each of some rows three different numbers below a count."""
    return np.asarray(np.argsort(rng.random((rows, count)), axis=1, kind="stable")[:, :3].T)


def _recombined(
    rng: np.random.Generator, factor: float, a: FloatArray, b: FloatArray, c: FloatArray, anywhere: FloatArray
) -> FloatArray:
    """Categories of new points: those of a, those of b where b and c differ, about one that is neither."""
    change = (b != c) & (rng.random(a.shape) < factor)
    strange = rng.random(a.shape) < 1 / (1 + a.shape[1])
    return np.where(strange, anywhere, np.where(change, b, a))
