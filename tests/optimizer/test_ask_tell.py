"""Ask and tell, a whole batch at a time."""

from __future__ import annotations

import contextlib
import json
import math
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from saltus import STRATEGIES, Candidate, Float, Int, Optimizer, Space, Stop
from saltus.order import Failure, Outcome
from saltus.search.batch import Batch
from saltus.search.settings import MANY_PHASES, OPTIONAL, OPTIONAL_WITH_A_MODEL
from saltus.space import Lattice
from saltus.strategy import Leap, integers_of

from .playing import SPACE, eventful, objective, remembered, trace


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_a_mixed_optimum(strategy: str) -> None:
    optimizer = Optimizer(SPACE, strategy=strategy, seed=3, population=12)
    trace(optimizer, 90 if strategy == "saltus" else 150)  # whose batch is one point, once it has a model
    assert optimizer.best is not None
    p = optimizer.best.params
    assert (p["k"], p["grid"], p["on"]) == (3, 1, True)
    assert p["x"] == pytest.approx(1.5, abs=1e-3)
    assert p["lr"] == pytest.approx(0.01, rel=1e-3)


def test_seeds() -> None:
    a, b, c = (trace(Optimizer(SPACE, seed=s), 5) for s in (1, 1, 2))
    assert a == b != c
    assert a == trace(Optimizer(SPACE, seed=np.random.default_rng(1)), 5)
    np.random.seed(0)  # noqa: NPY002  # the global generator must not matter
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002  # as above
    assert trace(Optimizer(SPACE, seed=1), 5) == a
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]  # noqa: NPY002  # as above


@pytest.mark.parametrize("strategy", MANY_PHASES)
def test_any_order_and_any_portion_give_the_same_search(strategy: str) -> None:
    a, b = (Optimizer(SPACE, strategy=strategy, seed=5, batch=8) for _ in range(2))
    shuffle = random.Random(1).shuffle
    for _ in range(8):
        whole = a.ask()
        a.tell(whole, [objective(c.params) for c in whole])
        parts = []
        while portion := b.ask(3):
            parts += portion
        assert b.ask() == []
        assert parts == whole
        shuffle(parts)
        for c in parts[:4]:
            b.tell(c, objective(c.params))
        b.tell(parts[4:], np.array([objective(c.params) for c in parts[4:]]))
    assert a.state() == b.state()
    assert a.generation == 8
    assert a.evaluations == len(a.memory) >= 8 * 8


def test_telling_before_all_are_asked() -> None:
    optimizer = Optimizer(SPACE, seed=5)
    first = optimizer.ask(2)
    optimizer.tell(first, [1.0, 2.0])
    assert optimizer.pending == []
    assert optimizer.generation == 0
    rest = optimizer.ask()
    assert len(rest) == optimizer.population - 2
    optimizer.tell(rest, [3.0] * len(rest))
    assert optimizer.generation == 1


def test_wrong_tells_change_nothing() -> None:
    optimizer, other = Optimizer(SPACE, seed=1), Optimizer(SPACE, seed=2)
    candidates, strangers = optimizer.ask(4), other.ask(4)
    optimizer.tell(candidates[0], 1.0)
    state = optimizer.state()
    bad: list[tuple[Any, Any, Any, str]] = [
        (candidates[0], 1.0, None, "not pending"),
        (strangers[1], 1.0, None, "not asked from this optimizer"),
        (Candidate(99, {}), 1.0, None, "not pending"),
        (candidates[1:], [1.0], None, "each of 3 candidates, got 1"),
        ([candidates[1], candidates[1]], [1.0, 2.0], None, "twice"),
        ([], [], None, "at least one"),
        (candidates[1:3], 3.0, None, "for each candidate"),
        (candidates[1], None, None, "does the objective return something"),
        (candidates[1], "3", None, "real number, got '3'"),
        (candidates[1], 1j, None, "real number"),
        (candidates[1], [1.0, 2.0], None, "real number"),
        (candidates[1], 1.0, "much", "violation must be a real number"),
        (candidates[1:3], [1.0, 2.0], [1.0], "violation for each of 2"),
        (candidates[1].params, 1.0, None, "tell takes what ask gave"),
        (5, 1.0, None, "tell takes what ask gave"),
        (candidates[1], np.array("3.5"), None, "real number"),
    ]
    for told, values, violation, words in bad:
        with pytest.raises((ValueError, TypeError), match=words):
            optimizer.tell(told, values, violation)
        assert optimizer.state() == state
    optimizer.tell(candidates[1:], [1.0, 2.0, 3.0])


