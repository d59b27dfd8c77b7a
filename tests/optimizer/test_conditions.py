"""Searches of spaces with conditions."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import numpy as np
import pytest

from saltus import STRATEGIES, Bool, Categorical, Float, Int, Optimizer, Space, Stop, at_least, minimize


def mixed() -> Space:
    return Space(
        {
            "kernel": Categorical(["rbf", "poly", "linear"]),
            "gamma": Float(1e-4, 1e4, log=True, when={"kernel": ["rbf", "poly"]}),
            "degree": Int(2, 5, when={"kernel": "poly"}),
            "fine": Float(0, 1, when={"degree": at_least(4)}),
            "c": Float(0, 1),
        }
    )


def mixed_value(p: dict[str, Any]) -> float:
    expected = {"kernel", "c"}
    expected |= {"gamma"} if p["kernel"] != "linear" else set()
    expected |= {"degree"} if p["kernel"] == "poly" else set()
    expected |= {"fine"} if p.get("degree", 0) >= 4 else set()
    assert set(p) == expected
    value = (p["c"] - 0.3) ** 2 + {"rbf": 0.2, "poly": 0.0, "linear": 0.1}[p["kernel"]]
    value += 0.05 * abs(math.log10(p["gamma"]) - 1) if "gamma" in p else 0.0
    return float(value + 0.1 * abs(p.get("degree", 4) - 4) + (p.get("fine", 0.7) - 0.7) ** 2)


def whole() -> Space:
    """15 + 3 + 6 points, of which the plain product would have 270."""
    return Space(
        {
            "kind": Categorical(["a", "b", "c"]),
            "k": Int(1, 15, when={"kind": "a"}),
            "size": Int(1, 3, when={"kind": ["b", "c"]}),
            "on": Bool(when={"kind": "c"}),
        }
    )


def whole_value(p: dict[str, Any]) -> float:
    value = {"a": 0.0, "b": 5.0, "c": 3.0}[p["kind"]] + abs(p.get("k", 3) - 12)
    return float(value + p.get("size", 0) - p.get("on", 0))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_objective_what_is_active(strategy: str) -> None:
    result = minimize(mixed_value, mixed(), budget=120, seed=1, strategy=strategy)
    assert result.fun < 0.4
    assert mixed_value(result.params) == result.fun


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es-margin"])
def test_no_point_is_paid_twice_and_all_are_found(strategy: str) -> None:
    paid: list[str] = []

    def value(p: dict[str, Any]) -> float:
        paid.append(json.dumps(p))
        return whole_value(p)

    space = whole()
    assert space.count_points() == 15 + 3 + 6
    result = minimize(value, space, budget=500, seed=3, strategy=strategy)
    assert len(set(paid)) == len(paid) == result.nfev
    assert result.fun == 0.0
    assert result.stop is Stop.EXHAUSTED
    if strategy == "saltus":
        assert len(paid) == 24


def test_changes_of_what_is_not_active_are_not_paid_where_others_are_continuous() -> None:
    paid: list[str] = []

    def value(p: dict[str, Any]) -> float:
        paid.append(json.dumps(p))
        return mixed_value(p)

    minimize(value, mixed(), budget=400, seed=2, strategy="saltus-es")
    assert len(set(paid)) == len(paid) == 400


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_search_that_is_saved_and_restored_is_the_same(strategy: str, asynchronous: bool) -> None:
    space = mixed()
    ways: list[list[Any]] = [[], []]
    for way, restores in zip(ways, (False, True), strict=True):
        optimizer = Optimizer(space, seed=5, strategy=strategy, asynchronous=asynchronous)
        for _ in range(16 if strategy == "saltus" else 40):
            candidates = optimizer.ask(2)
            if restores:
                optimizer = Optimizer.restore(json.loads(json.dumps(optimizer.state())), space)
                candidates = [c for c in optimizer.pending if c.id in {own.id for own in candidates}]
            optimizer.tell(candidates, [mixed_value(c.params) for c in candidates])
            way += [c.params for c in candidates]
    assert ways[0] == ways[1]


def test_equal_active_parts_are_equal_in_the_memory_and_in_the_best() -> None:
    space = mixed()
    optimizer = Optimizer(space, seed=1, strategy="saltus-es")
    while optimizer.evaluations < 200:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [mixed_value(c.params) for c in candidates])
    x = optimizer.memory.x
    linear = x[x[:, 0] == 2]
    assert len(linear) > 5
    assert np.ptp(linear[:, 1:4], axis=0).tolist() == [0.0, 0.0, 0.0]
    assert np.allclose(linear[0, 1:4], [1.0, 4.0, 0.5])  # the middle of each
    best = optimizer.best
    assert best is not None
    assert np.array_equal(best.x, space.numbers(best.params))


def test_a_point_of_somebody_else_has_what_is_active() -> None:
    optimizer = Optimizer(mixed(), seed=1)
    optimizer.add({"kernel": "linear", "c": 0.3}, 0.1)
    assert optimizer.best is not None
    assert optimizer.best.params == {"kernel": "linear", "c": 0.3}
    with pytest.raises(ValueError, match="'degree' is not active here, leave it out"):
        optimizer.add({"kernel": "linear", "c": 0.3, "degree": 2}, 0.1)
    with pytest.raises(ValueError, match="'gamma' is missing"):
        optimizer.add({"kernel": "rbf", "c": 0.3}, 0.1)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_another_machine_has_rounded_is_corrected(asynchronous: bool) -> None:
    optimizer = Optimizer(mixed(), seed=1, strategy="saltus-es", asynchronous=asynchronous)
    candidates = optimizer.ask(6)
    linear = next(c for c in candidates if c.params["kernel"] == "linear")
    rounded = {**linear.params, "c": linear.params["c"] + 1e-12}
    optimizer.correct(linear.id, rounded)
    own = next(c for c in optimizer.pending if c.id == linear.id)
    assert own.params == rounded


def test_inactive_variables_do_not_make_a_search_much_slower() -> None:
    """Half of the evaluations more at most, in the median, where eight variables belong to other choices."""
    plain = {"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(-9, 9)}
    kinds = Categorical(["a", "b", "c"])
    others = {f"{kind}{i}": Float(-5, 5, when={"kind": kind}) for kind in "bc" for i in range(4)}

    def value(p: dict[str, Any]) -> float:
        own = (p["x"] - 1) ** 2 + (p["y"] + 2) ** 2 + (p["k"] - 3) ** 2
        return float(own + {"a": 0.0, "b": 3.0, "c": 6.0}[p["kind"]])

    def evaluations(space: Space, seed: int) -> int:
        result = minimize(value, space, budget=400, seed=seed, target=1e-3)
        assert result.success
        return result.nfev

    alone = [evaluations(Space({**plain, "kind": kinds}), seed) for seed in range(7)]
    beside = [evaluations(Space({**plain, "kind": kinds, **others}), seed) for seed in range(7)]
    assert statistics.median(beside) <= 1.5 * statistics.median(alone)


def test_known_points_and_rules_where_there_are_conditions() -> None:
    """What is in line has what is active, and functions of `where` see no more than the objective does."""
    space = Space(
        {
            "kernel": Categorical(["rbf", "poly"]),
            "C": Float(0, 1),
            "gamma": Float(0, 1, when={"kernel": "rbf"}),
            "degree": Int(2, 5, when={"kernel": "poly"}),
        },
        where=lambda p: ("gamma" in p) == (p["kernel"] == "rbf") and p["C"] < 0.9,
    )
    optimizer = Optimizer(space, seed=1)
    optimizer.enqueue({"kernel": "poly", "degree": 4}, {"kernel": "rbf", "C": 0.2})
    assert optimizer.queue == [
        {"kernel": "poly", "C": 0.5, "degree": 4},
        {"kernel": "rbf", "C": 0.2, "gamma": 0.5},
    ]
    for wrong in ({"kernel": "rbf", "degree": 3}, {"kernel": "poly", "gamma": 0.1}):
        with pytest.raises(ValueError, match="is not active here"):
            optimizer.enqueue(wrong)
    while optimizer.evaluations < 40:
        candidates = optimizer.ask()
        assert all(c.params["C"] < 0.9 for c in candidates)
        optimizer.tell(candidates, [abs(c.params["C"] - 0.95) for c in candidates])
