"""Between the user's values and the coordinates in which a strategy moves its Gaussian.

`Encoding` is a space with a first Gaussian chosen: coordinates in which that Gaussian is N(m, I), continuous
ones first, integers last, fixed variables left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, Params, PerVariable
from .fold import Fold
from .lattice import Lattice
from .space import Space
from .variables import DEFAULT_SHARE, Variable

_LARGEST_LOG = math.log(np.finfo(np.float64).max)


class Points(NamedTuple):
    """Several points: numbers in the user's order and units, and as the objective gets them."""

    x: FloatArray
    params: list[Params]


class Encoding:
    """Internal coordinates of a space, scaled so that the first Gaussian has standard deviation 1.

    >>> from saltus import Float, Int
    >>> encoding = Encoding(Space([Int(0, 10), Float(init=1.0, scale=2.0)]), mean=None, sigma=4.0)
    >>> encoding.m.tolist()  # the continuous variable first; both in units of their scale
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
        self.N, self.n_continuous = len(order), len(self._continuous)

        starts = np.array([v.start(means[i], sigmas[i]) for v, i in zip(variables, order, strict=True)])
        middle, self._scale = starts[:, 0], starts[:, 1]
        ranges = np.array([v.internal_range() for v in variables])
        self._low, self._high = ranges[:, 0], ranges[:, 1]
        n_continuous = self.n_continuous
        self._fold = Fold(self._low[:n_continuous], self._high[:n_continuous], self._scale[:n_continuous])
        self.m = self._to_coordinates(middle)
        self.lattice = Lattice(
            [
                _scaled_grid(v, d)
                for v, d in zip(variables[n_continuous:], self._scale[n_continuous:].tolist(), strict=True)
            ]
        )
        self._values = Lattice([v.grid() for v in variables[n_continuous:]])  # in the user's units
        self._logs = np.flatnonzero([v.log for v in variables[:n_continuous]])
        limits = np.array([variables[j].range() for j in self._logs]).reshape(-1, 2)
        self._log_low, self._log_high = limits[:, 0], limits[:, 1]
        constants = np.zeros(len(space.variables))
        for i in self._fixed:
            constants[i] = _single_value(space.variables[i])
        self._template = constants

    def decode(self, x: FloatArray, plateaus: FloatArray) -> Points:
        """The user's points, from internal coordinates and the plateaus of their integer ones."""
        numbers = self.numbers(x, plateaus)
        return Points(numbers, self._as_params(numbers, plateaus))

    def numbers(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        """The same points as numbers alone, one row each."""
        numbers = np.empty((len(x), len(self.space.variables)))
        numbers[:, self._continuous_columns] = self._continuous_values(x)
        numbers[:, self._discrete_columns] = self._values.value(plateaus)
        if self._fixed:
            numbers[:, self._fixed] = self._template[self._fixed]
        return numbers

    def _continuous_values(self, x: FloatArray) -> FloatArray:
        """The continuous variables of internal points, in the user's units and within their bounds."""
        u = self._fold(x[:, : self.n_continuous] * self._scale[: self.n_continuous])
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
        numbers = np.array(
            [variable.check_within(value, self.space.label(i)) for i, (variable, value) in pairs]
        )
        whole = numbers[self._discrete]
        off = np.abs(self._values.value(self._values.plateau(whole)) - whole) > 1e-9 * np.maximum(
            1.0, np.abs(whole)
        )
        if off.any():
            i = self._discrete[int(off.argmax())]
            raise ValueError(f"{self.space.label(i)} must be one of its values, got {values[i]!r}")
        return numbers

    def located(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Internal coordinates of one point, NaN for its integers, and their plateaus."""
        x = self.encode(numbers)
        x[self.n_continuous :] = np.nan
        return x, self._values.plateau(numbers[self._discrete])

    def params_of(self, numbers: FloatArray) -> Params:
        """A point as the objective gets it, from its numbers in the user's order and units."""
        plateaus = self._values.plateau(numbers[None, self._discrete])
        return self._as_params(numbers[None, :], plateaus)[0]

    def unrounded(self, x: FloatArray) -> FloatArray:
        """One internal point in the user's order and units, integers not rounded."""
        u = x * self._scale
        log_integers = self.n_continuous + np.flatnonzero(
            [v.log for v in self._variables[self.n_continuous :]]
        )
        u[log_integers] = np.exp(u[log_integers])
        u[: self.n_continuous] = self._continuous_values(x[None, :])[0]
        return self._in_user_order(u)

    def spreads(self, sd: FloatArray) -> FloatArray:
        """Standard deviations in the user's order; of the logarithm where that is the coordinate."""
        return self._in_user_order(sd * self._scale, fixed=0.0)

    def _in_user_order(self, free: FloatArray, fixed: float | None = None) -> FloatArray:
        numbers = self._template.copy() if fixed is None else np.full(len(self.space.variables), fixed)
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
        u[: self.n_continuous] = self._fold.inverse(u[: self.n_continuous])
        return np.asarray(u / self._scale)

    def _as_params(self, numbers: FloatArray, plateaus: FloatArray) -> list[Params]:
        if self.space.names is None:
            return list(numbers.copy())  # the objective may write into its array
        columns: list[list[Any]] = [[]] * len(self.space.variables)
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
    n = len(space.variables)
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
