"""Models of constraints: how likely a point is to be feasible.

    theta = fit_limits(x, g)                     the likeliest parameters; the next time, from the last ones
    limits = condition_limits(theta, x, g)       what follows from them: one factorisation
    limits.log_feasible(points)

A constraint holds where its value is at most 0. Values are warped by sign(g) log(1 + |g| / s), so zero stays
zero, and divided by their root mean square; the process has mean zero, its kernel and its parameters are
those of `process.py`. Constraints that share them are the columns of g: each has its own values, all have one
factorisation. What has failed is a constraint too: 1 where an evaluation failed, -1 where it did not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .columns import Sizes
from .kernel import Kernel, covariance, differentiable
from .posterior import OTHERS, first_parameters, kernel_of, likeliest, noise_of
from .process import FIRST_ITERATIONS, ITERATIONS, LEAST_VARIANCE, enlarged, inverted, predicted
from .warp import Seen

_LARGEST = float(np.finfo(np.float64).max)


class Signed(NamedTuple):
    """Values of constraints, one column each, as multiples of a usual size, and their signs."""

    sign: FloatArray
    multiples: FloatArray

    def seen(self, s: float) -> Seen:
        """The warped values."""
        (n, m), shifted = self.sign.shape, self.multiples + s
        z, size = warped(self, s)
        t_by_s = -self.sign * self.multiples / shifted
        size_by_s = (z * t_by_s).mean(axis=0)
        z_by_s = (t_by_s - z * size_by_s) / size

        def by_s(weights: FloatArray) -> float:
            grown = (s / shifted).sum() / m + n * (size_by_s / size).mean()
            return float(np.vdot(weights, z_by_s) / m + grown)

        return Seen(z, float(np.log(shifted).sum()) / m + n * float(np.log(size).mean()), by_s)


class LimitSlopes(NamedTuple):
    """What to expect at points, one row each, and its derivatives by their coordinates.

    Each constraint has its mean (and rows of derivatives), all of them have the same standard deviation.
    """

    mean: FloatArray  # a column for each constraint
    sd: FloatArray
    mean_by_x: FloatArray  # by point, constraint, coordinate
    sd_by_x: FloatArray


class Limits(NamedTuple):
    """Models of some constraints that know some points."""

    theta: FloatArray
    kernel: Kernel
    known: FloatArray  # the points, scaled
    weights: FloatArray  # one column for each constraint
    inverse: FloatArray

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean of each constraint at points, one row each, and the standard deviation of all of them."""
        return predicted(self.kernel, self.known, self.weights, self.inverse, x)

    def log_feasible(self, x: FloatArray) -> FloatArray:
        """The logarithm of the chance that all of them hold, at points."""
        from scipy.special import log_ndtr

        mean, sd = self.predict(x)
        return np.asarray(log_ndtr(-mean / sd[:, None]).sum(axis=1))

    def slopes(self, x: FloatArray) -> LimitSlopes:
        """What to expect at points, with derivatives."""
        kernel, (count, D), m = self.kernel, x.shape, self.weights.shape[1]
        a = kernel.scaled(x)
        parts = differentiable(kernel, a, self.known)
        k = parts.total
        solved = k @ self.inverse
        variance = kernel.variance(a) - np.einsum("ij,ij->i", solved, k)
        sd = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        far = 1.0 + np.einsum("ij,ij->i", a, a)[:, None] / D
        by_a = (4.0 * kernel.quadratic / D) * far * a - 2.0 * parts.gradient(solved)
        by_a[variance <= LEAST_VARIANCE] = 0.0
        mean_by_a = np.empty((count, m, a.shape[1]))
        for i, weights in enumerate(self.weights.T):
            mean_by_a[:, i] = parts.gradient(weights)
        sd_by_x = kernel.by_x(by_a / (2.0 * sd[:, None]))
        return LimitSlopes(k @ self.weights, sd, kernel.by_x(mean_by_a), sd_by_x)

    def log_feasible_by_x(self, x: FloatArray) -> FloatArray:
        """The gradient of `log_feasible`, one row for each point."""
        from scipy.special import log_ndtr

        at = self.slopes(x)
        t = -at.mean / at.sd[:, None]
        ratio = np.exp(-0.5 * t * t - log_ndtr(t)) / math.sqrt(2 * math.pi)  # of density to probability
        ratio /= at.sd[:, None]
        steep = np.einsum("ij,ijk->ik", ratio, at.mean_by_x)
        return np.asarray(-steep - (ratio * t).sum(axis=1)[:, None] * at.sd_by_x)

    def believing(self, x: FloatArray) -> Limits:
        """The models if these points turned out as they predict."""
        a, inverse = enlarged(self.kernel, self.theta, self.known, self.inverse, x)
        weights = np.concatenate((self.weights, np.zeros((len(x), self.weights.shape[1]))))
        return self._replace(known=np.concatenate((self.known, a)), weights=weights, inverse=inverse)


def signed(g: FloatArray) -> Signed:
    """Finite values, one column for each constraint."""
    sizes = np.abs(g)
    usual = np.ones(g.shape[1])
    for i, column in enumerate(sizes.T):
        if column.any():
            usual[i] = 2 * np.median(column[column > 0] / 2)
    with np.errstate(over="ignore"):
        multiples = np.minimum(sizes / np.maximum(usual, _LARGEST**-0.99), _LARGEST / 1e6)
    return Signed(np.sign(g), multiples)


def warped(values: Signed, s: float) -> tuple[FloatArray, FloatArray]:
    """The warped values with root mean square 1, and what they were divided by."""
    t = values.sign * (np.log(values.multiples + s) - math.log(s))
    size = np.sqrt((t * t).mean(axis=0))
    size[size == 0] = 1.0
    return np.asarray(t / size), size


def fit_limits(
    x: FloatArray,
    g: FloatArray,
    theta: FloatArray | None = None,
    iterations: int | None = None,
    sizes: Sizes = (),
) -> FloatArray:
    """The likeliest parameters of constraints that share them, from others or from scratch.

    Args:
        x: points, one row each.
        g: their values, one column for each constraint, finite.
        theta: where to begin.
        iterations: of L-BFGS, at most.
        sizes: how many values each category has, of the last columns of x.
    """
    begin = first_parameters(x.shape[1]) if theta is None else theta
    if len(x) < 2 or not g.any():
        return begin
    if iterations is None:
        iterations = FIRST_ITERATIONS if theta is None else ITERATIONS
    return likeliest(begin, x, signed(g), iterations, sizes=sizes)


def condition_limits(theta: FloatArray, x: FloatArray, g: FloatArray, sizes: Sizes = ()) -> Limits:
    """Models with these parameters that know these points.

    >>> x = np.linspace(0, 1, 6)[:, None]
    >>> limits = condition_limits(first_parameters(1), x, x - 0.5)
    >>> chances = np.exp(limits.log_feasible(np.array([[0.1], [0.9]])))
    >>> bool(chances[0] > 0.99), bool(chances[1] < 0.01)
    (True, True)
    """
    if len(theta) != x.shape[1] + OTHERS:
        raise ValueError(f"theta must have {x.shape[1] + OTHERS} parameters, got {len(theta)}")
    kernel = kernel_of(theta, sizes)
    a = kernel.scaled(x)
    z, _ = warped(signed(g), math.exp(theta[-1]))
    inverse = inverted(covariance(kernel, a, a), noise_of(theta))
    return Limits(theta, kernel, a, inverse @ z, inverse)
