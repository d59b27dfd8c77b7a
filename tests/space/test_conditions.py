"""Conditions: which variables are active where, and what is wrong with a condition."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Categorical, Float, Int, Ordinal, Space, at_least, at_most
from saltus.space import Encoding, UnitCube

KERNELS = Categorical(["rbf", "poly", "linear"])


def nested() -> Space:
    return Space(
        {
            "fine": Float(0, 1, when={"degree": at_least(4)}),
            "degree": Int(2, 5, when={"kernel": "poly"}),
            "gamma": Float(1e-4, 1e4, log=True, when={"kernel": ["rbf", "poly"], "on": True}),
            "kernel": KERNELS,
            "on": Bool(),
        }
    )


def active(space: Space, **values: Any) -> set[str]:
    assert space.activity is not None
    mask = space.activity.active(np.array([space.numbers(values)]))[0].tolist()
    return {name for name, is_on in zip(space.keys, mask, strict=True) if is_on}


def test_what_is_active_follows_from_the_values_of_others() -> None:
    space = nested()
    assert active(space, kernel="linear", on=True) == {"kernel", "on"}
    assert active(space, kernel="rbf", on=True) == {"kernel", "on", "gamma"}
    assert active(space, kernel="rbf", on=False) == {"kernel", "on"}  # all that is wanted, not any
    assert active(space, kernel="poly", on=False, degree=3) == {"kernel", "on", "degree"}
    assert active(space, kernel="poly", on=False, degree=4) == {"kernel", "on", "degree", "fine"}


def test_a_child_of_an_inactive_parent_is_inactive_whatever_the_parents_number() -> None:
    assert active(nested(), kernel="rbf", on=False, degree=5) == {"kernel", "on"}


@pytest.mark.parametrize(
    ("parent", "wanted", "holds", "not_so"),
    [
        (Int(1, 8), at_most(3), [1, 3], [4, 8]),
        (Int(1, 8), 3, [3], [2, 4]),
        (Int(1, 1000, log=True), [7, 990], [7, 990], [1, 8]),
        (Int(1, 8), {"at_least": 2, "at_most": 3}, [2, 3], [1, 4]),
        (Ordinal([0.1, 0.5, 2.0]), 0.1, [0.1], [0.5, 2.0]),
        (Bool(), False, [False], [True]),
        (Float(0, 1), at_least(0.5), [0.5, 1.0], [0.0, 0.4999]),
        (Categorical([None, 1, "a"]), None, [None], [1, "a"]),
        (Categorical([None, 1, "a"]), (1, "a"), [1, "a"], [None]),
        (Int(3, 3), 3, [3], []),
    ],
)
def test_every_kind_of_parent(parent: Any, wanted: Any, holds: list[Any], not_so: list[Any]) -> None:
    space = Space({"parent": parent, "child": Bool(when={"parent": wanted})})
    for value in holds:
        assert active(space, parent=value) == {"parent", "child"}
    for value in not_so:
        assert active(space, parent=value) == {"parent"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"a": Bool(when={"b": True}), "b": Bool(when={"a": True})},
            "in a circle: (a -> b -> a|b -> a -> b)",
        ),
        ({"a": Bool(when={"a": True})}, "circle: a -> a"),
        ({"kernel": KERNELS, "a": Bool(when={"kernal": "rbf"})}, "'kernal', which is no variable.*'kernel'"),
        ({"kernel": KERNELS, "a": Bool(when={"kernel": "rbv"})}, "'kernel' must be one of 'rbf'.*'rbv'"),
        ({"kernel": KERNELS, "a": Bool(when={"kernel": at_least(1)})}, "'kernel' has no order"),
        ({"k": Int(1, 8), "a": Bool(when={"k": 9})}, r"'k' must lie in \[1, 8\], got 9"),
        ({"k": Int(1, 8), "a": Bool(when={"k": 1.5})}, "1.5 is none of the values of 'k'"),
        ({"k": Int(1, 8), "a": Bool(when={"k": "1"})}, "got '1'"),
        ({"k": Ordinal([1, 5]), "a": Bool(when={"k": [1, 2]})}, "2 is none of the values of 'k'"),
        ({"k": Int(1, 8), "a": Bool(when={"k": at_least(9)})}, r"\[1, 8\], so it is never at_least\(9\)"),
        ({"k": Int(1, 8), "a": Bool(when={"k": at_most(0)})}, r"never at_most\(0\)"),
        ({"x": Float(0, 1), "a": Bool(when={"x": 0.5})}, "'x' is continuous.*at_least"),
    ],
)
def test_a_condition_that_cannot_be_is_an_error_of_the_space(variables: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Space(variables)


@pytest.mark.parametrize(
    ("when", "kind", "message"),
    [
        ("kernel", TypeError, "Bool: when must be a dict of wanted values by name.*got 'kernel'"),
        ({}, TypeError, "got {}"),
        ({3: 1}, TypeError, "got {3: 1}"),
        ({"a": []}, ValueError, "never be active"),
        ({"a": {1, 2}}, TypeError, "got a set"),
        ({"a": {"atleast": 2}}, ValueError, "takes at_least and at_most, got {'atleast': 2}"),
        ({"a": {"at_least": "2"}}, ValueError, "finite number, got '2'"),
        ({"a": {"at_least": 3, "at_most": 2}}, ValueError, "must not exceed"),
    ],
)
def test_a_condition_that_says_nothing_is_an_error_of_the_variable(
    when: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        Bool(when=when)


@pytest.mark.parametrize("limit", [at_least, at_most])
@pytest.mark.parametrize("number", [math.nan, math.inf, "2", True])
def test_limits_are_finite_numbers(limit: Any, number: Any) -> None:
    with pytest.raises(ValueError, match="finite number"):
        limit(number)


def test_conditions_need_names() -> None:
    with pytest.raises(TypeError, match="needs names"):
        Space([Bool(), Bool(when={"x0": True})])


def test_a_space_with_conditions_is_written_down_and_read_again() -> None:
    space = nested()
    assert Space.from_plain(json.loads(json.dumps(space.to_plain()))) == space
    other = Space({**dict(zip(space.keys, space.variables, strict=True)), "degree": Int(2, 5)})
    assert other != space
    assert Categorical(["a", "b"], when={"k": 1}) != Categorical(["a", "b"])
    assert {Bool(when={"a": 1}), Bool()} == {Bool(), Bool(when={"a": 1})}  # they have a hash


def test_a_condition_is_shown_where_there_is_one() -> None:
    assert repr(Bool()) == "Bool(init=None, scale=None)"
    assert repr(Bool(when={"k": at_least(2)})) == "Bool(init=None, scale=None, when={'k': at_least(2)})"
    assert repr(Bool(when={"k": {"at_least": 2, "at_most": 3}})).endswith("{'at_least': 2, 'at_most': 3}})")


def test_points_are_counted_by_what_is_active() -> None:
    parts = {"kernel": KERNELS, "degree": Int(2, 5, when={"kernel": "poly"}), "on": Bool()}
    assert Space(parts).count_points() == (1 + 1 + 4) * 2
    deep = {**parts, "fine": Int(1, 10, when={"degree": at_least(4)})}
    assert Space(deep).count_points() == (1 + 1 + 2 + 2 * 10) * 2
    assert Space({**parts, "x": Float(0, 1, when={"kernel": "rbf"})}).count_points() == math.inf
    many = {"k": Int(1, 10**6), "on": Bool(when={"k": 1})}
    assert Space(many).count_points() == 2 * 10**6  # not fewer than there are


def test_points_of_the_search_hold_what_is_active_and_come_back() -> None:
    space = nested()
    encoding = Encoding(space)
    rng = np.random.default_rng(1)
    encoding.shuffle(rng)
    x = encoding.m + 3 * rng.standard_normal((200, encoding.N))
    plateaus = np.floor(rng.random((200, encoding.lattice.size)) * (encoding.lattice.last + 1))
    points = encoding.decode(x, plateaus)
    assert space.activity is not None
    for numbers, params in zip(points.x, points.params, strict=True):
        assert set(params) == active(space, **params)
        assert list(params) == [name for name in space.keys if name in params]
        assert np.array_equal(encoding.numbers_of(params), numbers)
        assert np.array_equal(space.numbers(params), numbers)
        assert encoding.params_of(numbers) == params
    assert len({frozenset(params) for params in points.params}) == 6  # each combination has come


def test_equal_active_parts_are_equal_points_in_the_unit_cube() -> None:
    encoding = Encoding(nested())
    encoding.shuffle(np.random.default_rng(2))
    cube = UnitCube(encoding)
    u = cube.snapped(np.random.default_rng(3).random((300, cube.N)))
    assert np.array_equal(cube.settled(u), u)
    x, plateaus = cube.points(u)
    assert np.allclose(cube.of_points(x, plateaus), u)
    params = encoding.decode(x, plateaus).params
    discrete = [(p["kernel"], p["on"]) for p in params]
    linear = [row for row, own in zip(u, discrete, strict=True) if own == ("linear", True)]
    assert len(linear) > 5
    assert all(np.array_equal(row, linear[0]) for row in linear)


def test_a_point_that_was_rounded_otherwise_keeps_what_was_drawn_for_the_rest() -> None:
    space = Space({"kind": KERNELS, "x": Float(0, 1), "y": Float(0, 1, when={"kind": "rbf"}), "k": Int(1, 9)})
    encoding = Encoding(space)
    x, plateaus = encoding.m + 0.5, np.array([6.0, 2.0])
    (numbers,) = encoding.numbers(x[None], plateaus[None])
    assert encoding.params_of(numbers).keys() == {"kind", "x", "k"}
    numbers[1] += 1e-12
    numbers[3] = 8.0
    corrected, exact = encoding.corrected(numbers, x, plateaus)
    assert corrected[:2].tolist() == x[:2].tolist()
    assert exact.tolist() == [7.0, 2.0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "rbf", "on": True}, "for each active variable; 'gamma' is missing"),
        (
            {"kernel": "rbf", "on": False, "degree": 3},
            "'degree' is not active here.*it is where kernel = 'poly'",
        ),
        ({"on": True}, "'kernel' is missing"),
        ({"kernel": "poly", "on": False, "degree": 3.5}, "'degree' must be one of its values, got 3.5"),
    ],
)
def test_a_point_has_exactly_what_is_active(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Encoding(nested()).numbers_of(params)
