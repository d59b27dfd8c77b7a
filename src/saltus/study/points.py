"""Whether a point on record is one of the space: nothing that is read is taken for granted."""

import itertools
import operator
import sys
from typing import Any

import numpy as np

from ..space import Categorical, Space
from ..space.activity import Activity

_LARGEST = sys.float_info.max


class Points:
    """The points of a space: a value for each active variable, in their order and within their ranges."""

    def __init__(self, space: Space) -> None:
        """What `check` compares with is made once: a long record has many points."""
        self._space = space
        self._categories = [(i, v) for i, v in enumerate(space.variables) if isinstance(v, Categorical)]
        ranges = (variable.range() for variable in space.variables)
        self._low, self._high = zip(*((max(a, -_LARGEST), min(b, _LARGEST)) for a, b in ranges), strict=True)

    def check(self, params: Any) -> None:
        """A ValueError says what is wrong.

        >>> from saltus import Int
        >>> Points(Space({"k": Int(0, 20)})).check({"k": 21})
        Traceback (most recent call last):
        ValueError: params must lie within the ranges of their variables
        """
        space = self._space
        if space.activity is not None:
            self._check_active(params, space.activity)
            return
        named = isinstance(params, dict) and space.names is not None and tuple(params) == space.names
        listed = isinstance(params, list) and space.names is None and len(params) == len(space)
        if not (named or listed):
            raise ValueError("params must be a number or a choice for each variable")
        self._check_values([*params.values()] if isinstance(params, dict) else [*params])

    def _check_active(self, params: Any, activity: Activity) -> None:
        """The same where there are conditions."""
        space = self._space
        given = [isinstance(params, dict) and name in params for name in space.keys]
        if not isinstance(params, dict) or [*params] != [*itertools.compress(space.keys, given)]:
            raise ValueError("params must be a number or a choice for each active variable")
        idle = zip(space.keys, space.variables, activity.idle.tolist(), strict=True)
        values = [
            params[name] if name in params else variable.python(np.array([number]), np.zeros(1))[0]
            for name, variable, number in idle
        ]
        self._check_values(values)
        if activity.active(np.array([space.numbers(params)]))[0].tolist() != given:
            raise ValueError("params must hold what is active, and nothing else")

    def _check_values(self, values: list[Any]) -> None:
        for column, categorical in self._categories:
            values[column] = categorical.number(values[column])
        if not {*map(type, values)} <= {int, float, bool}:
            raise ValueError("params must be a number or a choice for each variable")
        if not (all(map(operator.le, self._low, values)) and all(map(operator.le, values, self._high))):
            raise ValueError("params must lie within the ranges of their variables")
