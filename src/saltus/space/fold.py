"""How continuous coordinates stay within their bounds.

The strategy moves on the whole real line; a smooth fold maps it onto [low, high]. It is the identity in the
middle, a parabola near each bound, and it is mirrored beyond: no point is outside, the way
back in is never lost, and an optimum on a bound is the bottom of a bowl for the strategy.
`python -m experiments.bounds` compares it with clipping, reflection and others (docs/choices.md).
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray

# Width of the parabola: this share of the range of a variable with two bounds, or of the initial
# standard deviation of a variable with one.
SHARE_OF_RANGE = 0.1
SHARE_OF_SCALE = 0.3


class Fold:
    """The fold of several coordinates at once; infinite bounds leave a coordinate as it is there.

    >>> fold = Fold(np.array([0.0]), np.array([10.0]), np.array([1.0]))
    >>> fold(np.array([[-1.0], [0.0], [5.0], [12.0]])).ravel().tolist()
    [0.0, 0.25, 5.0, 9.75]
    """

    def __init__(self, low: FloatArray, high: FloatArray, scale: FloatArray) -> None:
        """Bounds may be infinite; `scale` is the initial standard deviation."""
        has_low, has_high = np.isfinite(low), np.isfinite(high)
        both = has_low & has_high
        width = SHARE_OF_SCALE * scale
        width[both] = SHARE_OF_RANGE * (high - low)[both]
        self._below, self._above = np.flatnonzero(has_low), np.flatnonzero(has_high)
        self._low, self._low_width = low[has_low], width[has_low]
        self._high, self._high_width = high[has_high], width[has_high]
        self._both = np.flatnonzero(both)
        self._bounded = bool(np.count_nonzero(has_low | has_high))
        self._first = (low - width)[both]  # the stretch from here ...
        self._period = (high - low + 2 * width)[both]  # ... of this length covers [low, high] once

    def __call__(self, x: FloatArray) -> FloatArray:
        """Points within the bounds, for points anywhere; x has one row a point."""
        if not self._bounded:
            return x
        x = x.copy()
        if self._both.size:
            along = np.mod(x[:, self._both] - self._first, 2 * self._period)
            x[:, self._both] = self._first + (self._period - np.abs(along - self._period))
        if self._below.size:
            x[:, self._below] = self._low + _bowl(x[:, self._below] - self._low, self._low_width)
        if self._above.size:
            x[:, self._above] = self._high - _bowl(self._high - x[:, self._above], self._high_width)
        if self._both.size:  # round-off only
            i = self._below
            x[:, i] = np.maximum(x[:, i], self._low)
        return x

    def inverse(self, x: FloatArray) -> FloatArray:
        """The points nearest to the middle that are folded onto x: one point, or one row a point."""
        x = x.copy()
        x[..., self._below] = self._low + _unbowl(x[..., self._below] - self._low, self._low_width)
        x[..., self._above] = self._high - _unbowl(self._high - x[..., self._above], self._high_width)
        return x


def _bowl(distance: FloatArray, width: FloatArray) -> FloatArray:
    """Distance from a bound after the fold: never negative, unchanged beyond the width."""
    from_bottom = np.abs(distance + width)
    return np.where(from_bottom < 2 * width, from_bottom**2 / (4 * width), from_bottom - width)


def _unbowl(distance: FloatArray, width: FloatArray) -> FloatArray:
    bottom = 2 * np.sqrt(np.maximum(distance, 0.0) * width) - width
    return np.where(distance < width, bottom, distance)
