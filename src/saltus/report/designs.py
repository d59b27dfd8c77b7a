"""The best designs that differ: instead of ten copies of the best one, nearly the same.

Two designs differ if some variable does by a tenth of its range, or is another value of few: a switch, a
category, one of up to eleven numbers. Without bounds, numbers differ by about a tenth of their own size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..space import Space
from ..space.activity import count_values
from ..space.variable import Variable
from ..study.trial import Trial
from .words import coordinate

APART = 0.1  # of a variable's range
MOST = 10
_KEPT = 400  # cells, each with its best trial
_NOWHERE = -1.0  # instead of a number, where a variable is not active

Place = tuple[int, Trial]
Key = Callable[[Trial], Any]


class Pool:
    """The best trial of each cell of the space, for the best cells: enough to choose from at the end.

    >>> from saltus import Float
    >>> pool = Pool(Space({"x": Float(0, 1)}), key=lambda trial: trial.value)
    >>> for k, x in enumerate((0.11, 0.12, 0.5, 0.9)):
    ...     pool.add((k + 1, Trial(k, 0, {"x": x}, "done", value=x)))
    >>> [trial.params["x"] for _, trial in pool.different()]
    [0.11, 0.5, 0.9]
    """

    def __init__(self, space: Space, key: Key) -> None:
        """Nothing has come yet; `key` sorts trials, the best first."""
        self._space, self._key = space, key
        self._cells: dict[tuple[int, ...], Place] = {}
        self._worst: Any = None  # of those that were kept: what is worse need not be looked at

    def __copy__(self) -> Pool:
        """Another one, which grows by itself."""
        other = Pool(self._space, self._key)
        other._cells, other._worst = dict(self._cells), self._worst
        return other

    def add(self, place: Place) -> None:
        """A trial that has a value."""
        if self._worst is not None and self._key(place[1]) > self._worst:
            return
        cell = tuple(math.floor(x / APART) for x in position(self._space, place[1]))
        known = self._cells.get(cell)
        if known is None or self._key(place[1]) < self._key(known[1]):
            self._cells[cell] = place
        if len(self._cells) > 2 * _KEPT:
            ordered = sorted(self._cells.items(), key=lambda item: self._key(item[1][1]))
            self._cells, self._worst = dict(ordered[:_KEPT]), self._key(ordered[_KEPT - 1][1][1])

    def best(self, count: int) -> list[Place]:
        """The best of the cells, in order."""
        return sorted(self._cells.values(), key=lambda place: self._key(place[1]))[:count]

    def different(self, count: int = MOST, matter: Collection[str] | None = None) -> list[Place]:
        """The best designs that differ from all better ones.

        Args:
            count: how many at most.
            matter: the names of the variables that make a difference; all by default.
        """
        columns = [i for i, key in enumerate(self._space.keys) if matter is None or key in matter]
        chosen: list[tuple[Place, list[float]]] = []
        for place in self.best(len(self._cells)):
            here = position(self._space, place[1])
            if all(_differ([here[i] - there[i] for i in columns]) for _, there in chosen):
                chosen.append((place, here))
                if len(chosen) == count:
                    break
        return [place for place, _ in chosen]


def _differ(gaps: Sequence[float]) -> bool:
    return any(abs(gap) >= APART for gap in gaps)


def position(space: Space, trial: Trial) -> list[float]:
    """Each variable of a trial on a scale from 0 to 1; values of few are far from each other."""
    return [_scaled(v, coordinate(space, trial.params, i)) for i, v in enumerate(space.variables)]


def _scaled(variable: Variable, x: float | None) -> float:
    if x is None or variable.fixed:
        return _NOWHERE
    if not variable.ordered or count_values(variable) <= 1 / APART + 1:
        return _few(variable, x)
    low, high = variable.range()
    if variable.log:
        if x <= 0 or low <= 0 or not math.isfinite(high):
            return math.log10(x) if x > 0 else _NOWHERE  # a tenth of a decade
        return (math.log(x) - math.log(low)) / max(math.log(high) - math.log(low), 1e-300)
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.asinh(x)
    return (x / 2 - low / 2) / max(high / 2 - low / 2, 1e-300)


def _few(variable: Variable, x: float) -> float:
    grid = variable.grid()
    if isinstance(grid, tuple):
        return round((x - grid[0]) / grid[1]) if grid[1] else 0.0
    return float(abs(grid - x).argmin())
