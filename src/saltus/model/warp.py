"""Values as the model sees them: log(1 + (y - min) / s).

With a large s these are the values themselves, with a small one their logarithms: s is found with the other
parameters of the model. Nothing depends on the unit of the values or on what is added to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from .._typing import FloatArray

_EPS = float(np.finfo(np.float64).eps)
_LARGEST = float(np.finfo(np.float64).max)
_LEAST_UNIT = _LARGEST**-0.99  # what is nearer to the least value than this is equal to it


class Seen(NamedTuple):
    """Values as the model sees them with one s, and how likely that makes them."""

    z: FloatArray  # of several kinds of values, each a column
    shrinkage: float  # the logarithm of how much closer than the values they are; the mean over the kinds
    by_s: Callable[[FloatArray], float]  # of half of z' K^-1 z and the shrinkage, by log s; from K^-1 z


class Values(Protocol):
    """What can be seen with any s."""

    def seen(self, s: float) -> Seen:
        """With this one."""


class Gaps(NamedTuple):
    """Values as multiples, from 0 on, of a usual distance to the least of them."""

    minimum: float
    unit: float  # that distance, halved: the distance itself may be too large for a number
    multiples: FloatArray

    @property
    def flat(self) -> bool:
        """Whether all values are equal, as far as numbers can tell."""
        return not self.multiples.any()

    def seen(self, s: float) -> Seen:
        """The warped values; not all are equal."""
        t, n, shifted = logarithms(self.multiples, s), len(self.multiples), self.multiples + s
        sd = float(t.std())
        z = (t - t.mean()) / sd
        t_by_s = -self.multiples / shifted
        sd_by_s = float(z @ t_by_s) / n
        z_by_s = (t_by_s - t_by_s.mean() - z * sd_by_s) / sd

        def by_s(weights: FloatArray) -> float:
            return float(weights @ z_by_s) + float((s / shifted).sum()) + n * sd_by_s / sd

        return Seen(z, float(np.log(shifted).sum()) + n * math.log(sd), by_s)


class Warp(NamedTuple):
    """The warp with one s, and what makes the warped values zero in the mean with standard deviation 1."""

    s: float  # relative to the unit of the gaps
    mean: float
    sd: float


def gaps(y: FloatArray) -> Gaps:
    """Finite values; of what is equal up to rounding, nothing is made."""
    minimum = float(y.min())
    halves = y / 2 - minimum / 2
    halves[halves <= max(4 * _EPS * abs(minimum), _LEAST_UNIT)] = 0.0
    positive = halves[halves > 0]
    unit = _median(halves) or (_median(positive) if positive.size else 1.0)
    with np.errstate(over="ignore"):
        return Gaps(minimum, unit, np.minimum(halves / unit, _LARGEST / 1e6))


def _median(values: FloatArray) -> float:
    """Without the sum of two values, which may be too large for a number."""
    return 2.0 * float(np.median(values / 2))


def logarithms(multiples: FloatArray, s: float) -> FloatArray:
    """The warped values, before they are standardised."""
    return np.asarray(np.log(multiples + s) - math.log(s))


def warp_of(known: Gaps, s: float) -> tuple[Warp, FloatArray]:
    """The warp with this s, and the standardised values."""
    t = logarithms(known.multiples, s)
    mean, sd = float(t.mean()), float(t.std())
    if not sd > 0:
        return Warp(s, mean, 1.0), np.zeros_like(t)
    return Warp(s, mean, sd), np.asarray((t - mean) / sd)


def unwarped(known: Gaps, warp: Warp, z: FloatArray) -> FloatArray:
    """The values that standardised ones stand for; what would be below the least is that."""
    t = np.clip(z * warp.sd + warp.mean, 0.0, 690.0)
    with np.errstate(over="ignore"):
        gap = np.minimum(warp.s * np.expm1(t) * known.unit, _LARGEST / 8)
    return np.asarray(2 * np.minimum(known.minimum / 2 + gap, _LARGEST / 4))


def extended(known: Gaps, warp: Warp, z: FloatArray) -> FloatArray:
    """The same without an end: below the least it goes straight on, as steep as it is there."""
    t = z * warp.sd + warp.mean
    below = np.maximum(warp.s * np.minimum(t, 0.0), -_LARGEST / 8 / known.unit) * known.unit
    least = np.maximum(known.minimum / 2 + below, -_LARGEST / 4)
    return np.where(t < 0.0, 2 * least, unwarped(known, warp, z))
