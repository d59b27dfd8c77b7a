"""Optuna's distributions as a space, and its parameter values as those of the space."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from ..space import Categorical, Space
from ..space.encoding import Encoding
from ..space.variables import Bool, Float, Int, Variable

# beyond so many values an integer is as good as continuous
_MOST_VALUES = 2**50
_MOST_LOG_VALUES = 1_000_000
_MOST_STEPS = 100_000  # of a Float, which lists its values


class Column(NamedTuple):
    """A variable, and its values from and to those of the parameter."""

    variable: Variable
    outward: Callable[[Any], Any]
    inward: Callable[[Any], Any]


class Translation:
    """Between a search space of Optuna and a `Space`; parameters are sorted by name."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        """Take distributions that have more than one value."""
        self.columns = {name: _column(distributions[name]) for name in sorted(distributions)}
        self.space = Space({name: column.variable for name, column in self.columns.items()})

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
        return {name: column.outward(params[name]) for name, column in self.columns.items()}

    def inward(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Values for the space, or None if some parameter is missing or was drawn from elsewhere."""
        try:
            return {name: column.inward(params[name]) for name, column in self.columns.items()}
        except (KeyError, ValueError):
            return None


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
