"""What scikit-learn's searches take as distributions, as a space, and points of it as parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple, Protocol, runtime_checkable

from scipy import stats

from .._typing import Params
from ..space import Categorical, Space
from ..space.categorical import PLAIN
from ..space.variable import Variable
from ..space.variables import Float, Int, Ordinal

# what is cut off on either side of a distribution without an end, or with another density than a flat one
TAIL = 0.001

DICT = " dict"  # which of several dicts: no parameter has such a name


@runtime_checkable
class Distribution(Protocol):
    """What is asked of a distribution: SciPy's have it, frozen or not."""

    def ppf(self, q: float) -> float:
        """The value that is not exceeded with probability q."""

    def support(self) -> tuple[float, float]:
        """The least and the largest value."""


class Column(NamedTuple):
    """A variable, and what a value of it is for the estimator."""

    variable: Variable
    outward: Callable[[Any], Any]
    choices: list[Any] | None = None  # of a list, which is searched by the places of its values
    name: str = ""  # the parameter


class Translation:
    """Between `param_distributions` and a `Space`; parameters are sorted by name.

    >>> translation = Translation({"kernel": ["rbf", "poly"], "C": stats.loguniform(0.1, 10)})
    >>> translation.space.variables[0]
    Float(low=0.1, high=10.0, log=True, init=None, scale=None, step=None)
    >>> translation.outward({"C": 2.0, "kernel": 1})
    {'C': 2.0, 'kernel': 'poly'}

    Of several dicts, which one it is becomes a category, and their parameters are active with it alone. What
    some of them give in the same way is one variable, so that all learn from it.

    >>> linear, other = {"kernel": ["linear"], "C": Float(0, 9)}, {"gamma": Float(0, 1), "C": Float(0, 9)}
    >>> translation = Translation([linear, other])
    >>> translation.space.names
    (' dict', 'C', 'kernel', 'gamma')
    >>> translation.outward({" dict": 1, "C": 2.0, "gamma": 0.5})
    {'C': 2.0, 'gamma': 0.5}
    """

    def __init__(self, distributions: Any) -> None:
        """Take a dict of lists, distributions and variables by the parameters' names, or several of them."""
        several = isinstance(distributions, list | tuple) and len(distributions) > 0
        dicts = list(distributions) if several else [distributions]
        for given in dicts:
            if not isinstance(given, Mapping):
                raise TypeError(
                    "param_distributions must be a dict of lists, distributions and variables by name, "
                    f"or a list of such dicts, got {given!r:.200}"
                )
            if not given:
                raise ValueError("param_distributions must name at least one parameter, got none")
        tables = [{name: _column(name, given[name]) for name in sorted(given)} for given in dicts]
        self.columns = _conditioned(tables[0]) if len(tables) == 1 else _together(tables)
        variables = {name: column.variable for name, column in self.columns.items()}
        if len(tables) > 1:
            variables = {DICT: Categorical(range(len(tables))), **variables}
        self.space = Space(variables)

    def outward(self, params: Params) -> dict[str, Any]:
        """A point of the space as parameters of the estimator; those that are not active are left out."""
        return {
            column.name: column.outward(params[inner])
            for inner, column in self.columns.items()
            if inner in params
        }


