"""The order of a generation: feasible candidates first, then violated ones, then those without a value."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from .integers import Integers


class Cloud(Protocol):
    """A generation of any core."""

    @property
    def x(self) -> FloatArray:
        """The candidates, one row each."""

    @property
    def distances(self) -> FloatArray:
        """||z|| of every candidate."""


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


def rank(values: FloatArray, violations: FloatArray | None, cloud: Cloud, integers: Integers) -> Ranking:
    """Order candidates by value; violated ones (violation > 0) follow, by violation, then by value.

    Candidates that are neither comparable by value nor by violation (NaN, infinity) are infeasible as
    in DX-NES-IC: they come last, the ones closest to the mean (||z||) first. A violated candidate does
    have a rank that was measured, so it counts as feasible for the learning rates. Without any
    violation, give None.

    Of equal candidates, the one less far beyond the ends of its integers' ranges comes first: out there
    all points are alike, and nothing else would lead back.
    """
    finite = np.isfinite(values)
    if violations is None:
        if np.count_nonzero(finite) == len(values):
            if len(set(values.tolist())) == len(values):
                return Ranking(values.argsort(kind="stable"), len(values))
            return _sorted((integers.overshoot(cloud.x), values), len(values))
        violations = np.zeros(len(values))
    violated = (violations > 0) & np.isfinite(violations)
    ranked = finite & (violations <= 0) | violated
    group = np.where(violated, 1, np.where(ranked, 0, 2))
    key = np.choose(group, (values, violations, cloud.distances))
    tie = np.where(finite, values, np.inf)
    return _sorted((integers.overshoot(cloud.x), tie, key, group), int(np.count_nonzero(ranked)))


def _sorted(keys: tuple[NDArray[Any], ...], feasible: int) -> Ranking:
    """Sorted by the last key, then the one before it, and so on; equal are those equal in all keys."""
    order = np.lexsort(keys)
    along = np.stack([key[order] for key in keys])
    differs = np.any(along[:, 1:] != along[:, :-1], axis=0)
    return Ranking(order, feasible, np.concatenate(([0], np.cumsum(differs))))
