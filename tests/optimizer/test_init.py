"""Points of others, and one search of many processes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from saltus import STRATEGIES, Bool, Candidate, Float, Int, Optimizer, Space
from saltus.order import Failure, Outcome
from saltus.search.settings import MANY_PHASES

from .playing import (
    LOGS,
    SPACE,
    SPACES,
    asynchronous,
    objective,
    remembered,
    through_json,
    trace,
    treacherous,
)


def test_the_model_learns_from_points_of_others() -> None:
    space = Space([Float(-5, 5), Int(-10, 10), Float(-5, 5)])
    optimizer = Optimizer(space, strategy="saltus", seed=1)
    for id in range(1000, 1020):
        optimizer.add(np.array([3.0 + (id % 7) / 50, 3 + id % 2, 3.0]), (id % 7) / 50 + id % 2)
    for _ in range(3):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [100.0] * len(candidates))
    assert optimizer.mean == pytest.approx([3.0, 3.0, 3.0])
    assert len(optimizer.memory) == 20 + optimizer.evaluations


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "saltus"])
def test_points_of_others_are_learnt_from(strategy: str) -> None:
    space = Space([Float(-5, 5), Int(-10, 10), Float(-5, 5)])
    optimizer = Optimizer(space, strategy=strategy, seed=1, population=8)
    before = np.linalg.norm(optimizer.mean - 3.0)
    for id in range(1000, 1040):
        optimizer.add(np.array([3.0 + (id % 7) / 50, 3 + id % 2, 3.0]), (id % 7) / 50 + id % 2)
        if id % 10 == 0:  # a batch of points that say nothing
            candidates = optimizer.ask()
            optimizer.tell(candidates, [100.0] * len(candidates))
    assert np.linalg.norm(optimizer.mean - 3.0) < 0.7 * before
    assert optimizer.evaluations == 1 + 3 * 8  # the first mean, compared with the first point of another
    assert optimizer.best is not None
    assert optimizer.best.id == 9
    assert optimizer.best.x.tolist() == [3.0, 3.0, 3.0]
    candidates = optimizer.ask()
    assert candidates[0].id == 65
    optimizer.tell(candidates, [100.0] * len(candidates))
    assert len(optimizer.memory) == 40 + 1 + 4 * 8
    assert optimizer.memory.best is not None
    assert optimizer.memory.ids[optimizer.memory.best] == 9


def test_a_point_of_another_is_remembered_with_its_outcome() -> None:
    optimizer = Optimizer(SPACE, seed=1, noisy=False)
    point = {"k": 3, "x": 1.0, "lr": 0.5, "grid": 4, "on": True}
    optimizer.add(point, Outcome(5.0, {"mass": -1.0}))
    optimizer.add(point, 7.0, violation=0.5)
    optimizer.add(point, Outcome(math.nan, failure=Failure.DIED))
    trace(optimizer, 1)
    assert optimizer.memory.ids.tolist() == list(range(10))
    assert optimizer.memory.x[:3].tolist() == [[3.0, 1.0, 0.5, 4.0, 1.0]] * 3
    assert optimizer.memory.failures[:3] == [None, None, Failure.DIED]
    assert optimizer.memory.violations[:3].tolist() == [0.0, 0.5, 0.0]
    np.testing.assert_array_equal(optimizer.memory.constraint("mass")[:3], [-1.0, math.nan, math.nan])
    assert (optimizer.evaluations, optimizer.failures) == (7, 1)


@pytest.mark.parametrize("strategy", MANY_PHASES)
def test_the_order_of_points_of_others_and_own_ones_does_not_matter(strategy: str) -> None:
    def final(first: str) -> Any:
        optimizer = Optimizer(SPACE, strategy=strategy, seed=4, batch=3)
        for turn in range(10):
            candidates = optimizer.ask()
            points = [(1000 * (turn + 1) + i, {**candidates[i].params, "k": i}) for i in range(3)]
            last = candidates.pop()
            if first == "own":
                optimizer.tell(candidates, [objective(c.params) for c in candidates])
            for id, point in points if first == "own" else points[::-1]:
                optimizer.add(point, objective(point), id=id)
            if first != "own":
                optimizer.tell(candidates[::-1], [objective(c.params) for c in candidates[::-1]])
            optimizer.tell(last, objective(last.params))
        return remembered(optimizer), optimizer.mean.tolist(), optimizer.ask()

    assert final("own") == final("others")


@pytest.mark.parametrize(
    ("point", "value", "violation", "words"),
    [
        ({"k": 3}, 1.0, None, "'x' is missing"),
        ({"k": 99}, 1.0, None, "."),
        ({"lr": math.nan}, 1.0, None, "."),
        ({}, "good", None, "real number"),
        ({}, None, None, "real number|return something"),
        ({}, 1.0, "much", "violation must be a real number"),
        ({}, Outcome(1.0), 2.0, "an Outcome says by itself what is violated"),
    ],
)
def test_a_bad_point_changes_nothing(point: dict[str, Any], value: Any, violation: Any, words: str) -> None:
    good = {"k": 3, "x": 1.0, "lr": 0.5, "grid": 4, "on": True}
    optimizer = Optimizer(SPACE, seed=1)
    optimizer.ask(3)
    state = optimizer.state()
    params = point if words.endswith("missing") else good | point
    with pytest.raises((ValueError, TypeError), match=words):
        optimizer.add(params, value, violation)
    assert optimizer.state() == state


def test_the_id_of_a_pending_candidate_is_refused() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    candidates = optimizer.ask(3)
    state = optimizer.state()
    with pytest.raises(ValueError, match="id 1 is taken"):
        optimizer.add(candidates[0].params, 1.0, id=1)
    assert optimizer.state() == state


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("before", ["told", "added"])
def test_an_id_is_taken_once(asynchronous: bool, before: str) -> None:
    """Or else the memory knows of fewer evaluations than there were, and of another best one."""
    optimizer = Optimizer(SPACE, seed=1, asynchronous=asynchronous)
    candidates = optimizer.ask(3)
    point, id = candidates[0].params, candidates[1].id
    if before == "told":
        optimizer.tell(candidates[1], 5.0)
    else:
        id = 50
        optimizer.add(point, 5.0, id=id)
    with pytest.raises(ValueError, match=f"id {id}"):
        optimizer.add(point, 7.0, id=id)


@pytest.mark.parametrize("point", [{"k": 3.5}, {"k": 10.4}, {"grid": 0.75}, {"on": 0.5}])
def test_a_point_between_the_values_of_a_variable_is_refused(point: dict[str, Any]) -> None:
    """What was evaluated there is not what the search would take it for."""
    good = {"k": 3, "x": 1.0, "lr": 0.5, "grid": 4, "on": True}
    with pytest.raises((ValueError, TypeError)):
        Optimizer(SPACE, seed=1).add(good | point, 1.0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_points_of_others_are_welcome(strategy: str) -> None:
    space = Space({"x": Float(-5, 5), "k": Int(-10, 10), "on": Bool()})

    def value(p: dict[str, Any]) -> float:
        return float((p["x"] - 1) ** 2 + (p["k"] - 4) ** 2 + (not p["on"]))

    optimizer = asynchronous(space, strategy=strategy, seed=1)
    optimizer.ask(3)
    for id in range(1000, 3000, 20):
        point = {"x": 1.0 + (id // 20 % 7) / 50, "k": 4 + id // 20 % 2, "on": True}
        optimizer.add(point, value(point), id=id)
        if id % 100 == 0:
            optimizer.ask()
    assert optimizer.evaluations == 0  # they are no evaluations of this search
    assert optimizer.best is not None
    assert optimizer.best.params == {"x": 1.0, "k": 4, "on": True}
    assert optimizer.best.id == 1120  # the first of equals
    assert optimizer.generation > 0
    restored = through_json(optimizer)
    for each in (optimizer, restored):
        each.add({"x": 1.0, "k": 4, "on": True}, -1.0, violation=2.0, id=4000)
        each.add({"x": 1.0, "k": 4, "on": True}, math.nan, id=4001)
    assert optimizer.best.id == 1120
    assert optimizer.failures == 1
    assert restored.state() == optimizer.state()
    assert restored.ask(20) == optimizer.ask(20)


def test_a_point_without_a_value_changes_nothing() -> None:
    optimizer = asynchronous(Space({"x": Float(-5, 5), "k": Int(0, 9)}), seed=1)
    optimizer.ask(3)
    state = optimizer.state()
    for value, violation in (("good", 0.0), (None, 0.0), (1.0, "much")):
        with pytest.raises(TypeError, match="real number"):
            optimizer.add({"x": 1.0, "k": 1}, value, violation)
        assert optimizer.state() == state


@pytest.mark.parametrize(
    "point", [{"x": 1.0}, {"x": math.nan, "k": 1}, {"x": 1.0, "k": 99}, {"x": 9.0, "k": 1}]
)
def test_a_point_outside_the_space_is_refused(point: dict[str, Any]) -> None:
    optimizer = asynchronous(Space({"x": Float(-5, 5), "k": Int(0, 9)}), seed=1)
    optimizer.ask(3)
    with pytest.raises(ValueError, match=r"."):
        optimizer.add(point, 1.0)


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if not name.startswith("saltus")])
def test_the_mean_moves_towards_good_points_of_others(strategy: str) -> None:
    optimizer = asynchronous(Space([Float(-5, 5), Int(-10, 10), Float(-5, 5)]), strategy=strategy, seed=1)
    optimizer.ask(3)
    before = np.linalg.norm(optimizer.mean - 3.0)
    for id in range(1000, 1100):
        optimizer.add(np.array([3.0 + (id % 7) / 50, 3 + id % 2, 3.0]), (id % 7) / 50 + id % 2)
        if id % 10 == 0:
            optimizer.ask()
    assert np.linalg.norm(optimizer.mean - 3.0) < 0.5 * before


# one search of many processes

Told = dict[int, tuple[Any, Any]]


def shared_state(optimizer: Optimizer) -> Any:
    """The state without the next id (who replays has ids of his own), and without the order of telling."""
    state = optimizer.state()
    counts = {name: count for name, count in state["counts"].items() if name != "_next_id"}
    lists = ("asked", "news", "elsewhere", "details", "in_flight", "late", "strays")
    return {**state, "counts": counts} | {name: sorted(state[name] or [], key=repr) for name in lists}


def told_of(candidates: list[Candidate]) -> Told:
    told: Told = {}
    for c in candidates:
        value, violation = treacherous(c.params)
        told[c.id] = (Outcome(value, {"all": violation} if violation else {}), None)
    return told


def test_replay_makes_of_an_optimizer_what_another_one_is() -> None:
    """Batch after batch, from what was asked and told there."""
    one, other = (asynchronous(SPACES["mixed"], strategy="dx-nes-ici", seed=5) for _ in range(2))
    running: list[Candidate] = []
    asked: dict[int, int] = {}
    told: Told = {}
    generation = 0
    for id in range(250):
        if one.settle() and one.generation > generation:
            assert other.replay(asked, told)
            assert shared_state(other) == shared_state(one)
            generation, asked, told = one.generation, {}, {}
        c = one.ask_as(id)
        asked[id] = c.slot
        running.append(c)
        if len(running) == 7:
            done = running.pop(id * 5 % 7)
            (outcome, _) = told[done.id] = told_of([done])[done.id]
            one.tell(done, outcome)
    assert generation > 10
    assert one.evaluations > 200


def test_replay_is_idempotent_and_knows_no_order() -> None:
    one, other = (asynchronous(SPACES["mixed"], seed=5) for _ in range(2))
    candidates = [one.ask_as(id) for id in range(6)]
    asked = {c.id: c.slot for c in candidates}
    told = told_of(candidates[1:4])
    point = np.array([1.0, 3.0, 0.5, 1.0, 3.0])
    told[900] = (Outcome(math.nan, failure=Failure.DIED), point)
    assert not one.replay(asked, told)
    state = one.state()
    for _ in range(2):
        assert not one.replay(asked, told)
        assert one.state() == state
    assert not other.replay(dict(reversed(asked.items())), dict(reversed(told.items())))
    assert shared_state(one) == shared_state(other)
    assert one.evaluations == 3


def test_replay_forgets_what_was_asked_and_told_here() -> None:
    one, other = (asynchronous(SPACES["mixed"], seed=5) for _ in range(2))
    candidates = [one.ask_as(id) for id in range(6)]
    for c in candidates[:4]:
        one.tell(c, math.nan if c.id == 2 else 100.0 + c.id)
    one.add(np.array([1.0, 3.0, 0.5, 1.0, 3.0]), 100.0)
    asked, told = {20: 1, 21: 0}, {20: (Outcome(5.0), None)}
    other.ask_as(0)
    for each in (one, other):
        assert not each.replay(asked, told)
        assert (each.evaluations, each.failures) == (1, 0)
        assert each.best is not None
        assert each.best.id == 20
    assert shared_state(one) == shared_state(other)
    with pytest.raises(ValueError, match="not pending"):
        one.tell(candidates[5], 1.0)


def test_outcomes_of_unknown_ids_without_a_point_are_left_out() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=5)
    optimizer.replay({0: 0}, {0: (Outcome(1.0), None), 77: (Outcome(-9.0), None)})
    assert optimizer.evaluations == 1
    assert optimizer.best is not None
    assert optimizer.best.id == 0


def test_replay_forgets_the_best_too() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=5)
    c = optimizer.ask_as(0)
    optimizer.tell(c, -100.0)
    optimizer.replay({0: c.slot, 1: 1}, {1: (Outcome(5.0), None)})
    assert optimizer.best is not None
    assert optimizer.best.id == 1


def test_ask_after_a_replay_gives_an_id_that_nobody_has() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=5)
    optimizer.replay({0: 0, 1: 1}, {})
    assert optimizer.ask()[0].id > 1


def test_others_say_where_they_evaluated() -> None:
    """On their machine numbers may be rounded otherwise."""
    optimizer = asynchronous(LOGS, seed=1)
    first, second = optimizer.ask(2)
    there = {name: math.nextafter(v, 1) if name != "k" else v for name, v in first.params.items()}
    far = {"rate": 50.0, "width": 0.5, "k": 19}
    asked = {c.id: c.slot for c in (first, second) if c.slot is not None}
    optimizer.replay(asked, {first.id: (Outcome(2.0), there), second.id: (Outcome(1.0), far)})
    assert optimizer.best is not None
    assert optimizer.best.params == far
    while not optimizer.settle():
        candidate = optimizer.ask()[0]
        optimizer.tell(candidate, 5.0)
    assert optimizer.memory.x[:2].tolist() == [list(there.values()), list(far.values())]
