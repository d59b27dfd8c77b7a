"""How alike the values at two points are: a Matern kernel with 5/2 plus a quadratic one.

Both have the same length scales, one for each variable. The quadratic part finds a bowl from few points,
however far apart; the Matern part is what the bowl leaves over.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray

MIDDLE = 0.5  # of the unit cube: the quadratic part is centred there
_ROOT5 = math.sqrt(5.0)


class Kernel(NamedTuple):
    """The parameters: length scales, and the variances of the two parts."""

    lengths: FloatArray
    matern: float
    quadratic: float

    def scaled(self, x: FloatArray) -> FloatArray:
        """Points from the middle of the cube, in units of the length scales."""
        return np.asarray((x - MIDDLE) / self.lengths)

    def variance(self, a: FloatArray) -> FloatArray:
        """The variance at scaled points before anything is known."""
        return np.asarray(self.matern + self.quadratic * (1.0 + _squares(a) / a.shape[1]) ** 2)


class Covariance(NamedTuple):
    """Covariances between scaled points a and b, and what their derivatives are made of.

    With r the distance of a from b, the derivative of the Matern part by r^2 is -bend / 2; that of the
    quadratic part by the product of a and b is `slope`.
    """

    a: FloatArray
    b: FloatArray
    matern: FloatArray
    quadratic: FloatArray
    bend: FloatArray
    slope: FloatArray

    @property
    def total(self) -> FloatArray:
        """The sum of both parts."""
        return self.matern + self.quadratic

    def gradient(self, weights: FloatArray) -> FloatArray:
        """By the scaled points a, one row each: of the covariances of a row times its weights, added up."""
        bend, slope = weights * self.bend, weights * self.slope
        return np.asarray(bend @ self.b - bend.sum(axis=1)[:, None] * self.a + slope @ self.b)


def covariance(kernel: Kernel, a: FloatArray, b: FloatArray) -> FloatArray:
    """Covariances between scaled points, one row for each of a."""
    product = a @ b.T
    r = _distances(a, b, product)
    r *= _ROOT5
    matern = np.exp(-r)
    matern *= (r / 3.0 + 1.0) * r + 1.0
    matern *= kernel.matern
    product /= a.shape[1]
    product += 1.0
    product *= product
    product *= kernel.quadratic
    product += matern
    return product


def differentiable(kernel: Kernel, a: FloatArray, b: FloatArray) -> Covariance:
    """The same with both parts apart and what their derivatives need."""
    product = a @ b.T
    r = _ROOT5 * _distances(a, b, product)
    decay = kernel.matern * np.exp(-r)
    bend = (5.0 / 3.0) * (1.0 + r) * decay
    matern = ((r / 3.0 + 1.0) * r + 1.0) * decay
    root = 1.0 + product / a.shape[1]
    slope = (2.0 * kernel.quadratic / a.shape[1]) * root
    return Covariance(a, b, matern, kernel.quadratic * root * root, bend, slope)


def _squares(a: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", a, a))


def _distances(a: FloatArray, b: FloatArray, product: FloatArray) -> FloatArray:
    r2 = _squares(a)[:, None] + _squares(b)
    r2 -= 2.0 * product
    np.maximum(r2, 0.0, out=r2)
    return np.asarray(np.sqrt(r2, out=r2))
