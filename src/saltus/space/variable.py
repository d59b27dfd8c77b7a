"""What all kinds of variables share: a variable as a coordinate of the search, and where the search starts.

A variable knows its internal coordinate: the value itself, or its logarithm. `init` (where the search starts)
and `scale` (its first standard deviation) are in the user's units.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from .._typing import FloatArray
from . import conditions

# The first standard deviation, as a share of a variable's range: docs/choices.md, experiments/scale.py.
DEFAULT_SHARE = 0.15
LARGEST_INT = 2**50  # up to here internal coordinates tell neighbouring integers apart
# sizes and widths, so that their squares, their quotients and what a search makes of them are numbers, too
SMALLEST, LARGEST = 1e-75, 1e75


def as_number(kind: str, name: str, value: Any) -> float:
    """A float, or an error that says of which kind of variable what must be one."""
    if isinstance(value, Real):
        with suppress(OverflowError):
            number = float(value)
            if not math.isnan(number):
                return number
    raise ValueError(f"{kind}: {name} must be a number that a float can hold, got {value!r}")


def as_whole(kind: str, name: str, value: Any) -> int:
    """A whole number that is not too large for internal coordinates, or an error likewise."""
    if isinstance(value, bool) or not isinstance(value, Real) or value % 1 != 0:
        raise ValueError(f"{kind}: {name} must be a whole number, got {value!r}")
    whole = int(cast(Any, value))
    if abs(whole) > LARGEST_INT:
        raise ValueError(f"{kind}: {name} must lie within +-2**50, got {value}")
    return whole


def sized(kind: str, name: str, number: float) -> float:
    """A number that is not too large to compute with."""
    if abs(number) > LARGEST:
        advice = "use another unit, or log=True" if kind == "Float" else "use another unit"
        raise ValueError(f"{kind}: {name} must lie within +-{LARGEST:g}, got {number:g}; {advice}")
    return number


Grid = FloatArray | tuple[float, float, int]  # values: sorted, or first, step and count


class Axis(NamedTuple):
    """A variable as a coordinate: the first Gaussian and the range in internal units, and its grids."""

    middle: float
    scale: float
    low: float
    high: float
    grid: Grid = (0.0, 0.0, 0)  # of a discrete variable in the user's units ...
    scaled: Grid = (0.0, 0.0, 0)  # ... and in the coordinate, of which `scale` is the unit


class Variable(ABC):
    """What Space asks of a variable. Use Float, Int, Ordinal, Bool or Categorical."""

    ordered: ClassVar[bool] = True  # whether neighbouring values are alike
    log: bool = False
    init: float | None
    scale: float | None
    when: Mapping[str, Any] | None = None  # its condition, of all kinds: docs/conditions.md

    def __repr__(self) -> str:
        """As it is written; without a condition where there is none."""
        own = [f.name for f in fields(self)]  # type: ignore[arg-type]  # each kind is a dataclass
        shown = [name for name in own if name != "when" or self.when is not None]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @property
    @abstractmethod
    def discrete(self) -> bool:
        """Whether it has a grid."""

    @property
    @abstractmethod
    def fixed(self) -> bool:
        """Whether there is only one possible value."""

    @abstractmethod
    def range(self) -> tuple[float, float]:
        """Lowest and highest point at which the search may start, in the user's units."""

    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        low, high = self.range()
        if not self.discrete:
            return low, high
        grid = self.grid()
        if isinstance(grid, tuple):
            return grid[0], grid[0] + (grid[2] - 1) * grid[1]
        return float(grid[0]), float(grid[-1])

    def grid(self) -> Grid:
        """The values in the user's units. Discrete variables only."""
        raise TypeError(f"{type(self).__name__} has no grid")

    def python(self, column: FloatArray, plateaus: FloatArray) -> list[Any]:
        """Values as the objective gets them, from numbers in the user's units and their plateaus."""
        return list(column.tolist())

    def number(self, value: Any) -> float:
        """A value that the objective got, as a number in the user's units."""
        return float(value)

    def to_internal(self, value: float) -> float:
        """The internal coordinate of a value."""
        return math.log(value) if self.log else value

    def internal_range(self) -> tuple[float, float]:
        """The range in the internal coordinate."""
        low, high = (self.to_internal(v) if math.isfinite(v) else v for v in self.range())
        return low, high

    def axis(self, init: float | None, scale: float | None) -> Axis:
        """The coordinate of a variable that is not fixed; None takes the default start and scale."""
        low, high = self.internal_range()
        middle, unit = self._start(low, high, init, scale)
        if not self.discrete:
            return Axis(middle, unit, low, high)
        grid: Grid = self.grid()
        if not isinstance(grid, tuple):
            return Axis(middle, unit, low, high, grid, np.asarray(grid / unit))
        first, step, count = grid
        scaled: Grid = (first / unit, step / unit, count)
        if self.log:
            scaled = np.asarray(np.log(first + step * np.arange(count)) / unit)
        return Axis(middle, unit, low, high, grid, scaled)

    def _start(self, low: float, high: float, init: float | None, scale: float | None) -> tuple[float, float]:
        """Internal mean and standard deviation of the first Gaussian."""
        init = self.init if init is None else init
        scale = self.scale if scale is None else scale
        bounded = math.isfinite(low) and math.isfinite(high)
        middle, unit = self._first_gaussian(low, high, init, scale)
        if not bounded and middle + unit == middle:
            start = math.exp(middle) if self.log else middle
            raise ValueError(
                f"{type(self).__name__}: scale is too small to tell points near the start, {start:g}, apart, "
                f"got {1.0 if scale is None else scale!r}; give a larger one"
            )
        return middle, unit

    def _first_gaussian(
        self, low: float, high: float, init: float | None, scale: float | None
    ) -> tuple[float, float]:
        bounded = math.isfinite(low) and math.isfinite(high)
        if init is not None:
            middle = self.to_internal(init)
        elif bounded:
            middle = (low + high) / 2
        elif self.log and scale is not None:
            middle = math.log(self.range()[0] + scale)
        else:  # one standard deviation away from the only bound, or 0
            step = 1.0 if scale is None else scale
            middle = low + step if math.isfinite(low) else high - step if math.isfinite(high) else 0.0
        if scale is None:
            return middle, DEFAULT_SHARE * (high - low) if bounded else 1.0
        if not self.log:
            return middle, scale
        start = math.exp(middle)
        if not SMALLEST <= scale / start <= LARGEST:
            raise ValueError(
                f"{type(self).__name__}: scale must be from {SMALLEST:g} to {LARGEST:g} times the start, "
                f"{start:g}, got {scale!r}"
            )
        return middle, math.log1p(scale / start)  # one sd up from init is init + scale

    def _check_start(self) -> None:
        kind = type(self).__name__
        object.__setattr__(self, "when", conditions.checked(self.when, kind))
        if self.init is not None:
            object.__setattr__(self, "init", self.check_init(self.init, kind))
        if self.scale is not None:
            object.__setattr__(self, "scale", self.check_scale(self.scale, kind))

    def check_init(self, init: Any, who: str) -> float:
        """A start within the range, as a float, or a ValueError that names the limits."""
        value = self.check_within(init, f"{who}: init")
        return value if self.log else sized(who, "init", value)

    def check_within(self, given: Any, what: str) -> float:
        """A number within the range, as a float, or a ValueError that names the limits."""
        low, high = self.range()
        value = math.nan
        if isinstance(given, Real | np.bool_):
            with suppress(OverflowError):  # an integer that no float can hold
                value = float(given)
        if not (low <= value <= high and math.isfinite(value)):
            first, last = self.ends()
            raise ValueError(f"{what} must lie in [{first:g}, {last:g}], got {given!r}{self.hint(given)}")
        return value

    def hint(self, given: Any) -> str:
        """What is expected instead of a value that this variable does not have; nothing if that is clear."""
        return "" if isinstance(given, Real) else "; a number is expected"

    def check_scale(self, scale: Any, who: str) -> float:
        """A positive standard deviation, as a float."""
        value = as_number(who, "scale", scale)
        if not (0 < value < math.inf):
            raise ValueError(f"{who}: scale must be positive and finite, got {scale!r}")
        if not SMALLEST <= value <= LARGEST:
            raise ValueError(
                f"{who}: scale must be from {SMALLEST:g} to {LARGEST:g}, got {scale!r}; use another unit"
            )
        return value
