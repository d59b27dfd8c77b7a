"""A quadratic of all variables, integers taken for floats, and its lowest points on their lattice.

Of a function that is smooth behind the plateaus of its integers, points that differ in several of them tell
the shape. The quadratic through the best of them has, for any integers, the best continuous values in closed
form; what is left is a quadratic of the integers alone, whose lowest points on the lattice a tabu search
finds without an evaluation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, Mask
from .quadratic import coefficients, least_squares, squares

MOST = 3.0  # points, relative to the number of coefficients; the best ones
CELLS = 3.0  # plateaus away, at most, is a point that counts, ...
SHARE = 0.3  # ... and this share of the range of a continuous variable
ALIKE = 2  # points with the same integers that count, besides one for each continuous variable
LOW = 0.1  # of the points are the lowest ones, whose rise is the error that does not matter
FLAT = 1e-6  # weight of the coefficients' size, where points do not tell all of them
STEPS = 30  # of the tabu search
KEPT = 50  # neighbours of each of its steps that are looked at


class Relaxed(NamedTuple):
    """A quadratic around a point, of the moves of integers in plateaus; it is zero at the point itself.

    Attributes:
        gradient, hessian: of the integers, each time with the best continuous values.
        origin, slopes: continuous values that are best for a move d: origin + slopes d, from the point.
    """

    gradient: FloatArray
    hessian: FloatArray
    origin: FloatArray
    slopes: FloatArray

    def values(self, moves: FloatArray) -> FloatArray:
        """What it gives for moves of the integers, one row each."""
        return np.asarray(moves @ self.gradient + 0.5 * ((moves @ self.hessian) * moves).sum(axis=1))

    def continuous(self, moves: FloatArray) -> FloatArray:
        """The moves of the continuous variables that are best with these, one row each."""
        return np.asarray(self.origin + moves @ self.slopes.T)

    def lowest(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Moves from `low` to `high` with low values, one row each, the lowest first.

        The search changes one or two integers by one at a time, goes to the lowest place where it has not
        been yet, also uphill, and so along valleys that lie across the lattice.

        >>> valley = np.array([[4.0, 2.0], [2.0, 1.0]])  # no rise along (1, -2)
        >>> relaxed = Relaxed(np.array([-0.4, 0.0]), valley, np.zeros(0), np.zeros((0, 2)))
        >>> relaxed.lowest(np.full(2, -4.0), np.full(2, 4.0))[:2].tolist()
        [[2.0, -4.0], [1.0, -2.0]]
        """
        steps = _steps(len(low))
        here, been = np.zeros(len(low)), set[bytes]()
        places = []
        for _ in range(STEPS):
            been.add(here.tobytes())
            around = here + steps
            around = around[((around >= low) & (around <= high)).all(axis=1)]
            around = around[np.argsort(self.values(around), kind="stable")[:KEPT]]
            places.append(around)
            new = next((place for place in around if place.tobytes() not in been), None)
            if new is None:
                break
            here = new
        found = np.unique(np.concatenate(places), axis=0)
        return np.asarray(found[np.argsort(self.values(found), kind="stable")])


def _steps(k: int) -> FloatArray:
    """One or two of k integers changed by one, and no change; zeros are written without a sign."""
    one, (i, j) = np.eye(k), np.triu_indices(k, 1)
    two = [one[i] + one[j], one[i] - one[j], one[j] - one[i], -one[i] - one[j]]
    return np.concatenate((np.zeros((1, k)), one, -one, *two)) + 0.0


def relaxed(t: FloatArray, y: FloatArray, n: int) -> Relaxed | None:
    """The quadratic around the best of some points; None if there are not enough of them.

    It matters how large an error is beside the rise from the best point: along a valley that is steep on its
    sides, small differences decide. Where the points curve downwards, they say little, since nothing better
    is known there: it is taken for upwards, so that the search stays where they say more.

    Args:
        t: how far points are away from the best one, one row each: continuous coordinates, as shares of their
            ranges, then integers, in plateaus.
        y: their finite values.
        n: how many coordinates are continuous.
    """
    N = t.shape[1]
    near = (np.abs(t) <= np.concatenate((np.full(n, SHARE), np.full(N - n, CELLS)))).all(axis=1)
    t, y = t[near], y[near]
    rows = np.argsort(y, kind="stable")
    rows = rows[_first_alike(t[rows, n:], n + ALIKE)][: int(MOST * coefficients(N))]
    if len(rows) < coefficients(N):
        return None
    t, rise = t[rows], y[rows] - y[rows[0]]
    h = np.abs(t).max(axis=0)
    small = float(rise[int(LOW * len(rise))])
    if not h.all() or not small > 0 or not np.isfinite(rise).all():
        return None
    gradient, hessian = _fitted(t / h, rise / small)
    gradient, hessian = small * gradient / h, small * hessian / np.outer(h, h)
    inverse = _inverse(hessian[:n, :n])
    origin, slopes = -inverse @ gradient[:n], -inverse @ hessian[:n, n:]
    of_integers = hessian[n:, n:] + hessian[n:, :n] @ slopes
    curvature, axes = np.linalg.eigh(of_integers)
    upwards = np.asarray((axes * np.abs(curvature)) @ axes.T)
    return Relaxed(gradient[n:] + hessian[n:, :n] @ origin, upwards, origin, slopes)


def _first_alike(integers: FloatArray, count: int) -> Mask:
    """Which rows are among the first so many with the same integers.

    >>> _first_alike(np.array([[1.0], [2.0], [1.0], [1.0]]), 2).tolist()
    [True, True, True, False]
    """
    if not len(integers):
        return np.zeros(0, dtype=bool)
    kind = np.unique(integers, axis=0, return_inverse=True)[1].ravel()
    together = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[together], np.arange(kind.max() + 1))
    place = np.empty(len(kind), dtype=np.intp)
    place[together] = np.arange(len(kind)) - starts[kind[together]]
    return np.asarray(place < count)


def _fitted(t: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient and second derivatives; the rise is in units of an error that does not matter."""
    N = t.shape[1]
    features = np.column_stack((np.ones(len(t)), t, squares(t)))
    weights = 1.0 / (1.0 + rise)
    first = FLAT * np.eye(features.shape[1])
    found = least_squares(
        np.concatenate((features * weights[:, None], first)),
        np.concatenate((rise * weights, np.zeros(len(first)))),
    )
    hessian, (i, j) = np.zeros((N, N)), np.triu_indices(N)
    hessian[i, j] = hessian[j, i] = found[N + 1 :]
    return found[1 : N + 1], hessian


def _inverse(hessian: FloatArray) -> FloatArray:
    """The inverse of second derivatives, all taken for upwards, and none for zero."""
    curvature, axes = np.linalg.eigh(hessian)
    size = np.abs(curvature)
    return np.asarray((axes / np.maximum(size, 1e-9 * size.max(initial=0.0) + 1e-300)) @ axes.T)