def test_a_candidate_may_come_back_as_a_copy() -> None:
    for space in (SPACE, Space(list(SPACE.variables))):
        optimizer = Optimizer(space, seed=1)
        candidates = optimizer.ask()
        optimizer.tell([pickle.loads(pickle.dumps(c)) for c in candidates], range(len(candidates)))
        assert optimizer.generation == 1


def test_an_objective_may_write_into_its_array() -> None:
    optimizer = Optimizer(Space([Float(0, 1), Int(0, 5)]), seed=1)
    candidates = optimizer.ask()
    points = [c.params.copy() for c in candidates]
    for c in candidates:
        c.params[:] = -1.0
    optimizer.tell(candidates, list(range(len(candidates))))
    assert optimizer.best is not None
    np.testing.assert_array_equal(optimizer.best.x, points[0])
    np.testing.assert_array_equal(optimizer.best.params, points[0])


def test_best_prefers_feasible_then_less_violated() -> None:
    optimizer = Optimizer(SPACE, seed=1, population=8)
    c = optimizer.ask()
    optimizer.tell(c[0], math.nan)
    assert optimizer.best is None
    optimizer.tell(c[1], -50.0, violation=2.0)
    optimizer.tell(c[2], math.nan, violation=1.0)  # a value is not needed to be less violated
    assert optimizer.best is not None
    assert (optimizer.best.id, optimizer.best.feasible) == (2, False)
    optimizer.tell(c[3], 7.0, violation=0.0)
    optimizer.tell(c[4], 7.0, violation=0.0)  # equal values: the first
    optimizer.tell(c[5], 9.0)
    optimizer.tell(c[6], math.inf)
    assert (optimizer.best.id, optimizer.best.value, optimizer.best.feasible) == (3, 7.0, True)
    assert optimizer.failures == 2


def test_the_best_is_the_optimizers_own() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    trace(optimizer, 2)
    assert optimizer.best is not None
    with pytest.raises(ValueError, match="read-only"):
        optimizer.best.x[0] = 7.0
    optimizer.best.params.clear()
    assert optimizer.best.params


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_going_on_long_after_the_stop_does_no_harm(strategy: str) -> None:
    optimizer = Optimizer(Space([Int(-5, 5)] * 3 + [Float(-1, 1)]), strategy=strategy, seed=1)
    # the sd of one falls to 0 in the end, others stay where they are; with a model a batch is dear
    generations = {"cma-es-margin": 3000, "saltus": 150}.get(strategy, 400)
    for _ in range(generations):
        candidates = optimizer.ask()
        points = np.array([c.params for c in candidates])
        assert np.all(np.isfinite(points))
        optimizer.tell(candidates, ((points - 0.2) ** 2).sum(1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"population": 7}, "even and at least 4, got 7; try 8"),
        ({"population": 2}, "at least 4, got 2; try 4"),
        ({"population": 3, "strategy": "cma-es"}, "at least 4, got 3"),
        ({"population": "many"}, "got 'many'"),
        ({"strategy": "dx-nes-icy"}, "did you mean 'dx-nes-ic"),
        ({"margin": 0.7}, "between 0 and 0.5"),
        ({"mean": [1, 2]}, "mean must be a number or one number for each of the 5 variables"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Optimizer(SPACE, **arguments)
    with pytest.raises(TypeError, match="space must be a Space"):
        Optimizer({"x": Float(0, 1)})  # type: ignore[arg-type]  # wrong on purpose
    for k in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="ask takes a positive whole number"):
            Optimizer(SPACE).ask(k)  # type: ignore[arg-type]  # wrong on purpose


