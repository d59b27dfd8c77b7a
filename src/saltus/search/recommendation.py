"""Which point to recommend where values are noisy, what it is worth, and how sure that is.

The best value seen is the luckiest one, not the best point. So a point is judged by all that was evaluated
around it: a quadratic through the nearest evaluations, of which those that are far off count less (Huber),
and the standard error of its value at the point. Around means: by distances in which the evaluations near the
point are spread alike in all directions. In these the objective's contours are about balls if a Gaussian has
drawn the points, so one coefficient is enough for all that is quadratic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, Params

NEAREST = 10  # evaluations for each coefficient
FARTHER = 4  # times as many say how they are spread
TURNS = 20  # of reweighting
HUBER = 1.345  # standard deviations: values that are farther off count less
LARGEST_MATRIX = 200  # variables: of more, each has a spread of its own
_MEDIAN = 0.6745  # of the distances from the mean of a normal distribution, in standard deviations
_TINY = 1e-300
_HUGE, _FINER = 1e300, 2.0**-20  # larger values are taken in another unit: sums of them are no numbers
_LARGEST = float(np.finfo(np.float64).max)


class Estimate(NamedTuple):
    """What a point is worth, and the standard error of that: infinite if a single value is known."""

    value: float
    error: float


class Recommended(NamedTuple):
    """The point with the best estimate.

    Attributes:
        params: the point, as the objective gets it.
        x: the same as numbers, in the order of the variables.
        value: what it is worth: without noise its value, else what the evaluations around it tell.
        error: the standard error of `value`: 0 without noise; infinite where a single value is known.

    >>> from saltus import Float, Optimizer, Space
    >>> optimizer = Optimizer(Space({"x": Float(-5, 5)}), seed=1, noisy=True)
    >>> noise = np.random.default_rng(1)
    >>> while optimizer.evaluations < 200:
    ...     candidates = optimizer.ask()
    ...     values = [(c.params["x"] - 1) ** 2 + noise.normal() for c in candidates]
    ...     optimizer.tell(candidates, values)
    >>> best, recommended = optimizer.best, optimizer.recommended
    >>> best.value < -1  # luck
    True
    >>> abs(recommended.params["x"] - 1) < 0.5, abs(recommended.value) < 3 * recommended.error
    (True, True)
    """

    params: Params
    x: FloatArray
    value: float
    error: float


def estimate(at: FloatArray, points: FloatArray, values: FloatArray, *, around: bool = False) -> Estimate:
    """What a point is worth, from values at points, one row each; at least one, all finite.

    With `around`, what the points around it are worth on average: that never goes beyond what was seen.

    >>> x = np.linspace(-1, 1, 41)[:, None]
    >>> noise = np.random.default_rng(1).normal(0, 0.1, 41)
    >>> value, error = estimate(np.array([0.2]), x, ((x - 0.2) ** 2).ravel() + noise)
    >>> abs(value) < 3 * error < 0.3
    True
    """
    if len(values) == 1:
        return Estimate(float(values[0]), math.inf)
    if np.abs(values).max() > _HUGE:
        value, error = estimate(at, points, values * _FINER, around=around)
        return Estimate(min(max(value / _FINER, -_LARGEST), _LARGEST), min(error / _FINER, _LARGEST))
    n = points.shape[1]
    count = NEAREST * (n + 2)
    t = points - at
    rows = np.argsort((t * t).sum(axis=1), kind="stable")[: FARTHER * count]
    t = _whitened(t[rows])
    near = np.argsort((t * t).sum(axis=1), kind="stable")[:count]
    t, y = t[near], values[rows[near]]
    features = np.ones((len(y), 1))
    if len(y) >= 2 * (n + 2) and not around:
        features = np.column_stack((features, t, (t * t).sum(axis=1)))
    middle, scale = float(np.median(y)), float(np.abs(y - np.median(y)).max())
    if not scale > 0:
        return Estimate(middle, 0.0)
    value, error = _robust(features, (y - middle) / scale)
    return Estimate(middle + scale * value, scale * error)


def _whitened(t: FloatArray) -> FloatArray:
    """Differences from a point in coordinates in which they are spread alike in all directions."""
    size = np.abs(t).max(axis=0)
    t = t / np.where(size > 0, size, 1.0)
    n = t.shape[1]
    if n > LARGEST_MATRIX or len(t) < 2 * n:
        return np.asarray(t / np.sqrt(np.maximum((t * t).mean(axis=0), _TINY)))
    variances, axes = np.linalg.eigh(t.T @ t / len(t))
    kept = variances > 1e-14 * max(float(variances[-1]), _TINY)
    return np.asarray((t @ axes[:, kept]) / np.sqrt(variances[kept]))


def _robust(features: FloatArray, y: FloatArray) -> tuple[float, float]:
    """The first coefficient of a regression, and its standard error."""
    apart = np.abs(y - np.median(y))
    weights = np.minimum(1.0, HUBER * (np.median(apart) / _MEDIAN + _TINY) / np.maximum(apart, _TINY))
    kept = max(1, len(y) - features.shape[1])  # degrees of freedom
    for _ in range(TURNS):
        root = np.sqrt(weights)[:, None]
        found = np.linalg.lstsq(features * root, y * root[:, 0], rcond=1e-10)[0]
        left = y - features @ found
        sd = float(np.median(np.abs(left))) / _MEDIAN * math.sqrt(len(y) / kept)
        if not sd > 0:  # most values lie on the quadratic
            sd = float(np.sqrt(np.mean(left * left))) or _TINY
        before, weights = weights, np.minimum(1.0, HUBER * sd / np.maximum(np.abs(left), _TINY))
        if np.abs(weights - before).max() < 1e-3:
            break
    inside = max(float(np.mean(np.abs(left) <= HUBER * sd)), 0.1)
    variance = float(np.sum((weights * left) ** 2)) / kept / inside**2
    leverage = float(np.linalg.pinv(features.T @ features, rcond=1e-12, hermitian=True)[0, 0])
    return float(found[0]), math.sqrt(max(variance * leverage, 0.0))


def safest(centres: FloatArray, points: FloatArray, values: FloatArray) -> tuple[int, Estimate]:
    """Which of some points is the best, by what is around it and a standard error; and its estimate.

    To choose by the quadratics would be to choose the one that errs most.
    """
    best = 0
    if len(centres) > 1:
        worth = [sum(estimate(centre, points, values, around=True)) for centre in centres]
        best = worth.index(min(worth))
    return best, estimate(centres[best], points, values)
