"""How likely parameters of the model are, with gradients, and the likeliest ones.

The parameters are logarithms in one vector: a length scale for each variable, the variances of the Matern
and of the quadratic part, the variance of noise, and s of the warp. Each has a normal prior, so that few
points do not say much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .columns import Sizes, gathered
from .kernel import Kernel, Space, differentiable, room
from .warp import Values

OTHERS = 4  # parameters besides the length scales, ...
QUADRATIC, WARP = -3, -1  # ... and where two of them are
LENGTH = 0.5  # of a range: the usual length scale of one or two variables; of more, with the root of how many
LEAST_WARP = 7.0  # how far log s may be below its mean: values that are all equal would have it lower yet
JITTER = 1e-8  # is added to the variance of noise, so that repeated points do no harm
_IMPOSSIBLE = 1e10


class Prior(NamedTuple):
    """Mean and standard deviation of each parameter, and how far from the mean it may be."""

    mean: FloatArray
    sd: FloatArray
    low: FloatArray
    high: FloatArray


def prior(D: int) -> Prior:
    """For so many variables."""
    length = math.log(LENGTH * max(1.0, math.sqrt(D / 2)))
    mean = np.array([length] * D + [math.log(0.5), math.log(0.5), math.log(1e-4), 0.0])
    sd = np.array([1.0] * D + [1.5, 1.5, 2.0, 2.0])
    low = mean - np.array([4.0] * D + [6.0, 8.0, 8.0, LEAST_WARP])
    high = mean + np.array([4.0] * D + [6.0, 8.0, 8.0, 7.0])
    return Prior(mean, sd, low, high)


def first_parameters(D: int) -> FloatArray:
    """Where to begin when nothing is known."""
    return prior(D).mean


def kernel_of(theta: FloatArray, sizes: Sizes = ()) -> Kernel:
    """The kernel with these parameters; the last variables are categories with so many values."""
    matern, quadratic = np.exp(theta[-OTHERS : -OTHERS + 2]).tolist()
    return Kernel(np.exp(theta[:-OTHERS]), matern, quadratic, sizes)


def noise_of(theta: FloatArray) -> float:
    """The variance of noise, never quite zero."""
    return math.exp(theta[-2]) + JITTER


class Factorised(NamedTuple):
    """What the covariance matrix of some points says of the parameters that made it.

    The inverse of the matrix is in `space`; `gradient` writes over it.
    """

    theta: FloatArray
    points: FloatArray  # scaled
    space: Space
    half_log_determinant: float
    sizes: Sizes

    def gradient(self, weights: FloatArray) -> FloatArray:
        """By all parameters but the last, of half of z' K^-1 z + log det K, the mean over several z.

        Args:
            weights: K^-1 z, one column for each z.
        """
        a, (matern, quadratic, bend, slope, other, W) = self.points, self.space
        W -= np.matmul(weights, weights.T / weights.shape[1], out=other)
        bend *= W
        slope *= W
        among = bend.sum(axis=1)
        bend += slope
        by_columns = (a * a).T @ among - np.einsum("ij,ij->j", bend @ a, a)
        by_lengths = gathered(by_columns, len(self.theta) - OTHERS, self.sizes)
        by_noise = math.exp(self.theta[-2]) * float(np.trace(W))
        others = np.array([np.vdot(W, matern), np.vdot(W, quadratic), by_noise]) / 2
        return np.concatenate((by_lengths, others))


def factorised(theta: FloatArray, x: FloatArray, space: Space, sizes: Sizes = ()) -> Factorised | None:
    """The covariance matrix of points, with noise; None if it is not positive."""
    from scipy.linalg import lapack

    kernel, n = kernel_of(theta, sizes), len(x)
    a = kernel.scaled(x)
    parts = differentiable(kernel, a, a, space)
    K = np.add(parts.matern, parts.quadratic, out=space.total)
    K.flat[:: n + 1] += noise_of(theta)
    factor, info = lapack.dpotrf(K.T, lower=1, clean=1, overwrite_a=1)
    if info:
        return None
    half = float(np.log(factor.diagonal()).sum())
    symmetric(lapack.dpotri(factor, lower=1, overwrite_c=1)[0], out=space.inverse)
    return Factorised(theta, a, space, half, sizes)


def negative_log_posterior(
    theta: FloatArray, x: FloatArray, known: Values, space: Space | None = None, sizes: Sizes = ()
) -> tuple[float, FloatArray]:
    """Of parameters, up to a constant, and its gradient; of several kinds of values, the mean over them.

    `space` is memory that may be used.
    """
    n, D = x.shape
    space = space or room(n, n)
    root = factorised(theta, x, space, sizes)
    if root is None:
        return _IMPOSSIBLE, np.zeros_like(theta)

    z, shrinkage, by_s = known.seen(math.exp(theta[-1]))
    weights = space.inverse @ z
    columns = weights.reshape(n, -1)
    value = 0.5 * float(np.vdot(z, weights)) / columns.shape[1] + root.half_log_determinant + shrinkage
    gradient = np.append(root.gradient(columns), by_s(weights))
    about = prior(D)
    off = (theta - about.mean) / about.sd
    return value + 0.5 * float(off @ off), gradient + off / about.sd


def likeliest(
    theta: FloatArray,
    x: FloatArray,
    known: Values,
    iterations: int,
    held: Mapping[int, float] | None = None,
    sizes: Sizes = (),
) -> FloatArray:
    """The parameters that L-BFGS gets to from these; some may be held at a value."""
    from scipy.optimize import minimize

    about = prior(x.shape[1])
    for place, value in (held or {}).items():
        about.low[place] = about.high[place] = value
    found = minimize(
        negative_log_posterior,
        np.clip(theta, about.low, about.high),
        (x, known, room(len(x), len(x)), sizes),
        method="L-BFGS-B",
        jac=True,
        bounds=list(zip(about.low, about.high, strict=True)),
        options={"maxiter": iterations},
    )
    return np.asarray(found.x)


def symmetric(lower: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """A matrix of which only the lower triangle is there, zeros above it, as a whole one."""
    whole = np.add(lower, lower.T, out=out)
    whole.flat[:: len(lower) + 1] *= 0.5
    return np.asarray(whole)
