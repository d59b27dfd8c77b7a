"""A run of the scaled core over some coordinates: what the mixed run and the polish share."""

from __future__ import annotations

import numpy as np

from .. import plain
from ..strategy import FloatArray, Integers, rank, scaled
from .piece import Piece
from .points import Point, Told

LARGEST_SD = 1e10  # of the first: beyond, the objective is unbounded


class GaussianPiece(Piece):
    """Generations of the core; subclasses say over which coordinates, and when to end."""

    population: int
    integers: Integers
    constants: scaled.Constants
    gaussian: scaled.State
    z: FloatArray | None  # the random half of the generation that is on its way
    trail: list[float]  # the best value so far, after each of the last generations
    _cloud: scaled.Cloud

    def draw(self, rng: np.random.Generator) -> None:
        """The random half of the next generation."""
        self.z = scaled.draw(self.constants, rng)

    def _spread(self) -> FloatArray:
        """The points of the next generation."""
        if self.z is None:
            raise RuntimeError("draw before batch")
        self._cloud = scaled.spread(self.constants, self.gaussian, self.z)
        return self._cloud.x

    def _learn(self, told: Told) -> Point:
        """Update the Gaussian; the best of the generation."""
        ranking = rank(told.values, told.violations, self._cloud, self.integers)
        self.gaussian = scaled.update(self.constants, self.gaussian, self._cloud, ranking, self.integers)
        self.z = None
        return told.point(int(ranking.order[0]))

    @property
    def diverged(self) -> bool:
        """Whether the Gaussian has grown beyond all bounds."""
        return not self.gaussian.sd.max() < LARGEST_SD  # also if it is not a number

    def _check_gaussian(self) -> None:
        """A restored Gaussian has the shapes of a new one."""
        N = self.constants.N
        fresh = scaled.start(self.constants, np.zeros(N), self.integers)
        self.gaussian = plain.alike(fresh, self.gaussian, "gaussian")
        if self.z is not None:
            plain.shaped(self.z, (self.population // 2, N), "z")