def test_margin_and_population_defaults() -> None:
    assert Optimizer(SPACE).population == 8
    for margin, alpha in ((None, 1 / (5 * 8)), (0.01, 0.01)):
        integers = integers_of(Lattice([(0.0, 1.0, 9)] * 3), 2, 8, margin, Leap())
        assert integers.alpha == alpha


def test_mean_and_sd_are_in_the_users_units() -> None:
    optimizer = Optimizer(SPACE, mean={"k": 2.25, "x": -4.9, "lr": 0.5}, sigma={"x": 0.01}, seed=1)
    np.testing.assert_allclose(optimizer.mean[:3], [2.25, -4.9, 0.5])
    assert optimizer.sd[1] == pytest.approx(0.01)


@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici", "cma-es"])
def test_the_memory_holds_every_evaluation_as_it_was(strategy: str) -> None:
    optimizer = Optimizer(SPACE, strategy=strategy, seed=1)
    seen: list[Any] = []
    for _ in range(60):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [eventful(c.params) for c in candidates])
        seen += candidates
    memory = optimizer.memory
    assert memory.ids.tolist() == [c.id for c in seen] == list(range(optimizer.evaluations))
    assert memory.x.tolist() == [[float(v) for v in c.params.values()] for c in seen]
    assert set(memory.constraint_names) == {"high", "on"}
    high, on, failures = memory.constraint("high"), memory.constraint("on"), memory.failures
    for row, c in enumerate(seen):
        told = eventful(c.params)
        outcome = told if isinstance(told, Outcome) else Outcome(told)
        known = outcome.constraints or {"high": math.nan, "on": math.nan}
        np.testing.assert_array_equal([high[row], on[row]], [known["high"], known["on"]])
        np.testing.assert_array_equal(memory.values[row], outcome.value)
        assert memory.violations[row] == outcome.violation
        unknown = None if math.isfinite(outcome.value) else Failure.VALUE
        assert failures[row] is (outcome.failure or unknown)
    assert optimizer.best is not None
    assert memory.best is not None
    assert memory.ids[memory.best] == optimizer.best.id
    assert sum(kind is not None for kind in failures) == optimizer.failures


def test_the_memory_does_not_depend_on_the_order_of_telling() -> None:
    def final(step: int, portion: int) -> Any:
        optimizer = Optimizer(SPACE, seed=4, batch=4)
        for _ in range(4):
            candidates = optimizer.ask()[::step]
            while candidates:
                part, candidates = candidates[:portion], candidates[portion:]
                optimizer.tell(part, [eventful(c.params) for c in part])
        return remembered(optimizer)

    assert final(1, 100) == final(-1, 100) == final(1, 1) == final(-1, 3)


def test_what_is_for_optimizers_that_do_not_wait_is_refused_by_others() -> None:
    optimizer = Optimizer(Space([Int(0, 9)]), seed=1)
    for call in (lambda: optimizer.ask_as(3), lambda: optimizer.replay({}, {})):
        with pytest.raises(RuntimeError, match=r"does not wait: Optimizer\(asynchronous=True\)"):
            call()


# what is left out, and restarts

# what this problem has no use for: their own tests leave them out
ELSEWHERE = ("limits", "evolution", "lattice", "valley", "pairs")


