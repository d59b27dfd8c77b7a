"""The search space, and the internal coordinates in which a strategy sees it.

`Space` holds the user's variables. `Frame` is a space with a first Gaussian chosen: coordinates in which
that Gaussian is N(m, I), continuous ones first, integers last, fixed variables left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bounds import Fold
from .strategy import FloatArray, Lattice
from .variables import DEFAULT_SHARE, Bool, Float, Int, Ordinal, Variable

Params = Any  # a dict for Space({...}), a 1-D array for Space([...])
PerVariable = float | Sequence[float] | Mapping[str, float] | FloatArray | None

_LARGEST_LOG = math.log(np.finfo(np.float64).max)
_KINDS: dict[str, type[Variable]] = {kind.__name__: kind for kind in (Float, Int, Ordinal, Bool)}


class Space:
    """The variables of a problem, by name or in a row.

    With names, the objective gets a dict of plain Python values; without, a 1-D float array.

    >>> space = Space({"lr": Float(1e-5, 1e-1, log=True), "layers": Int(1, 8), "bias": Bool()})
    >>> space.dimension
    3
    >>> Space([Float(0, 1), Int(3, 3)]).dimension  # a single possible value costs no dimension
    1
    """

    def __init__(self, variables: Mapping[str, Variable] | Sequence[Variable]) -> None:
        """Take a dict of variables by name, or a sequence of variables."""
        if isinstance(variables, Mapping):
            self.names: tuple[str, ...] | None = tuple(variables)
            given = list(variables.values())
        elif isinstance(variables, Sequence) and not isinstance(variables, str | bytes):
            self.names, given = None, list(variables)
        else:
            raise TypeError(
                "Space takes a dict of variables by name or a list of variables, "
                f"got {type(variables).__name__}"
            )
        if not given:
            raise ValueError("Space needs at least one variable, got none")
        for label, variable in zip(self.names or range(len(given)), given, strict=True):
            if self.names is not None and not isinstance(label, str):
                raise TypeError(f"Space: names must be strings, got {label!r}")
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"Space: {label!r} must be Float, Int, Ordinal or Bool, got {variable!r}; "
                    "a range is written Float(low, high) or Int(low, high)"
                )
        self.variables: tuple[Variable, ...] = tuple(given)
        self.dimension = sum(not v.fixed for v in given)  # how many can vary

    def __len__(self) -> int:
        """How many variables there are, fixed ones included."""
        return len(self.variables)

    def __eq__(self, other: object) -> bool:
        """Equal names and variables in the same order."""
        if not isinstance(other, Space):
            return NotImplemented
        return (self.names, self.variables) == (other.names, other.variables)

    __hash__ = None  # type: ignore[assignment]  # comparable by value, so not hashable by identity

    def __repr__(self) -> str:
        """As it is written."""
        if self.names is None:
            return f"Space({list(self.variables)!r})"
        return f"Space({dict(zip(self.names, self.variables, strict=True))!r})"

    def to_plain(self) -> dict[str, Any]:
        """The space as JSON-able data; values of Ordinal become plain ints and floats."""
        rows = []
        for variable in self.variables:
            row = dataclasses.asdict(variable)  # type: ignore[call-overload]  # each kind is one
            if isinstance(variable, Ordinal):
                row["values"] = [int(v) if isinstance(v, Integral) else float(v) for v in variable.values]
            rows.append({"kind": type(variable).__name__, **row})
        return {"names": None if self.names is None else list(self.names), "variables": rows}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Space:
        """The space that `to_plain` described."""
        variables = [
            _KINDS[row["kind"]](**{k: v for k, v in row.items() if k != "kind"}) for row in plain["variables"]
        ]
        if plain["names"] is None:
            return cls(variables)
        return cls(dict(zip(plain["names"], variables, strict=True)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The names, or x0, x1 and so on where there are none."""
        return tuple(f"x{i}" for i in range(len(self))) if self.names is None else self.names

    def count_points(self) -> float:
        """How many different points there are.

        >>> Space({"a": Int(0, 9), "b": Bool()}).count_points(), Space({"x": Float(0, 1)}).count_points()
        (20, inf)
        """
        free = [v for v in self.variables if not v.fixed]
        if not all(v.discrete for v in free):
            return math.inf
        grids = (v.grid() for v in free)
        return math.prod(grid[2] if isinstance(grid, tuple) else len(grid) for grid in grids)

    def label(self, i: int) -> str:
        """What to call variable i in a message."""
        return f"variable {i}" if self.names is None else repr(self.names[i])


class Points(NamedTuple):
    """Several points: numbers in the user's order and units, and as the objective gets them."""

    x: FloatArray
    params: list[Params]


