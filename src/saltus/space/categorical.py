"""Categories: values without an order, each as near to any other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._typing import FloatArray
from . import conditions
from .variable import Axis, Variable

LISTED = 8  # choices in a message
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Variable):
    """One of several values without an order; the objective gets the very value given.

    Args:
        choices: at least one value, all different: text, numbers, switches, None. Other hashable values will
            do as well, but for studies and states, which are written down.
        when: which values of other variables make it active; default always (docs/conditions.md).

    Which comes first means nothing: the search is the same in distribution for every order.

    >>> Categorical(["rbf", "poly", "sigmoid"]).choices
    ('rbf', 'poly', 'sigmoid')
    """

    choices: tuple[Any, ...]
    when: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)
    discrete: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    init = None  # it starts anywhere
    scale = None

    def __init__(self, choices: Iterable[Any], *, when: Mapping[str, Any] | None = None) -> None:
        """Any iterable with an order that stays the same: it tells values apart in records."""
        if isinstance(choices, (str, bytes, Mapping, Set)) or not isinstance(choices, Iterable):
            raise TypeError(f"Categorical: choices must be a list of different values, got {choices!r:.200}")
        places: dict[Any, int] = {}
        given = tuple(choices)
        for i, choice in enumerate(given):
            _check_hashable(choice)
            if choice in places:
                raise ValueError(
                    f"Categorical: choices must differ, got {given[places[choice]]!r} and {choice!r}, "
                    "which are equal"
                )
            places[choice] = i
        if not given:
            raise ValueError("Categorical: expected at least one choice, got none")
        object.__setattr__(self, "choices", given)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "when", conditions.checked(when, "Categorical"))

    def __eq__(self, other: object) -> bool:
        """The same choices of the same types in the same order: True is not 1."""
        if not isinstance(other, Categorical):
            return NotImplemented
        return self._typed() == other._typed() and self.when == other.when

    def __hash__(self) -> int:
        """By its choices."""
        return hash(self._typed())

    def _typed(self) -> tuple[tuple[type, Any], ...]:
        return tuple((type(choice), choice) for choice in self.choices)

    @property
    def fixed(self) -> bool:
        """Whether there is a single value, which then costs no dimension."""
        return len(self.choices) == 1

    def range(self) -> tuple[float, float]:
        """The ends of all places: choices are counted from 0."""
        return -0.5, len(self.choices) - 0.5

    def grid(self) -> tuple[float, float, int]:
        """The places of the choices: from 0 in steps of 1."""
        return 0.0, 1.0, len(self.choices)

    def axis(self, init: float | None, scale: float | None) -> Axis:
        """Its places as they are: nothing moves along them."""
        low, high = self.range()
        return Axis((low + high) / 2, 1.0, low, high, self.grid(), self.grid())

    def python(self, column: FloatArray, plateaus: FloatArray) -> list[Any]:
        """What the objective gets for each place of a column: the very value given."""
        return [self.choices[int(place)] for place in column.tolist()]

    def check_within(self, given: Any, what: str) -> float:
        """The place of a choice, or a ValueError that lists the choices; True is not 1."""
        place = self._place(given)
        if place is None:
            raise ValueError(f"{what} must be one of {self.listed()}, got {given!r:.200}")
        return float(place)

    def holds(self, given: Any) -> bool:
        """Whether this is one of the choices; True is not 1.

        >>> Categorical([1, "2"]).holds(1), Categorical([1, "2"]).holds(True), Categorical([1, "2"]).holds(2)
        (True, False, False)
        """
        return self._place(given) is not None

    def _place(self, given: Any) -> int | None:
        places: dict[Any, int] = self.__dict__["_places"]
        try:
            place = places.get(given)
        except TypeError:  # it has no hash
            return None
        if place is None or isinstance(given, bool) != isinstance(self.choices[place], bool):
            return None
        return place

    def number(self, value: Any) -> float:
        """The place of a choice."""
        return self.check_within(value, "a choice")

    def check_init(self, init: Any, who: str) -> float:
        """It has no mean."""
        raise ValueError(f"{who}: a category has none, got {init!r}; leave it out, or give None")

    def check_scale(self, scale: Any, who: str) -> float:
        """It has no standard deviation."""
        return self.check_init(scale, who)

    def listed(self) -> str:
        """The choices, or the first of many, for a message."""
        more = len(self.choices) - LISTED
        shown = ", ".join(f"{choice!r:.60}" for choice in self.choices[:LISTED])
        return shown + (f" and {more} more" if more > 0 else "")

    def plain(self) -> list[Any]:
        """The choices as JSON-able data, or a TypeError that names one that is none."""
        return [_plain(choice) for choice in self.choices]


def _check_hashable(choice: Any) -> None:
    try:
        hash(choice)
    except TypeError:
        raise TypeError(
            f"Categorical: each choice must be hashable, got {choice!r:.200}; give a name for it, "
            "and look up in the objective what it stands for"
        ) from None
    if isinstance(choice, Real) and choice != choice:
        raise ValueError("Categorical: NaN is equal to nothing, so it cannot be a choice; use None")


def _plain(choice: Any) -> Any:
    value = choice.item() if isinstance(choice, np.generic) else choice
    if type(value) not in PLAIN or (type(value) is float and not math.isfinite(value)):
        raise TypeError(
            f"Categorical: what is written down has choices that are text, finite numbers, true, false or "
            f"None, got {choice!r:.200}; give a name for it, and look up in the objective what it stands for"
        )
    return value
