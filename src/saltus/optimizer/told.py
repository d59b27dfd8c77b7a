"""What a user tells of evaluations, as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .._checks import as_numbers
from ..order import Outcome


def parsed(
    values: Any, violation: Any, count: int, of: str = "candidate"
) -> tuple[list[float], list[float], dict[int, Outcome]]:
    """Values and violations as floats, and by place those outcomes that say more than a number.

    There is one for each of something, which errors name.
    """
    plain = violation is None and type(values) is list and len(values) == count
    if plain and set(map(type, values)) == {float}:
        return values, [0.0] * count, {}  # the common case
    details: dict[int, Outcome] = {}
    values = list(values) if isinstance(values, Iterable) else values
    if isinstance(values, list) and any(isinstance(v, Outcome) for v in values):
        if violation is not None:
            raise ValueError("an Outcome says by itself what is violated; leave violation out")
        details = {i: v for i, v in enumerate(values) if isinstance(v, Outcome)}
        violation = [v.violation if isinstance(v, Outcome) else 0.0 for v in values]
        values = [(math.nan if v.failure else v.value) if isinstance(v, Outcome) else v for v in values]
        details = {i: outcome for i, outcome in details.items() if outcome.constraints or outcome.failure}
    numbers = as_numbers("value", values, count, of)
    if violation is None:
        return numbers, [0.0] * count, details
    amounts = as_numbers("violation", violation, count, of)
    if any(amount < 0 for amount in amounts):
        raise ValueError(f"violation must be 0 or more, the sum of what is violated, got {min(amounts)}")
    return numbers, amounts, details
