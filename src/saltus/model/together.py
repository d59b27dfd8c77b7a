"""Several models at one point, all at once: for a local search, which asks for one point after the other.

At a single point the arithmetic of a model costs less than the calls that it is made of. So the models are
laid side by side in arrays; those that know fewer points get more of them, which weigh nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, Mask
from .columns import Sizes, spread_out
from .limits import Limits
from .process import LEAST_VARIANCE, Fitted


class Together(NamedTuple):
    """Models side by side; the first index of all arrays is the model."""

    lengths: FloatArray  # of each column of the kernel
    matern: FloatArray
    quadratic: FloatArray
    known: FloatArray  # model, point, coordinate
    weights: FloatArray  # model, column, point
    inverse: FloatArray
    columns: Mask  # model, column: which there are
    sizes: Sizes  # of the categories

    def bounds(self, point: FloatArray, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean + so many standard deviations, and the derivatives by the columns of the kernel, one row each.

        Args:
            point: of the unit cube.
            deviations: a number for each model.

        One result for each column of each model, in their order.
        """
        D = len(point)
        a = spread_out(point, self.sizes) / self.lengths
        apart = self.known - a[:, None, :]
        r2 = 5.0 * np.einsum("ijk,ijk->ij", apart, apart)
        r = np.sqrt(r2)
        decay = self.matern * np.exp(-r)
        r += 1.0
        root = 1.0 + np.matmul(self.known, a[:, :, None])[:, :, 0] / D
        bent = self.quadratic * root
        k = (r + r2 / 3.0) * decay + bent * root
        by_a = ((5.0 / 3.0) * r * decay)[:, :, None] * apart
        by_a += ((2.0 / D) * bent)[:, :, None] * self.known
        solved = np.matmul(self.inverse, k[:, :, None])[:, :, 0]
        far = 1.0 + np.einsum("ij,ij->i", a, a)[:, None] / D
        before = self.matern + self.quadratic * far * far
        variance = before[:, 0] - np.einsum("ij,ij->i", solved, k)
        sd = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        share = np.where(variance > LEAST_VARIANCE, deviations / sd, 0.0)[:, None]
        sd_by_a = share * ((2.0 / D) * self.quadratic * far * a - np.matmul(solved[:, None, :], by_a)[:, 0])
        values = np.matmul(self.weights, k[:, :, None])[:, :, 0] + (deviations * sd)[:, None]
        slopes = (np.matmul(self.weights, by_a) + sd_by_a[:, None, :]) / self.lengths[:, None, :]
        return values[self.columns], slopes[self.columns]


def together(models: Sequence[Fitted | Limits]) -> Together:
    """Some models of the same variables.

    >>> from saltus.model import condition, condition_limits, first_parameters
    >>> x = np.array([[0.1], [0.5], [0.9]])
    >>> some = [condition(first_parameters(1), x, x[:, 0]), condition_limits(first_parameters(1), x, x - 0.5)]
    >>> values, _ = together(some).bounds(np.array([0.7]), np.zeros(2))
    >>> at = np.array([[0.7]])
    >>> bool(np.allclose(values, [some[0].mean(at)[0], some[1].predict(at)[0][0, 0]]))
    True
    """
    weights = [model.weights.reshape(len(model.weights), -1).T for model in models]
    count, D = len(models), models[0].known.shape[1]
    n, m = max(len(model.known) for model in models), max(len(columns) for columns in weights)
    side = Together(
        np.array([model.kernel.units for model in models]),
        np.array([[model.kernel.matern] for model in models]),
        np.array([[model.kernel.quadratic] for model in models]),
        np.zeros((count, n, D)),
        np.zeros((count, m, n)),
        np.zeros((count, n, n)),
        np.zeros((count, m), dtype=bool),
        models[0].kernel.sizes,
    )
    for i, (model, columns) in enumerate(zip(models, weights, strict=True)):
        own = len(model.known)
        side.known[i, :own] = model.known
        side.weights[i, : len(columns), :own] = columns
        side.inverse[i, :own, :own] = model.inverse
        side.columns[i, : len(columns)] = True
    return side
