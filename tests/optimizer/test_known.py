"""Points that somebody knows: those to be asked next, and those that were evaluated elsewhere."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from saltus import STRATEGIES, Candidate, Float, Int, Optimizer, Space
from saltus.order import Failure, Outcome
from saltus.space import Encoding

from .playing import SPACE, SPACES, objective

FIRST = {"k": 0, "x": 0.0, "lr": 0.01, "grid": 1, "on": False}
GOOD = {"k": 3, "x": 1.25, "lr": 0.02, "grid": 1, "on": True}
BAD = {"k": -10, "x": -5.0, "lr": 1.0, "grid": 4, "on": False}


def again(optimizer: Optimizer) -> Optimizer:
    """The same, saved and restored."""
    return Optimizer.restore(json.loads(json.dumps(optimizer.state())))


def step(optimizer: Optimizer, count: int | None = None) -> list[Candidate]:
    candidates = optimizer.ask(count)
    optimizer.tell(candidates, [objective(c.params) for c in candidates])
    return candidates


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_known_points_are_asked_first_in_their_order_and_once(strategy: str, asynchronous: bool) -> None:
    def asked(restored: bool) -> list[Any]:
        optimizer = Optimizer(SPACE, strategy=strategy, seed=1, asynchronous=asynchronous)
        optimizer.enqueue(BAD, {"k": 5})
        optimizer.enqueue(GOOD)
        seen: list[Any] = []
        while len(seen) < 24:
            if restored:
                optimizer = again(optimizer)
            candidates = optimizer.ask(2)
            if restored:
                optimizer = again(optimizer)
                assert optimizer.pending == candidates
            optimizer.tell(candidates, [objective(c.params) for c in candidates])
            seen += [c.params for c in candidates]
        assert optimizer.evaluations == len(seen)
        assert not optimizer.queue
        assert optimizer.best is not None
        assert optimizer.best.value <= objective(GOOD)
        return seen

    seen = asked(restored=False)
    assert seen[:3] == [BAD, {**seen[1], "k": 5, "x": 0.0}, GOOD]
    assert [seen.count(point) for point in (BAD, GOOD)] == [1, 1]
    assert asked(restored=True) == seen


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es-margin"])
def test_what_is_put_in_line_during_a_batch_is_asked_next(strategy: str, asynchronous: bool) -> None:
    optimizer = Optimizer(SPACE, strategy=strategy, seed=1, asynchronous=asynchronous)
    begun = optimizer.ask(2)
    optimizer.enqueue(GOOD)
    (known, *others) = optimizer.ask(3)
    assert known.params == GOOD
    assert known.id == 2
    optimizer.tell([known, *begun, *others], [objective(c.params) for c in (known, *begun, *others)])
    for _ in range(30):
        step(optimizer)
    assert sorted(optimizer.memory.ids.tolist())[:5] == [0, 1, 2, 3, 4]
    assert optimizer.best is not None
    assert optimizer.best.value <= objective(GOOD)


def test_the_search_waits_for_known_points() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    optimizer.enqueue(GOOD, BAD)
    first = optimizer.ask(1)
    second = optimizer.ask(5)
    assert len(second) == 1
    assert optimizer.ask() == []
    optimizer.tell(second, [1.0])
    assert optimizer.ask() == []
    optimizer.tell(first, [0.5])
    assert optimizer.generation == 1
    assert len(optimizer.ask()) > 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_order_of_telling_known_points_does_not_matter(strategy: str) -> None:
    def following(turned: bool) -> list[Any]:
        optimizer = Optimizer(SPACE, strategy=strategy, seed=1)
        optimizer.enqueue(GOOD, BAD, FIRST)
        candidates = optimizer.ask()[:: -1 if turned else 1]
        for candidate in candidates:
            optimizer.tell(candidate, objective(candidate.params))
        return [c.params for c in optimizer.ask()]

    assert following(True) == following(False)


@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES) - {"saltus"}))
def test_a_gaussian_starts_at_a_good_point_and_not_at_a_bad_one(strategy: str) -> None:
    def mean(point: dict[str, Any]) -> list[float]:
        optimizer = Optimizer(SPACE, strategy=strategy, seed=1)
        optimizer.enqueue(point)
        step(optimizer)
        step(optimizer)  # the first mean, to compare
        optimizer.ask(1)
        return [float(number) for number in optimizer.mean]

    assert mean(GOOD) == pytest.approx([3.0, 1.25, 0.02, 1.0, 1.0])
    usual = Optimizer(SPACE, strategy=strategy, seed=1).mean
    assert mean(BAD) == pytest.approx(usual.tolist())


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
def test_any_space_starts_from_any_data(name: str, strategy: str) -> None:
    space = SPACES[name]
    drawn = Optimizer(space, strategy="dx-nes-ici", seed=3, population=12).ask()
    values = [float(i) if i % 5 else math.nan for i in range(len(drawn))]
    optimizer = Optimizer(space, strategy=strategy, seed=1)
    optimizer.add([c.params for c in drawn], values)
    optimizer = again(optimizer)
    assert optimizer.evaluations == 0
    assert optimizer.best is not None
    assert optimizer.best.value == 1.0
    for _ in range(5):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [9.0 + c.id for c in candidates])
    assert len(optimizer.memory) == len(drawn) + optimizer.evaluations


def test_with_enough_data_a_model_run_spreads_no_first_points() -> None:
    space, rng = Space([Float(-5, 5)] * 4), np.random.default_rng(1)
    points = rng.uniform(-5, 5, (40, 4))
    optimizer = Optimizer(space, seed=1)
    optimizer.add(points, (points**2).sum(axis=1))
    (candidate,) = optimizer.ask()
    assert optimizer.phase == "ModelRun"
    assert (candidate.params**2).sum() < (points**2).sum(axis=1).min()
    few = Optimizer(space, seed=1)
    few.add(points[:2], (points[:2] ** 2).sum(axis=1))
    assert len(few.ask()) == len(Optimizer(space, seed=1).ask()) - 2


def test_known_points_are_not_proposed_again_among_the_first_ones() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    (middle, *_) = Optimizer(SPACE, seed=1).ask()
    optimizer.enqueue(middle.params)
    step(optimizer)
    assert middle.params not in [c.params for c in optimizer.ask()]


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"k": 11}, r"'k' must lie in \[-10, 10\], got 11"),
        ({"kk": 1}, "'kk' is no variable; did you mean 'k'"),
        ({"k": "3"}, "got '3'; a whole number is expected"),
        ({"k": 2.5}, "'k' must be one of its values, got 2.5; a whole number is expected"),
        ({"k": math.inf}, "'k' must lie in .* got inf; a whole number is expected"),
        ({"k": 10**400}, "'k' must lie in"),
        ({"x": 10**400}, "'x' must lie in"),
        ({"grid": 2}, "'grid' must be one of its values, got 2"),
        ({"x": math.nan}, "'x' must lie in"),
        ({"x": "0.5"}, "got '0.5'; a number is expected"),
        ([1, 2, 3, 4, 5], "a point is a dict of values by name"),
    ],
)
def test_wrong_points_are_refused_and_none_is_put_in_line(point: Any, words: str) -> None:
    optimizer = Optimizer(SPACE, seed=1)
    with pytest.raises((ValueError, TypeError), match=words):
        optimizer.enqueue(GOOD, point)
    assert optimizer.queue == []


def test_points_without_names_have_none_where_nothing_is_given() -> None:
    optimizer = Optimizer(Space([Float(0, 4), Int(0, 9)]), seed=1, mean=[1.0, 7.0])
    optimizer.enqueue([None, 3], [2.5, None])
    assert [c.params.tolist() for c in optimizer.ask()] == [[1.0, 3.0], [2.5, 7.0]]
    for wrong in ([1.0], 3.0, {"x": 1}, "ab"):
        with pytest.raises(ValueError, match="a point has 2 values"):
            optimizer.enqueue(wrong)


def test_completed_points_have_the_first_mean_elsewhere() -> None:
    encoding = Encoding(SPACE, mean={"k": 4.4, "lr": 0.1})
    assert encoding.completed({"x": 2}).tolist()[:3] == pytest.approx([4.0, 2.0, 0.1])
    assert encoding.completed({}).tolist() == encoding.first.tolist()


def test_many_points_at_once_are_as_one_after_the_other() -> None:
    points, rng = [BAD, GOOD, FIRST], np.random.default_rng(0)
    told = [Outcome(5.0, {"mass": -1.0}), 7.0, Outcome(math.nan, failure=Failure.TIMEOUT)]
    whole, single = (Optimizer(SPACE, seed=1) for _ in range(2))
    whole.add(points, told)
    for point, outcome in zip(points, told, strict=True):
        single.add(point, outcome)
    for optimizer in (whole, single):
        step(optimizer)
    assert whole.state() == single.state()
    assert whole.memory.failures[2] is Failure.TIMEOUT
    numbers = rng.uniform(-1, 1, (3, 2))
    rows = Optimizer(Space([Float(-5, 5)] * 2), seed=1)
    rows.add(numbers, [3.0, 1.0, 2.0], [0.0, 0.0, 0.5])
    assert rows.best is not None
    assert rows.best.x.tolist() == numbers[1].tolist()


def test_data_with_anything_wrong_is_not_taken_at_all() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    for points, values, ids, words in (
        ([GOOD, {**GOOD, "k": 99}], [1.0, 2.0], None, "'k' must lie in"),
        ([GOOD, {**GOOD, "zz": 1}], [1.0, 2.0], None, "'zz' is no variable"),
        ([GOOD, {"k": 1}], [1.0, 2.0], None, "is missing"),
        ([GOOD, BAD], [1.0], None, "a value for each of 2 points, got 1"),
        ([GOOD, BAD], [1.0, 2.0], [4, 4], "increasing"),
        ([GOOD, BAD], [1.0, 2.0], [4], "an id for each of 2"),
    ):
        with pytest.raises(ValueError, match=words):
            optimizer.add(points, values, id=ids)
    wrong: list[tuple[Any, Any, str]] = [
        (None, 1.0, "a point, or a list of points, is expected, got None"),
        ("k=1", 1.0, "a list of points, is expected, got 'k=1'"),
        (["k", "x"], [1.0, 2.0], "a point is a dict of values by name, got 'k'"),
        (GOOD, (1.0, {"heat": 2.0}), r"constraints are told as Outcome\(value, constraints\)"),
    ]
    for point, value, words in wrong:
        with pytest.raises(TypeError, match=words):
            optimizer.add(point, value)
    assert optimizer.best is None
    optimizer.add([GOOD, BAD], [1.0, 2.0], id=[4, 9])
    with pytest.raises(ValueError, match="id 9 is taken"):
        optimizer.add(GOOD, 1.0, id=9)
    assert optimizer.ask(1)[0].id == 10
