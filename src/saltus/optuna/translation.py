"""Optuna's distributions as a space, and its parameter values as those of the space."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from ..space import Categorical, Space
from ..space.conditions import Wanted, Within
from ..space.encoding import Encoding
from ..space.variable import Variable
from ..space.variables import Bool, Float, Int, Ordinal
from ..space.where import Rule
from .branches import Branches, Conditions, holds

# beyond so many values an integer is as good as continuous
_MOST_VALUES = 2**50
_MOST_LOG_VALUES = 1_000_000
_MOST_STEPS = 100_000  # of a Float, which lists its values
_ROUNDING = 1e-6  # steps


class Column(NamedTuple):
    """A variable, and its values from and to those of the parameter."""

    variable: Variable
    outward: Callable[[Any], Any]
    inward: Callable[[Any], Any]


class Translation:
    """Between a search space of Optuna and a `Space`; parameters are sorted by name."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        conditions: Conditions | None = None,
        where: Sequence[Rule] = (),
    ) -> None:
        """Take distributions that have more than one value, conditions of them and known constraints.

        Conditions and constraints are in Optuna's values, as the objective has them.
        """
        self.columns = {name: _column(distributions[name]) for name in sorted(distributions)}
        self._branches = Branches(dict(distributions), conditions or {})
        variables = {name: column.variable for name, column in self.columns.items()}
        for name, own in self._branches.conditions.items():
            when = {
                parent: _inner(wanted, distributions[parent], self.columns[parent])
                for parent, wanted in own.items()
            }
            variables[name] = dataclasses.replace(variables[name], when=when)  # type: ignore[type-var]
        self.space = Space(variables, where=[self._rule(rule, distributions) for rule in where])

    def _rule(self, rule: Rule, distributions: Mapping[str, BaseDistribution]) -> Rule:
        """A known constraint in the space's values."""
        if isinstance(rule, str):
            if not any(_uneven(distributions[name]) for name in names_in(rule) if name in distributions):
                return re.sub(_NAME, lambda found: self._term(found[0], distributions), rule)
            rule = spoken(rule, distributions)
        function = rule

        @functools.wraps(function)
        def allowed(params: Mapping[str, Any]) -> bool:
            return function(self.outward(params))

        return allowed

    def _term(self, name: str, distributions: Mapping[str, BaseDistribution]) -> str:
        """What stands for a parameter in text: the space counts the steps of a lattice."""
        distribution = distributions.get(name)
        if distribution is None or not _counted(distribution, self.columns[name]):
            return name
        low, step = _first_and_step(distribution)
        return f"({low!r} + {step!r} * {name})"

    @property
    def categories(self) -> list[str]:
        """Parameters whose values have no order."""
        return [name for name, column in self.columns.items() if not column.variable.ordered]

    def starts(self, x0: Mapping[str, Any]) -> dict[str, float]:
        """Where to start, for the parameters that are given and have a mean: categories have none."""
        starts = {}
        for name, column in self.columns.items():
            if name in x0:
                try:
                    start = float(column.inward(x0[name]))
                    if column.variable.ordered:
                        starts[name] = start
                except (KeyError, ValueError, TypeError) as error:
                    raise ValueError(f"x0 of {name!r} must be one of its values: {error}") from error
        return starts

    def middle(self) -> dict[str, Any]:
        """The point in the middle of all ranges, for Optuna."""
        encoding = Encoding(self.space)
        return self.outward(encoding.params_of(encoding.unrounded(encoding.m)))

    def outward(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Values for Optuna."""
        columns = self.columns.items()
        return {name: column.outward(params[name]) for name, column in columns if name in params}

    def inward(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Values for the space, or None if some parameter is missing or was drawn from elsewhere.

        What is not active is left out.
        """
        active = self._branches.active
        try:
            return {
                name: column.inward(params[name])
                for name, column in self.columns.items()
                if active(name, params)
            }
        except (KeyError, ValueError):
            return None


_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")  # in the text of a rule; not the e of 1e5


def names_in(text: str) -> list[str]:
    """The parameters that the text of a rule names.

    >>> names_in("2*a + 1e3*b2 <= 10")
    ['a', 'b2']
    """
    return _NAME.findall(text)


def _uneven(distribution: BaseDistribution) -> bool:
    """Whether it has numbers to choose from, of which the space knows the places alone."""
    if not isinstance(distribution, CategoricalDistribution):
        return False
    return _numbers(distribution) and sorted(distribution.choices) != [0, 1]  # type: ignore[type-var]


def _numbers(distribution: CategoricalDistribution) -> bool:
    return all(isinstance(c, int | float) and math.isfinite(c) for c in distribution.choices)


def spoken(text: str, distributions: Mapping[str, BaseDistribution]) -> Callable[[Mapping[str, Any]], bool]:
    """The text of a rule as a function of parameters; where one of its parameters is missing, it holds."""
    outer: dict[str, Variable] = {}
    for name, distribution in distributions.items():
        outer[name] = _column(distribution).variable
        if isinstance(distribution, CategoricalDistribution) and _numbers(distribution):
            outer[name] = Ordinal(sorted(float(c or 0) for c in distribution.choices))
        elif isinstance(distribution, IntDistribution):
            outer[name] = Float(distribution.low, distribution.high)
    rules = Space(outer, where=text).where.linear

    def allowed(params: Mapping[str, Any]) -> bool:
        row = [params.get(name, math.nan) for name in outer]
        numbers = np.array([[float(v) if isinstance(v, int | float) else 0.0 for v in row]])
        known = [~(np.isnan(numbers[0]) & (rule.factors != 0)).any() for rule in rules]
        numbers = np.nan_to_num(numbers)
        return not any(k and rule.excess(numbers)[0] > 0 for k, rule in zip(known, rules, strict=True))

    allowed.__qualname__ = text
    return allowed


def _counted(distribution: BaseDistribution, column: Column) -> bool:
    """Whether the space counts the steps of a lattice."""
    return isinstance(distribution, FloatDistribution | IntDistribution) and (
        isinstance(column.variable, Int) and not distribution.log
    )


def _first_and_step(distribution: BaseDistribution) -> tuple[float, float]:
    low, step = getattr(distribution, "low", 0), getattr(distribution, "step", None)
    return low, step or 1


def _inner(wanted: Wanted, distribution: BaseDistribution, column: Column) -> Any:
    """What a condition wants, in the space's values."""
    if isinstance(distribution, CategoricalDistribution):
        places = [column.inward(choice) for choice in distribution.choices if holds(wanted, choice)]
        return [bool(place) for place in places] if isinstance(column.variable, Bool) else places
    if not isinstance(wanted, Within):
        return [column.inward(value) for value in wanted]
    if not _counted(distribution, column):
        return wanted
    low, step = _first_and_step(distribution)
    ends = [
        None if end is None else (end - low) / step + slack
        for end, slack in ((wanted.at_least, -_ROUNDING), (wanted.at_most, _ROUNDING))
    ]
    return Within(*ends)


def _column(distribution: BaseDistribution) -> Column:
    if isinstance(distribution, CategoricalDistribution):
        return _categorical(distribution)
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise ValueError(f"expected a distribution of floats, integers or choices, got {distribution!r}")
    low, high = distribution.low, distribution.high
    if distribution.log and isinstance(distribution, IntDistribution) and high - low < _MOST_LOG_VALUES:
        return Column(Int(int(low), int(high), log=True), int, _within(low, high))
    if distribution.step is not None and not distribution.log:
        count = round((high - low) / distribution.step)
        if isinstance(distribution, FloatDistribution) and count < _MOST_STEPS:
            return _steps(Float(low, high, step=distribution.step))
        if count < _MOST_VALUES:
            return _grid(distribution, count)
    variable = Float(low, high, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        return Column(variable, lambda value: min(max(round(value), int(low)), int(high)), _within(low, high))
    return Column(variable, float, _within(low, high))


def _within(low: float, high: float) -> Callable[[Any], Any]:
    def inward(value: Any) -> Any:
        if not low <= value <= high:
            raise ValueError(f"{value!r} is not within [{low}, {high}]")
        return value

    return inward


def _steps(variable: Float) -> Column:
    """A float with a step: Optuna allows for rounding, a space knows its very values."""
    values = variable.grid()
    low, high, step = values[0], values[-1], variable.step or 1.0
    checked = _within(low, high)
    return Column(variable, float, lambda value: float(values[round((checked(value) - low) / step)]))


def _grid(distribution: FloatDistribution | IntDistribution, count: int) -> Column:
    """A lattice of equal steps, by number of the step."""
    low, high, step = distribution.low, distribution.high, distribution.step or 1
    kind: type = int if isinstance(distribution, IntDistribution) else float
    checked = _within(low, high)
    return Column(
        Int(0, count),
        outward=lambda k: kind(min(low + k * step, high)),
        inward=lambda value: round(float(checked(value) - low) / step),
    )


def _categorical(distribution: CategoricalDistribution) -> Column:
    """Choices by their place: in the order of their values if they are numbers, else without an order."""
    choices = distribution.choices
    numbers = [c for c in choices if isinstance(c, int | float) and math.isfinite(c)]
    ordered = len(numbers) == len(choices)
    order = sorted(range(len(choices)), key=numbers.__getitem__) if ordered else list(range(len(choices)))
    place = {index: k for k, index in enumerate(order)}
    variable: Variable = Int(0, len(choices) - 1) if ordered else Categorical(range(len(choices)))
    return Column(
        Bool() if len(choices) == 2 else variable,
        outward=lambda k: choices[order[k]],
        inward=lambda value: place[int(distribution.to_internal_repr(value))],
    )
