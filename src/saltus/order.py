"""What an evaluation gave, and the only comparison of two of them.

Feasible before violated, violated before failed. Of feasible outcomes the smaller value is better, of
violated ones the smaller violation and then the smaller value; of equals the one that was asked first. Every
search, record and report compares by `key` or its array forms below, and everything is minimised: `sign`
turns the values of a maximisation round where they enter and where they leave.

(Several objectives would come in here: as another `key`, for instance the rank of a point among all others.)
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ._typing import FloatArray

Key = tuple[float, float]  # violation and value: the smaller, the better
WORST: Key = (math.inf, math.inf)  # of a failed evaluation


class Failure(Enum):
    """Why an evaluation gave nothing that can be compared.

    >>> Failure.TIMEOUT.value
    'it took too long'
    """

    VALUE = "its value is not finite"
    CONSTRAINT = "a constraint is not finite"
    EXCEPTION = "the objective raised an exception"
    TIMEOUT = "it took too long"
    DIED = "its process ended with an error"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one evaluation gave.

    Attributes:
        value: to be minimised or maximised, as the user measures it; NaN where there is none.
        constraints: the value of each constraint by its name; above 0 is violated. Empty without constraints.
        failure: why there is nothing to compare, or None.

    >>> Outcome(3.0, {"stress": -1.0}).failure, Outcome(math.nan, failure=Failure.VALUE).failure.name
    (None, 'VALUE')
    """

    value: float
    constraints: Mapping[str, float] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def violation(self) -> float:
        """By how much constraints are violated in total: 0 if all hold, NaN if one of them is unknown.

        >>> Outcome(3.0, {"stress": -1.0, "mass": 0.5, "cost": 0.25}).violation
        0.75
        """
        violated = [amount for amount in self.constraints.values() if not amount <= 0]
        total = float(sum(violated))
        return sys.float_info.max if total == math.inf and math.inf not in violated else total


def key(value: float, violation: float = 0.0) -> Key:
    """What an outcome is compared by: the smaller, the better.

    >>> key(3.0) < key(5.0) < key(-9.0, violation=0.1) < key(-9.0, violation=0.2) < key(math.nan)
    True
    """
    finite = math.isfinite(value)
    if violation == 0.0:
        return (0.0, value) if finite else WORST
    return (violation, value if finite else math.inf) if 0.0 < violation < math.inf else WORST


def keys(values: FloatArray, violations: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """`key` of many outcomes, as an array of violations and one of values; None: nothing is violated."""
    finite = np.isfinite(values)
    if violations is None:
        return np.where(finite, 0.0, math.inf), np.where(finite, values, math.inf)
    violated = (violations > 0.0) & np.isfinite(violations)
    known = violated | (finite & (violations == 0.0))
    return np.where(known, violations, math.inf), np.where(known & finite, values, math.inf)


def first(values: FloatArray, violations: FloatArray | None) -> int:
    """The place of the best of several outcomes; of equals the first.

    >>> first(np.array([4.0, math.nan, 1.0, 1.0]), None), first(np.array([4.0, 1.0]), np.array([0.0, 0.5]))
    (2, 0)
    """
    if violations is None:
        return int(np.where(np.isfinite(values), values, math.inf).argmin())
    violation, value = keys(values, violations)
    return int(np.lexsort((value, violation))[0])


def best(values: FloatArray, violations: FloatArray | None) -> tuple[int, Key]:
    """The place of the best of several outcomes, and what it is compared by."""
    i = first(values, violations)
    return i, key(float(values[i]), 0.0 if violations is None else float(violations[i]))


def sign(maximize: bool) -> float:
    """What values are multiplied with on their way in and out, so that inside everything is minimised."""
    return -1.0 if maximize else 1.0
