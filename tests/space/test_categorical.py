"""Categories: what they are given is checked, and comes back as it was."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Categorical, Float, Int, Optimizer, Space
from saltus.space import Encoding, UnitCube

from .any_variable import anything

MIXED = ["rbf", None, 3, 2.5, True]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Categorical([]), "at least one choice, got none"),
        (lambda: Categorical(["a", "b", "a"]), "must differ, got 'a' and 'a'"),
        (lambda: Categorical([1, True]), "must differ, got 1 and True, which are equal"),
        (lambda: Categorical([1, 1.0]), "must differ, got 1 and 1.0"),
        (lambda: Categorical([math.nan, 1]), "NaN is equal to nothing"),
        (lambda: Categorical([10**400, 10**400]), "must differ"),
        (lambda: Categorical([[1], [2]]), r"must be hashable, got \[1\]; give a name"),
        (lambda: Categorical("abc"), "must be a list of different values, got 'abc'"),
        (lambda: Categorical({"a", "b"}), "must be a list of different values"),
        (lambda: Categorical({"a": 1}), "must be a list of different values"),
        (lambda: Categorical(anything(None)), "must be a list of different values, got None"),
        (lambda: Space([Categorical(["a", "b"])]), r"needs a name: write Space\(\{"),
        (lambda: Space({"k": Categorical([(1, 2), (3, 4)])}).to_plain(), r"got \(1, 2\); give a name"),
        (lambda: Space({"k": Categorical([math.inf, 0])}).to_plain(), "finite numbers"),
        (lambda: Optimizer(Space({"k": Categorical(["ab"])})), "nothing to optimise"),
        (
            lambda: Optimizer(Space({"k": Categorical([1, 2])}), mean={"k": 1}),
            "mean of 'k': a category has none, got 1",
        ),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_the_objective_gets_the_very_values() -> None:
    tokens = [object(), (1, "a"), Fraction(1, 3), np.float32(0.1)]
    space = Space({"token": Categorical(tokens), "plain": Categorical(MIXED)})
    seen: dict[str, set[Any]] = {"token": set(), "plain": set()}
    optimizer = Optimizer(space, seed=1, strategy="dx-nes-ici", population=40)
    for candidate in optimizer.ask():
        assert any(candidate.params["token"] is token for token in tokens)
        seen["token"].add(id(candidate.params["token"]))
        seen["plain"].add(repr(candidate.params["plain"]))
    assert seen == {"token": {*map(id, tokens)}, "plain": {*map(repr, MIXED)}}


def test_one_choice_costs_no_dimension() -> None:
    space = Space({"k": Categorical([None]), "x": Float(0, 1)})
    assert space.dimension == 1
    assert {c.params["k"] for c in Optimizer(space, seed=1).ask()} == {None}


def test_a_space_as_plain_data() -> None:
    space = Space({"k": Categorical(MIXED), "x": Float(0, 1), "n": Categorical([np.int64(3), np.str_("a")])})
    plain = json.loads(json.dumps(space.to_plain()))
    again = Space.from_plain(plain)
    assert again.variables[0] == space.variables[0]
    assert again.to_plain() == plain
    assert [*map(type, again.variables[2].choices)] == [int, str]  # type: ignore[attr-defined]
    assert space.count_points() == math.inf
    assert Space({"k": Categorical(MIXED), "b": Bool()}).count_points() == 10


def test_true_is_not_one() -> None:
    assert Categorical([1, 2]) != Categorical([True, 2])
    assert Categorical([1, 2]) == Categorical((1, 2))
    assert hash(Categorical([1, 2])) == hash(Categorical((1, 2)))
    assert Categorical([1, 2]) != Int(1, 2)
    optimizer = Optimizer(Space({"k": Categorical([1, 2])}), seed=1)
    optimizer.add({"k": np.int64(2)}, 0.5)
    assert optimizer.best is not None
    assert optimizer.best.params == {"k": 2}
    for wrong in (True, 3, "1", [1]):
        with pytest.raises(
            ValueError, match=f"'k' must be one of 1, 2, got .*{str(wrong)[:2]}".replace("[", r"\[")
        ):
            optimizer.add({"k": wrong}, 1.0)


def test_one_number_for_all_is_not_meant_for_categories() -> None:
    space = Space({"x": Float(0, 1), "k": Categorical(["a", "b", "c"])})
    encoding = Encoding(space, mean=0.3, sigma=0.2)
    assert encoding.given_mean == [0.3, None]
    assert encoding.given_sigma == [0.2, None]
    assert Encoding(space, mean=anything([0.3, None])).given_mean == [0.3, None]


@pytest.mark.parametrize("seed", range(5))
def test_points_go_into_coordinates_and_back_however_values_are_numbered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = Space(
        {
            "k": Categorical(MIXED),
            "x": Float(0, 1),
            "n": Int(0, 9),
            "j": Categorical("abcdefg"[i] for i in range(7)),
        }
    )
    encoding = Encoding(space)
    encoding.shuffle(rng)
    cube = UnitCube(encoding)
    plateaus = np.column_stack([rng.integers(0, count, 20) for count in (10, 5, 7)]).astype(float)
    x = np.column_stack((rng.uniform(0, 3, 20), encoding.lattice.value(plateaus)))
    points = encoding.decode(x, plateaus)
    assert encoding.n_categories == 2
    assert cube.sizes == (5, 7)
    assert cube.order == [1, 2, 0, 3]
    np.testing.assert_array_equal(encoding.plateaus(points.x), plateaus)
    for row, params in enumerate(points.params):
        numbers = encoding.numbers_of(params)
        np.testing.assert_array_equal(numbers, points.x[row])
        np.testing.assert_array_equal(space.numbers(params), numbers)
        assert encoding.params_of(numbers) == params
        np.testing.assert_array_equal(encoding.located(numbers)[1], plateaus[row])
        np.testing.assert_array_equal(encoding.encode(numbers)[2:], x[row, 2:])
        np.testing.assert_array_equal(encoding.unrounded(x[row])[[0, 3]], numbers[[0, 3]])
    u = cube.of_points(x, plateaus)
    np.testing.assert_array_equal(cube.snapped(u), u)
    again, same = cube.points(u)
    np.testing.assert_array_equal(same, plateaus)
    np.testing.assert_array_equal(again[:, 2:], x[:, 2:])


@pytest.mark.parametrize("orders", [[], [np.array([0.0, 1.0])], [np.array([0.0, 0.0, 2.0])]])
def test_numbers_of_values_that_make_no_sense_are_refused(orders: list[Any]) -> None:
    encoding = Encoding(Space({"k": Categorical("abc"[i] for i in range(3))}))
    with pytest.raises(ValueError, match="places of all choices"):
        encoding.reorder(orders)
