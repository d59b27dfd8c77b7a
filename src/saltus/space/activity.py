"""Which variables are active at a point: those whose conditions hold.

A variable that is not active has no value. Where numbers are needed, it has one that is always the same
(`idle`): so points with equal active parts are equal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from .._checks import did_you_mean
from .._typing import FloatArray, Mask
from .conditions import Wanted, Within
from .variable import Variable

SAME = 1e-9  # relative to a value: nearer numbers are that value
MOST_COUNTED = 100_000  # combinations of values that others depend on; of more, not all are looked at


class Rule(NamedTuple):
    """What is wanted of one variable."""

    variable: int
    values: FloatArray | None  # one of these; None: between the ends
    low: float = -math.inf
    high: float = math.inf

    def holds(self, column: FloatArray) -> Mask:
        """For which numbers of a column it holds."""
        if self.values is None:
            return np.asarray((column >= self.low) & (column <= self.high))
        near = SAME * np.maximum(1.0, np.abs(self.values))
        return np.asarray((np.abs(column[:, None] - self.values) <= near).any(axis=1))


class Activity:
    """The conditions of a space.

    Attributes:
        order: all variables, none before those that it depends on.
        idle: a number for each variable, in the user's units, that stands for none.
    """

    def __init__(self, names: Sequence[str], variables: Sequence[Variable]) -> None:
        """Check all conditions; what is wrong is a ValueError that names the variable."""
        self._variables = variables
        places = {name: i for i, name in enumerate(names)}
        rules: dict[int, list[Rule]] = {}
        for i, variable in enumerate(variables):
            if variable.when is not None:
                rules[i] = [
                    _rule(names[i], name, wanted, places, variables) for name, wanted in variable.when.items()
                ]
        graph = {i: {rule.variable for rule in own} for i, own in rules.items()}
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = " -> ".join(names[i] for i in reversed(error.args[1]))
            raise ValueError(f"Space: conditions go round in a circle: {circle}; leave one out") from None
        self._rules = [(i, rules[i]) for i in order if i in rules]  # no variable before those it depends on
        self.order = [i for i in range(len(variables)) if i not in rules] + [i for i, _ in self._rules]
        self._asked = sorted(set().union(*graph.values()))  # what others depend on
        self.idle = np.array([_idle(variable) for variable in variables])

    def active(self, numbers: FloatArray) -> Mask:
        """Which variables are active at points, one row each, in the user's order and units."""
        active = np.ones(numbers.shape, dtype=bool)
        for i, rules in self._rules:
            for rule in rules:
                active[:, i] &= active[:, rule.variable] & rule.holds(numbers[:, rule.variable])
        return active

    def settled(self, numbers: FloatArray) -> FloatArray:
        """The same points with `idle` for what is not active."""
        return np.where(self.active(numbers), numbers, self.idle)

    def count(self) -> float:
        """How many different points there are; an upper bound if that is too much to find out."""
        sizes = [count_values(variable) for variable in self._variables]
        if math.prod(sizes[i] for i in self._asked) > MOST_COUNTED:
            return math.prod(sizes)
        grids = [_values(self._variables[i]) for i in self._asked]
        chosen = np.array(list(itertools.product(*grids)))
        numbers = np.tile(self.idle, (len(chosen), 1))
        numbers[:, self._asked] = chosen
        active = self.active(np.unique(self.settled(numbers), axis=0))
        active[:, self._asked] = False  # those are counted by the rows
        return sum(math.prod(itertools.compress(sizes, row)) for row in active.tolist())


def _rule(own: str, name: str, wanted: Wanted, places: dict[str, int], variables: Sequence[Variable]) -> Rule:
    """One condition of a variable on another."""
    what = f"Space: {own!r}: when"
    if name not in places:
        raise ValueError(f"{what} names {name!r}, which is no variable{did_you_mean(name, [*places])}")
    parent, place = variables[places[name]], places[name]
    if isinstance(wanted, Within):
        if not parent.ordered:
            raise ValueError(f"{what}: {name!r} has no order for {wanted!r}; give a list of its values")
        low = -math.inf if wanted.at_least is None else float(wanted.at_least)
        high = math.inf if wanted.at_most is None else float(wanted.at_most)
        first, last = parent.ends()
        if low > last or high < first:
            raise ValueError(f"{what}: {name!r} lies in [{first:g}, {last:g}], so it is never {wanted!r}")
        return Rule(place, None, low, high)
    if not parent.discrete and not parent.fixed:
        raise ValueError(
            f"{what}: {name!r} is continuous and hardly ever equal to {wanted[0]!r}; use at_least or at_most"
        )
    numbers = [parent.check_within(value, f"{what}: {name!r}") for value in wanted]
    for number, value in zip(numbers, wanted, strict=True):
        if np.abs(_nearest(parent, number) - number) > SAME * max(1.0, abs(number)):
            raise ValueError(f"{what}: {value!r} is none of the values of {name!r}")
    return Rule(place, np.array(numbers))


def count_values(variable: Variable) -> float:
    """How many values a variable has."""
    if variable.fixed:
        return 1
    if not variable.discrete:
        return math.inf
    grid = variable.grid()
    return grid[2] if isinstance(grid, tuple) else len(grid)


def _values(variable: Variable) -> list[float]:
    """The values of a discrete or a fixed variable."""
    if not variable.discrete:
        return [variable.range()[0]]
    grid = variable.grid()
    if isinstance(grid, tuple):
        first, step, count = grid
        return [first + step * k for k in range(count)]
    return [float(value) for value in grid]


def _nearest(variable: Variable, number: float) -> float:
    """The nearest value; of a continuous variable the number itself."""
    if not variable.discrete:
        return number
    grid = variable.grid()
    if isinstance(grid, tuple):
        first, step, count = grid
        return first + step * min(max(round((number - first) / step), 0), count - 1)
    return float(grid[np.abs(grid - number).argmin()])


def _idle(variable: Variable) -> float:
    """Where a search of the variable would start; of a category the first value."""
    if variable.fixed:
        return _nearest(variable, variable.range()[0])
    if not variable.ordered:
        return 0.0
    middle = variable.axis(None, None).middle
    number = math.exp(middle) if variable.log else middle
    low, high = variable.range()
    return _nearest(variable, min(max(number, low), high))
