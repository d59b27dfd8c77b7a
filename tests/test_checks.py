"""Arguments that are right come back, all others are named."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from saltus._checks import (
    check_attempts,
    check_limits,
    check_seed,
    checked_count,
    whole_number,
    worker_count,
)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_a_whole_number_may_have_any_type(value: Any) -> None:
    assert type(whole_number("rule", value, 0, 3)) is int
    assert checked_count(value) == worker_count(value) == 3
    check_attempts(None, value)
    check_seed(value)
    check_limits(value, None, None)


@pytest.mark.parametrize("value", [0, -2, True, False, 1.5, 3.0, math.nan, "3", None, [3]])
def test_what_is_no_count_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="ask takes a positive whole number, or nothing, got"):
        checked_count(value)
    with pytest.raises(ValueError, match="workers must be a positive whole number, or -1 for all, got"):
        worker_count(value)


def test_minus_one_is_one_worker_for_each_core() -> None:
    assert worker_count(-1) == worker_count(np.int64(-1)) >= 1
    with pytest.raises(ValueError, match=r"workers must be .*, got -1\.0"):
        worker_count(-1.0)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, "1"])
def test_seeds(seed: Any) -> None:
    check_seed(None)
    check_seed(2**63 - 1)
    with pytest.raises(ValueError, match=r"seed must be a whole number from 0 to 2\*\*63 - 1, got"):
        check_seed(seed)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((0, None, None), "budget must be a positive whole number, got 0"),
        ((True, None, None), "budget must be"),
        ((1.5, None, None), "budget must be"),
        ((math.inf, None, None), "budget must be"),
        (("9", None, None), "budget must be"),
        ((9, math.nan, None), "target must be a number or None, got nan"),
        ((9, None, "1"), "max_seconds must be a number or None, got '1'"),
    ],
)
def test_limits(limits: Any, words: str) -> None:
    check_limits(1e4, -math.inf, 3)
    with pytest.raises(ValueError, match=words):
        check_limits(*limits)


@pytest.mark.parametrize(
    ("timeout", "retries", "words"),
    [
        (0, 0, "timeout must be a positive number of seconds"),
        (True, 0, "timeout must be"),
        (math.inf, 0, r"at most 2,000,000 \(23 days\)"),
        ("3", 0, "timeout must be"),
        (None, -1, "retries must be a whole number, 0 or more, got -1"),
        (None, 1.0, "retries must be"),
    ],
)
def test_attempts(timeout: Any, retries: Any, words: str) -> None:
    check_attempts(2_000_000, 0)
    with pytest.raises(ValueError, match=words):
        check_attempts(timeout, retries)
