"""Functions that the model holds possible: draws from all that fit the points it knows.

A draw of what was possible before anything was known, random waves for the Matern part of the kernel and a
random quadratic for the other, plus what the known points correct of it. So it costs little to look at a draw
at thousands of points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .kernel import covariance
from .posterior import noise_of
from .process import Fitted

WAVES = 256
_DEGREES = 5.0  # of freedom of the t distribution that the frequencies of a Matern kernel with 5/2 have


class Draws(NamedTuple):
    """Several functions over the unit cube."""

    model: Fitted
    frequencies: FloatArray
    offsets: FloatArray
    heights: FloatArray  # of the waves
    forms: FloatArray  # the quadratic of each function
    weights: FloatArray  # of the known points

    def at(self, x: FloatArray) -> FloatArray:
        """Warped values at points: a row for each point, a column for each function."""
        a = self.model.kernel.scaled(x)
        return np.asarray(self._before(a) + covariance(self.model.kernel, a, self.model.known) @ self.weights)

    def _before(self, a: FloatArray) -> FloatArray:
        """The draw before anything was known, at scaled points."""
        ones = np.ones((len(a), 1))
        h = np.concatenate((ones, a / math.sqrt(self.model.kernel.D)), axis=1)
        products = (h[:, :, None] * h[:, None, :]).reshape(len(a), -1)
        return np.asarray(np.cos(a @ self.frequencies + self.offsets) @ self.heights + products @ self.forms)


def draws(model: Fitted, count: int, rng: np.random.Generator) -> Draws:
    """So many functions.

    >>> from saltus.model import condition, first_parameters
    >>> x = np.array([[0.1], [0.5], [0.9]])
    >>> model = condition(first_parameters(1), x, np.array([2.0, 0.0, 2.0]))
    >>> some = draws(model, 50, np.random.default_rng(1))
    >>> bool(np.abs(some.at(x) - model.z[:, None]).max() < 0.1)  # all go through the points, but for noise
    True
    """
    kernel, D = model.kernel, model.known.shape[1]
    stretch = np.sqrt(rng.gamma(_DEGREES / 2, 2 / _DEGREES, WAVES))
    frequencies = rng.standard_normal((D, WAVES)) / stretch
    offsets = rng.uniform(0.0, 2 * math.pi, WAVES)
    heights = math.sqrt(2 * kernel.matern / WAVES) * rng.standard_normal((WAVES, count))
    forms = math.sqrt(kernel.quadratic) * rng.standard_normal(((D + 1) ** 2, count))
    some = Draws(model, frequencies, offsets, heights, forms, np.zeros((len(model.z), count)))
    noise = math.sqrt(noise_of(model.theta)) * rng.standard_normal((len(model.z), count))
    off = model.z[:, None] - some._before(model.known) - noise
    return some._replace(weights=model.inverse @ off)
