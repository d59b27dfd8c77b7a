"""A quadratic through the points around the best one: exact at the bottom of a smooth valley.

The process of `process.py` sees all variables and has to believe in some noise; near a minimum, what it
leaves over is more than is left to gain. A quadratic of the continuous variables alone, through the nearest
points with the same integers, has no such limit: each step is about twice as many digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray

MOST = 2.0  # points, relative to the number of coefficients; the nearest ones
FLAT = 1e-9  # weight of the second derivatives' size, where points do not tell all of them
REACH = 2.0  # of a step, relative to how far the points are apart
_EPS = float(np.finfo(np.float64).eps)


class Step(NamedTuple):
    """Where the quadratic is lowest, and how much better than the best point that should be."""

    x: FloatArray
    gain: float


def fewest(n: int) -> int:
    """Points from which a step can be made, in n variables."""
    return n + 2 if n > 1 else 3


def step(x: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray) -> Step | None:
    """A step from the best of some points; None if they do not tell where to.

    >>> at = np.array([[0.1], [0.5], [0.9]])
    >>> found = step(at, ((at - 0.35) ** 2).ravel(), np.zeros(1), np.ones(1))
    >>> round(float(found.x[0]), 9), round(found.gain, 6)
    (0.35, 0.0225)

    Args:
        x, y: points, one row each, and finite values.
        low, high: bounds.
    """
    n = x.shape[1]
    if len(y) < fewest(n):
        return None
    best = int(y.argmin())
    apart = x - x[best]
    spread = np.abs(apart).max(axis=0)
    if not spread.all():
        return None
    size = 1 + n + n * (n + 1) // 2
    near = np.argsort(((apart / spread) ** 2).sum(axis=1), kind="stable")[: max(fewest(n), int(MOST * size))]
    apart, y = apart[near], y[near]
    h = np.abs(apart).max(axis=0)
    rise = y / 2 - y.min() / 2
    top = float(rise.max())
    if not h.all() or not top > 8 * _EPS * float(np.abs(y).max()):
        return None
    gradient, hessian = _fitted(apart / h, rise / top)
    curvature, axes = np.linalg.eigh(hessian)
    curvature = np.maximum(np.abs(curvature), 1e-6 * np.abs(curvature).max() + 1e-12)
    t = -axes @ ((axes.T @ gradient) / curvature)
    t *= min(1.0, REACH / max(float(np.abs(t).max()), 1e-300))
    end = np.clip(x[best] + t * h, low, high)
    t = (end - x[best]) / h
    gain = -float(gradient @ t + 0.5 * t @ hessian @ t) * 2 * top
    return Step(end, gain) if gain > 4 * _EPS * abs(float(y.min())) else None


def _fitted(t: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient and second derivatives at zero of the quadratic through points, which is zero there."""
    n = t.shape[1]
    i, j = np.triu_indices(n)
    features = np.concatenate((t, t[:, i] * t[:, j] * np.where(i == j, 0.5, 1.0)), axis=1)
    weights = 1.0 / (0.05 + rise)  # what is low matters more
    first = FLAT * np.eye(features.shape[1])
    first[:n] = 0.0
    system = np.concatenate((features * weights[:, None], first))
    right = np.concatenate((rise * weights, np.zeros(len(first))))
    coefficients = np.asarray(np.linalg.lstsq(system, right, rcond=None)[0], dtype=np.float64)
    hessian = np.zeros((n, n))
    hessian[i, j] = hessian[j, i] = coefficients[n:]
    return coefficients[:n], hessian
