"""The kinds of variables with an order: Float, Int, Ordinal and Bool."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._typing import FloatArray
from .variable import SMALLEST, Variable, as_number, as_whole, sized

_LARGEST_TABLE = 2_000_000
_ROUNDED = Decimal("1e-9")  # of a step, by which an upper bound may miss the last value
_LISTED = 12  # values of an Ordinal in a message
# nearer values could not be told apart in internal coordinates
_CLOSEST_VALUES = 1e-12


@dataclass(frozen=True, repr=False)
class Float(Variable):
    """A real number; bounds are optional on either side.

    Args:
        low, high: the bounds, both included; None is none.
        log: search the logarithm, for sizes that range over decades; needs `low` above 0.
        init: where to start; default the middle of the range.
        scale: the first standard deviation, in the variable's own unit; default a share of the range.
        step: only low, low + step, low + 2 step, ..., which are as written: 0.3, not 0.30000000000000004. It
            needs both bounds; `high` becomes the last of these values, if it is none of them.
        when: which values of other variables make it active; default always (docs/conditions.md).

    >>> Float(1e-5, 1e-1, log=True)
    Float(low=1e-05, high=0.1, log=True, init=None, scale=None, step=None)
    >>> Float(0, 1, step=0.3).grid().tolist()
    [0.0, 0.3, 0.6, 0.9]
    """

    low: float | None = None
    high: float | None = None
    log: bool = False
    init: float | None = None
    scale: float | None = None
    step: float | None = None
    when: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)

    def __post_init__(self) -> None:
        """Bounds become floats, an infinite one None; what is wrong is an error that says so."""
        for name, missing in (("low", -math.inf), ("high", math.inf)):
            value = getattr(self, name)
            number = missing if value is None else as_number("Float", name, value)
            object.__setattr__(self, name, None if math.isinf(number) else number)
            if number == -missing:
                raise ValueError(f"Float: {name} must be finite or None, got {value!r}")
        low, high = self._bounds()
        if low > high:
            raise ValueError(f"Float: low must not exceed high, got low={low:g}, high={high:g}")
        if self.log and low <= 0:
            raise ValueError(f"Float: log=True needs low > 0, got low={self.low!r}")
        if not self.log and not self.fixed:
            for name, bound in (("low", low), ("high", high)):
                if math.isfinite(bound):
                    sized("Float", name, bound)
        if self.step is not None:
            self._check_step(self.step, low, high)
        first, last = self.internal_range()
        if not self.fixed and last - first < SMALLEST:
            raise ValueError(
                f"Float: high must exceed low by {SMALLEST:g} or more, got low={low!r}, high={high!r}; "
                "use another unit, or equal bounds for a fixed value"
            )
        self._check_start()

    @property
    def fixed(self) -> bool:
        """Equal bounds fix a variable."""
        return self.low is not None and self.low == self.high

    @property
    def discrete(self) -> bool:
        """Whether it has a step."""
        return self.step is not None

    def hint(self, given: Any) -> str:
        """As for all; and the step."""
        number = super().hint(given)
        return number or (f"; it goes from {self.low:g} in steps of {self.step:g}" if self.step else "")

    def range(self) -> tuple[float, float]:
        """The bounds, infinite where there is none; with a step, the outer ends of the outermost plateaus."""
        low, high = self._bounds()
        half = 0.0 if self.step is None or self.fixed else self.step / 2
        return low - half, high + half

    def grid(self) -> FloatArray:
        """The lattice of the values, if there is a step."""
        if self.step is None:
            raise TypeError("Float has no grid without a step")
        return _stepped(*self._bounds(), self.step)

    def python(self, column: FloatArray, plateaus: FloatArray) -> list[Any]:
        """Plain floats; with a step, the values of the plateaus."""
        return list((column if self.step is None else self.grid()[plateaus.astype(np.intp)]).tolist())

    def _bounds(self) -> tuple[float, float]:
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )

    def _check_step(self, given: Any, low: float, high: float) -> None:
        """The step becomes a float, and the upper bound the last value."""
        step = as_number("Float", "step", given)
        if not 0 < step < math.inf:
            raise ValueError(f"Float: step must be positive and finite, got {given!r}")
        if not math.isfinite(high - low):
            raise ValueError(f"Float: step needs low and high, got low={self.low!r}, high={self.high!r}")
        if self.log:
            raise ValueError("Float: step and log=True do not go together; give the values to Ordinal")
        if not step > max(_CLOSEST_VALUES * max(abs(low), abs(high)), SMALLEST):
            raise ValueError(f"Float: step is too small to tell values near {high:g} apart, got {given!r}")
        if (high - low) / step >= _LARGEST_TABLE:
            raise ValueError(
                f"Float: step makes at most {_LARGEST_TABLE:,} values, got {(high - low) / step:,.0f}; "
                "leave it out"
            )
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "high", float(_stepped(low, high, step)[-1]))


@lru_cache
def _stepped(low: float, high: float, step: float) -> FloatArray:
    """From low in equal steps as far as high, each with no more digits than low and step are written with."""
    first, each, last = (Decimal(repr(number)) for number in (low, step, high))
    count = int((last - first) / each + _ROUNDED) + 1
    values = np.array([float(first + i * each) for i in range(count)])
    values.setflags(write=False)
    return values


@dataclass(frozen=True, repr=False)
class Int(Variable):
    """A whole number from low to high, both included.

    Args:
        low, high: the least and the largest value.
        log: 1, 2, 4 and 8 are equally far apart: for sizes, counts and widths; needs `low` of 1 or more.
        init: where to start, which need not be whole; default the middle of the range.
        scale: the first standard deviation; default a share of the range.
        when: which values of other variables make it active; default always (docs/conditions.md).

    >>> Int(1, 64, log=True)
    Int(low=1, high=64, log=True, init=None, scale=None)
    """

    low: int
    high: int
    log: bool = False
    init: float | None = None
    scale: float | None = None
    when: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Bounds become plain ints; what is wrong is an error that says so."""
        low, high = as_whole("Int", "low", self.low), as_whole("Int", "high", self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if low > high:
            raise ValueError(f"Int: low must not exceed high, got low={low}, high={high}")
        if self.log and low < 1:
            raise ValueError(f"Int: log=True needs low >= 1, got low={low}")
        if self.log and high - low >= _LARGEST_TABLE:
            raise ValueError(
                f"Int: log=True takes at most {_LARGEST_TABLE:,} values, got {high - low + 1:,}; "
                "use Float(log=True) and round in the objective"
            )
        self._check_start()

    @property
    def fixed(self) -> bool:
        """Equal bounds fix a variable."""
        return self.low == self.high

    def hint(self, given: Any) -> str:
        """As for all; a number between two values is none."""
        whole = isinstance(given, Real) and given % 1 == 0
        return "" if whole else "; a whole number is expected"

    def range(self) -> tuple[float, float]:
        """The outer ends of the outermost plateaus."""
        if self.log:
            return (
                self.low * math.sqrt(self.low / (self.low + 1)),
                self.high * math.sqrt((self.high + 1) / self.high),
            )
        return self.low - 0.5, self.high + 0.5

    def grid(self) -> tuple[float, float, int]:
        """The lattice of the values: the first, the step, which is one, and how many."""
        return float(self.low), 1.0, self.high - self.low + 1

    def python(self, column: FloatArray, plateaus: FloatArray) -> list[Any]:
        """What the objective gets for each number of a column: a plain int."""
        return [int(v) for v in column.tolist()]


@dataclass(frozen=True, repr=False)
class Ordinal(Variable):
    """One of several increasing numbers; the objective gets the very values given.

    Args:
        values: at least one finite number, strictly increasing.
        init: where to start, a number within the range of the values; default its middle.
        scale: the first standard deviation; default a share of the range.
        when: which values of other variables make it active; default always (docs/conditions.md).

    >>> Ordinal([0.1, 0.5, 2.0]).values
    (0.1, 0.5, 2.0)
    """

    values: tuple[Any, ...]
    init: float | None = None
    scale: float | None = None
    when: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)
    discrete: ClassVar[bool] = True

    def __init__(
        self,
        values: Iterable[Any],
        init: float | None = None,
        scale: float | None = None,
        *,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        """Any iterable of at least one finite number, strictly increasing."""
        if not isinstance(values, Iterable):
            raise TypeError(f"Ordinal: values must be a list of increasing numbers, got {values!r}")
        given = tuple(values)
        if names := [v for v in given if isinstance(v, str)]:
            raise ValueError(
                f"Ordinal: each value must be a number, got {names[0]!r}; Categorical takes names"
            )
        numbers = [as_number("Ordinal", "each value", v) for v in given]
        if not given or not all(map(math.isfinite, numbers)):
            raise ValueError(f"Ordinal: expected at least one finite number, got {list(given)!r}")
        if any(b <= a for a, b in itertools.pairwise(numbers)):
            raise ValueError(f"Ordinal: values must increase strictly, got {list(given)!r}")
        for end in (numbers[0], numbers[-1]):
            sized("Ordinal", "each value", end)
        for a, b in itertools.pairwise(numbers):
            if not b - a > max(_CLOSEST_VALUES * max(abs(a), abs(b)), SMALLEST):
                raise ValueError(
                    f"Ordinal: values must differ by more than {_CLOSEST_VALUES:g} of their size, and by "
                    f"more than {SMALLEST:g}, got {a!r} and {b!r}; are they meant to be the same?"
                )
        object.__setattr__(self, "values", given)
        object.__setattr__(self, "init", init)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "when", when)
        self._check_start()

    @property
    def fixed(self) -> bool:
        """Whether there is a single value, which then costs no dimension."""
        return len(self.values) == 1

    def hint(self, given: Any) -> str:
        """The values, unless they are many."""
        return f"; they are {', '.join(map(str, self.values))}" if len(self.values) <= _LISTED else ""

    def range(self) -> tuple[float, float]:
        """The outer ends of the outermost plateaus, as wide as their inner halves."""
        v = self.grid()
        if len(v) == 1:
            return float(v[0]), float(v[0])
        return float(1.5 * v[0] - 0.5 * v[1]), float(1.5 * v[-1] - 0.5 * v[-2])

    def grid(self) -> FloatArray:
        """The lattice of the values: themselves, as floats."""
        return np.array(self.values, dtype=np.float64)

    def python(self, column: FloatArray, plateaus: FloatArray) -> list[Any]:
        """What the objective gets for each plateau: the very value given, of its own type."""
        return [self.values[int(k)] for k in plateaus.tolist()]


