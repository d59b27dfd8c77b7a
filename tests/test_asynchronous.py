"""Ask and tell without a barrier: always a candidate, and every outcome counts, in whatever order."""

from __future__ import annotations

import copy
import json
import math
import pickle
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import (
    STRATEGIES,
    Bool,
    Candidate,
    Float,
    Int,
    ObjectiveError,
    Optimizer,
    Ordinal,
    Result,
    Space,
    Stop,
    minimize,
)
from saltus._typing import FloatArray
from saltus.problems import sphere_one_max
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.newton import Newton
from saltus.search.proposal import Domain, Evaluated, Proposals, Results
from saltus.space.encoding import Encoding
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Round, cmaes, dxnesic, rank, scaled
from saltus.strategy.late import (
    Origins,
    clip_factors,
    embed_cmaes,
    embed_dxnesic,
    embed_scaled,
    sample_missing_integers,
)
from saltus.strategy.linalg import row_norms2

from .objectives import SPACE, Interrupted, bowl, constrained, fails_sometimes, slow_bowl

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
    for _ in range(200):
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


def test_one_worker_is_the_same_in_every_piece_of_the_default() -> None:
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10), Int(-10, 10), Int(-10, 10), Bool()])
    phases = set()
    for fun in (distance, lambda x: float(np.abs(x - 0.7).sum())):
        sync, optimizer = Optimizer(space, seed=1), asynchronous(space, seed=1)
        for _ in range(1500):
            (a,), (b,) = sync.ask(1), optimizer.ask()
            assert a == b
            sync.tell(a, fun(a.params))
            optimizer.tell(b, fun(b.params))
            phases.add(optimizer.phase)
    assert phases == {"MixedRun", "Newton", "Polish", "IntegerSweep", "IntegerNeighbours", "CoordinateScan"}


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "saltus"])
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
    strategy=st.sampled_from(["saltus", "saltus", *STRATEGIES]),
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


@pytest.mark.parametrize("strategy", ["saltus", "cma-es"])
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


def in_mid_air(strategy: str = "saltus") -> Optimizer:
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


@pytest.mark.parametrize("strategy", ["saltus", "cma-es-margin"])
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


# minimize


def streamed(fun: Any, space: Space = SPACE, **options: Any) -> Result:
    return minimize(fun, space, asynchronous=True, **options)


def test_budget_is_kept_to_the_evaluation() -> None:
    calls: list[float] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(bowl(p))
        return calls[-1]

    for budget in (1, 5, 23, 100):
        calls.clear()
        result = streamed(fun, budget=budget, seed=1)
        assert len(calls) == result.nfev == budget
        assert result.stop is Stop.BUDGET
        assert result.success
        assert result.fun == min(calls)
    with ThreadPoolExecutor(5) as pool:
        for budget in (1, 3, 50):
            calls.clear()
            assert streamed(fun, budget=budget, seed=1, executor=pool, workers=5).nfev == budget
            assert len(calls) == budget


def test_one_worker_gives_the_result_of_minimize() -> None:
    for fun in (bowl, constrained):
        here, there = (
            minimize(fun, SPACE, budget=400, seed=2, target=1e-6, asynchronous=a) for a in (False, True)
        )
        assert (here.params, here.fun, here.nfev, here.nit) == (
            there.params,
            there.fun,
            there.nfev,
            there.nit,
        )
        assert here.history.best.tolist()[:-1] == there.history.best.tolist()[: len(here.history) - 1]


def test_the_target_stops_at_once() -> None:
    values: list[float] = []

    def fun(p: dict[str, Any]) -> float:
        values.append(bowl(p))
        return values[-1]

    result = streamed(fun, budget=2000, target=1.0, seed=1)
    assert result.stop is Stop.TARGET
    assert result.success
    assert values[-1] == result.fun <= 1.0 < min(values[:-1])


def test_maximize_is_the_mirror_image() -> None:
    down = streamed(bowl, budget=300, seed=4, target=0.5)
    up = streamed(lambda p: -bowl(p), budget=300, seed=4, target=-0.5, maximize=True)
    assert (up.params, up.fun, up.nfev) == (down.params, -down.fun, down.nfev)
    assert up.success


