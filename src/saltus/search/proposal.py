"""What the phases of a search share: points to be evaluated, points that were, and the domain they live in.

Points are in the coordinates of a strategy: continuous ones first, then integers, then categories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import order
from .._typing import FloatArray, Mask
from ..order import WORST, Key
from ..space.encoding import Encoding
from ..space.lattice import Lattice
from ..space.unit import UnitCube
from ..strategy.mirrored import Origins
from .known import Known
from .memory import Memory
from .settings import DEFAULT_STRATEGY, Settings
from .surrogate import Surrogate

LONE, FOREIGN = -1, -2  # instead of the number of a pair


class Proposals(NamedTuple):
    """Points to be evaluated: coordinates, one row each, and the plateaus of the discrete ones."""

    x: FloatArray
    plateaus: FloatArray


class Evaluated(NamedTuple):
    """A point that was evaluated."""

    x: FloatArray
    plateaus: FloatArray
    violation: float
    value: float

    @property
    def key(self) -> Key:
        """What it is compared by (`order.key`)."""
        return (self.violation, self.value)


class Late(NamedTuple):
    """Results of points that are not in the present batch, which the phase can learn from all the same.

    Attributes:
        results: the points, sorted by id.
        pairs: for each known point of the batch and then for each of these the number of its mirrored pair:
        the
            same for both sides, LONE without a mirror image, FOREIGN for a point that somebody else has
            chosen.
        rng: for what is random about learning from them.
    """

    results: Results
    pairs: NDArray[np.int64]
    rng: np.random.Generator


class Results(NamedTuple):
    """What is known of a batch of proposals.

    Mostly everything: then `known` and `late` are None and the rows are those of the batch. A search that
    does not wait may be told of some of its proposals, of extra ones that were asked besides, and of others.
    """

    points: Proposals
    values: FloatArray
    violations: FloatArray | None  # None: nothing is violated
    known: Mask | None = None  # which rows have an outcome; None: all of them
    late: Late | None = None

    def key(self, i: int) -> Key:
        """What point i is compared by."""
        return order.key(float(self.values[i]), 0.0 if self.violations is None else float(self.violations[i]))

    def point(self, i: int) -> Evaluated:
        """One of the points."""
        return Evaluated(self.points.x[i], self.points.plateaus[i], *self.key(i))

    def first(self) -> int:
        """The place of the best; of equals the first."""
        return order.first(self.values, self.violations)

    def best(self) -> Evaluated:
        """The best of these points, with what it gave; of equals the first."""
        i, key = order.best(self.values, self.violations)
        return Evaluated(self.points.x[i], self.points.plateaus[i], *key)

    def part(self, rows: slice | Mask | NDArray[np.intp]) -> Results:
        """The results of some of the points."""
        violations = None if self.violations is None else self.violations[rows]
        return Results(
            Proposals(self.points.x[rows], self.points.plateaus[rows]), self.values[rows], violations
        )

    def decide(self, best: Evaluated) -> bool:
        """Whether all are known, or one that is better than this point: more would change nothing."""
        if self.complete:
            return True
        known = self.known_part()
        return len(known.values) > 0 and known.best().key < best.key

    def known_part(self) -> Results:
        """What is known of the batch, without anything from elsewhere."""
        return self if self.known is None else self.part(self.known)

    @property
    def complete(self) -> bool:
        """Whether every point that was asked has an outcome."""
        return self.known is None or bool(self.known.all())

    @property
    def told(self) -> int:
        """How many outcomes there are, late ones included."""
        late = 0 if self.late is None else len(self.late.results.values)
        return late + (len(self.values) if self.known is None else int(np.count_nonzero(self.known)))

    @property
    def clean(self) -> bool:
        """Whether every point has a value and violates nothing."""
        return self.violations is None and bool(np.isfinite(self.values).all())

    def arranged(self) -> tuple[Results, Origins]:
        """All that is known, in the order of `Origins`: sides of pairs, their other sides, the rest."""
        own = self.known_part()
        if self.late is None:
            return own, Origins(0, len(own.values), 0)
        pairs, everything = self.late.pairs, _joined(own, self.late.results)
        lone, foreign = (np.flatnonzero(pairs == kind) for kind in (LONE, FOREIGN))
        sides = np.flatnonzero(pairs >= 0)
        sides = sides[np.argsort(pairs[sides], kind="stable")]
        rows = np.concatenate((sides[::2], sides[1::2], lone, foreign))
        drawn_now = int(np.count_nonzero(lone < len(own.values)))
        return everything.part(rows), Origins(len(sides) // 2, drawn_now, len(foreign))


def _joined(a: Results, b: Results) -> Results:
    violations = None
    if a.violations is not None or b.violations is not None:
        zeros = (np.zeros(len(r.values)) if r.violations is None else r.violations for r in (a, b))
        violations = np.concatenate(list(zeros))
    points = Proposals(*(np.concatenate(both) for both in zip(a.points, b.points, strict=True)))
    return Results(points, np.concatenate((a.values, b.values)), violations)


@dataclass(frozen=True, slots=True)
class Domain:
    """What all phases of a search know: its coordinates, where they end, its settings, its memory.

    First come `n_continuous` continuous coordinates, then the discrete ones, which have plateaus in the
    `lattice`: integers, and last `n_categories` that have no order. `low` and `high` are the ends of each
    range; where a variable has no bound, they are as far from the first mean as the ends of a range would be,
    in standard deviations. `memory` is what was evaluated so far; its points are in the user's units. `model`
    is what it tells of points that were not.
    """

    N: int  # how many coordinates there are
    n_continuous: int
    lattice: Lattice
    low: FloatArray
    high: FloatArray
    settings: Settings
    memory: Memory = field(default_factory=lambda: Memory(0), compare=False, repr=False)
    surrogate: Surrogate | None = field(default=None, compare=False, repr=False)
    n_categories: int = 0
    known: Known | None = field(default=None, compare=False, repr=False)  # constraints
    conditional: Encoding | None = field(default=None, compare=False, repr=False)  # if there are conditions
    bounded: Mask | None = field(default=None, compare=False, repr=False)  # None: all coordinates are

    @classmethod
    def of(cls, encoding: Encoding, settings: Settings, memory: Memory | None = None) -> Self:
        """The coordinates of an encoding, with a memory, empty unless it is given.

        With a strategy that has a model, there is one of that memory.
        """
        memory = Memory(len(encoding.space.variables)) if memory is None else memory
        surrogate = None
        if settings.strategy == DEFAULT_STRATEGY:
            surrogate = Surrogate(UnitCube(encoding), memory, settings.without)
        shape = encoding.N, encoding.n_continuous, encoding.lattice, *encoding.ends
        known = Known(encoding) if encoding.space.where.given else None
        conditional = None if encoding.space.activity is None else encoding
        others = encoding.n_categories, known, conditional, encoding.bounded
        return cls(*shape, settings, memory, surrogate, *others)

    @property
    def n_ordered(self) -> int:
        """How many coordinates a Gaussian can move along: all but the categories."""
        return self.N - self.n_categories

    @property
    def integers(self) -> Lattice:
        """The plateaus of the integers, without the categories."""
        return self.lattice.first(self.lattice.size - self.n_categories)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each category has."""
        first = self.lattice.size - self.n_categories
        return tuple(int(last) + 1 for last in self.lattice.last[first:])

    def is_category(self, j: int) -> bool:
        """Whether the j-th discrete coordinate is one."""
        return j >= self.lattice.size - self.n_categories

    def anywhere(self, m: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A first mean, which was drawn; if it is not allowed, another one that is."""
        if self.known is None:
            return m
        n = self.n_continuous
        if self.known.excess(m[None], self.lattice.plateau(m[None, n:]))[0] == 0.0:
            return m
        x, plateaus = self.known.cube.points(rng.choice(self.known.pool)[None])
        return np.concatenate((x[0, :n], self.lattice.value(plateaus[0])))

    @property
    def model(self) -> Surrogate:
        """The model of the objective."""
        if self.surrogate is None:
            raise RuntimeError(f"this domain has no model: Domain.of makes one for {DEFAULT_STRATEGY!r}")
        return self.surrogate

    @property
    def span(self) -> FloatArray:
        """Length of each range."""
        return self.high - self.low

    def widest(self, share: float) -> FloatArray:
        """This share of the range of each continuous coordinate; infinity for one that has no range."""
        n = self.n_continuous
        return np.where(True if self.bounded is None else self.bounded[:n], share * self.span[:n], math.inf)

    def inside(self, continuous: FloatArray) -> FloatArray:
        """The nearest points within the bounds: so a Gaussian can lie on a face, and move along it.

        Were they mirrored there, a valley that leaves the box would have a kink on its way along the face.
        Only with a model; without one they are mirrored.
        """
        if self.surrogate is None:
            return continuous
        cube, n = self.surrogate.cube, self.n_continuous
        low, span = self.low[:n], self.span[:n]
        return np.clip(continuous, low + span * cube.low[:n], low + span * cube.high[:n])

    def nowhere(self) -> Evaluated:
        """What has been found before anything was evaluated."""
        return Evaluated(np.zeros(self.N), np.zeros(self.lattice.size), *WORST)

    def active(self, point: Evaluated) -> Mask:
        """Which coordinates are active at a point: a change of another one changes nothing."""
        if self.conditional is None:
            return np.ones(self.N, dtype=bool)
        return np.asarray(self.conditional.active(point.x[None], point.plateaus[None])[0])

    def distinct(self, points: Proposals, beside: Evaluated) -> Mask:
        """Which of several points are neither like one before them nor like another one."""
        if self.conditional is None:
            return np.ones(len(points.x), dtype=bool)
        x = np.concatenate((beside.x[None], points.x))
        plateaus = np.concatenate((beside.plateaus[None], points.plateaus))
        _, first = np.unique(self.conditional.numbers(x, plateaus), axis=0, return_index=True)
        return np.isin(np.arange(1, len(x)), first)

    def with_values(self, points: Proposals) -> Proposals:
        """Points with values for the discrete coordinates that are not known (NaN)."""
        x, plateaus = points
        unknown = np.isnan(x)
        if not unknown.any():
            return points
        values = np.zeros_like(x)
        values[..., self.n_continuous :] = self.lattice.value(plateaus)
        return Proposals(np.where(unknown, values, x), plateaus)

    def proposals(self, continuous: FloatArray, plateaus: FloatArray) -> Proposals:
        """Points from the two kinds of coordinates; either may be one row for all."""
        count = max(len(continuous), len(plateaus))
        x = np.empty((count, self.N))
        x[:, : self.n_continuous] = continuous
        x[:, self.n_continuous :] = self.lattice.value(plateaus)
        return Proposals(x, np.broadcast_to(plateaus, (count, self.lattice.size)))
