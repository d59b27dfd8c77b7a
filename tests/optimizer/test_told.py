"""Values and outcomes as numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from saltus.optimizer.told import parsed
from saltus.order import Failure, Outcome


@pytest.mark.parametrize("values", [[1.0, 2.0], [1, np.float32(2)], np.array([1, 2]), (1.0, Outcome(2.0))])
def test_numbers_of_any_kind_are_floats(values: Any) -> None:
    numbers, violations, details = parsed(values, None, 2)
    assert (numbers, violations, details) == ([1.0, 2.0], [0.0, 0.0], {})
    assert {type(number) for number in numbers} == {float}


def test_a_violation_is_an_amount() -> None:
    assert parsed([1.0, 2.0], [0.0, 0.5], 2)[1] == [0.0, 0.5]
    with pytest.raises(ValueError, match="violation must be 0 or more, the sum of what is violated, got -3"):
        parsed([1.0, 2.0], [-3.0, 0.5], 2)


def test_outcomes_that_say_more_are_kept_by_place() -> None:
    hot, dead = Outcome(3.0, {"heat": 0.5, "mass": -1.0}), Outcome(math.nan, failure=Failure.DIED)
    numbers, violations, details = parsed([1.0, hot, Outcome(2.0), dead], None, 4)
    np.testing.assert_array_equal(numbers, [1.0, 3.0, 2.0, math.nan])
    assert violations == [0.0, 0.5, 0.0, 0.0]
    assert details == {1: hot, 3: dead}


def test_one_place_for_what_is_violated() -> None:
    with pytest.raises(ValueError, match="says by itself what is violated"):
        parsed([Outcome(1.0)], [0.5], 1)
