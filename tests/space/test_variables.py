"""Variables: what they are given is checked."""

from __future__ import annotations

import math
from typing import Any

import pytest

from saltus import Float, Int, Ordinal

from .any_variable import anything


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Float(2, 1), "low must not exceed high"),
        (lambda: Float(0, 1, log=True), "log=True needs low > 0"),
        (lambda: Float(math.nan, 1), "must be a number"),
        (lambda: Float(anything("a"), 1), "must be a number that a float can hold, got 'a'"),
        (lambda: Float(math.inf, None), "must be finite or None"),
        (lambda: Float(0, 1, init=2), r"init must lie in \[0, 1\], got 2"),
        (lambda: Float(0, 1, scale=0), "scale must be positive"),
        (lambda: Int(anything(0.5), 3), "must be a whole number, got 0.5"),
        (lambda: Int(3, 1), "low must not exceed high"),
        (lambda: Int(0, 10, log=True), "log=True needs low >= 1"),
        (lambda: Int(1, 10**9, log=True), "use Float"),
        (lambda: Int(0, 2**60), r"\+-2\*\*50"),
        (lambda: Int(0, 10**400), r"\+-2\*\*50"),
        (lambda: Int(True, 3), "must be a whole number, got True"),
        (lambda: Float(0, 10**400), "a float can hold"),
        (lambda: Ordinal([]), "at least one"),
        (lambda: Ordinal([1, 1]), "increase strictly"),
        (lambda: Ordinal([999.9999999999999, 1000.0]), "are they meant to be the same"),
        (lambda: Ordinal([0.0, 5e-324]), "differ by more than"),
        (lambda: Ordinal(["a"]), "must be a number"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()
