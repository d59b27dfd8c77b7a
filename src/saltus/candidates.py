"""Candidates, one generation of them, and the best one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ._typing import FloatArray, Params
from .search import Batch
from .space.encoding import Encoding, Points


class Candidate:
    """A point to evaluate: `params` goes to the objective, the candidate itself back to `tell`."""

    __slots__ = ("id", "params")

    def __init__(self, id: int, params: Params) -> None:
        """Made by `Optimizer.ask`."""
        self.id = id
        self.params = params

    def __repr__(self) -> str:
        """Id and values."""
        return f"Candidate(id={self.id}, params={self.params!r})"

    def __eq__(self, other: object) -> bool:
        """Equal ids and values: a copy that comes back from another process is the same candidate."""
        if not isinstance(other, Candidate):
            return NotImplemented
        return self.id == other.id and _same(self.params, other.params)

    def __hash__(self) -> int:
        """By id."""
        return hash(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best evaluation so far: feasible if `violation` is 0, else the least violated."""

    id: int
    value: float
    violation: float
    x: FloatArray
    _encoding: Encoding = field(repr=False)

    @property
    def params(self) -> Params:
        """The point as the objective got it."""
        return self._encoding.params_of(self.x)

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds."""
        return self.violation == 0.0


class Generation:
    """One generation on its way: what was asked, what was told."""

    def __init__(self, first_id: int, batch: Batch, points: Points) -> None:
        """Nothing is asked or told yet."""
        size = len(points.x)
        self.first_id = first_id
        self.batch = batch
        self.x = points.x
        self.candidates = list(map(Candidate, range(first_id, first_id + size), points.params))
        self.asked = 0
        self.missing = set(range(size))
        self.values = [math.nan] * size
        self.violations: list[float] | None = None  # until one is violated

    def awaits(self, candidate: Candidate) -> bool:
        """Whether a candidate was asked and not told."""
        i = candidate.id - self.first_id
        if i >= self.asked or i not in self.missing:
            return False
        own = self.candidates[i]
        return candidate is own or candidate == own


def _same(a: Params, b: Params) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
