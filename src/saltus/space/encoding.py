"""Between the user's values and the coordinates in which a strategy moves its Gaussian.

`Encoding` is a space with a first Gaussian chosen: coordinates in which that Gaussian is N(m, I), continuous
ones first, then integers, fixed variables left out. Categories come last: their coordinate is the number of a
value, and no Gaussian moves along it. How their values are numbered is drawn at random for each search
(`shuffle`), so nothing can depend on the order in which somebody has written them down.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks import did_you_mean
from .._typing import FloatArray, Mask, Params, PerVariable
from .activity import Activity
from .conditions import said
from .fold import Fold
from .lattice import Lattice
from .space import Space
from .variable import DEFAULT_SHARE, Variable

ROUNDING = 1e-6  # standard deviations by which coordinates may differ from one machine to another
LAST_DIGITS = 1e-14  # of a number, which a coordinate may change
LARGEST_LOG = math.log(np.finfo(np.float64).max)


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
        variables = space.variables
        axes = {i: v.axis(means[i], sigmas[i]) for i, v in enumerate(variables) if not v.fixed}
        self._continuous = [i for i in axes if not variables[i].discrete]
        self._categories = [i for i in axes if not variables[i].ordered]
        self._discrete = [i for i in axes if variables[i].discrete and variables[i].ordered]
        self._discrete += self._categories
        self.n_categories = len(self._categories)
        self._continuous_columns = _columns(self._continuous)
        self._discrete_columns = _columns(self._discrete)
        self._order = self._continuous + self._discrete
        self.N, self.n_continuous = len(axes), len(self._continuous)
        self._template = np.zeros(len(variables))
        self._fixed = [i for i in range(len(variables)) if i not in axes]
        for i in self._fixed:
            self._template[i] = _single_value(variables[i])
        self._logs = np.flatnonzero([variables[i].log for i in self._continuous])
        limits = np.array([variables[self._continuous[j]].range() for j in self._logs]).reshape(-1, 2)
        self._log_low, self._log_high = limits[:, 0], limits[:, 1]

        middle, self._scale, low, high = np.array([axes[i][:4] for i in self._order]).T
        sizes = self._scale[: self.n_continuous].copy()
        sizes[self._logs] = 0.0
        starts = (variables[i].init if means[i] is None else means[i] for i in self._continuous)
        inits = np.array([*starts], dtype=np.float64)  # NaN: none
        self._begun = np.flatnonzero(~np.isnan(inits))
        self._inits = inits[self._begun]
        self._near_inits = LAST_DIGITS * np.maximum(np.abs(inits), sizes)[self._begun]
        grids, scaled = [axes[i].grid for i in self._discrete], [axes[i].scaled for i in self._discrete]
        self.bounded = bounded = np.isfinite(low) & np.isfinite(high)  # which coordinates have two ends
        n = self.n_continuous
        points = np.array([middle, np.where(bounded, low, 0.0), np.where(bounded, high, 1.0)])
        self._fold = Fold(low[:n], high[:n], self._scale[:n])
        points[:, :n] = self._fold.inverse(points[:, :n])
        self.m, first, last = points / self._scale
        # both ends of each coordinate; without a bound, as far from the first mean as half a usual range
        reach = 0.5 / DEFAULT_SHARE
        self.ends = np.where(bounded, first, self.m - reach), np.where(bounded, last, self.m + reach)
        # the same as values or their logarithms; of one bound only the other end is made up
        reaches, middles = reach * self._scale, self.m * self._scale
        self.internal_ends = (
            np.where(np.isfinite(low), low, middles - reaches),
            np.where(np.isfinite(high), high, middles + reaches),
        )
        self.lattice = Lattice(scaled)
        self._values = Lattice(grids)  # in the user's units
        # of each category: the place among its choices of each value, and the other way round
        self.orders = [np.arange(self.lattice.last[j] + 1) for j in self._category_columns]
        self._numbered = self.orders

    @property
    def _category_columns(self) -> range:
        """Which of the discrete coordinates are categories: the last ones."""
        return range(self.lattice.size - self.n_categories, self.lattice.size)

    def shuffle(self, rng: np.random.Generator) -> None:
        """Number the values of categories at random; without categories nothing is drawn."""
        self.reorder([rng.permutation(order) for order in self.orders])

    def reorder(self, orders: Sequence[FloatArray]) -> None:
        """Number the values of categories like this: for each category the place of each value."""
        if len(orders) != self.n_categories or not all(
            np.array_equal(np.sort(order), np.arange(len(own)))
            for order, own in zip(orders, self.orders, strict=True)
        ):
            raise ValueError("orders must hold the places of all choices of each category, once each")
        self.orders = [np.asarray(order, dtype=np.float64) for order in orders]
        self._numbered = [np.argsort(order).astype(np.float64) for order in orders]

    def _user_values(self, plateaus: FloatArray) -> FloatArray:
        """The discrete variables in the user's units, from plateaus."""
        values = self._values.value(plateaus)
        for j, order in zip(self._category_columns, self.orders, strict=True):
            values[..., j] = order[plateaus[..., j].astype(np.intp)]
        return values

    def _user_plateaus(self, values: FloatArray) -> FloatArray:
        """The other way round."""
        plateaus = self._values.plateau(values)
        for j, numbered in zip(self._category_columns, self._numbered, strict=True):
            plateaus[..., j] = numbered[plateaus[..., j].astype(np.intp)]
        return plateaus

    def decode(self, x: FloatArray, plateaus: FloatArray) -> Points:
        """The user's points, from internal coordinates and the plateaus of their integer ones."""
        numbers = self.numbers(x, plateaus)
        return Points(numbers, self.as_params(numbers, plateaus))

    def numbers(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        """The same points as numbers alone, one row each; what is not active is the same everywhere."""
        numbers = self.all_numbers(x, plateaus)
        return numbers if self.space.activity is None else self.space.activity.settled(numbers)

    def active(self, x: FloatArray, plateaus: FloatArray) -> Mask:
        """Which coordinates are active at points, one row each."""
        if self.space.activity is None:
            return np.ones(x.shape, dtype=bool)
        return np.asarray(self.space.activity.active(self.all_numbers(x, plateaus))[:, self._order])

    def all_numbers(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        """Likewise, as if everything were active."""
        return self.assembled(self._continuous_values(x), plateaus)

    def assembled(self, values: FloatArray, plateaus: FloatArray) -> FloatArray:
        """Likewise, from the continuous variables in the user's units."""
        numbers = np.empty((len(values), len(self.space.variables)))
        numbers[:, self._continuous_columns] = values
        numbers[:, self._discrete_columns] = self._user_values(plateaus)
        if self._fixed:
            numbers[:, self._fixed] = self._template[self._fixed]
        return numbers

    def _continuous_values(self, x: FloatArray) -> FloatArray:
        """The continuous variables of internal points, in the user's units and within their bounds."""
        u = self._fold(x[:, : self.n_continuous] * self._scale[: self.n_continuous])
        if self._logs.size:
            values = np.exp(np.minimum(u[:, self._logs], LARGEST_LOG))
            u[:, self._logs] = np.minimum(np.maximum(values, self._log_low), self._log_high)
        if self._begun.size:  # a start is what was written, and not what its coordinate is rounded to
            values = u[:, self._begun]
            same = np.abs(values - self._inits) <= self._near_inits
            u[:, self._begun] = np.where(same, self._inits, values)
        return u

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Internal coordinates of one point given as numbers in the user's order and units."""
        variables = self.space.variables
        x = np.array([variables[i].to_internal(float(numbers[i])) for i in self._order])
        x[: self.n_continuous] = self._fold.inverse(x[: self.n_continuous])
        x /= self._scale
        if self.n_categories:
            x[-self.n_categories :] = self._user_plateaus(numbers[self._discrete])[-self.n_categories :]
        return x

    def numbers_of(self, params: Params) -> FloatArray:
        """One point in the user's order and units, from what the objective gets."""
        names, variables, activity = self.space.names, self.space.variables, self.space.activity
        if names is None:
            values = list(params)
        elif not isinstance(params, Mapping):
            raise TypeError(f"a point is a dict of values by name, got {params!r}")
        elif activity is not None:
            return self._active_numbers_of(params, names, activity)
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
        self._check_on_grid(numbers, values)
        return numbers

    def _active_numbers_of(self, params: Params, names: tuple[str, ...], activity: Activity) -> FloatArray:
        """The same where there are conditions: exactly what is active has a value."""
        numbers, values = activity.idle.copy(), activity.idle.tolist()
        for i, (name, variable) in enumerate(zip(names, self.space.variables, strict=True)):
            if name in params:
                numbers[i], values[i] = variable.check_within(params[name], repr(name)), params[name]
        self._check_on_grid(numbers, values)
        active = activity.active(numbers[None])[0].tolist()
        for i in activity.order:  # what is missing may be why another one is not active
            name = names[i]
            if active[i] and name not in params:
                raise ValueError(f"a point has a value for each active variable; {name!r} is missing")
            if name in params and not active[i]:
                raise ValueError(self._not_active(i))
        return numbers

    def _not_active(self, i: int) -> str:
        """What to say of a value for a variable that is not active."""
        when = said(self.space.variables[i].when or {})
        return f"{self.space.label(i)} is not active here, leave it out: it is where {when}"

    def without_idle(self, params: dict[str, Any]) -> dict[str, Any]:
        """A point without what is not active in it, whatever value it has.

        >>> from saltus import Bool, Int
        >>> space = Space({"on": Bool(), "k": Int(0, 9, when={"on": True})})
        >>> Encoding(space).without_idle({"on": False, "k": 77})
        {'on': False}
        """
        activity, names = self.space.activity, self.space.names
        if activity is None or names is None:
            return params
        numbers, left = activity.idle.copy(), dict(params)
        for i in activity.order:  # what others depend on comes before them
            name, variable = names[i], self.space.variables[i]
            if name in left and not activity.active(numbers[None])[0, i]:
                del left[name]
            elif name in left:
                numbers[i] = variable.check_within(left[name], repr(name))
        return left

    def _check_on_grid(self, numbers: FloatArray, values: Sequence[Any]) -> None:
        whole = numbers[self._discrete]
        off = np.abs(self._values.value(self._values.plateau(whole)) - whole) > 1e-9 * np.maximum(
            1.0, np.abs(whole)
        )
        if off.any():
            i = self._discrete[int(off.argmax())]
            hint = self.space.variables[i].hint(values[i])
            raise ValueError(f"{self.space.label(i)} must be one of its values, got {values[i]!r}{hint}")

    def completed(self, given: Any) -> FloatArray:
        """One point in the user's order and units, where what is not given is as in the first mean.

        Args:
            given: a dict by name with some of the variables, or a sequence with None where there is no value.

        >>> from saltus import Float, Int
        >>> Encoding(Space({"x": Float(0, 1), "k": Int(1, 9)})).completed({"k": 7}).tolist()
        [0.5, 7.0]
        """
        space, names = self.space, self.space.names
        if names is None:
            if isinstance(given, Mapping | str) or np.ndim(given) != 1 or len(given) != len(space):
                raise ValueError(
                    f"a point has {len(space)} values, None where one is not given; got {given!r}"
                )
            some = dict(enumerate(given))
        else:
            if not isinstance(given, Mapping):
                raise TypeError(f"a point is a dict of values by name, got {given!r}")
            self.check_names(given)
            some = {names.index(name): value for name, value in given.items()}
        numbers = self._first
        values = numbers.tolist()
        for i, value in some.items():
            if value is not None:
                numbers[i], values[i] = space.variables[i].check_within(value, space.label(i)), value
        self._check_on_grid(numbers, values)
        if space.activity is not None and names is not None:
            active = space.activity.active(numbers[None])[0]
            for i in some:
                if not active[i]:
                    raise ValueError(self._not_active(i))
            numbers = space.activity.settled(numbers[None])[0]
        whole = self.params_of(numbers)
        broken = space.where.broken(numbers, whole)
        if broken is not None:
            more = (
                "; give its other variables, too" if len(some) < len(whole) or None in some.values() else ""
            )
            raise ValueError(f"{whole!r} breaks {broken!r} (where){more}")
        return numbers

    @property
    def first(self) -> FloatArray:
        """The first mean as a point in the user's order and units, integers rounded."""
        numbers = self._first
        return numbers if self.space.activity is None else self.space.activity.settled(numbers[None])[0]

    @property
    def _first(self) -> FloatArray:
        """The same, as if everything were active."""
        plateaus = self.lattice.plateau(self.m[None, self.n_continuous :])
        return np.asarray(self.all_numbers(self.m[None], plateaus)[0])

    def check_names(self, given: Mapping[str, Any]) -> None:
        """A ValueError if a point names what is no variable."""
        names = self.space.names or ()
        for name in given:
            if name not in names:
                hint = did_you_mean(name, names)
                raise ValueError(f"{name!r} is no variable{hint}; there are {', '.join(names)}")

    def located(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Internal coordinates of one point, NaN for what is discrete, and its plateaus."""
        x = self.encode(numbers)
        x[self.n_continuous :] = np.nan
        return x, self._user_plateaus(numbers[self._discrete])

    def corrected(
        self, numbers: FloatArray, x: FloatArray, plateaus: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Internal coordinates of one point, from some that should be its own, and their plateaus.

        They are kept where rounding explains the difference: many coordinates are folded onto one number.
        """
        n, scale = self.n_continuous, self._scale[: self.n_continuous]
        own, exact = self.located(numbers)
        here, there = (self._fold(each[None, :n] * scale)[0] for each in (x, own))
        own[n:] = self.lattice.value(exact)
        kept = np.concatenate((np.abs(here - there) <= ROUNDING * scale, plateaus == exact))
        if self.space.activity is not None:  # what is not active is as it was drawn
            idle = ~self.space.activity.active(numbers[None])[0][self._order]
            kept |= idle
            exact = np.where(idle[n:], plateaus, exact)
        return np.where(kept, x, own), exact

    def plateaus(self, numbers: FloatArray) -> FloatArray:
        """The plateaus of the integers of points, one row each, given in the user's order and units."""
        return self._user_plateaus(numbers[:, self._discrete])

    def params_of(self, numbers: FloatArray) -> Params:
        """A point as the objective gets it, from its numbers in the user's order and units."""
        plateaus = self._user_plateaus(numbers[None, self._discrete])
        if self.space.activity is not None:  # which looks at values, not at what lies between them
            numbers = numbers.copy()
            numbers[self._discrete] = self._user_values(plateaus)[0]
        return self.as_params(numbers[None, :], plateaus)[0]

    def unrounded(self, x: FloatArray) -> FloatArray:
        """One internal point in the user's order and units, integers not rounded."""
        u = x * self._scale
        logs = np.flatnonzero([self.space.variables[i].log for i in self._discrete])
        log_integers = self.n_continuous + logs
        u[log_integers] = np.exp(u[log_integers])
        u[: self.n_continuous] = self._continuous_values(x[None, :])[0]
        if self.n_categories:
            own = self.lattice.plateau(x[self.n_continuous :])
            u[-self.n_categories :] = self._user_values(own)[-self.n_categories :]
        return self._in_user_order(u)

    def spreads(self, sd: FloatArray) -> FloatArray:
        """Standard deviations in the user's order; of the logarithm where that is the coordinate."""
        return self._in_user_order(sd * self._scale, fixed=0.0)

    def _in_user_order(self, free: FloatArray, fixed: float | None = None) -> FloatArray:
        numbers = self._template.copy() if fixed is None else np.full(len(self.space.variables), fixed)
        numbers[self._order] = free
        return numbers

    def as_params(self, numbers: FloatArray, plateaus: FloatArray) -> list[Params]:
        """Points as the objective gets them, from numbers, one row each, and their plateaus."""
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
        rows = zip(*columns, strict=True)
        if self.space.activity is None:
            return [dict(zip(names, row, strict=True)) for row in rows]
        active = self.space.activity.active(numbers).tolist()
        return [
            dict(itertools.compress(zip(names, row, strict=True), own))
            for row, own in zip(rows, active, strict=True)
        ]


def _columns(indices: list[int]) -> slice | NDArray[np.intp]:
    """Columns of an array, as a slice where they are neighbours: that is the faster index."""
    if not indices:
        return slice(0)
    neighbours = range(indices[0], indices[0] + len(indices))
    if indices == list(neighbours):
        return slice(neighbours.start, neighbours.stop)
    return np.array(indices, dtype=np.intp)


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
    for_all = isinstance(given, int | float | np.number)  # one number is not meant for categories
    checked: list[float | None] = []
    for i, (variable, value) in enumerate(zip(space.variables, numbers, strict=True)):
        check = variable.check_init if what == "mean" else variable.check_scale
        skip = value is None or variable.fixed or (for_all and not variable.ordered)
        checked.append(None if skip else check(value, f"{what} of {space.label(i)}"))
    return checked
