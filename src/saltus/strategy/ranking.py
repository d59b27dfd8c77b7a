"""The order of a generation: feasible candidates first, then violated ones, then those without a value."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import order
from .._typing import FloatArray
from .integers import Integers


class Ranking(NamedTuple):
    """`order` lists candidates from best to worst; the first `feasible` of them have a known rank."""

    order: NDArray[np.intp]
    feasible: int
    groups: NDArray[np.intp] | None = None  # along `order`, if there are equals: the group of each

    def weighted(self, weights: FloatArray, equals_share: bool = False) -> FloatArray:
        """Each candidate's weight, from weights by rank; equals may get the mean of theirs."""
        if equals_share and self.groups is not None:
            means = np.bincount(self.groups, weights) / np.bincount(self.groups)
            weights = means[self.groups]
        own = np.empty(len(weights))
        own[self.order] = weights
        return own


class Placed(Protocol):
    """What of a population decides between candidates that are equally good, or that failed."""

    @property
    def x(self) -> FloatArray:
        """The candidates, one row each."""

    @property
    def distances(self) -> FloatArray:
        """||z|| of every candidate."""


def rank(
    values: FloatArray, violations: FloatArray | None, population: Placed, integers: Integers
) -> Ranking:
    """Order candidates by `order.key`: by value; violated ones follow, by violation, then by value.

    Candidates that are neither comparable by value nor by violation (NaN, infinity) are infeasible as
    in DX-NES-IC: they come last, the ones closest to the mean (||z||) first. A violated candidate does
    have a rank that was measured, so it counts as feasible for the learning rates. Without any
    violation, give None.

    Of equal candidates, the one less far beyond the ends of its integers' ranges comes first: out there
    all points are alike, and nothing else would lead back.
    """
    listed = values.tolist()
    if violations is None and math.isfinite(sum(listed)):  # the common case: all are
        if len(set(listed)) == len(listed):
            return Ranking(values.argsort(kind="stable"), len(values))
        return _sorted((integers.overshoot(population.x), values), len(values))
    violation, value = order.keys(values, violations)
    failed = violation == np.inf
    distances = np.where(failed, population.distances, 0.0)
    feasible = len(values) - int(np.count_nonzero(failed))
    return _sorted((integers.overshoot(population.x), distances, value, violation), feasible)


def _sorted(keys: tuple[NDArray[Any], ...], feasible: int) -> Ranking:
    """Sorted by the last key, then the one before it, and so on; equal are those equal in all keys."""
    ranks = np.lexsort(keys)
    along = np.stack([key[ranks] for key in keys])
    differs = np.any(along[:, 1:] != along[:, :-1], axis=0)
    return Ranking(ranks, feasible, np.concatenate(([0], np.cumsum(differs))))
