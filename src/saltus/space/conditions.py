"""What a variable's `when` may say: which values of other variables make it active."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

_ENDS = ("at_least", "at_most")  # in study files


@dataclass(frozen=True)
class Within:
    """A number that is neither too small nor too large; None is no limit."""

    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        """Both ends are finite numbers, and there is one at least."""
        ends = [end for end in (self.at_least, self.at_most) if end is not None]
        for end in ends:
            if isinstance(end, bool) or not isinstance(end, Real) or not math.isfinite(end):
                raise ValueError(f"when: at_least and at_most take a finite number, got {end!r}")
        if not ends or (len(ends) == 2 and ends[0] > ends[1]):
            raise ValueError(f"when: at_least must not exceed at_most, got {self.at_least}, {self.at_most}")

    def __repr__(self) -> str:
        """As it is written."""
        ends = {"at_least": self.at_least, "at_most": self.at_most}
        given = {name: end for name, end in ends.items() if end is not None}
        if len(given) == 1:
            return "".join(f"{name}({end!r})" for name, end in given.items())
        return repr(given)


def at_least(number: float) -> Within:
    """For `when`: the other variable has this value or a larger one.

    >>> from saltus import Float, Int, Space
    >>> space = Space({"layers": Int(1, 4), "second": Float(0, 1, when={"layers": at_least(2)})})
    >>> space.variables[1].when
    {'layers': at_least(2)}
    """
    return Within(at_least=number)


def at_most(number: float) -> Within:
    """For `when`: the other variable has this value or a smaller one.

    >>> at_most(3)
    at_most(3)
    """
    return Within(at_most=number)


Wanted = tuple[Any, ...] | Within  # one of these values; or a number that is not too small or large


def checked(when: Any, kind: str) -> dict[str, Wanted] | None:
    """A condition as variables keep it: what is wanted of each of the others, by name.

    >>> checked({"kernel": "rbf", "layers": {"at_least": 2}}, "Float")
    {'kernel': ('rbf',), 'layers': at_least(2)}
    """
    if when is None:
        return None
    if not isinstance(when, Mapping) or not when or not all(isinstance(name, str) for name in when):
        raise TypeError(
            f'{kind}: when must be a dict of wanted values by name, such as {{"kernel": "rbf"}}, got {when!r}'
        )
    return {name: _wanted(given, f"{kind}: when[{name!r}]") for name, given in when.items()}


def _wanted(given: Any, what: str) -> Wanted:
    if isinstance(given, Within):
        return given
    if isinstance(given, Mapping):
        if not given or not set(given) <= set(_ENDS):
            raise ValueError(f"{what} takes at_least and at_most, got {dict(given)!r}")
        return Within(**given)
    if isinstance(given, set | frozenset):
        raise TypeError(f"{what} must be a value or a list of values, got a set, which has no order")
    values = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not values:
        raise ValueError(f"{what} must hold at least one value, got none: the variable would never be active")
    return values


def said(when: Mapping[str, Wanted]) -> str:
    """A condition in words.

    >>> said({"kernel": ("rbf", "poly"), "layers": at_least(2)})
    "kernel = 'rbf' or 'poly', layers at_least(2)"
    """
    return ", ".join(
        f"{name} {wanted!r}" if isinstance(wanted, Within) else f"{name} = {' or '.join(map(repr, wanted))}"
        for name, wanted in when.items()
    )


def plain(when: Mapping[str, Wanted]) -> dict[str, Any]:
    """A condition as JSON-able data, which `checked` takes."""
    return {name: _plain(wanted) for name, wanted in when.items()}


def _plain(wanted: Wanted) -> Any:
    if isinstance(wanted, Within):
        ends = {name: getattr(wanted, name) for name in _ENDS}
        return {name: _item(end) for name, end in ends.items() if end is not None}
    return [_item(value) for value in wanted]


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
