"""What evaluations have taught: which variables matter around the best point, and what to expect elsewhere.

It is made of a memory alone, whatever search has filled it, and only when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import order
from .._typing import FloatArray, Params
from ..model.choice import spread
from ..model.columns import spread_out
from ..model.panel import bars, panel
from ..model.process import Fitted
from ..model.sensitivity import samples, sensitivity
from ..model.threads import with_one_thread
from ..model.warp import gaps
from ..order import Failure
from ..space import Space
from ..space.encoding import Encoding
from ..space.unit import UnitCube
from .memory import Memory
from .recommendation import Recommended, safest
from .slices import ALONG, OVER, Effect, Pair, along, over, places

MORE_POINTS = 2  # than variables are needed
NEAR = 0.25  # of each range, around the best point
APART = 0.02  # of the cube's diagonal, between the points that the models are made of
MOST_LOOKED_AT = 5000  # evaluations: of more, evenly chosen ones
DEVIATIONS = 1.645  # of a normal distribution: nine in ten are nearer


class Share(NamedTuple):
    """How much of the differences in value is due to a variable.

    Attributes:
        share: of the variance of the values, what the variable has a part in. Those of all variables add up
            to more than 1 where some act together.
        low, high: the error bar of `share`: nine times in ten it is between them.
        alone: what it makes by itself; the rest of `share` it makes together with others.
    """

    share: float
    low: float
    high: float
    alone: float


class Expected(NamedTuple):
    """What an evaluation at a point would give.

    Attributes:
        value: the middle: above is as likely as below.
        low, high: the error bar: nine times in ten it is between them.
    """

    value: float
    low: float
    high: float


class Told(NamedTuple):
    """One evaluation, as the user gave it: the constraints by name, those that were not told left out."""

    id: int
    params: Params
    value: float
    violation: float
    constraints: dict[str, float]
    failure: Failure | None


class _Panel(NamedTuple):
    models: list[Fitted]
    best: FloatArray  # in the unit cube
    low: FloatArray  # where all that was tried, and each range, begins ...
    high: FloatArray  # ... and ends


class Learnt:
    """What can be said after some evaluations.

    >>> from saltus import Float, Int, Space
    >>> memory = Memory(2)
    >>> x = np.array([[k / 10, k % 4] for k in range(11)])
    >>> memory.extend(range(11), x, (x[:, 0] - 0.3) ** 2, None)
    >>> learnt = Learnt(Encoding(Space({"x": Float(0, 1), "k": Int(0, 3)})), memory)
    >>> [*learnt.sensitivity()]  # the one that matters most comes first
    ['x', 'k']
    >>> expected = learnt.predict([{"x": 0.35, "k": 2}])[0]
    >>> expected.low < 0.0025 < expected.high
    True
    """

    def __init__(
        self,
        encoding: Encoding,
        memory: Memory,
        *,
        length: int | None = None,
        more: Memory | None = None,
        maximize: bool = False,
        looked_at: int = MOST_LOOKED_AT,
    ) -> None:
        """Nothing is computed yet.

        Args:
            encoding: of the space.
            memory: what was evaluated.
            length: how many of its evaluations count, from the first on; others may come later.
            more: evaluations that are not in the memory yet.
            maximize: the memory holds values with the other sign than the user's.
            looked_at: evaluations that are looked at; of more, evenly chosen ones.
        """
        self._encoding, self._memory, self._more = encoding, memory, more
        self._looked_at = looked_at
        self._length = len(memory) if length is None else length
        self._maximize = maximize

    def sensitivity(self, *, everywhere: bool = False) -> dict[str, Share] | None:
        """Which variables matter: the share of each in the differences of value, the largest first.

        Values are compared as the model sees them: where they span orders of magnitude, by their logarithms.
        Fixed variables are left out.

        Args:
            everywhere: over all of each range, also where nothing good is; the default is a quarter of each
                range around the best point, and at least the next values of an integer and all of a category.
                The search knows
                that part much better, and it is where a decision has to be made.

        None if nothing can be said: fewer evaluations than variables + 2 have a value, or all values are
        equal.
        """
        from_all = self._panel
        if from_all is None:
            return None
        cube = self._cube
        low, high = self._whole(from_all) if everywhere else self._near(from_all)
        a, b = (cube.snapped(low + (high - low) * u) for u in samples(cube.N))
        found = sensitivity(from_all.models, a, b, np.random.default_rng(2))
        keys = [self._encoding.space.keys[i] for i in cube.order]
        rows = zip(found.total.tolist(), found.low.tolist(), found.high.tolist(), found.first, strict=True)
        shares = {key: Share(*row[:3], float(row[3])) for key, row in zip(keys, rows, strict=True)}
        places = {key: i for i, key in enumerate(self._encoding.space.keys)}
        return dict(sorted(shares.items(), key=lambda item: (-item[1].share, places[item[0]])))

    def predict(self, points: Sequence[Params]) -> list[Expected]:
        """What evaluations at points would give, in the user's units, with error bars.

        Args:
            points: as the objective would get them; values of discrete variables must be among theirs.

        A ValueError if fewer evaluations than variables + 2 have a value.
        """
        if isinstance(points, Mapping) or (isinstance(points, np.ndarray) and points.ndim == 1):
            raise TypeError("predict takes a list of points, got a single one; write predict([point])")
        from_all = self._panel
        numbers = [self._encoding.numbers_of(point) for point in points]
        if from_all is None and self._count < self._least:
            raise ValueError(
                f"predict needs at least {self._least} evaluations with a value (variables + {MORE_POINTS}), "
                f"got {self._count}; evaluate more points first"
            )
        if not numbers:
            return []
        if from_all is None:  # all values are equal
            return [Expected(*[self._sign * float(self._known[1][0])] * 3)] * len(numbers)
        return [Expected(*row) for row in np.column_stack(self._expected(np.array(numbers))).tolist()]

    def effects(self, keys: Sequence[str]) -> dict[str, Effect]:
        """What to expect along each of some variables, with all others as at the best point.

        Over the whole range; without bounds, over what was tried. Variables that are fixed, or not active at
        the best point, are left out; all are if nothing can be said (see `sensitivity`).

        >>> from saltus import Float, Space
        >>> memory, x = Memory(1), np.linspace(0, 1, 11)[:, None]
        >>> memory.extend(range(11), x, (x[:, 0] - 0.3) ** 2, None)
        >>> effect = Learnt(Encoding(Space({"x": Float(0, 1)})), memory).effects(["x"])["x"]
        >>> round(float(effect.at[effect.value.argmin()]), 1)
        0.3
        """
        found: dict[str, Effect] = {}
        for key, i in self._shown(keys):
            at = places(self._encoding.space.variables[i], self._known[0][:, i], ALONG)
            found[key] = Effect(at, *self._expected(along(self._best_numbers, i, at)))
        return found

    def pair(self, first: str, second: str) -> Pair | None:
        """What to expect over two variables, with all others as at the best point; None as for `effects`."""
        shown = self._shown((first, second))
        if len(shown) < 2:
            return None
        columns = shown[0][1], shown[1][1]
        a, b = (places(self._encoding.space.variables[i], self._known[0][:, i], OVER) for i in columns)
        value = self._expected(over(self._best_numbers, columns, a, b))[0]
        return Pair(a, b, value.reshape(len(b), len(a)))

    def _shown(self, keys: Sequence[str]) -> list[tuple[str, int]]:
        """Those of some variables along which something can be said, with their places."""
        space = self._encoding.space
        if self._panel is None:
            return []
        active = [True] * len(space)
        if space.activity is not None:
            active = space.activity.active(self._best_numbers[None])[0].tolist()
        numbers = {key: i for i, key in enumerate(space.keys)}
        return [(key, i) for key in keys if active[i := numbers[key]] and not space.variables[i].fixed]

    def _expected(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, low and high of evaluations at points, in the user's units and sign."""
        from_all = self._panel
        assert from_all is not None
        u = self._cube.settled(self._cube.of_numbers(numbers))
        low, middle, high = (self._sign * part for part in bars(from_all.models, u, DEVIATIONS))
        return (middle, high, low) if self._maximize else (middle, low, high)

    @cached_property
    def _best_numbers(self) -> FloatArray:
        numbers, values, violations = self._known
        return np.asarray(numbers[order.best(values, violations)[0]])

    def recommended(self, centres: FloatArray, best: FloatArray) -> Recommended:
        """The one of some points that the evaluations around it speak for, in the user's units.

        Where something is violated or has failed, only points that were evaluated and hold count: for each
        the nearest of them.

        Args:
            centres: points as numbers in the user's order, one row each.
            best: the best evaluated point, likewise; it is taken if no point holds.
        """
        cube, (x, values, violations) = self._cube, self._known
        rows = np.flatnonzero(violations == 0)
        u = cube.of_numbers(x[rows])
        if len(rows) < self._evaluated and len(rows):
            apart = [((u - c) ** 2).sum(axis=1).argmin() for c in cube.of_numbers(centres)]
            centres = x[rows[apart]]
        if not len(rows):  # the least violated one
            centres, rows, u = best[None], np.arange(len(values)), cube.of_numbers(x)
        chosen, (value, error) = safest(cube.of_numbers(centres), u, values[rows])
        point = centres[chosen].copy()
        return Recommended(self._encoding.params_of(point), point, self._sign * value, error)

    @property
    def used(self) -> int:
        """How many evaluations the model knows: of those that are looked at, some that are far apart."""
        return 0 if self._panel is None else len(self._panel.models[0].z)

    @property
    def space(self) -> Space:
        """The variables."""
        return self._encoding.space

    def evaluations(self) -> Iterator[Told]:
        """All that is remembered, in the order of ids, and in the user's direction."""
        parts = [(self._memory, self._length)]
        if self._more is not None:
            parts.append((self._more, len(self._more)))
        found = [row for memory, length in parts for row in self._rows(memory, length)]
        return iter(sorted(found, key=lambda row: row.id))

    def _rows(self, memory: Memory, length: int) -> Iterator[Told]:
        names, failures = memory.constraint_names, memory.failures
        limits = [memory.constraint(name) for name in names]
        for i in range(min(length, len(memory))):  # older ones may have been forgotten
            told = {name: float(c[i]) for name, c in zip(names, limits, strict=True) if not np.isnan(c[i])}
            value, violation = self._sign * float(memory.values[i]), float(memory.violations[i])
            params = self._encoding.params_of(memory.x[i])
            yield Told(int(memory.ids[i]), params, value, violation, told, failures[i])

    @property
    def _evaluated(self) -> int:
        return self._length + (0 if self._more is None else len(self._more))

    @property
    def _sign(self) -> float:
        return order.sign(self._maximize)

    @property
    def _count(self) -> int:
        return len(self._known[1])

    @property
    def _least(self) -> int:
        return self._encoding.N + MORE_POINTS

    @cached_property
    def _cube(self) -> UnitCube:
        return UnitCube(self._encoding)

    @cached_property
    def _known(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Points in the user's units, values and violations of what has a value, in the order of ids."""
        own, n = self._memory, self._length
        parts = [(own.ids[:n], own.x[:n], own.values[:n], own.violations[:n])]
        if self._more is not None:
            more = self._more
            parts.append((more.ids, more.x, more.values, more.violations))
        ids, x, values, violations = (np.concatenate(part) for part in zip(*parts, strict=True))
        rows = np.argsort(ids, kind="stable")
        rows = rows[np.isfinite(values[rows])]
        return x[rows], values[rows], violations[rows]

    @cached_property
    @with_one_thread
    def _panel(self) -> _Panel | None:
        numbers, values, violations = self._known
        if len(values) < self._least or gaps(values).flat:
            return None
        best, _ = order.best(values, violations)
        if len(values) > self._looked_at:
            rows = np.linspace(0, len(values) - 1, self._looked_at).astype(np.intp)
            rows = np.union1d(rows, [best])
            numbers, values, best = numbers[rows], values[rows], int(np.searchsorted(rows, best))
        u, N = self._cube.of_numbers(numbers), self._cube.N
        sizes = self._cube.sizes
        at = spread_out(u, sizes) if sizes else u
        rows = spread(at, best, least=APART * N**0.5, fewest=self._least)
        models = panel(u[rows], values[rows], np.random.default_rng(1), sizes)
        return _Panel(models, u[best], u.min(axis=0), u.max(axis=0))

    def _whole(self, from_all: _Panel) -> tuple[FloatArray, FloatArray]:
        """The ends of the unit cube; without a bound, also of what was tried."""
        cube = self._cube
        low, high = np.minimum(from_all.low, 0.0), np.maximum(from_all.high, 1.0)
        return np.maximum(low, cube.low), np.minimum(high, cube.high)

    def _near(self, from_all: _Panel) -> tuple[FloatArray, FloatArray]:
        """The ends of the region around the best point."""
        cube, n = self._cube, self._cube.n_continuous
        low = np.clip(from_all.best - NEAR / 2, cube.low, cube.high - NEAR)
        high = low + NEAR
        lattice, own = cube.lattice, cube.lattice.plateau(from_all.best[n:])
        first = np.maximum(np.minimum(lattice.plateau(low[n:]), own - 1), 0)
        last = np.minimum(np.maximum(lattice.plateau(high[n:]), own + 1), lattice.last)
        low[n:] = np.maximum(lattice.ends_of(first)[0], 0.0)
        high[n:] = np.minimum(lattice.ends_of(last)[1], 1.0)
        low[cube.N - cube.n_categories :], high[cube.N - cube.n_categories :] = 0.0, 1.0
        return low, high


def plain(shares: Mapping[str, Share] | None) -> dict[str, dict[str, Any]] | None:
    """The same for JSON."""
    return None if shares is None else {name: share._asdict() for name, share in shares.items()}