def test_callback_sees_and_stops() -> None:
    seen: list[Result] = []

    def watch(result: Result) -> bool:
        seen.append(result)
        return len(seen) == 3

    result = streamed(bowl, budget=500, seed=1, callback=watch)
    assert result.stop is Stop.CALLBACK
    assert [r.nit for r in seen] == [len(r.history) for r in seen] == [1, 2, 3]

    def stop(intermediate_result: Result) -> None:
        raise StopIteration

    assert streamed(bowl, budget=500, seed=1, callback=stop).nit == 1


def test_max_seconds() -> None:
    result = streamed(slow_bowl, budget=10**6, seed=1, max_seconds=0.2)
    assert result.stop is Stop.SECONDS
    assert 0 < result.nfev < 10**5
    assert streamed(bowl, budget=100, seed=1, max_seconds=0).nfev == 0


def test_without_restarts_it_stops_when_it_has_converged() -> None:
    result = streamed(bowl, budget=10**4, seed=1, restarts=False)
    assert result.stop is Stop.CONVERGED
    assert result.nfev < 10**4
    assert result.restarts == 0
    assert streamed(bowl, budget=2000, seed=1).restarts > 0
    with ThreadPoolExecutor(4) as pool:
        options: dict[str, Any] = {"seed": 1, "restarts": False, "executor": pool, "workers": 4}
        assert streamed(bowl, budget=10**4, **options).stop is Stop.CONVERGED


def test_interrupted_it_keeps_what_was_found() -> None:
    result = streamed(Interrupted(bowl, call=20), budget=500, seed=1)
    assert (result.stop, result.nfev) == (Stop.INTERRUPTED, 19)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_is_raised_with_all_that_was_told(workers: int) -> None:
    with pytest.raises(ObjectiveError, match="ArithmeticError: no value at k=") as caught:
        streamed(fails_sometimes, budget=400, seed=1, workers=workers)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert caught.value.params["k"] % 5 == 4
    optimizer = caught.value.optimizer
    assert isinstance(optimizer, Optimizer)
    restored = through_json(optimizer)
    assert caught.value.candidate in restored.pending
    assert all(c.params["k"] % 5 == 4 for c in restored.pending) or workers > 1
    restored.tell(restored.pending, [math.nan] * len(restored.pending))
    assert restored.evaluations > optimizer.evaluations


def test_what_runs_beside_an_exception_is_told_before_it_is_raised() -> None:
    def fun(p: dict[str, Any]) -> float:
        if len(begun) == 7:
            begun.append(p)
            raise ArithmeticError("the eighth")
        begun.append(p)
        time.sleep(0.05)
        return bowl(p)

    begun: list[Any] = []
    with ThreadPoolExecutor(4) as pool, pytest.raises(ObjectiveError, match="the eighth") as caught:
        streamed(fun, budget=400, seed=1, executor=pool, workers=4)
    optimizer = caught.value.optimizer
    assert optimizer.evaluations == len(begun) - 1
    assert optimizer.pending == [caught.value.candidate]


def test_exceptions_can_be_counted_instead() -> None:
    result = streamed(fails_sometimes, budget=600, target=1e-4, seed=1, on_error="infeasible")
    assert result.success
    assert result.failures > 0


def test_constraints() -> None:
    result = streamed(constrained, budget=2000, target=9 + 1e-6, seed=2)
    assert result.success
    assert (result.params or {})["k"] == 10
    assert result.violation == 0


def test_nothing_finite_at_all() -> None:
    result = streamed(lambda p: math.nan, budget=300, seed=1)
    assert (result.success, result.x, result.failures, result.nfev) == (False, None, 300, 300)


def test_workers_and_executors_find_it_too() -> None:
    result = streamed(slow_bowl, budget=3000, target=1e-6, seed=1, workers=2)
    assert result.success
    running, most = 0, 0

    def fun(p: dict[str, Any]) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        value = slow_bowl(p)
        running -= 1
        return value

    with ThreadPoolExecutor(8) as pool:
        result = streamed(fun, budget=3000, target=1e-6, seed=1, executor=pool, workers=4)
    assert result.success
    assert most == 4  # as many as `workers` says, not as many as the executor could


