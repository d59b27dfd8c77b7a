"""The search space: the user's variables, by name or in a row."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from . import conditions
from .activity import Activity, count_values
from .categorical import Categorical
from .variable import Variable
from .variables import Bool, Float, Int, Ordinal
from .where import Rule, Where, is_function

_KINDS: dict[str, type[Variable]] = {kind.__name__: kind for kind in (Float, Int, Ordinal, Bool, Categorical)}


class Space:
    """The variables of a problem, by name or in a row.

    With names, the objective gets a dict of plain Python values; without, a 1-D float array.

    >>> space = Space({"lr": Float(1e-5, 1e-1, log=True), "layers": Int(1, 8), "bias": Bool()})
    >>> space.dimension
    3
    >>> Space([Float(0, 1), Int(3, 3)]).dimension  # a single possible value costs no dimension
    1
    """

    def __init__(
        self,
        variables: Mapping[str, Variable] | Sequence[Variable],
        *,
        where: Rule | Sequence[Rule] | None = None,
    ) -> None:
        """Take the variables.

        Args:
            variables: a dict of variables by name, or a sequence of variables: at least one.
            where: known constraints, one or several: text such as "2*a + b <= 10" (without names the
                variables are x0, x1 and so on), or functions that get a point and say whether it is allowed.
                Points that break one are never evaluated (docs/where.md).
        """
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
                listed = isinstance(variable, list | set)
                written = "a choice is written Categorical([...]), or Ordinal([...]) of increasing numbers"
                raise TypeError(
                    f"Space: {label!r} must be Float, Int, Ordinal, Bool or Categorical, got {variable!r}; "
                    + (written if listed else "a range is written Float(low, high) or Int(low, high)")
                )
            if self.names is None and not variable.ordered:
                raise TypeError(
                    f"Space: variable {label} is a Categorical, which needs a name: write Space({{...}}); "
                    "without names the objective gets an array of numbers"
                )
            if self.names is None and variable.when is not None:
                raise TypeError(
                    f"Space: variable {label} has a condition, which needs names: write Space({{...}}); "
                    "without names the objective gets an array of all numbers"
                )
        self.variables: tuple[Variable, ...] = tuple(given)
        self.activity: Activity | None = None  # which variables are active where, if there are conditions
        if self.names is not None and any(v.when is not None for v in given):
            self.activity = Activity(self.names, self.variables)
        self.dimension = sum(not v.fixed for v in given)  # how many can vary
        self.where = Where(() if where is None else where, self.keys, self.variables, self.activity)

    def __len__(self) -> int:
        """How many variables there are, fixed ones included."""
        return len(self.variables)

    def __eq__(self, other: object) -> bool:
        """Equal names and variables in the same order, and the same known constraints."""
        if not isinstance(other, Space):
            return NotImplemented
        mine, theirs = self.where.given, other.where.given
        return (self.names, self.variables, mine) == (other.names, other.variables, theirs)

    __hash__ = None  # type: ignore[assignment]  # comparable by value, so not hashable by identity

    def __repr__(self) -> str:
        """As it is written."""
        where = f", where={list(self.where.given)!r}" if self.where.given else ""
        if self.names is None:
            return f"Space({list(self.variables)!r}{where})"
        return f"Space({dict(zip(self.names, self.variables, strict=True))!r}{where})"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from ..notebook.tables import of_space

        return of_space(self)

    def to_plain(self) -> dict[str, Any]:
        """The space as JSON-able data; values of Ordinal become plain ints and floats.

        A TypeError if a choice of a Categorical is no plain value.

        >>> Space({"on": Bool()}).to_plain()
        {'names': ['on'], 'variables': [{'kind': 'Bool', 'init': None, 'scale': None}]}
        """
        rows = []
        for variable in self.variables:
            fields = dataclasses.fields(variable)  # type: ignore[arg-type]  # each kind has some
            row = {field.name: getattr(variable, field.name) for field in fields}
            if isinstance(variable, Ordinal):
                row["values"] = [int(v) if isinstance(v, Integral) else float(v) for v in variable.values]
            elif isinstance(variable, Categorical):
                row["choices"] = variable.plain()
            if isinstance(variable, Float) and variable.step is None:
                del row["step"]  # as states and records say it that are older than steps
            when = row.pop("when", None)
            if when is not None:
                row["when"] = conditions.plain(when)
            rows.append({"kind": type(variable).__name__, **row})
        plain = {"names": None if self.names is None else list(self.names), "variables": rows}
        return plain | ({"where": self.where.plain()} if self.where.given else {})

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Space:
        """The space that `to_plain` described.

        >>> space = Space({"on": Bool(), "k": Int(0, 9)})
        >>> Space.from_plain(space.to_plain()) == space
        True
        """
        variables = [
            _KINDS[row["kind"]](**{k: v for k, v in row.items() if k != "kind"}) for row in plain["variables"]
        ]
        where = plain.get("where", ())
        if any(map(is_function, where)):
            raise ValueError("state: where has a function, which is not in it: give the space itself")
        if plain["names"] is None:
            return cls(variables, where=where)
        return cls(dict(zip(plain["names"], variables, strict=True)), where=where)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names, or x0, x1 and so on where there are none.

        >>> Space({"lr": Float(0, 1)}).keys, Space([Float(0, 1), Bool()]).keys
        (('lr',), ('x0', 'x1'))
        """
        return tuple(f"x{i}" for i in range(len(self))) if self.names is None else self.names

    def numbers(self, params: Any) -> list[float]:
        """A point that the objective got, as a number for each variable.

        >>> Space({"on": Bool(), "kind": Categorical(["a", "b"])}).numbers({"on": True, "kind": "b"})
        [1.0, 1.0]

        What is not active has the same number at all points: that of the middle of its range, or of a
        category that of its first value.
        """
        if self.names is not None and self.activity is not None:
            rows = zip(self.names, self.variables, self.activity.idle.tolist(), strict=True)
            return [v.number(params[name]) if name in params else idle for name, v, idle in rows]
        values = params if self.names is None else [params[name] for name in self.names]
        return [variable.number(value) for variable, value in zip(self.variables, values, strict=True)]

    def count_points(self) -> float:
        """How many different points there are.

        >>> Space({"a": Int(0, 9), "b": Bool()}).count_points(), Space({"x": Float(0, 1)}).count_points()
        (20, inf)

        Points that differ only in what is not active are the same. With conditions on variables that have
        more than 100,000 combinations of values it is an upper bound.
        """
        if self.activity is not None:
            return self.activity.count()
        return math.prod(map(count_values, self.variables))

    def label(self, i: int) -> str:
        """What to call variable i in a message.

        >>> Space({"lr": Float(0, 1)}).label(0), Space([Float(0, 1)]).label(0)
        ("'lr'", 'variable 0')
        """
        return f"variable {i}" if self.names is None else repr(self.names[i])
