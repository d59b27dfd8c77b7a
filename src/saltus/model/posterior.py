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
from .kernel import Kernel, differentiable
from .warp import Gaps, logarithms

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


def kernel_of(theta: FloatArray) -> Kernel:
    """The kernel with these parameters."""
    matern, quadratic = np.exp(theta[-OTHERS : -OTHERS + 2]).tolist()
    return Kernel(np.exp(theta[:-OTHERS]), matern, quadratic)


def noise_of(theta: FloatArray) -> float:
    """The variance of noise, never quite zero."""
    return math.exp(theta[-2]) + JITTER


def negative_log_posterior(theta: FloatArray, x: FloatArray, known: Gaps) -> tuple[float, FloatArray]:
    """Of parameters, up to a constant, and its gradient."""
    from scipy.linalg import lapack

    n, D = x.shape
    kernel = kernel_of(theta)
    a = kernel.scaled(x)
    parts = differentiable(kernel, a, a)
    K = parts.total
    K.flat[:: n + 1] += noise_of(theta)
    factor, info = lapack.dpotrf(K, lower=1, clean=0)
    if info:
        return _IMPOSSIBLE, np.zeros_like(theta)
    diagonal = factor.diagonal().copy()
    inverse = symmetric(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])

    s = math.exp(theta[-1])
    t = logarithms(known.multiples, s)
    sd = float(t.std())
    z = (t - t.mean()) / sd
    weights = inverse @ z
    value = 0.5 * float(z @ weights) + float(np.log(diagonal).sum())
    value += float(np.log(known.multiples + s).sum()) + n * math.log(sd)

    W = inverse
    W -= np.outer(weights, weights)
    bend, slope = W * parts.bend, W * parts.slope
    gradient = np.empty_like(theta)
    gradient[:D] = (a * a * bend.sum(axis=1)[:, None] - (bend @ a) * a - (slope @ a) * a).sum(axis=0)
    gradient[-4] = 0.5 * np.vdot(W, parts.matern)
    gradient[-3] = 0.5 * np.vdot(W, parts.quadratic)
    gradient[-2] = 0.5 * math.exp(theta[-2]) * float(np.trace(W))
    by_s = -known.multiples / (known.multiples + s)  # of t, by log s
    sd_by_s = float(z @ by_s) / n
    z_by_s = (by_s - by_s.mean() - z * sd_by_s) / sd
    gradient[-1] = float(weights @ z_by_s) + float((s / (known.multiples + s)).sum()) + n * sd_by_s / sd

    about = prior(D)
    off = (theta - about.mean) / about.sd
    return value + 0.5 * float(off @ off), gradient + off / about.sd


def likeliest(
    theta: FloatArray, x: FloatArray, known: Gaps, iterations: int, held: Mapping[int, float] | None = None
) -> FloatArray:
    """The parameters that L-BFGS gets to from these; some may be held at a value."""
    from scipy.optimize import minimize

    about = prior(x.shape[1])
    for place, value in (held or {}).items():
        about.low[place] = about.high[place] = value
    found = minimize(
        negative_log_posterior,
        np.clip(theta, about.low, about.high),
        (x, known),
        method="L-BFGS-B",
        jac=True,
        bounds=list(zip(about.low, about.high, strict=True)),
        options={"maxiter": iterations},
    )
    return np.asarray(found.x)


def symmetric(lower: FloatArray) -> FloatArray:
    """A matrix of which only the lower triangle is there, as a whole one."""
    whole = np.tril(lower)
    whole += np.tril(lower, -1).T
    return whole
