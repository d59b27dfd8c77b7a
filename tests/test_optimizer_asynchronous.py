"""Ask and tell without a barrier: always a candidate, and every outcome counts, in whatever order."""

from __future__ import annotations

import copy
import json
import math
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import STRATEGIES, Bool, Candidate, Float, Int, Optimizer, Ordinal, Space, order
from saltus._typing import FloatArray
from saltus.problems import sphere_one_max

SPACES = {
    "continuous": Space([Float(-5, 5), Float(), Float(1e-3, 10, log=True)]),
    "discrete": Space([Int(-10, 10), Ordinal([0.5, 1, 4]), Bool()]),
    "mixed": Space([Float(-5, 5), Int(-10, 10), Float(), Bool(), Int(1, 500, log=True)]),
    "one float": Space([Float(-3, 9)]),
    "one integer": Space([Int(-3, 90)]),
    "one switch": Space([Bool()]),
}


Outcome = tuple[float, float]  # value and violation


def asynchronous(space: Space, **options: Any) -> Optimizer:
    return Optimizer(space, asynchronous=True, **options)


def distance(x: FloatArray) -> float:
    return float(((x - 0.7) ** 2).sum())


def treacherous(x: FloatArray) -> Outcome:
    """Some points fail in one way or another, some violate something: always the same ones."""
    kind = random.Random(x.tobytes()).random()
    violation = 0.3 * kind if kind < 0.2 else math.inf if kind > 0.99 else 0.0
    value = math.nan if 0.2 < kind < 0.3 or kind < 0.05 else math.inf if 0.3 < kind < 0.35 else distance(x)
    return value, violation


class World:
    """Workers that end in random order."""

    def __init__(self, optimizer: Optimizer, workers: int, seed: int) -> None:
        self.optimizer, self.workers = optimizer, workers
        self.random = random.Random(seed)
        self.running: list[Candidate] = []
        self.seen: list[Candidate] = []

    def fill(self) -> None:
        missing = self.workers - len(self.running)
        if missing:
            asked = self.optimizer.ask(missing)
            assert len(asked) == missing
            self.running += asked
            self.seen += asked

    def end(self, count: int = 1) -> list[Candidate]:
        self.random.shuffle(self.running)
        ended, self.running = self.running[:count], self.running[count:]
        return ended

    def run(
        self, evaluations: int, fun: Callable[[FloatArray], Outcome] = lambda x: (distance(x), 0.0)
    ) -> None:
        for _ in range(evaluations):
            self.fill()
            (done,) = self.end()
            value, violation = fun(done.params)
            self.optimizer.tell(done, value, violation)


def through_json(optimizer: Optimizer) -> Optimizer:
    return Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))


def key(value: float, violation: float, id: int) -> tuple[float, float, int]:
    known = math.isfinite(value) if violation == 0 else violation < math.inf
    return (violation, value if math.isfinite(value) else math.inf, id) if known else (math.inf, math.inf, id)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_worker_is_the_synchronous_search(strategy: str, space: str) -> None:
    one = Optimizer(SPACES[space], strategy=strategy, seed=3)
    other = asynchronous(SPACES[space], strategy=strategy, seed=3)
    for _ in range(80 if strategy == "saltus" else 200):
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


@pytest.mark.parametrize(("strategy", "evaluations"), [("saltus", 250), ("saltus-es", 1500)])
def test_one_worker_is_the_same_in_every_piece_of_the_default(strategy: str, evaluations: int) -> None:
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10), Int(-10, 10), Int(-10, 10), Bool()])
    phases = set()
    for fun in (distance, lambda x: float(np.abs(x - 0.7).sum())):
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


