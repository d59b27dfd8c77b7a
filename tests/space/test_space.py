"""Spaces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus import Float, Space
from saltus.space.variable import Variable

from .any_variable import anything, variables


@given(st.lists(variables, min_size=1, max_size=6))
def test_plain_round_trip(given_variables: list[Variable]) -> None:
    for space in (Space(given_variables), Space({str(i): v for i, v in enumerate(given_variables)})):
        assert Space.from_plain(json.loads(json.dumps(space.to_plain()))) == space


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Space([]), "at least one variable"),
        (lambda: Space({"x": anything((0, 1))}), "must be Float, Int, Ordinal, Bool or Categorical"),
        (lambda: Space(anything(5)), "dict of variables by name or a list"),
        (lambda: Space({anything(1): Float(0, 1)}), "names must be strings"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()