def _conditioned(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns of a dict, conditions on lists by the places of their values."""
    return {name: column._replace(variable=_placed(column, columns)) for name, column in columns.items()}


def _placed(column: Column, columns: Mapping[str, Column]) -> Variable:
    """The variable of a column, with conditions that ask for places where a list is meant."""
    variable = column.variable
    if variable.when is None:
        return variable
    when: dict[str, Any] = {}
    for name, wanted in variable.when.items():
        choices = columns[name].choices if name in columns else None
        when[name] = (
            wanted if choices is None else _places(wanted, choices, f"{column.name!r}: when: {name!r}")
        )
    return _with_condition(variable, when)


def _places(wanted: Any, choices: list[Any], what: str) -> list[int]:
    """Where values are in a list; True is not 1."""
    if not isinstance(wanted, tuple):
        raise ValueError(
            f"param_distributions of {what} has no order for {wanted!r}; give a list of its values"
        )
    found = []
    for value in wanted:
        alike = [i for i, c in enumerate(choices) if c is value or (type(c) is type(value) and c == value)]
        if not alike:
            raise ValueError(f"param_distributions of {what} must be one of {choices!r:.200}, got {value!r}")
        found += alike
    return found


def _together(tables: list[dict[str, Column]]) -> dict[str, Column]:
    """The columns of several dicts, each active where its dict is chosen."""
    columns: dict[str, Column] = {}
    users: dict[str, list[int]] = {}  # which dicts have it
    for place, table in enumerate(tables):
        names = {name: _shared(name, column, columns) for name, column in table.items()}
        for name, column in _conditioned(table).items():
            inner = names[name]
            when = {names.get(other, other): wanted for other, wanted in (column.variable.when or {}).items()}
            if when:
                column = column._replace(variable=_with_condition(column.variable, when))
            columns.setdefault(inner, column)
            users.setdefault(inner, []).append(place)
    for inner, places in users.items():
        if len(places) < len(tables):
            column = columns[inner]
            when = {**(column.variable.when or {}), DICT: places}
            columns[inner] = column._replace(variable=_with_condition(column.variable, when))
    return columns


def _shared(name: str, column: Column, columns: Mapping[str, Column]) -> str:
    """The name of a column that is the same parameter, searched in the same way; else a new one."""
    inner, count = name, 1
    while inner in columns:
        if column.variable.when is None and _alike(column, columns[inner]):
            return inner
        count += 1
        inner = f"{name} ({count})"
    return inner


def _alike(one: Column, other: Column) -> bool:
    if one.choices is None or other.choices is None:
        return one.outward is other.outward and one.variable == other.variable
    pairs = zip(one.choices, other.choices, strict=False)
    return len(one.choices) == len(other.choices) and all(
        a is b or (type(a) is type(b) and isinstance(a, PLAIN) and a == b) for a, b in pairs
    )


def _with_condition(variable: Variable, when: Mapping[str, Any]) -> Variable:
    if isinstance(variable, Categorical):
        return Categorical(variable.choices, when=when)
    return dataclasses.replace(variable, when=when)  # type: ignore[type-var]  # all kinds are dataclasses


def _column(name: str, given: Any) -> Column:
    if isinstance(given, Variable):
        return Column(given, _unchanged, name=name)
    try:
        if isinstance(given, Distribution):
            return _distribution(given)._replace(name=name)
        if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping | Set):
            # by their places: then they need neither hashes nor to differ
            choices = list(given)
            return Column(Categorical(range(len(choices))), choices.__getitem__, choices, name)
    except ValueError as error:
        raise ValueError(f"param_distributions of {name!r}: {error}") from None
    raise TypeError(
        f"param_distributions of {name!r} must be a list of values, a distribution of scipy.stats such as "
        f"loguniform(1e-3, 1e3), or a variable such as Float(0, 1), got {given!r:.200}"
    )


def _distribution(given: Distribution) -> Column:
    low, high = map(float, given.support())
    kind = getattr(given, "dist", given)  # a frozen one knows what it was
    if not low <= high:
        raise ValueError(
            f"expected a distribution with values for its parameters, got support [{low}, {high}]"
        )
    if hasattr(given, "xk"):  # rv_discrete(values=...) lists its values
        return Column(Ordinal(given.xk.tolist()), _unchanged)
    if isinstance(kind, stats.rv_discrete):
        first = low if math.isfinite(low) else float(given.ppf(TAIL))
        last = high if math.isfinite(high) else float(given.ppf(1 - TAIL))
        return Column(Int(int(first), int(last)), _unchanged)
    if isinstance(kind, type(stats.uniform)):
        return Column(Float(low, high), _unchanged)
    if isinstance(kind, type(stats.loguniform)) and math.isclose(given.ppf(0.5), math.sqrt(low * high)):
        return Column(Float(low, high, log=True), _unchanged)  # not if it is shifted
    return Column(Float(TAIL, 1 - TAIL), lambda quantile: float(given.ppf(quantile)))


def _unchanged(value: Any) -> Any:
    return value
