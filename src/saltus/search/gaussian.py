"""A run of the scaled core over some coordinates: what the mixed run and the polish share."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..strategy import Integers, rank, scaled
from .phase import Piece
from .proposal import Batch, Mask, Others, Point, Told
from .stopping import LARGEST_SD

VIOLATED_SHARE = 0.7  # of a generation: the price of a violation rises above this, and falls below, ...
PRICE_PACE = 0.3  # ... by this much for each generation, in logarithms


class GaussianPiece(Piece):
    """Generations of the core; subclasses say over which coordinates, and when to end."""

    population: int
    integers: Integers
    constants: scaled.Constants
    gaussian: scaled.State
    z: FloatArray | None  # the random half of the generation that is on its way
    trail: list[float]  # the best value so far, after each of the last generations
    price: float = 0.0  # of a violation, once there was one
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
        values, violations = told.values, told.violations
        if violations is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # of values near the end of all numbers
                values, violations = self._penalised(values, violations)
        ranking = rank(values, violations, self._cloud, self.integers)
        c = self.constants if len(values) == self.population else self._constants_for(len(values))
        self.gaussian = scaled.update(c, self.gaussian, self._cloud, ranking, self.integers)
        self.z = None
        return told.best()

    def _penalised(self, values: FloatArray, violations: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Values with a price on violations, which rises and falls with how many there are.

        Were all that is violated worse than all that is not, the Gaussian would shrink wherever it meets a
        constraint before it has moved along it.
        """
        share = np.count_nonzero(violations > 0) / len(values)
        if not np.isfinite(values + violations).all() or (self.price == 0.0 and share == 1.0):
            return values, violations
        if self.price == 0.0:
            # at first, to violate as much as the worst is worth as much as all values differ
            self.price = float(np.ptp(values) / violations.max())
        else:
            self.price *= math.exp(PRICE_PACE * (share - VIOLATED_SHARE))
        return values + self.price * violations, None

    def spare(self, k: int, rng: np.random.Generator) -> Batch | None:
        """One more pair of the same Gaussian."""
        z = rng.standard_normal((1, self.constants.N))
        return self._batch(scaled.spread(self.constants, self.gaussian, z).x)

    def enough(self, told: Told, known: Mask, others: int) -> bool:
        """At least as many as a generation, whichever they are."""
        return int(np.count_nonzero(known)) + others >= self.population

    def take_some(self, told: Told, known: Mask, others: Others, rng: np.random.Generator) -> None:
        """Learn from points of this Gaussian and of older ones as if all were of this one."""
        if others.none_but(known, self.population):
            self.take(told)  # as it was drawn
            return
        all_of_them, *kinds = others.arranged(told, known)
        x, plateaus = all_of_them.batch
        g = self.gaussian
        imagined = self.integers.imagined(x[:, : self.constants.N], plateaus, g.m, g.sd, rng)
        self._cloud = scaled.placed(self.constants, g, imagined, *kinds)
        self.take(all_of_them._replace(batch=Batch(self.domain.whole(x, plateaus), plateaus)))

    @abstractmethod
    def _constants_for(self, population: int) -> scaled.Constants:
        """Of the core, for a generation of this size."""

    @abstractmethod
    def _batch(self, x: FloatArray) -> Batch:
        """Points of the Gaussian with their integers."""

    @property
    def diverged(self) -> bool:
        """Whether the Gaussian has grown beyond all bounds."""
        return not self.gaussian.sd.max() < LARGEST_SD  # also if it is not a number

    def _check_gaussian(self) -> None:
        """A restored Gaussian has the shapes of a new one."""
        N = self.constants.N
        fresh = scaled.start(self.constants, np.zeros(N), self.integers)
        self.gaussian = _serialize.alike(fresh, self.gaussian, "gaussian")
        if self.z is not None:
            _serialize.shaped(self.z, (self.population // 2, N), "z")
