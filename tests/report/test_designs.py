"""The best designs that differ."""

from __future__ import annotations

import itertools
import random

from saltus import Bool, Categorical, Float, Int, Space
from saltus.report.designs import APART, Pool, position
from saltus.study.summary import ranking
from saltus.study.trial import Trial

SPACE = Space({"x": Float(0, 1), "n": Int(1, 100), "on": Bool(), "metal": Categorical(["a", "b"])})


def pool_of(trials: list[Trial], space: Space = SPACE) -> Pool:
    pool = Pool(space, ranking("minimize"))
    for k, trial in enumerate(trials):
        pool.add((k + 1, trial))
    return pool


def trial(i: int, value: float, **params: object) -> Trial:
    return Trial(i, 0, {"x": 0.5, "n": 50, "on": False, "metal": "a"} | params, "done", value)


def test_near_copies_are_left_out() -> None:
    near = [trial(i, i / 100, x=0.5 + i / 1000) for i in range(20)]
    others = [trial(20, 1.0, on=True), trial(21, 2.0, metal="b"), trial(22, 3.0, n=75), trial(23, 4.0, n=52)]
    found = [t.id for _, t in pool_of(near + others).different()]
    assert found == [0, 20, 21, 22]


def test_only_what_matters_makes_a_difference() -> None:
    trials = [trial(0, 0.0), trial(1, 1.0, on=True), trial(2, 2.0, x=0.9)]
    assert [t.id for _, t in pool_of(trials).different(matter={"x"})] == [0, 2]


def test_of_many_each_differs_from_all_better_ones() -> None:
    rng = random.Random(1)
    trials = [
        trial(i, rng.random(), x=rng.random(), n=rng.randint(1, 100), on=rng.random() < 0.5)
        for i in range(5000)
    ]
    pool = pool_of(trials)
    found = [t for _, t in pool.different(count=10)]
    assert found[0].value == min(t.value or 0.0 for t in trials)
    assert [t.value for t in found] == sorted(t.value or 0.0 for t in found)
    for a, b in itertools.combinations(found, 2):
        gaps = [abs(p - q) for p, q in zip(position(SPACE, a), position(SPACE, b), strict=True)]
        assert max(gaps) >= APART


def test_what_has_no_bounds_or_is_not_active() -> None:
    space = Space(
        {"x": Float(), "r": Float(low=1e-9, log=True), "on": Bool(), "y": Float(0, 1, when={"on": True})}
    )
    rows = [
        {"x": 0.0, "r": 1.0, "on": False},
        {"x": 0.01, "r": 1.01, "on": False},
        {"x": 1e6, "r": 1.0, "on": False},
        {"x": 0.0, "r": 9.0, "on": False},
        {"x": 0.0, "r": 1.0, "on": True, "y": 0.5},
    ]
    trials = [Trial(i, 0, params, "done", float(i)) for i, params in enumerate(rows)]
    assert [t.id for _, t in pool_of(trials, space).different()] == [0, 2, 3, 4]