def test_nobody_waits_for_the_slowest() -> None:
    """One evaluation takes as long as all others together."""
    slow = 0.4

    def fun(p: dict[str, Any]) -> float:
        calls.append(time.monotonic())
        time.sleep(slow if len(calls) == 2 else 0.001)
        return bowl(p)

    calls: list[float] = []
    with ThreadPoolExecutor(4) as pool:
        streamed(fun, budget=400, seed=1, executor=pool, workers=4, max_seconds=slow)
    assert sum(t < calls[1] + slow for t in calls) > 100  # with a barrier: one batch


def test_history_and_progress(capfd: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(3) as pool:
        result = streamed(bowl, budget=300, seed=1, executor=pool, workers=3, progress=True)
    assert "300/300" in capfd.readouterr().err
    assert np.all(np.diff(result.history.best) <= 0)
    assert np.all(np.diff(result.history.evaluations) > 0)
    assert len(result.history) <= result.nit
    assert result.history.population.sum() == result.history.evaluations[-1] <= 300
    assert result.history.best[-1] >= result.fun


@pytest.mark.parametrize("workers", [0, -2, 1.5, True, "2"])
def test_bad_arguments_are_named(workers: Any) -> None:
    for executor in (None, ThreadPoolExecutor(1)):
        with pytest.raises(ValueError, match="workers must be a positive whole number"):
            streamed(bowl, budget=10, workers=workers, executor=executor)
    with pytest.raises(TypeError, match="submit method"):
        streamed(bowl, budget=10, executor=3)
    with pytest.raises(TypeError, match="cannot be sent to worker processes"):
        streamed(lambda p: 1.0, budget=10, workers=2)
    with pytest.raises(ValueError, match="budget"):
        streamed(bowl, budget=0)


# pieces


def test_clipping_leaves_typical_points_alone() -> None:
    rng = np.random.default_rng(1)
    for N in (1, 2, 10, 100):
        z = rng.standard_normal((1000, N))
        share = clip_factors(z)
        assert share.shape == (1000, 1)
        assert (share == 1.0).mean() > 0.88  # one variable is the worst case
        longest = np.sqrt(N) + 2 * N / (N + 2)
        far = z * 10.0 ** rng.uniform(1, 150, (1000, 1))
        lengths = np.sqrt(row_norms2(clip_factors(far) * far))
        assert lengths.max() <= longest * (1 + 1e-12)
        np.testing.assert_allclose(lengths[row_norms2(far) > longest**2], longest)
        along = clip_factors(far) * far
        np.testing.assert_allclose(  # only shorter: the direction is the same
            along / np.linalg.norm(along, axis=1)[:, None], far / np.linalg.norm(far, axis=1)[:, None]
        )
    assert clip_factors(np.zeros((2, 3))).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    ("core", "embed"), [(cmaes, embed_cmaes), (dxnesic, embed_dxnesic), (scaled, embed_scaled)]
)
def test_an_embedded_population_of_the_own_points_is_the_drawn_one(core: Any, embed: Any) -> None:
    N, population = 5, 8
    integers = Integers(N, Lattice([]), 0.1, Round())
    c = core.constants(N, population)
    state = core.start(c, np.arange(5.0), integers)
    rng = np.random.default_rng(1)
    stretch = 3.0 ** np.arange(N)
    for _ in range(60):  # until it is no sphere
        drawn_now = core.sample(c, state, core.draw(c, rng))
        values = ((stretch * (drawn_now.x - 7.0)) ** 2).sum(1)
        state = core.update(c, state, drawn_now, rank(values, None, drawn_now, integers), integers)
    assert state.eigenvalues.max() > 1.5 * state.eigenvalues.min()
    z = core.draw(c, rng)
    z *= np.minimum(1.0, 2.0 / np.sqrt(row_norms2(z)))[:, None]  # none so long that it is shortened
    drawn_now = core.sample(c, state, z)
    drawn = np.concatenate((z, -z)) if core.MIRRORED else z
    lone = embed(state, drawn_now.x, Origins(0, len(drawn_now.x), 0))
    np.testing.assert_allclose(lone.z, drawn, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(lone.distances, drawn_now.distances, rtol=1e-6)
    np.testing.assert_array_equal(lone.x, drawn_now.x)
    far = embed(state, drawn_now.x + 1e6, Origins(0, 0, 0))
    assert np.sqrt(row_norms2(far.z)).max() < np.sqrt(N) + 2
    if not core.MIRRORED:
        return
    ranking = rank(drawn_now.x[:, 0], None, drawn_now, integers)
    paired = embed(state, drawn_now.x, Origins(population // 2, 0, 0))
    np.testing.assert_allclose(paired.z, z, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(paired.distances, drawn_now.distances, rtol=1e-6)
    one, other = (core.update(c, state, each, ranking, integers) for each in (drawn_now, paired))
    np.testing.assert_allclose(one.m, other.m, rtol=1e-6)
    np.testing.assert_allclose(one.sd, other.sd, rtol=1e-6)

    # with a point of nobody's in addition, which lies to the left and is the best, the mean goes there
    with_one = embed(
        state,
        np.vstack((drawn_now.x, drawn_now.x[:1] - [3.0, 0, 0, 0, 0])),
        Origins(population // 2, 0, 1),
    )
    values = np.append(drawn_now.x[:, 1], -1e3)
    more = core.constants(N, population + 1)
    left = core.update(more, state, with_one, rank(values, None, with_one, integers), integers)
    assert left.m[0] < state.m[0]


@pytest.mark.parametrize("m", [0.0, 1.5, -40.0, 1e3, -1e6])
@pytest.mark.parametrize("sd", [1e-8, 0.3, 10.0, 1e6])
def test_sampled_integers_stay_on_their_plateaus(m: float, sd: float) -> None:
    lattice = Lattice([np.array([0.0, 1.0, 2.0, 3.0]), np.array([-5.0, 0.0, 100.0])])
    integers = Integers(1, lattice, 0.1, Round())
    rng = np.random.default_rng(1)
    plateaus = np.array([[i, j] for i in range(4) for j in range(3)], dtype=float)
    known = np.column_stack((np.arange(12.0), lattice.value(plateaus)))
    blank = known.copy()
    blank[:, 1:] = np.nan
    means, sds = np.full(3, m), np.full(3, sd)
    x = sample_missing_integers(integers, blank, plateaus, means, sds, rng)
    assert np.isfinite(x).all()
    np.testing.assert_array_equal(x[:, 0], known[:, 0])
    rounding = 1e-14 * (1.0 + abs(m) + sd)
    inside = lattice.plateau(x[:, 1:] - rounding) <= plateaus
    assert (inside & (plateaus <= lattice.plateau(x[:, 1:] + rounding))).all()
    assert np.isnan(blank[:, 1:]).all()  # the given points are as they were
    np.testing.assert_array_equal(sample_missing_integers(integers, known, plateaus, means, sds, rng), known)
    half = blank.copy()
    half[:, 1] = known[:, 1]
    np.testing.assert_array_equal(
        sample_missing_integers(integers, half, plateaus, means, sds, rng)[:, 1], known[:, 1]
    )


def test_sampled_integers_are_distributed_like_the_gaussian() -> None:
    lattice = Lattice([np.array([0.0, 1.0, 2.0])])
    integers = Integers(0, lattice, 0.1, Round())
    rng = np.random.default_rng(1)
    drawn = 1.2 + 0.8 * rng.standard_normal((40_000, 1))
    for plateau in (0.0, 1.0, 2.0):
        own = drawn[lattice.plateau(drawn)[:, 0] == plateau]
        blank, plateaus = np.full_like(own, np.nan), np.full_like(own, plateau)
        x = sample_missing_integers(integers, blank, plateaus, np.array([1.2]), np.array([0.8]), rng)
        assert x.mean() == pytest.approx(own.mean(), abs=0.02)
        assert x.std() == pytest.approx(own.std(), abs=0.02)


def domain_of(space: Space) -> Domain:
    frame = Encoding(space, sigma=1.0)
    return Domain(frame.n_continuous, frame.lattice, *frame.ends())


def told_by(batch: Proposals, fun: Callable[[FloatArray], FloatArray]) -> Results:
    return Results(batch, fun(batch.x), None)


def quadratic(x: FloatArray) -> FloatArray:
    return np.asarray(((x - 0.3) ** 2 * np.array([1.0, 4.0, 9.0])).sum(1)) + 2.0


@pytest.mark.parametrize("missing", [[1], [4], [2, 6], [1, 2, 3], [4, 5, 6]])
def test_newton_does_without_one_side_of_an_axis(missing: list[int]) -> None:
    """On a quadratic function the missing side is known from the other one and the curvature."""
    domain = domain_of(Space([Float()] * 3))
    x = np.full(3, 2.0)
    newton = Newton(domain, Evaluated(x, np.empty(0), 0.0, float(quadratic(x[None])[0])), np.eye(3))
    newton.radius = 0.5  # several steps
    newton.observe(told_by(newton.propose(), quadratic))
    whole, part = newton, copy.deepcopy(newton)
    told = told_by(whole.propose(), quadratic)
    known = np.full(7, True)
    known[missing] = False
    some = told._replace(values=np.where(known, told.values, np.nan), known=known)
    assert part.ready(some)
    part.observe(some)
    whole.observe(told)
    assert not part.failed
    np.testing.assert_allclose(part.trial, whole.trial, rtol=1e-9)
    np.testing.assert_allclose(part.gradient, whole.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(part.hessian, whole.hessian, rtol=1e-6, atol=1e-6)


def test_newton_needs_the_middle_and_a_side_of_every_axis() -> None:
    domain = domain_of(Space([Float()] * 3))
    x = np.full(3, 2.0)
    newton = Newton(domain, Evaluated(x, np.empty(0), 0.0, float(quadratic(x[None])[0])), np.eye(3))
    told = told_by(newton.propose(), quadratic)
    known = np.full(6, True)
    known[2] = False
    assert not newton.ready(told._replace(known=known))  # the curvature is not known yet
    newton.radius = 0.5
    newton.observe(told)
    told = told_by(newton.propose(), quadratic)
    for missing in ([0], [1, 4], [2, 5], [0, 1]):
        known = np.full(7, True)
        known[missing] = False
        assert not newton.ready(told._replace(known=known))


def test_spares_of_a_sweep_are_what_would_come_next() -> None:
    domain = domain_of(Space([Int(0, 3), Int(0, 7), Bool(), Int(0, 30), Int(0, 2)]))
    start = Evaluated(np.zeros(5), np.zeros(5), 0.0, 1.0)
    rng = np.random.default_rng(1)
    sweep = IntegerSweep(domain, start, 6, rng)
    first = sweep.propose()
    spares: list[Proposals] = []
    while (spare := sweep.extra(len(spares), rng)) is not None:
        spares.append(spare)
    rows = [row for batch in (first, *spares) for row in batch.plateaus.tolist()]
    later: list[list[float]] = []
    while not sweep.done:  # nothing is better
        batch = sweep.propose()
        later += batch.plateaus.tolist()
        sweep.observe(Results(batch, np.full(len(batch.x), 2.0), None))
    assert rows == later
    assert len(spares) >= 2


def test_a_sweep_goes_on_as_soon_as_something_is_better() -> None:
    domain = domain_of(Space([Int(0, 3), Int(0, 7), Bool()]))
    sweep = IntegerSweep(domain, Evaluated(np.zeros(3), np.zeros(3), 0.0, 1.0), 20, np.random.default_rng(1))
    batch = sweep.propose()
    told = Results(batch, np.full(len(batch.x), 2.0), None)
    known = np.full(len(batch.x), False)
    known[:2] = True
    told = told._replace(known=known)
    assert not sweep.ready(told)
    told.values[1] = 0.5
    assert sweep.ready(told)
    sweep.observe(told)
    assert sweep.best.value == 0.5
    np.testing.assert_array_equal(sweep.best.plateaus, batch.plateaus[1])
    missing = {int((row != 0).argmax()) for row in batch.plateaus[2:]}
    assert missing <= set(sweep.queue)  # of these not all is known


# known faults


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


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "saltus"])
def test_the_mean_moves_towards_good_points_of_others(strategy: str) -> None:
    optimizer = asynchronous(Space([Float(-5, 5), Int(-10, 10), Float(-5, 5)]), strategy=strategy, seed=1)
    optimizer.ask(3)
    before = np.linalg.norm(optimizer.mean - 3.0)
    for id in range(1000, 1100):
        optimizer.add(np.array([3.0 + (id % 7) / 50, 3 + id % 2, 3.0]), (id % 7) / 50 + id % 2)
        if id % 10 == 0:
            optimizer.ask()
    assert np.linalg.norm(optimizer.mean - 3.0) < 0.5 * before