@settings(deadline=None, max_examples=40)
@given(
    space=st.sampled_from(list(SPACES)),
    strategy=st.sampled_from(["saltus-es", "saltus-es", *STRATEGIES]),
    seed=st.integers(0, 2**32),
    workers=st.integers(1, 14),
    moment=st.integers(0, 150),
    fun=st.sampled_from([treacherous, lambda x: (distance(x), 0.0), lambda x: (math.nan, 0.0)]),
)
def test_any_order_any_outcome_any_space(
    space: str, strategy: str, seed: int, workers: int, moment: int, fun: Callable[[FloatArray], Outcome]
) -> None:
    optimizer = asynchronous(SPACES[space], strategy=strategy, seed=seed)
    again: Optimizer | None = None
    world = World(optimizer, workers, seed)
    best, failures = (math.inf, math.inf, 0), 0
    told = again_asked = 0
    while told < 200:
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


def test_copies_and_pickles_go_on_alike() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=1)
    world = World(optimizer, 6, seed=2)
    world.run(150)
    world.fill()
    for other in (copy.copy(optimizer), copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert type(other) is Optimizer
        assert other.state() == optimizer.state()
        twin = World(other, 6, seed=3)
        twin.running = list(world.running)
        twin.run(40)
        assert other.state() != optimizer.state()
    assert optimizer.pending == sorted(world.running, key=lambda c: c.id)  # none was touched by the others


def in_mid_air(strategy: str = "saltus-es") -> Optimizer:
    """With a batch on its way, candidates of older ones, and outcomes of those that wait to be used."""
    optimizer = asynchronous(SPACES["mixed"], strategy=strategy, seed=1)
    world = World(optimizer, 9, seed=1)
    state: dict[str, Any] = {"late": [], "in_flight": []}
    while not (state["late"] and state["in_flight"] and state["asked"] and state["news"]):
        world.run(1)
        world.fill()
        state = optimizer.state()
        assert optimizer.evaluations < 1000
    return optimizer


def damaged(good: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    state = copy.deepcopy(good)
    inner: Any = state
    for name in path[:-1]:
        inner = inner[name]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return state


ARRAY = {"dtype": "float64", "shape": [1], "order": "C", "base64": "AAAAAAAAAAA="}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["late_phase"], None),
        (["late_phase"], "soon"),
        (["in_flight"], None),
        (["in_flight"], 3),
        (["in_flight", 0], [1, 2]),
        (["in_flight", 0, 0], "first"),
        (["in_flight", 0, 1], ARRAY),
        (["in_flight", 0, 2], ARRAY),
        (["late"], None),
        (["late", 0], ["x"]),
        (["news"], None),
        (["news", 0], [1]),
        (["news", 0, 1], "much"),
        (["elsewhere", 0, 1], ARRAY),
        (["details"], [[0, 1.0, {}, "NO SUCH FAILURE"]]),
        (["asked"], [[0]]),
        (["asked"], [[5, 10**12]]),
        (["asked"], [[5, -1]]),
        (["memory", "base85"], "?"),
        (["memory", "count"], 10**9),
    ],
)
def test_damaged_states_are_refused(path: list[Any], value: Any) -> None:
    good = json.loads(json.dumps(in_mid_air().state(), allow_nan=False))
    Optimizer.restore(good)
    with pytest.raises(ValueError, match=r"."):
        Optimizer.restore(damaged(good, path, value))


@pytest.mark.parametrize("value", [-1000.0, 1e9, math.nan])
def test_a_candidate_a_hundred_generations_late_counts(value: float) -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=4)
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


# the memory


def remembered(optimizer: Optimizer) -> Any:
    memory = optimizer.memory
    parts = (memory.ids, memory.x, memory.values, memory.violations)
    return [part.tobytes() for part in parts], memory.failures


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


