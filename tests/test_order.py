"""The only comparison: its forms for one outcome, for many and for the best agree."""

from __future__ import annotations

import functools
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus.order import WORST, Failure, Outcome, first, key, keys, sign

numbers = st.sampled_from([-math.inf, -2.5, -0.0, 0.0, 1.0, 3.0, 1e308, math.inf, math.nan]) | st.floats()
amounts = (
    st.sampled_from([0.0, -0.0, 0.5, 1e-300, 1.0, 1e308, math.inf, math.nan])
    | st.floats(min_value=0)
    | st.just(math.nan)
)
outcomes = st.lists(st.tuples(numbers, amounts), min_size=1, max_size=8)


def better(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Written out: whether outcome a, a value and a violation, is better than b."""

    def group(value: float, violation: float) -> int:
        if violation == 0:
            return 0 if math.isfinite(value) else 2
        return 1 if 0 < violation < math.inf else 2

    if group(*a) != group(*b) or group(*a) == 2:
        return group(*a) < group(*b)
    if a[1] != b[1]:
        return a[1] < b[1]
    values = (v if math.isfinite(v) else math.inf for v in (a[0], b[0]))
    return next(values) < next(values)


def compare(a: tuple[float, float], b: tuple[float, float]) -> int:
    return better(b, a) - better(a, b)


@given(outcomes)
def test_key_keys_and_first_agree(told: list[tuple[float, float]]) -> None:
    values, violations = (np.array(column) for column in zip(*told, strict=True))
    each = [key(*outcome) for outcome in told]
    assert list(zip(*(part.tolist() for part in keys(values, violations)), strict=True)) == each
    assert first(values, violations) == min(range(len(told)), key=lambda i: (each[i], i))


@given(outcomes)
def test_a_key_says_what_the_words_say(told: list[tuple[float, float]]) -> None:
    for a in told:
        for b in told:
            assert (key(*a) < key(*b)) == better(a, b)
    ranked = sorted(told, key=lambda outcome: key(*outcome))
    by_words = sorted(told, key=functools.cmp_to_key(compare))
    assert repr(ranked) == repr(by_words)


@given(st.lists(numbers, min_size=1, max_size=8))
def test_without_violations_nothing_is_violated(given_values: list[float]) -> None:
    values, none = np.array(given_values), np.zeros(len(given_values))
    for left, right in zip(keys(values, None), keys(values, none), strict=True):
        np.testing.assert_array_equal(left, right)
    assert first(values, None) == first(values, none)


@pytest.mark.parametrize(
    ("value", "violation", "expected"),
    [
        (3.0, 0.0, (0.0, 3.0)),
        (3.0, -0.0, (0.0, 3.0)),
        (-1e308, 0.0, (0.0, -1e308)),
        (math.nan, 0.0, WORST),
        (math.inf, 0.0, WORST),
        (-math.inf, 0.0, WORST),
        (3.0, 0.5, (0.5, 3.0)),
        (math.nan, 0.5, (0.5, math.inf)),
        (-math.inf, 0.5, (0.5, math.inf)),
        (3.0, math.inf, WORST),
        (3.0, math.nan, WORST),
        (3.0, -1.0, WORST),
    ],
)
def test_keys_of_single_outcomes(value: float, violation: float, expected: tuple[float, float]) -> None:
    assert key(value, violation) == expected


def test_negative_zero_is_zero() -> None:
    assert first(np.array([0.0, -0.0]), None) == 0
    assert first(np.array([-0.0, 0.0]), np.array([0.0, -0.0])) == 0
    assert key(-0.0, -0.0) == key(0.0)


def test_of_equals_the_first() -> None:
    assert first(np.full(4, math.nan), None) == 0
    assert first(np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5])) == 0
    assert first(np.array([math.nan, 1.0, 1.0]), np.array([0.0, 0.5, 0.5])) == 1


def test_the_inputs_are_untouched() -> None:
    values, violations = np.array([math.nan, 1.0]), np.array([0.0, math.inf])
    keys(values, violations)
    first(values, violations)
    np.testing.assert_array_equal(values, [math.nan, 1.0])
    np.testing.assert_array_equal(violations, [0.0, math.inf])


@pytest.mark.parametrize(
    ("constraints", "violation"),
    [
        ({}, 0.0),
        ({"a": -1.0, "b": 0.0}, 0.0),
        ({"a": -5.0, "b": 0.5, "c": 0.25}, 0.75),
        ({"a": -math.inf, "b": 2.0}, 2.0),
        ({"a": math.inf, "b": 2.0}, math.inf),
        ({"a": 1.7e308, "b": 1.7e308}, sys.float_info.max),  # violated, not failed
        ({"a": math.nan, "b": -1.0}, math.nan),
        ({"a": math.nan, "b": math.inf}, math.nan),
    ],
)
def test_the_violation_of_an_outcome(constraints: dict[str, float], violation: float) -> None:
    found = Outcome(1.0, constraints).violation
    assert found == violation or (math.isnan(found) and math.isnan(violation))


def test_an_outcome_by_default() -> None:
    plain = Outcome(2.0)
    assert (plain.constraints, plain.failure, plain.violation) == ({}, None, 0.0)
    assert Outcome(math.nan, failure=Failure.DIED).failure is Failure.DIED
    with pytest.raises(AttributeError):
        plain.value = 3.0  # type: ignore[misc]  # wrong on purpose


def test_the_sign_of_maximize() -> None:
    assert (sign(False), sign(True)) == (1.0, -1.0)


@pytest.mark.parametrize("failure", Failure)
def test_every_failure_says_why_in_words_that_follow_a_colon(failure: Failure) -> None:
    assert re.fullmatch(r"[a-z]+( [a-z]+)+", failure.value)