class Frame:
    """Internal coordinates of a space, scaled so that the first Gaussian has standard deviation 1.

    >>> frame = Frame(Space([Int(0, 10), Float(init=1.0, scale=2.0)]), mean=None, sigma=4.0)
    >>> frame.m.tolist()  # the continuous variable first; both in units of their scale
    [0.25, 1.25]
    """

    def __init__(self, space: Space, mean: PerVariable = None, sigma: PerVariable = None) -> None:
        """`mean` and `sigma`: None, a number, or one per variable, in the user's units."""
        if not space.dimension:
            raise ValueError("nothing to optimise: every variable of the space has a single possible value")
        self.space = space
        means, sigmas = _per_variable(space, "mean", mean), _per_variable(space, "sigma", sigma)
        self.given_mean, self.given_sigma = means, sigmas
        free = [i for i, v in enumerate(space.variables) if not v.fixed]
        self._continuous = [i for i in free if not space.variables[i].discrete]
        self._discrete = [i for i in free if space.variables[i].discrete]
        self._continuous_columns = _columns(self._continuous)
        self._discrete_columns = _columns(self._discrete)
        self._fixed = [i for i, v in enumerate(space.variables) if v.fixed]
        self._order = order = self._continuous + self._discrete
        variables = [space.variables[i] for i in order]
        self._variables = variables
        self.N, self.n_co = len(order), len(self._continuous)

        starts = np.array([v.start(means[i], sigmas[i]) for v, i in zip(variables, order, strict=True)])
        middle, self._scale = starts[:, 0], starts[:, 1]
        ranges = np.array([v.internal_range() for v in variables])
        self._low, self._high = ranges[:, 0], ranges[:, 1]
        n_co = self.n_co
        self._fold = Fold(self._low[:n_co], self._high[:n_co], self._scale[:n_co])
        self.m = self._to_coordinates(middle)
        self.lattice = Lattice(
            [_scaled_grid(v, d) for v, d in zip(variables[n_co:], self._scale[n_co:].tolist(), strict=True)]
        )
        self._values = Lattice([v.grid() for v in variables[n_co:]])  # in the user's units
        self._logs = np.flatnonzero([v.log for v in variables[:n_co]])
        limits = np.array([variables[j].range() for j in self._logs]).reshape(-1, 2)
        self._log_low, self._log_high = limits[:, 0], limits[:, 1]
        constants = np.zeros(len(space))
        for i in self._fixed:
            constants[i] = _single_value(space.variables[i])
        self._template = constants

    def decode(self, x: FloatArray, plateaus: FloatArray) -> Points:
        """The user's points, from internal coordinates and the plateaus of their integer ones."""
        numbers = self.numbers(x, plateaus)
        return Points(numbers, self._as_params(numbers, plateaus))

    def numbers(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        """The same points as numbers alone, one row each."""
        numbers = np.empty((len(x), len(self.space)))
        numbers[:, self._continuous_columns] = self._continuous_values(x)
        numbers[:, self._discrete_columns] = self._values.value(plateaus)
        if self._fixed:
            numbers[:, self._fixed] = self._template[self._fixed]
        return numbers

    def _continuous_values(self, x: FloatArray) -> FloatArray:
        """The continuous variables of internal points, in the user's units and within their bounds."""
        u = self._fold(x[:, : self.n_co] * self._scale[: self.n_co])
        if self._logs.size:
            values = np.exp(np.minimum(u[:, self._logs], _LARGEST_LOG))
            u[:, self._logs] = np.minimum(np.maximum(values, self._log_low), self._log_high)
        return u

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Internal coordinates of one point given as numbers in the user's order and units."""
        variables = self.space.variables
        internal = [variables[i].to_internal(float(numbers[i])) for i in self._order]
        return self._to_coordinates(np.array(internal))

    def numbers_of(self, params: Params) -> FloatArray:
        """One point in the user's order and units, from what the objective gets."""
        names, variables = self.space.names, self.space.variables
        if names is None:
            values = list(params)
        else:
            missing = [name for name in names if name not in params]
            if missing:
                raise ValueError(f"a point has a value for each variable; {missing[0]!r} is missing")
            values = [params[name] for name in names]
        if len(values) != len(variables):
            raise ValueError(f"a point has {len(variables)} values, got {len(values)}")
        pairs = enumerate(zip(variables, values, strict=True))
        numbers = [variable.check_within(value, self.space.label(i)) for i, (variable, value) in pairs]
        return np.array(numbers)

    def located(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Internal coordinates of one point, NaN for its integers, and their plateaus."""
        x = self.encode(numbers)
        x[self.n_co :] = np.nan
        return x, self._values.plateau(numbers[self._discrete])

    def params_of(self, numbers: FloatArray) -> Params:
        """A point as the objective gets it, from its numbers in the user's order and units."""
        plateaus = self._values.plateau(numbers[None, self._discrete])
        return self._as_params(numbers[None, :], plateaus)[0]

    def unrounded(self, x: FloatArray) -> FloatArray:
        """One internal point in the user's order and units, integers not rounded."""
        u = x * self._scale
        log_integers = self.n_co + np.flatnonzero([v.log for v in self._variables[self.n_co :]])
        u[log_integers] = np.exp(u[log_integers])
        u[: self.n_co] = self._continuous_values(x[None, :])[0]
        return self._in_user_order(u)

    def spreads(self, sd: FloatArray) -> FloatArray:
        """Standard deviations in the user's order; of the logarithm where that is the coordinate."""
        return self._in_user_order(sd * self._scale, fixed=0.0)

    def _in_user_order(self, free: FloatArray, fixed: float | None = None) -> FloatArray:
        numbers = self._template.copy() if fixed is None else np.full(len(self.space), fixed)
        numbers[self._order] = free
        return numbers

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of each coordinate; without a bound, as far from the first mean as half a usual range."""
        bounded = np.isfinite(self._low) & np.isfinite(self._high)
        reach = 0.5 / DEFAULT_SHARE
        low = self._to_coordinates(np.where(bounded, self._low, 0.0))
        high = self._to_coordinates(np.where(bounded, self._high, 1.0))
        return np.where(bounded, low, self.m - reach), np.where(bounded, high, self.m + reach)

    def _to_coordinates(self, internal: FloatArray) -> FloatArray:
        u = internal.copy()
        u[: self.n_co] = self._fold.inverse(u[: self.n_co])
        return np.asarray(u / self._scale)

    def _as_params(self, numbers: FloatArray, plateaus: FloatArray) -> list[Params]:
        if self.space.names is None:
            return list(numbers.copy())  # the objective may write into its array
        columns: list[list[Any]] = [[]] * len(self.space)
        for i in self._continuous:
            columns[i] = numbers[:, i].tolist()
        for j, i in enumerate(self._discrete):
            columns[i] = self.space.variables[i].python(numbers[:, i], plateaus[:, j])
        for i in self._fixed:
            columns[i] = self.space.variables[i].python(numbers[:, i], np.zeros(len(numbers)))
        names = self.space.names
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _columns(indices: list[int]) -> slice | NDArray[np.intp]:
    """Columns of an array, as a slice where they are neighbours: that is the faster index."""
    if not indices:
        return slice(0)
    neighbours = range(indices[0], indices[0] + len(indices))
    if indices == list(neighbours):
        return slice(neighbours.start, neighbours.stop)
    return np.array(indices, dtype=np.intp)


def _scaled_grid(variable: Variable, scale: float) -> FloatArray | tuple[float, float, int]:
    grid = variable.grid()
    if not isinstance(grid, tuple):
        return np.asarray(grid / scale)
    first, step, count = grid
    if variable.log:
        return np.asarray(np.log(first + step * np.arange(count)) / scale)
    return first / scale, step / scale, count


def _single_value(variable: Variable) -> float:
    if variable.discrete:
        grid = variable.grid()
        return float(grid[0])
    return variable.range()[0]


def _per_variable(space: Space, what: str, given: PerVariable) -> list[float | None]:
    """One checked number (or None) per variable, from None, a number, a sequence or a dict."""
    n = len(space)
    numbers: Any = given
    if given is None:
        return [None] * n
    if isinstance(given, Mapping):
        if space.names is None:
            raise TypeError(f"{what}: a dict needs a space with names; give a number or {n} numbers")
        unknown = [name for name in given if name not in space.names]
        if unknown:
            raise ValueError(f"{what}: {unknown[0]!r} is not a variable of {list(space.names)}")
        numbers = [given.get(name) for name in space.names]
    elif np.ndim(given) == 0:
        numbers = [given] * n
    elif np.ndim(given) != 1 or len(numbers) != n:
        raise ValueError(
            f"{what} must be a number or one number for each of the {n} variables, "
            f"got shape {np.shape(given)}"
        )
    checked: list[float | None] = []
    for i, (variable, value) in enumerate(zip(space.variables, numbers, strict=True)):
        check = variable.check_init if what == "mean" else variable.check_scale
        skip = value is None or variable.fixed
        checked.append(None if skip else check(value, f"{what} of {space.label(i)}"))
    return checked
