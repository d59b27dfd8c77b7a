"""How alike the values at two points are: a Matern kernel with 5/2 plus a quadratic one.

Both have the same length scales, one for each variable. The quadratic part finds a bowl from few points,
however far apart; the Matern part is what the bowl leaves over. Categories are as far apart as they are
different (`columns.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .columns import Sizes, places, spread_out

BLOCK = 12_000  # numbers
FEW = 3  # points, for which a matrix product is not worth its preparation


class Kernel(NamedTuple):
    """The parameters: length scales, the variances of the two parts, and how many values categories have."""

    lengths: FloatArray
    matern: float
    quadratic: float
    sizes: Sizes = ()

    @property
    def D(self) -> int:
        """How many variables there are."""
        return len(self.lengths)

    @property
    def units(self) -> FloatArray:
        """The length scale of each column of scaled points."""
        return self.lengths[places(self.D, self.sizes)] if self.sizes else self.lengths

    def scaled(self, x: FloatArray) -> FloatArray:
        """Points from the middle of the cube, in units of the length scales."""
        return np.asarray(spread_out(x, self.sizes) / self.units)

    def by_x(self, by_a: FloatArray) -> FloatArray:
        """Derivatives by the coordinates of the cube, from those by scaled ones; 0 for categories."""
        if not self.sizes:
            return np.asarray(by_a / self.lengths)
        ordered = self.D - len(self.sizes)
        by_x = np.zeros((*by_a.shape[:-1], self.D))
        by_x[..., :ordered] = by_a[..., :ordered] / self.lengths[:ordered]
        return by_x

    def variance(self, a: FloatArray) -> FloatArray:
        """The variance at scaled points before anything is known."""
        return np.asarray(self.matern + self.quadratic * (1.0 + _squares(a) / self.D) ** 2)


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


class Space(NamedTuple):
    """Room for the matrices of covariances, to be used again: new memory costs more than the arithmetic."""

    matern: FloatArray
    quadratic: FloatArray
    bend: FloatArray
    slope: FloatArray
    total: FloatArray
    inverse: FloatArray


def room(rows: int, columns: int) -> Space:
    """For covariances between so many points and so many others."""
    return Space(*(np.empty((rows, columns)) for _ in range(6)))


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Rows of a matrix, a few at a time, so that a handful of such blocks fit into the processor's cache."""
    size = max(1, BLOCK // max(columns, 1))
    return (slice(begin, begin + size) for begin in range(0, rows, size))


def covariance(kernel: Kernel, a: FloatArray, b: FloatArray) -> FloatArray:
    """Covariances between scaled points, one row for each of a."""
    whole = np.empty((len(a), len(b)))
    left, right = _for_distances(a, b)
    q = math.sqrt(kernel.quadratic)
    rows = min(len(a), max(1, BLOCK // max(len(b), 1)))
    first, second = np.empty((rows, len(b))), np.empty((rows, len(b)))
    for block in blocks(len(a), len(b)):
        matern, count = whole[block], len(a[block])
        r, other = first[:count], second[:count]
        np.matmul(left[block], right, out=r)
        np.maximum(r, 0.0, out=r)
        np.multiply(r, 1.0 / 3.0, out=matern)
        np.sqrt(r, out=r)
        matern += r
        matern += 1.0
        np.negative(r, out=r)
        matern *= np.exp(r, out=r)
        matern *= kernel.matern
        np.matmul(a[block], b.T, out=other)
        other *= q / kernel.D
        other += q
        other *= other
        matern += other
    return whole


def differentiable(kernel: Kernel, a: FloatArray, b: FloatArray, space: Space | None = None) -> Covariance:
    """The same with both parts apart and what their derivatives need, in new memory or in this."""
    matern, quadratic, bend, slope, decay, _ = space or room(len(a), len(b))
    r = slope  # for the time being
    if len(a) > FEW:
        np.matmul(*_for_distances(a, b), out=r)
        np.maximum(r, 0.0, out=r)
    else:
        apart = a[:, None, :] - b
        np.einsum("ijk,ijk->ij", apart, apart, out=r)
        r *= 5.0
    np.multiply(r, 1.0 / 3.0, out=matern)
    np.sqrt(r, out=r)
    np.negative(r, out=decay)
    np.exp(decay, out=decay)
    decay *= kernel.matern
    np.add(r, 1.0, out=bend)
    matern += bend
    matern *= decay
    bend *= decay
    bend *= 5.0 / 3.0
    root = np.matmul(a, b.T, out=slope)
    root /= kernel.D
    root += 1.0
    np.multiply(root, root, out=quadratic)
    quadratic *= kernel.quadratic
    slope *= 2.0 * kernel.quadratic / kernel.D
    return Covariance(a, b, matern, quadratic, bend, slope)


def _squares(a: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", a, a))


def _for_distances(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two matrices whose product is 5 times the squares of the distances of a from b."""
    D = a.shape[1]
    left, right = np.empty((len(a), D + 2)), np.empty((D + 2, len(b)))
    np.multiply(a, -10.0, out=left[:, :D])
    left[:, D] = 5.0 * _squares(a)
    left[:, D + 1] = 1.0
    right[:D] = b.T
    right[D] = 1.0
    right[D + 1] = 5.0 * _squares(b)
    return left, right