@pytest.mark.parametrize("name", [name for name in OPTIONAL_WITH_A_MODEL if name not in ELSEWHERE])
def test_what_is_left_out_is_saved_with_the_state_and_changes_the_search(name: str) -> None:
    """All of them are at work within some thousand evaluations of a small problem."""
    of_the_model = name not in OPTIONAL
    how: dict[str, Any] = {"seed": 3, "strategy": "saltus" if of_the_model else "saltus-es"}

    def fun(p: dict[str, Any]) -> float:
        t = p["a"] - 0.3 * p["k"]
        rough = abs(p["b"]) if name == "deep" else 0.0
        return float(50 * t**2 + p["b"] ** 2 + 0.5 * np.cos(3 * p["b"]) + (p["k"] - 7) ** 2 + rough)

    def told(candidates: list[Candidate]) -> tuple[list[float], list[float]]:
        """Values, and for the models of what is violated some violations."""
        limit = 1.0 if name == "limits" else math.inf
        return [fun(c.params) for c in candidates], [max(0.0, c.params["a"] - limit) for c in candidates]

    space = Space({"a": Float(-5, 5), "b": Float(-5, 5), "k": Int(0, 20)})

    def points(without: list[str]) -> Iterator[Any]:
        optimizer = Optimizer(space, **how, without=without)
        while optimizer.evaluations < (150 if of_the_model else 2500):
            candidates = optimizer.ask()
            yield [c.params for c in candidates]
            optimizer.tell(candidates, *told(candidates))

    pairs = zip(points([name]), points([]), strict=False)
    assert any(one != other for one, other in pairs)  # the first that differs is enough
    optimizer = Optimizer(space, **how, without=[name])
    restored = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
    assert restored.state() == optimizer.state()
    assert restored.state()["without"] == [name]
    for _ in range(12):
        for each in (optimizer, restored):
            candidates = each.ask()
            each.tell(candidates, *told(candidates))
    assert restored.state() == optimizer.state()


def test_several_parts_are_left_out_and_one_may_be_a_string() -> None:
    assert Optimizer(SPACE, without="scan").state()["without"] == ["scan"]
    both = Optimizer(SPACE, without={"sweep", "deep"}).state()
    assert both["without"] == ["deep", "sweep"]


@pytest.mark.parametrize(
    ("strategy", "without", "words"),
    [
        ("saltus-es", ["scann"], "without takes 'scaling', .*; got 'scann'; did you mean 'scan'"),
        ("saltus-es", "everything", "got 'everything'"),
        ("saltus-es", ["scan", "nope"], "got 'nope'"),
        ("dx-nes-ici", ["scan"], "without takes nothing of 'dx-nes-ici'; got 'scan'"),
        ("cma-es", "newton", "without takes nothing of 'cma-es'"),
    ],
)
def test_what_cannot_be_left_out_is_named(strategy: str, without: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Optimizer(SPACE, strategy=strategy, without=without)


SMALL = Space([Int(0, 3), Int(0, 3)])


def spend(optimizer: Optimizer, evaluations: int) -> None:
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [float(c.params.sum()) for c in candidates])


@pytest.mark.parametrize(
    ("strategy", "auto_restart", "restarts"),
    [
        ("saltus-es", None, True),
        ("saltus-es", True, True),
        ("dx-nes-ici", None, False),
        ("dx-nes-ici", False, False),
        ("dx-nes-ici", True, True),
        ("cma-es-margin", True, True),
    ],
)
def test_another_run_begins_by_itself_if_wanted(
    strategy: str, auto_restart: bool | None, restarts: bool
) -> None:
    optimizer = Optimizer(SMALL, strategy=strategy, seed=1, auto_restart=auto_restart)
    assert optimizer.auto_restart == restarts
    spend(optimizer, 3000)
    assert (optimizer.restarts > 0) == restarts
    assert Optimizer.restore(optimizer.state()).auto_restart == restarts


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_that_is_over_is_not_asked_without_a_restart(asynchronous: bool) -> None:
    optimizer = Optimizer(SMALL, seed=1, auto_restart=False, asynchronous=asynchronous)
    with pytest.raises(RuntimeError, match=r"this run is over: restart\(\) begins another"):
        spend(optimizer, 3000)
    assert optimizer.stop is Stop.CONVERGED
    assert optimizer.evaluations < 3000
    with pytest.raises(RuntimeError, match="this run is over"):
        optimizer.ask()
    assert optimizer.between_generations
    optimizer.restart()
    assert optimizer.stop is None
    assert optimizer.restarts == 1
    assert optimizer.ask()