@dataclass(frozen=True, repr=False)
class Bool(Variable):
    """A switch: the objective gets False or True.

    Args:
        init: where to start, from -0.5 to 1.5; default 0.5, either way.
        scale: the first standard deviation; default a share of the range.
        when: which values of other variables make it active; default always (docs/conditions.md).

    >>> from saltus import Space, minimize
    >>> minimize(lambda p: 0 if p["on"] else 1, Space({"on": Bool()}), budget=10, seed=1).params
    {'on': True}
    """

    init: float | None = None
    scale: float | None = None
    when: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)
    discrete: ClassVar[bool] = True
    fixed: ClassVar[bool] = False  # a constant where others compute

    def __post_init__(self) -> None:
        """A start becomes a float; what is wrong is an error that says so."""
        self._check_start()

    def hint(self, given: Any) -> str:
        """Both values."""
        return "; true or false is expected"

    def range(self) -> tuple[float, float]:
        """The outer ends of both plateaus."""
        return -0.5, 1.5

    def grid(self) -> tuple[float, float, int]:
        """The lattice of the values: from 0 in steps of 1, two of them."""
        return 0.0, 1.0, 2

    def check_within(self, given: Any, what: str) -> float:
        """False or True as a number, or a start between them."""
        if not isinstance(given, Real | np.bool_):
            raise ValueError(f"{what} must be true or false, got {given!r}")
        return super().check_within(given, what)

    def python(self, column: FloatArray, plateaus: FloatArray) -> list[Any]:
        """What the objective gets for each number of a column: a plain bool."""
        return [bool(v) for v in column.tolist()]