def test_the_memory_is_restored_while_candidates_are_in_flight() -> None:
    optimizer = in_mid_air()
    other = through_json(optimizer)
    assert remembered(other) == remembered(optimizer)
    for each in (optimizer, other):
        World(each, 5, seed=3).run(120)
        each.tell(each.pending, [1.0] * len(each.pending))
        each.ask()
    assert remembered(other) == remembered(optimizer)
    assert other.state() == optimizer.state()


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
        told[c.id] = (order.Outcome(value, {"all": violation} if violation else {}), None)
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
    told[900] = (order.Outcome(math.nan, failure=order.Failure.DIED), point)
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
    asked, told = {20: 1, 21: 0}, {20: (order.Outcome(5.0), None)}
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
    optimizer.replay({0: 0}, {0: (order.Outcome(1.0), None), 77: (order.Outcome(-9.0), None)})
    assert optimizer.evaluations == 1
    assert optimizer.best is not None
    assert optimizer.best.id == 0


def test_replay_forgets_the_best_too() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=5)
    c = optimizer.ask_as(0)
    optimizer.tell(c, -100.0)
    optimizer.replay({0: c.slot, 1: 1}, {1: (order.Outcome(5.0), None)})
    assert optimizer.best is not None
    assert optimizer.best.id == 1


def test_ask_after_a_replay_gives_an_id_that_nobody_has() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=5)
    optimizer.replay({0: 0, 1: 1}, {})
    assert optimizer.ask()[0].id > 1


LOGS = Space({"rate": Float(1e-4, 1e2, log=True), "width": Float(1e-3, 10, log=True), "k": Int(0, 20)})


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es"])
def test_a_state_goes_on_where_numbers_are_rounded_otherwise(
    strategy: str, waits: bool, other_processor: Callable[[], None]
) -> None:
    """What was asked is what was asked: in the batch, in flight, told and not learnt from."""
    optimizer = Optimizer(LOGS, strategy=strategy, seed=1, asynchronous=not waits, batch=4)
    where: dict[int, Any] = {}

    def value(params: Any) -> float:
        return float(np.log(params["rate"]) ** 2 + np.log(params["width"]) ** 2 + (params["k"] - 7) ** 2)

    def asked(k: int) -> list[Candidate]:
        new = optimizer.ask(k)
        where.update((c.id, c.params) for c in new)
        return new

    running = asked(8)
    for _ in range(60):
        if waits and not running:
            running = asked(8)
        done = running.pop(0 if waits else len(running) // 2)
        optimizer.tell(done, value(done.params))
        running += [] if waits else asked(1)
    running += asked(3)
    if running[1:]:
        done = running.pop()
        optimizer.tell(done, value(done.params))
    state = json.dumps(optimizer.state())
    other_processor()
    restored = Optimizer.restore(json.loads(state))
    assert restored.pending == optimizer.pending == sorted(running, key=lambda c: c.id)
    for candidate in restored.pending:
        restored.tell(candidate, value(candidate.params) - 1e6)  # the best is one of them
    restored.ask()
    assert restored.best is not None
    assert restored.best.params == where[restored.best.id]
    numbers = {id: list(params.values()) for id, params in where.items()}
    memory = zip(restored.memory.ids.tolist(), restored.memory.x.tolist(), strict=True)
    assert all(numbers[id] == x for id, x in memory)


def test_others_say_where_they_evaluated() -> None:
    """On their machine numbers may be rounded otherwise."""
    optimizer = asynchronous(LOGS, seed=1)
    first, second = optimizer.ask(2)
    there = {name: math.nextafter(v, 1) if name != "k" else v for name, v in first.params.items()}
    far = {"rate": 50.0, "width": 0.5, "k": 19}
    asked = {c.id: c.slot for c in (first, second) if c.slot is not None}
    optimizer.replay(asked, {first.id: (order.Outcome(2.0), there), second.id: (order.Outcome(1.0), far)})
    assert optimizer.best is not None
    assert optimizer.best.params == far
    while not optimizer.settle():
        candidate = optimizer.ask()[0]
        optimizer.tell(candidate, 5.0)
    assert optimizer.memory.x[:2].tolist() == [list(there.values()), list(far.values())]