def meeting(monkeypatch: pytest.MonkeyPatch, where: type, name: str) -> None:
    """In this method a thread waits until another is there too, if another can be."""
    barrier, method = threading.Barrier(2), getattr(where, name)

    def held(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(0.2)
        return method(*args, **kwargs)

    monkeypatch.setattr(where, name, held)


def in_two_threads(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    """What both give, begun at the same time."""
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(first), pool.submit(second)]]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_threads_are_given_different_candidates(monkeypatch: pytest.MonkeyPatch, asynchronous: bool) -> None:
    optimizer = Optimizer(SPACE, strategy="dx-nes-ici", seed=1, asynchronous=asynchronous)
    optimizer.ask(1)
    meeting(monkeypatch, Batch, "any_slot" if asynchronous else "ask_next")
    given = in_two_threads(lambda: optimizer.ask(1), lambda: optimizer.ask(1))
    assert sorted((c.id, c.slot) for candidates in given for c in candidates) == [(1, 1), (2, 2)]
    assert [c.id for c in optimizer.pending] == [0, 1, 2]


def test_a_batch_that_threads_tell_is_learnt_from_once(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = Optimizer(SPACE, strategy="dx-nes-ici", seed=1)
    twin = Optimizer(SPACE, strategy="dx-nes-ici", seed=1)
    *rest, first, second = optimizer.ask()
    optimizer.tell(rest, [0.5] * len(rest))
    meeting(monkeypatch, Optimizer, "_note")
    in_two_threads(lambda: optimizer.tell(first, 1.0), lambda: optimizer.tell(second, 2.0))
    assert (optimizer.generation, optimizer.evaluations) == (1, len(rest) + 2)
    twin.tell(twin.ask(), [0.5] * len(rest) + [1.0, 2.0])
    assert [c.params for c in optimizer.ask()] == [c.params for c in twin.ask()]


def test_many_threads_lose_nothing() -> None:
    optimizer = Optimizer(SPACE, strategy="saltus-es", seed=1, asynchronous=True)

    def work() -> list[int]:
        ids = []
        for _ in range(60):
            (candidate,) = optimizer.ask()
            optimizer.tell(candidate, float(candidate.id % 7))
            ids.append(candidate.id)
            optimizer.state()
        return ids

    with ThreadPoolExecutor(4) as pool:
        ids = [id for future in [pool.submit(work) for _ in range(4)] for id in future.result()]
    assert sorted(ids) == list(range(240))
    assert optimizer.evaluations == 240


def test_a_violation_is_an_amount() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    first = optimizer.ask(1)[0]
    with pytest.raises(ValueError, match="violation must be 0 or more, the sum of what is violated, got -1"):
        optimizer.tell(first, 1.0, violation=-1)
    assert optimizer.pending == [first]
    with pytest.raises(ValueError, match=r"must be one of its values, got 2\.4"):
        optimizer.add({**first.params, "k": 2.4}, 1.0)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("counts", "generation"), {"float": "inf"}),
        (("population",), 10**15),
        (("search", "descent"), []),
        (("strategy",), "cma-es"),
    ],
)
def test_a_forged_state_is_a_clear_error(where: tuple[str, ...], value: Any) -> None:
    optimizer = Optimizer(SPACE, seed=1, strategy="saltus-es")
    optimizer.ask()
    state = optimizer.state()
    inner = state
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    with pytest.raises(ValueError, match=r"state|population|strategy"):
        Optimizer.restore(state)


def test_a_forged_state_whose_batch_has_gaps_is_a_clear_error() -> None:
    optimizer = Optimizer(SPACE, seed=1, strategy="saltus-es")
    optimizer.ask(3)
    state = optimizer.state(memory=False)
    del state["asked"][0]
    with pytest.raises(ValueError, match="must be its first candidates, got gaps"):
        Optimizer.restore(state)
