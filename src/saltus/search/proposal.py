"""What the pieces of a search share: points, batches of them, and the domain they live in.

Points are in the coordinates of a strategy: continuous ones first, integers last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..space.lattice import Lattice

Mask = NDArray[np.bool_]
Key = tuple[float, float]  # violation and value: the smaller, the better
WORST: Key = (math.inf, math.inf)
LONE, FOREIGN = -1, -2  # instead of the number of a pair


class Batch(NamedTuple):
    """Points to be evaluated: coordinates, one row each, and the plateaus of the integer ones."""

    x: FloatArray
    plateaus: FloatArray


class Point(NamedTuple):
    """A point that was evaluated."""

    x: FloatArray
    plateaus: FloatArray
    violation: float
    value: float

    @property
    def key(self) -> Key:
        """What it is compared by."""
        return (self.violation, self.value)


def nowhere(domain: Domain) -> Point:
    """What has been found before anything was told."""
    return Point(np.zeros(domain.N), np.zeros(domain.lattice.size), *WORST)


class Told(NamedTuple):
    """The outcome of a batch."""

    batch: Batch
    values: FloatArray
    violations: FloatArray | None  # None: nothing is violated

    def key(self, i: int) -> Key:
        """What point i is compared by; an evaluation that failed is worst."""
        value = float(self.values[i])
        violation = 0.0 if self.violations is None else float(self.violations[i])
        known = math.isfinite(violation) if violation > 0.0 else math.isfinite(value)
        return (violation, value if math.isfinite(value) else math.inf) if known else WORST

    def point(self, i: int) -> Point:
        """One of the points."""
        return Point(self.batch.x[i], self.batch.plateaus[i], *self.key(i))

    def first(self) -> int:
        """The place of the best; of equals the first."""
        if self.violations is None:
            return int(np.where(np.isfinite(self.values), self.values, math.inf).argmin())
        return min(range(len(self.values)), key=self.key)

    def best(self) -> Point:
        """The best point."""
        return self.point(self.first())

    def part(self, rows: slice | Mask | NDArray[np.intp]) -> Told:
        """The outcome of some of the points."""
        violations = None if self.violations is None else self.violations[rows]
        return Told(Batch(self.batch.x[rows], self.batch.plateaus[rows]), self.values[rows], violations)

    def beside(self, other: Told) -> Told:
        """Both outcomes, one after the other."""
        violations = None
        if self.violations is not None or other.violations is not None:
            violations = np.concatenate([_or_zero(told) for told in (self, other)])
        batch = Batch(*(np.concatenate(both) for both in zip(self.batch, other.batch, strict=True)))
        return Told(batch, np.concatenate((self.values, other.values)), violations)

    @property
    def clean(self) -> bool:
        """Whether every point has a value and violates nothing."""
        return self.violations is None and bool(np.isfinite(self.values).all())


class Others(NamedTuple):
    """The outcome of points that are not in the present batch, and which of all points are pairs.

    `pairs` has a number for each known point of the batch and then for each of these: the same for both sides
    of a pair, LONE for a point without a mirror image, and FOREIGN for one that somebody else has chosen.
    """

    told: Told
    pairs: NDArray[np.int64]

    def none_but(self, known: Mask, size: int) -> bool:
        """Whether all that is known is one whole batch of this size."""
        return bool(known.all()) and len(known) == size and not len(self.told.values)

    def arranged(self, told: Told, known: Mask) -> Arranged:
        """All that is known: one side of each pair, the other side, and the rest."""
        lone, foreign = (np.flatnonzero(self.pairs == kind) for kind in (LONE, FOREIGN))
        sides = np.flatnonzero(self.pairs >= 0)
        sides = sides[np.argsort(self.pairs[sides], kind="stable")]
        order = np.concatenate((sides[::2], sides[1::2], lone, foreign))
        own = int(np.count_nonzero(lone < np.count_nonzero(known)))
        return Arranged(told.part(known).beside(self.told).part(order), len(sides) // 2, own, len(foreign))


class Arranged(NamedTuple):
    """Outcomes of one side of so many pairs, of their other side, and of lone points.

    Of the lone points the first `own` are of the batch, and the last `foreign` somebody else has chosen.
    """

    told: Told
    pairs: int
    own: int
    foreign: int


def _or_zero(told: Told) -> FloatArray:
    return np.zeros(len(told.values)) if told.violations is None else told.violations


@dataclass(frozen=True, slots=True)
class Domain:
    """The coordinates of a search: `first` continuous ones, then the integers, and where they end.

    `low` and `high` are the ends of each range; where a variable has no bound, they are as far from the first
    mean as the ends of a range would be, in standard deviations.
    """

    first: int
    lattice: Lattice
    low: FloatArray
    high: FloatArray

    @property
    def N(self) -> int:
        """How many coordinates there are."""
        return len(self.low)

    @property
    def span(self) -> FloatArray:
        """Length of each range."""
        return self.high - self.low

    def whole(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        """Points with values for the integer coordinates that are not known (NaN)."""
        unknown = np.isnan(x)
        if not unknown.any():
            return x
        values = np.zeros_like(x)
        values[..., self.first :] = self.lattice.value(plateaus)
        return np.where(unknown, values, x)

    def batch(self, continuous: FloatArray, plateaus: FloatArray) -> Batch:
        """Points from the two kinds of coordinates; either may be one row for all."""
        count = max(len(continuous), len(plateaus))
        x = np.empty((count, self.N))
        x[:, : self.first] = continuous
        x[:, self.first :] = self.lattice.value(plateaus)
        return Batch(x, np.broadcast_to(plateaus, (count, self.lattice.size)))
