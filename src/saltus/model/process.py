"""The Gaussian process: find its parameters, give it what is known, ask it for what is not.

    theta = fit(x, y)                  the likeliest parameters; the next time, from the last ones
    model = condition(theta, x, y)     what follows from them: one factorisation
    prediction = model.predict(points)

Points are rows of the unit cube, of which the last columns may be categories (`sizes` says how many values
each of them has); values are finite and the smaller the better. Predictions are of warped
values z, zero in the mean with standard deviation 1; `Fitted.values` turns them into values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .columns import Sizes
from .kernel import Kernel, blocks, covariance, differentiable
from .posterior import OTHERS, first_parameters, kernel_of, likeliest, noise_of, symmetric
from .warp import Gaps, Warp, extended, gaps, unwarped, warp_of

FIRST_ITERATIONS = 25  # of L-BFGS
ITERATIONS = 10  # from parameters of a little while ago
LEAST_VARIANCE = 1e-12


class Prediction(NamedTuple):
    """Mean and standard deviation of the warped value at each of some points."""

    mean: FloatArray
    sd: FloatArray


class Steepness(NamedTuple):
    """Mean - kappa sd at points, and its derivatives by their coordinates, one row each."""

    bound: FloatArray
    by_x: FloatArray


class Fitted(NamedTuple):
    """A model that knows some points.

    Attributes:
        theta: its parameters; with the points they make the same model again.
        z: the warped values of the points.
    """

    theta: FloatArray
    kernel: Kernel
    gaps: Gaps
    warp: Warp
    known: FloatArray  # the points, scaled
    z: FloatArray
    weights: FloatArray
    inverse: FloatArray  # of the covariance matrix of the points

    @property
    def lengths(self) -> FloatArray:
        """The length scale of each variable: the shorter, the more the variable matters."""
        return self.kernel.lengths

    def predict(self, x: FloatArray) -> Prediction:
        """What to expect at points."""
        mean, sd = predicted(self.kernel, self.known, self.weights, self.inverse, x)
        return Prediction(mean, sd)

    def mean(self, x: FloatArray) -> FloatArray:
        """The mean alone, which is cheaper."""
        a, mean = self.kernel.scaled(x), np.empty(len(x))
        for block in blocks(len(x), len(self.known)):
            mean[block] = covariance(self.kernel, a[block], self.known) @ self.weights
        return mean

    def bounds(self, x: FloatArray, kappa: float, worst: FloatArray) -> FloatArray:
        """Mean - kappa sd at points; infinite where that cannot be below `worst`, one number for each point.

        The standard deviation is at most what any single known point leaves of it. That is cheap, and often
        enough to see that a point does not matter.
        """
        kernel, noise = self.kernel, noise_of(self.theta)
        a, own = kernel.scaled(x), 1.0 / (kernel.variance(self.known) + noise)
        before, values = kernel.variance(a), np.full(len(x), np.inf)
        for block in blocks(len(x), len(self.known)):
            k = covariance(kernel, a[block], self.known)
            mean, variance = k @ self.weights, before[block]
            left = variance - (k * k * own).max(axis=1)
            rows = np.flatnonzero(mean - kappa * np.sqrt(np.maximum(left, LEAST_VARIANCE)) < worst[block])
            k, mean = k[rows], mean[rows]
            variance = variance[rows] - np.einsum("ij,ij->i", k @ self.inverse, k)
            values[rows + block.start] = mean - kappa * np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        return values

    def steepness(self, x: FloatArray, kappa: float) -> Steepness:
        """Mean - kappa sd at points and its derivatives, which are cheaper together."""
        kernel, D = self.kernel, x.shape[1]
        a = kernel.scaled(x)
        parts = differentiable(kernel, a, self.known)
        k = parts.total
        mean = k @ self.weights
        if kappa == 0.0:
            return Steepness(mean, kernel.by_x(parts.gradient(self.weights)))
        solved = k @ self.inverse
        variance = kernel.variance(a) - np.einsum("ij,ij->i", solved, k)
        sd = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        share = np.where(variance > LEAST_VARIANCE, kappa / sd, 0.0)[:, None]
        far = 1.0 + np.einsum("ij,ij->i", a, a)[:, None] / D
        by_a = parts.gradient(self.weights + share * solved) - (2.0 * kernel.quadratic / D) * share * far * a
        return Steepness(mean - kappa * sd, kernel.by_x(by_a))

    def believing(self, x: FloatArray) -> Fitted:
        """The model if these points turned out as it predicts: the same mean, and surer of it around them."""
        a, inverse = enlarged(self.kernel, self.theta, self.known, self.inverse, x)
        return self._replace(
            known=np.concatenate((self.known, a)),
            z=np.concatenate((self.z, covariance(self.kernel, a, self.known) @ self.weights)),
            weights=np.concatenate((self.weights, np.zeros(len(x)))),
            inverse=inverse,
        )

    def values(self, z: FloatArray) -> FloatArray:
        """The values that warped ones stand for."""
        return unwarped(self.gaps, self.warp, z)

    def quantiles(self, x: FloatArray, deviations: FloatArray) -> FloatArray:
        """Values that an evaluation at a point stays below, one row for each of so many standard deviations.

        The noise counts as well, and values below the least known one are possible.

        >>> x = np.array([[0.1], [0.5], [0.9]])
        >>> model = condition(first_parameters(1), x, np.array([2.0, 1.0, 3.0]))
        >>> low, high = model.quantiles(np.array([[0.5]]), np.array([-1.6, 1.6]))[:, 0]
        >>> bool(low < 1.0 < high)
        True
        """
        mean, sd = self.predict(x)
        sd = np.sqrt(sd**2 + noise_of(self.theta))
        return extended(self.gaps, self.warp, mean + deviations[:, None] * sd)

    def warped(self, y: FloatArray) -> FloatArray:
        """The other way: what values are for the model; below the least known one is like that one."""
        from_least = np.maximum(y / 2 - self.gaps.minimum / 2, 0.0) / self.gaps.unit
        return np.asarray((np.log1p(from_least / self.warp.s) - self.warp.mean) / self.warp.sd)


def fit(
    x: FloatArray,
    y: FloatArray,
    theta: FloatArray | None = None,
    iterations: int | None = None,
    held: Mapping[int, float] | None = None,
    sizes: Sizes = (),
) -> FloatArray:
    """The likeliest parameters, from others or from scratch; some may be held at a value.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.random((30, 2))
    >>> theta = fit(x, (x[:, 0] - 0.3) ** 2)
    >>> lengths = condition(theta, x, (x[:, 0] - 0.3) ** 2).lengths
    >>> bool(lengths[0] < lengths[1])  # the second variable does not matter
    True
    """
    known = gaps(y)
    begin = first_parameters(x.shape[1]) if theta is None else theta
    if known.flat or len(y) < 2:
        return begin
    if iterations is None:
        iterations = FIRST_ITERATIONS if theta is None else ITERATIONS
    return likeliest(begin, x, known, iterations, held, sizes)


def condition(theta: FloatArray, x: FloatArray, y: FloatArray, sizes: Sizes = ()) -> Fitted:
    """The model with these parameters that knows these points."""
    if len(theta) != x.shape[1] + OTHERS:
        raise ValueError(f"theta must have {x.shape[1] + OTHERS} parameters, got {len(theta)}")
    kernel, known = kernel_of(theta, sizes), gaps(y)
    warp, z = warp_of(known, float(np.exp(theta[-1])))
    a = kernel.scaled(x)
    inverse = inverted(covariance(kernel, a, a), noise_of(theta))
    return Fitted(theta, kernel, known, warp, a, z, inverse @ z, inverse)


def inverted(K: FloatArray, noise: float) -> FloatArray:
    """The inverse of a covariance matrix with noise: more of it, until rounding errors do no harm."""
    from scipy.linalg import lapack

    while True:
        noisy = K.copy()
        noisy.flat[:: len(K) + 1] += noise
        factor, info = lapack.dpotrf(noisy.T, lower=1, clean=1, overwrite_a=1)
        if not info:
            break
        noise = max(10 * noise, 1e-12 * float(K.diagonal().max()))
    return symmetric(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])


def predicted(
    kernel: Kernel, known: FloatArray, weights: FloatArray, inverse: FloatArray, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation at points; of several processes with one kernel, a column for each mean."""
    a = kernel.scaled(x)
    mean, variance = np.empty((len(x), *weights.shape[1:])), kernel.variance(a)
    for block in blocks(len(x), len(known)):
        k = covariance(kernel, a[block], known)
        mean[block] = k @ weights
        variance[block] -= np.einsum("ij,ij->i", k @ inverse, k)
    return mean, np.sqrt(np.maximum(variance, LEAST_VARIANCE))


def enlarged(
    kernel: Kernel, theta: FloatArray, known: FloatArray, inverse: FloatArray, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """More points, scaled, and the inverse of the covariance matrix of all of them."""
    a = kernel.scaled(x)
    k = covariance(kernel, a, known)
    solved = k @ inverse
    left = covariance(kernel, a, a) - solved @ k.T
    left.flat[:: len(x) + 1] += noise_of(theta) + LEAST_VARIANCE
    corner = np.linalg.pinv(left, hermitian=True)
    side = -solved.T @ corner
    return a, np.block([[inverse - side @ solved, side], [side.T, corner]])
