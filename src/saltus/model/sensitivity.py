"""Which coordinates matter: Sobol indices of the model's mean, and how sure they are.

The variance of the values over a region is split up: what a coordinate makes by itself, and what it has a
part in, by itself or together with others. The values are the model's, that is warped ones, log(1 + (y -
min) / s) with the s that fits best: where they span orders of magnitude, a factor counts alike everywhere,
and the worst corners of the region do not drown the rest.

All is measured at points that fill the region evenly (Jansen's estimators). The mean of the model gives the
indices; other functions that it and the other models of a panel hold possible (`draws.py`) give the error
bars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .draws import draws
from .process import Fitted

DRAWS = 8  # of each model
LEVELS = (0.05, 0.95)  # of the error bars
MOST_SAMPLES, LEAST_SAMPLES, EVALUATIONS = 1024, 64, 16384

Functions = Callable[[FloatArray], FloatArray]  # points, one row each -> values, a column for each function


class Indices(NamedTuple):
    """A row for each coordinate, a column for each function.

    Attributes:
        first: the share of the variance that a coordinate makes by itself.
        total: the share that it has a part in.
    """

    first: FloatArray
    total: FloatArray


class Sensitivity(NamedTuple):
    """One number for each coordinate: both indices of the model's mean, and the error bar of the total."""

    first: FloatArray
    total: FloatArray
    low: FloatArray
    high: FloatArray


def samples(N: int, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Two sets of points that fill the unit cube evenly, one row each: fewer, the more coordinates it has."""
    from scipy.stats import qmc

    count = 1 << int(np.log2(max(EVALUATIONS / N, 1)))
    both = qmc.Sobol(2 * N, seed=seed).random(min(max(count, LEAST_SAMPLES), MOST_SAMPLES))
    return both[:, :N], both[:, N:]


def indices(functions: Functions, a: FloatArray, b: FloatArray) -> Indices:
    """Sobol indices of functions.

    Args:
        functions: gives the values.
        a, b: two independent sets of points, one row each. A coordinate's column may come from either.

    What does not change at all has no indices: zeros.

    >>> a, b = samples(2)
    >>> found = indices(lambda x: (3 * x[:, 0] + x[:, 1])[:, None], a, b)
    >>> found.total[:, 0].round(2).tolist()  # 9 to 1
    [0.9, 0.1]
    """
    at_a, at_b = functions(a), functions(b)
    variance = np.concatenate((at_a, at_b)).var(axis=0)
    varies = variance > 0
    twice = 2 * np.where(varies, variance, 1.0)
    first, total = (np.zeros((a.shape[1], at_a.shape[1])) for _ in range(2))
    for i in range(a.shape[1]):
        mixed = a.copy()
        mixed[:, i] = b[:, i]
        at_mixed = functions(mixed)
        first[i] = np.where(varies, 1 - ((at_b - at_mixed) ** 2).mean(axis=0) / twice, 0.0)
        total[i] = ((at_a - at_mixed) ** 2).mean(axis=0) / twice
    total = np.clip(total, 0.0, 1.0)
    return Indices(np.clip(first, 0.0, total), total)


def sensitivity(
    models: Sequence[Fitted], a: FloatArray, b: FloatArray, rng: np.random.Generator
) -> Sensitivity:
    """Which coordinates matter in a region.

    Args:
        models: a panel; the mean of the first one is what is split up.
        a, b: two independent sets of points of the region, one row each.
        rng: for the draws.
    """
    leader = models[0]
    mean = indices(lambda x: leader.mean(x)[:, None], a, b)
    others = [indices(draws(model, DRAWS, rng).at, a, b).total for model in models]
    low, high = np.quantile(np.concatenate(others, axis=1), LEVELS, axis=1)
    total = mean.total[:, 0]
    return Sensitivity(mean.first[:, 0], total, np.minimum(low, total), np.maximum(high, total))
