"""What a model expects along one variable, and over two."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from saltus import Bool, Categorical, Float, Int, Space
from saltus.search.learnt import Learnt
from saltus.search.memory import Memory
from saltus.search.slices import places
from saltus.space.encoding import Encoding


def learnt(space: Space, fun: object, maximize: bool = False, count: int = 60) -> Learnt:
    """What random points teach."""
    encoding, rng = Encoding(space), np.random.default_rng(1)
    memory = Memory(len(space))
    rows = []
    for _ in range(count):
        row = [
            rng.integers(2)
            if isinstance(v, Bool)
            else rng.integers(len(v.choices))
            if isinstance(v, Categorical)
            else rng.integers(v.low, v.high + 1)
            if isinstance(v, Int)
            else rng.uniform(-2, 2)
            for v in space.variables
        ]
        rows.append([float(x) for x in row])
    x = np.array(rows)
    values = np.array([fun(row) for row in x])  # type: ignore[operator]
    memory.extend(range(count), x, -values if maximize else values, None)
    return Learnt(encoding, memory, maximize=maximize)


SPACE = Space({"x": Float(-2, 2), "k": Int(0, 9), "metal": Categorical(["a", "b", "c"]), "fixed": Int(3, 3)})


def bowl(row: np.ndarray) -> float:
    return float((row[0] - 1) ** 2 + (row[1] - 7) ** 2 / 10 + row[2])


@cache
def model() -> Learnt:
    return learnt(SPACE, bowl)


def test_effects_go_through_the_best_point() -> None:
    found = model().effects(["k", "x", "metal", "fixed"])
    assert [*found] == ["k", "x", "metal"]  # a fixed one has none
    assert found["k"].at.tolist() == [*range(10)]
    assert found["metal"].at.tolist() == [0, 1, 2]
    assert found["x"].at[[0, -1]].tolist() == [-2, 2]
    assert abs(found["x"].at[found["x"].value.argmin()] - 1) < 0.3
    assert found["metal"].value.argmin() == 0
    for effect in found.values():
        assert (effect.low <= effect.value).all()
        assert (effect.value <= effect.high).all()


def test_the_band_holds_what_is_true() -> None:
    effect = model().effects(["x"])["x"]
    _, k, metal, _ = model()._best_numbers
    true = np.array([bowl(np.array([x, k, metal])) for x in effect.at])
    assert np.mean((effect.low <= true) & (true <= effect.high)) >= 0.9


def test_to_maximise_turns_it_round() -> None:
    found = learnt(SPACE, lambda row: -bowl(row), maximize=True).effects(["x"])["x"]
    assert abs(found.at[found.value.argmax()] - 1) < 0.3
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


def test_pairs() -> None:
    pair = model().pair("x", "k")
    assert pair is not None
    assert pair.value.shape == (len(pair.second), len(pair.first)) == (10, len(pair.first))
    row, column = np.unravel_index(pair.value.argmin(), pair.value.shape)
    assert abs(pair.first[column] - 1) < 0.4
    assert abs(pair.second[row] - 7) <= 2
    assert model().pair("x", "fixed") is None


def test_what_is_not_active_at_the_best_point_has_no_effect() -> None:
    space = Space({"on": Bool(), "x": Float(-2, 2), "deep": Float(-2, 2, when={"on": True})})
    found = learnt(space, lambda row: row[0] * 9 + row[1] ** 2)
    assert [*found.effects(["on", "x", "deep"])] == ["on", "x"]


def test_nothing_can_be_said() -> None:
    few = learnt(SPACE, bowl, count=3)
    assert few.effects(["x"]) == {}
    assert few.pair("x", "k") is None


@pytest.mark.parametrize(
    ("variable", "ends", "count"),
    [
        (Int(0, 1000), (0, 1000), 9),
        (Int(1, 1000, log=True), (1, 1000), 9),
        (Float(1e-3, 10, log=True), (1e-3, 10), 9),
        (Float(low=0), (0, 7), 9),
        (Float(low=1e-3, log=True), (1e-3, 7), 9),
        (Bool(), (0, 1), 2),
    ],
)
def test_places(variable: Float | Int | Bool, ends: tuple[float, float], count: int) -> None:
    found = places(variable, np.array([2.0, 7.0]), 9)
    assert (found[0], found[-1]) == pytest.approx(ends)
    assert len(found) == count
    assert (np.diff(found) > 0).all()
