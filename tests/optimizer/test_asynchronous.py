"""Ask and tell without a barrier: always a candidate, and every outcome counts, in whatever order."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import STRATEGIES, Bool, Candidate, Float, Int, Optimizer, Space
from saltus._typing import FloatArray
from saltus.problems import sphere_one_max

from .playing import (
    SPACES,
    Pair,
    World,
    asynchronous,
    distance,
    in_mid_air,
    remembered,
    through_json,
    treacherous,
)


def key(value: float, violation: float, id: int) -> tuple[float, float, int]:
    known = math.isfinite(value) if violation == 0 else violation < math.inf
    return (violation, value if math.isfinite(value) else math.inf, id) if known else (math.inf, math.inf, id)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_worker_is_the_synchronous_search(strategy: str, space: str) -> None:
    one = Optimizer(SPACES[space], strategy=strategy, seed=3)
    other = asynchronous(SPACES[space], strategy=strategy, seed=3)
    for _ in range(24 if strategy == "saltus" else 60):
        (a,), (b,) = one.ask(1), other.ask()
        assert a == b
        for optimizer, candidate in ((one, a), (other, b)):
            optimizer.tell(candidate, *treacherous(candidate.params))
    other.settle()
    assert one.best is not None
    assert other.best is not None
    assert (one.best.id, one.generation, one.failures) == (other.best.id, other.generation, other.failures)
    assert one.restarts == other.restarts
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.sd, other.sd)


@pytest.mark.parametrize(("strategy", "evaluations"), [("saltus", 60), ("saltus-es", 1200)])
def test_one_worker_is_the_same_in_every_piece_of_the_default(strategy: str, evaluations: int) -> None:
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10), Int(-10, 10), Int(-10, 10), Bool()])
    phases = set()
    # for the last one there are no Newton steps, however values are rounded
    for fun in (distance, lambda x: float(np.abs(x - 0.7).sum()), lambda x: float(np.sqrt(np.abs(x)).sum())):
        sync = Optimizer(space, strategy=strategy, seed=1)
        optimizer = asynchronous(space, strategy=strategy, seed=1)
        for _ in range(evaluations):
            (a,), (b,) = sync.ask(1), optimizer.ask()
            assert a == b
            sync.tell(a, fun(a.params))
            optimizer.tell(b, fun(b.params))
            phases.add(optimizer.phase)
    pieces = {"MixedRun", "Newton", "Polish", "IntegerSweep", "IntegerNeighbours", "CoordinateScan"}
    if strategy == "saltus-es":
        assert phases == pieces
    else:
        assert {"ModelRun", "MixedRun", "IntegerSweep"} <= phases <= {"ModelRun", *pieces}


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "saltus-es"])
def test_a_whole_generation_in_any_order_is_the_synchronous_one(strategy: str) -> None:
    sync = Optimizer(SPACES["mixed"], strategy=strategy, seed=5)
    optimizer = asynchronous(SPACES["mixed"], strategy=strategy, seed=5)
    shuffle = random.Random(1).shuffle
    for _ in range(20):
        generation = sync.ask()
        assert optimizer.ask(len(generation)) == generation
        shuffle(generation)
        for each in (sync, optimizer):
            each.tell(generation, [distance(c.params) for c in generation])
    optimizer.settle()
    assert optimizer.generation == sync.generation == 20
    np.testing.assert_array_equal(optimizer.mean, sync.mean)


@settings(deadline=None, max_examples=30)
@given(
    space=st.sampled_from(list(SPACES)),
    strategy=st.sampled_from(["saltus-es", "saltus-es", *STRATEGIES]),
    seed=st.integers(0, 2**32),
    workers=st.integers(1, 14),
    moment=st.integers(0, 40),
    fun=st.sampled_from([treacherous, lambda x: (distance(x), 0.0), lambda x: (math.nan, 0.0)]),
)
def test_any_order_any_outcome_any_space(
    space: str, strategy: str, seed: int, workers: int, moment: int, fun: Callable[[FloatArray], Pair]
) -> None:
    optimizer = asynchronous(SPACES[space], strategy=strategy, seed=seed)
    again: Optimizer | None = None
    world = World(optimizer, workers, seed)
    best, failures = (math.inf, math.inf, 0), 0
    told = again_asked = 0
    while told < (50 if strategy == "saltus" else 110):
        if again is None and told >= moment:
            again = through_json(optimizer)
            again_asked = len(world.seen)
            assert again.state() == optimizer.state()
        world.fill()
        if again is not None:
            missing = len(world.seen) - again_asked
            again_asked = len(world.seen)
            assert again.ask(missing) == world.seen[-missing:] if missing else True
        assert optimizer.pending == sorted(world.running, key=lambda c: c.id)
        for done in world.end(world.random.randint(1, workers)):
            value, violation = fun(done.params)
            optimizer.tell(done, value, violation)
            if again is not None:
                again.tell(copy.deepcopy(done), value, violation)
            own = key(value, violation, done.id)
            failures += own[0] == math.inf
            best = min(best, own if own[0] < math.inf else best)
            told += 1
    assert [c.id for c in world.seen] == list(range(len(world.seen)))
    assert (optimizer.evaluations, optimizer.failures) == (told, failures)
    assert (math.inf if optimizer.best is None else optimizer.best.violation) == best[0]
    if optimizer.best is not None:
        assert optimizer.best.id == best[2]
    assert again is not None
    assert again.state() == optimizer.state()


@pytest.mark.parametrize("strategy", ["saltus-es", "cma-es"])
def test_ask_gives_as_many_as_asked_for_whatever_is_pending(strategy: str) -> None:
    optimizer = asynchronous(SPACES["mixed"], strategy=strategy, seed=1)
    assert [len(optimizer.ask(k)) for k in (1, 50, 7)] == [1, 50, 7]
    assert len(optimizer.ask()) == 1
    assert [c.id for c in optimizer.pending] == list(range(59))
    with pytest.raises(ValueError, match="positive whole number"):
        optimizer.ask(0)


@pytest.mark.parametrize("value", [-1000.0, 1e9, math.nan])
def test_a_candidate_a_hundred_generations_late_counts(value: float) -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=4, strategy="saltus-es")
    late = optimizer.ask(3)[1]
    World(optimizer, 5, seed=1).run(100 * optimizer.population)
    while optimizer.generation < 100:
        World(optimizer, 5, seed=2).run(50)
    assert late in optimizer.pending
    before, spent, failures = optimizer.best, optimizer.evaluations, optimizer.failures
    optimizer.tell(late, value)
    assert optimizer.evaluations == spent + 1
    assert optimizer.failures == failures + math.isnan(value)
    assert late not in optimizer.pending
    assert before is not None
    assert optimizer.best is not None
    assert optimizer.best.id == (late.id if value == -1000.0 else before.id)
    if value == -1000.0:
        np.testing.assert_array_equal(optimizer.best.x, late.params)


@pytest.mark.parametrize("strategy", ["saltus-es", "cma-es-margin"])
def test_dead_workers_do_not_stop_the_search(strategy: str) -> None:
    """Every tenth candidate never comes back, the very first ones included."""
    problem = sphere_one_max(10)
    mean = problem.start(np.random.default_rng(1))
    optimizer = asynchronous(problem.space, strategy=strategy, seed=2, mean=mean, sigma=1.0)
    world = World(optimizer, 8, seed=1)
    lost = 0
    while optimizer.best is None or optimizer.best.value > 1e-8:
        world.fill()
        (done,) = world.end()
        if done.id < 3 or done.id % 10 == 0:
            lost += 1
            continue
        optimizer.tell(done, float(problem.fun(done.params)))
        assert optimizer.evaluations < 3000
    assert lost > 10
    assert len(optimizer.pending) == lost + len(world.running)


def test_what_is_missing_is_given_to_a_second_worker() -> None:
    """In a Newton step, for instance, all of the first differences are needed."""
    problem = sphere_one_max(6)
    mean = problem.start(np.random.default_rng(1))
    optimizer = asynchronous(problem.space, seed=1, mean=mean, sigma=1.0)
    while optimizer.phase != "Newton":
        (c,) = optimizer.ask()
        optimizer.tell(c, float(problem.fun(c.params)))
        optimizer.settle()
    batch = 2 * (problem.space.dimension // 2)
    first = optimizer.ask(batch)
    second = optimizer.ask(batch + 1)
    assert [c.params.tolist() for c in second[:batch]] == [c.params.tolist() for c in first]
    assert second[batch].params.tolist() == first[0].params.tolist()  # a third attempt, at the first
    before = optimizer.generation
    optimizer.tell(second[:2], [problem.fun(c.params) for c in second[:2]])
    optimizer.tell(first[0], problem.fun(first[0].params))  # known already: counted, and nothing more
    assert optimizer.generation == before
    (third,) = optimizer.ask()  # what is missing has been asked twice, and is tried again from the first
    assert third.params.tolist() == first[2].params.tolist()
    optimizer.tell(second[2:batch], [problem.fun(c.params) for c in second[2:batch]])
    optimizer.settle()
    assert optimizer.generation == before + 1
    assert {c.id for c in first[1:]} <= {c.id for c in optimizer.pending}
    spent = optimizer.evaluations
    optimizer.tell(first[1:], [math.nan] * (batch - 1))
    assert optimizer.evaluations == spent + batch - 1


def test_wrong_tells_change_nothing() -> None:
    optimizer = in_mid_air()
    other = asynchronous(SPACES["mixed"], seed=2)
    pending = optimizer.pending
    done = pending.pop()
    optimizer.tell(done, 1.0)
    state = optimizer.state()
    bad: list[tuple[Any, Any, Any, str]] = [
        (done, 1.0, None, "not pending"),
        (other.ask(10**3)[-1], 1.0, None, "not asked from this optimizer"),
        (Candidate(10**6, pending[0].params), 1.0, None, "not pending"),
        (pending[:3], [1.0], None, "each of 3 candidates, got 1"),
        ([pending[0], pending[0]], [1.0, 2.0], None, "twice"),
        ([pending[0], done], [1.0, 2.0], None, "not pending"),
        ([], [], None, "at least one"),
        (pending[:2], 3.0, None, "for each candidate"),
        (pending[0], None, None, "does the objective return something"),
        (pending[0], "3", None, "real number, got '3'"),
        (pending[0], 1.0, "much", "violation must be a real number"),
        (pending[:2], [1.0, 2.0], [1.0], "violation for each of 2"),
        (pending[0].params, 1.0, None, "tell takes what ask gave"),
        (5, 1.0, None, "tell takes what ask gave|not iterable"),
    ]
    for told, values, violation, words in bad:
        with pytest.raises((ValueError, TypeError), match=words):
            optimizer.tell(told, values, violation)
        assert optimizer.state() == state, words
    optimizer.tell(pending, range(len(pending)))
    assert optimizer.pending == []


def test_candidates_can_be_numbered_by_someone_else() -> None:
    """As `ask` would, and another optimizer can be told what was asked from this one."""
    one, other = (asynchronous(SPACES["mixed"], seed=1) for _ in range(2))
    wishes = {0: None, 1: 4, 2: None, 5: 4, 6: 0, 7: 40, 9: -1}
    slots = {id: one.ask_as(id, wish).slot for id, wish in wishes.items()}
    assert list(slots.values()) == [0, 4, 1, 2, 3, 40, 5]  # a wish, if that slot is free
    other.replay(slots, {})
    assert one.state()["asked"] == other.state()["asked"]
    assert one.ask_as(10) == other.ask_as(10)
    assert one.ask()[0].id == 11


def test_restart_is_possible_between_batches() -> None:
    optimizer = asynchronous(SPACES["mixed"], strategy="cma-es", seed=1)
    late = optimizer.ask(1)[0]
    with pytest.raises(RuntimeError, match="between generations"):
        optimizer.restart()
    population = optimizer.population
    World(optimizer, 1, seed=1).run(population)
    optimizer.settle()
    optimizer.restart()
    assert optimizer.population == 2 * population
    optimizer.tell(late, -5.0)  # of the run before: it is none of this one's business, but the best
    assert optimizer.best is not None
    assert optimizer.best.id == late.id
    assert len(optimizer.ask(3 * population)) == 3 * population


def test_a_candidate_of_another_optimizer_is_refused() -> None:
    optimizer, other = (asynchronous(SPACES["mixed"], seed=seed) for seed in (1, 2))
    optimizer.ask(3)
    with pytest.raises(ValueError, match="not asked from this optimizer"):
        optimizer.tell(other.ask(3)[1], 1.0)


@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici", "cma-es-margin"])
def test_the_memory_does_not_depend_on_the_order_of_telling(strategy: str) -> None:
    """Only on what was told by the time of asking; it holds every evaluation, at the point where it was."""

    def final(step: int) -> Any:
        optimizer = asynchronous(SPACES["mixed"], strategy=strategy, seed=2)
        running, seen = optimizer.ask(9), {}
        for turn in range(80):
            done = [running[i] for i in range(turn % 3, len(running), 2)]
            running = [c for c in running if c not in done]
            for c in done[::step]:
                optimizer.tell(c, *treacherous(c.params))
                seen[c.id] = c.params
            if turn % 5 == 4:
                point = np.array([1.0, turn % 7, 0.5, 1.0, 3.0])
                optimizer.add(point, 30.0, id=10_000 * turn)
                seen[10_000 * turn] = point
            running += optimizer.ask(len(done))
        left = optimizer.pending
        optimizer.tell(left, [treacherous(c.params)[0] for c in left])
        while not optimizer.settle():
            (c,) = optimizer.ask()
            optimizer.tell(c, 1.0)
        ids, x = optimizer.memory.ids.tolist(), optimizer.memory.x
        assert set(ids) >= set(seen)
        assert len(set(ids)) == len(ids) == optimizer.evaluations + 16
        for id, point in seen.items():
            np.testing.assert_array_equal(x[ids.index(id)], point)
        return remembered(optimizer)

    assert final(1) == final(-1)


@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici"])
def test_one_worker_fills_the_memory_as_waiting_does(strategy: str) -> None:
    optimizers = [
        Optimizer(SPACES["mixed"], strategy=strategy, seed=3, asynchronous=a) for a in (False, True)
    ]
    for _ in range(300):
        for optimizer in optimizers:
            (c,) = optimizer.ask(1)
            optimizer.tell(c, *treacherous(c.params))
    waiting, other = optimizers
    while not (waiting.between_generations and other.settle()):
        for optimizer in optimizers:
            (c,) = optimizer.ask(1)
            optimizer.tell(c, *treacherous(c.params))
    assert remembered(waiting) == remembered(other)
    assert len(other.memory) == other.evaluations
