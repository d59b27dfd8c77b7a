"""Known constraints: what the text of a rule may say, what it means, and what is said about the rest."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Space
from saltus.space.where import Where, linear

NAMES = ["a", "b", "long_name"]
FLOATS = [Float(0, 9), Float(0, 9), Float(0, 9)]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("a <= 1", [([1, 0, 0], 1)]),
        ("a<1", [([1, 0, 0], 1)]),
        ("2*a + b <= 10", [([2, 1, 0], 10)]),
        ("a >= b", [([-1, 1, 0], 0)]),
        ("-a - -b > 3", [([1, -1, 0], -3)]),
        ("3 <= a <= b", [([-1, 0, 0], -3), ([1, -1, 0], 0)]),
        ("2*(a - (b + 1))*3 <= 1.5e1 - a", [([7, -6, 0], 21)]),
        ("a/4 + .5*long_name + 1. <= 2", [([0.25, 0, 0.5], 1)]),
        ("a + a - 2*b <= b", [([2, -3, 0], 0)]),
        ("(((a))) <= +1", [([1, 0, 0], 1)]),
    ],
)
def test_what_it_says(text: str, rules: list[tuple[list[float], float]]) -> None:
    found = linear(text, NAMES, FLOATS)
    assert [(rule.factors.tolist(), rule.limit) for rule in found] == rules


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a + b", "must compare something, with <= or >=, at character 6"),
        ("", "ends where a number or a name should be, at character 1"),
        ("a <= ", "ends where a number or a name should be, at character 6"),
        ("a == b", "an equality leaves no room; express one variable by the others, at character 3"),
        ("a = b", "an equality"),
        ("a <= b == 1", "an equality"),
        ("a*b <= 1", "multiplies variables with each other: give a function instead, at character 2"),
        ("1/a <= 1", "must divide by a number other than 0, at character 2"),
        ("a/0 <= 1", "must divide by a number"),
        ("c <= 1", "has an unknown name, 'c', at character 1; there are a, b, long_name"),
        ("long_nam <= 1", "did you mean 'long_name'"),
        ("2a <= 1", "must go on with an operator, not with 'a', at character 2"),
        ("(a <= 1", "a bracket that is not closed, at character 1"),
        ("a) <= 1", r"not with '\)'"),
        ("a ** 2 <= 1", r"not '\*', at character 4; text is linear, a function can say anything"),
        ("a <= 1; b", "not with ';'"),
        ("a <= 1 and b <= 1", "not with 'and', at character 8; several rules are a list"),
        ("sum(a) <= 1", "unknown name, 'sum'"),
        ("a <= 'x'", 'not "\'"'),
        ("1 <= 2", "compares no variables, at character 3"),
        ("a <= a", "compares no variables"),
        ("a*1e999 <= 1", "numbers that a float cannot hold"),
        ("(" * 99 + "a" + ")" * 99 + " <= 1", "nested too deeply"),
        ("a <= " + "1 + " * 9999 + "1", "at most 10,000 characters"),
    ],
)
def test_what_it_cannot_say(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        linear(text, NAMES, FLOATS)


@given(st.text(alphabet="ab 12.e<>=+-*/()x\n", max_size=30))
def test_any_text_is_a_rule_or_a_clear_error(text: str) -> None:
    with suppress(ValueError):
        assert all(rule.factors.any() for rule in linear(text, NAMES, FLOATS))


def test_a_name_that_text_cannot_hold() -> None:
    with pytest.raises(ValueError, match="'a b' cannot stand in text: give a function"):
        linear("a b + c <= 1", ["a b", "c"], FLOATS[:2])


@pytest.mark.parametrize("given_rules", [3, [3], ["a <= 1", None], {"a": 1}.keys() | {2}])
def test_what_is_no_rule(given_rules: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="where"):
        Space({"a": Float(0, 1)}, where=given_rules)


def no_params(rows: Any) -> list[Any]:
    return list(rows)


def test_by_how_much() -> None:
    rules = Where(["a + b <= 10", lambda x: x[0] < 5, lambda x: x[1] < 5], NAMES, FLOATS)
    points = np.array([[1.0, 2, 0], [9, 9, 0], [6, 1, 0], [4, 5.5, 0], [5, 4.9, 0]])
    excess = rules.excess(points, no_params)
    assert excess == pytest.approx([0, 4, 1, 1, 1])


def test_sums_that_round_are_never_above_and_grids_never_below() -> None:
    rng = np.random.default_rng(0)
    rules = Where("a + b + long_name <= 1", NAMES, FLOATS)
    x = rng.dirichlet(np.ones(3), 2000)
    kept = x[rules.excess(x, no_params) == 0]
    assert all(sum(row) <= 1 and row[2] + (row[1] + row[0]) <= 1 for row in kept.tolist())
    grids = [Float(0, 1, step=0.1)] * 3
    tenths = np.array([[0.1, 0.2, 0.7], [0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]])
    assert not Where("a + b + long_name <= 1", NAMES, grids).excess(tenths, no_params).any()
    same = np.array([[0.1, 0.1, 0.0]])
    assert not Where("a <= b", NAMES, FLOATS).excess(same, no_params).any()


def test_a_function_says_yes_or_no() -> None:
    rules = Where(lambda x: None, NAMES, FLOATS)
    with pytest.raises(TypeError, match="must say True or False, whether a point is allowed, got None"):
        rules.excess(np.zeros((1, 3)), no_params)
    assert Where(lambda x: np.bool_(True), NAMES, FLOATS).excess(np.zeros((1, 3)), no_params)[0] == 0


def test_a_space_with_rules() -> None:
    space = Space({"a": Float(0, 1), "on": Bool()}, where=["a + on <= 1", "a >= 0.1"])
    assert Space.from_plain(space.to_plain()) == space
    assert "where=['a + on <= 1', 'a >= 0.1']" in repr(space)
    assert space != Space({"a": Float(0, 1), "on": Bool()})
    assert "where" not in Space({"a": Float(0, 1)}).to_plain()
    assert Space([Int(0, 9), Int(0, 9)], where="x0 < x1 - 1").where.linear[0].limit == -1
