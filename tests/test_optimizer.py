"""Ask and tell, a whole batch at a time."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import pickle
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import STRATEGIES, Bool, Candidate, Float, Int, Optimizer, Ordinal, Space, Stop
from saltus.order import Failure, Outcome
from saltus.search.batch import Batch
from saltus.search.settings import MANY_PHASES, OPTIONAL, OPTIONAL_WITH_A_MODEL
from saltus.space import Lattice
from saltus.strategy import Leap, integers_of

SPACE = Space(
    {
        "k": Int(-10, 10),
        "x": Float(-5, 5),
        "lr": Float(1e-4, 1, log=True),
        "grid": Ordinal([0.5, 1, 4]),
        "on": Bool(),
    }
)


def objective(p: dict[str, Any]) -> float:
    return float(
        (p["k"] - 3) ** 2
        + (p["x"] - 1.5) ** 2
        + math.log(p["lr"] / 0.01) ** 2
        + (p["grid"] - 1) ** 2
        + (not p["on"])
    )


def trace(optimizer: Optimizer, generations: int) -> list[Any]:
    seen: list[Any] = []
    for _ in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [objective(c.params) for c in candidates])
        seen.extend(c.params for c in candidates)
    return seen


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_a_mixed_optimum(strategy: str) -> None:
    optimizer = Optimizer(SPACE, strategy=strategy, seed=3, population=12)
    trace(optimizer, 150)
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


@settings(deadline=None, max_examples=25)
@given(
    strategy=st.sampled_from(sorted(STRATEGIES)),
    moment=st.integers(0, 120),
    seed=st.integers(0, 10**6),
    named=st.booleans(),
)
def test_a_restored_search_goes_on_bit_by_bit(strategy: str, moment: int, seed: int, named: bool) -> None:
    space = SPACE if named else Space(list(SPACE.variables))
    names = SPACE.names or ()

    def value(params: Any) -> tuple[float, float]:
        p = params if named else dict(zip(names, params.tolist(), strict=True))
        v = objective(p)
        return (math.nan if p["x"] > 3 else v), max(0.0, p["k"] - 5)

    def go(optimizer: Optimizer, evaluations: int) -> list[str]:
        seen = []
        for c in optimizer.pending:
            optimizer.tell(c, *value(c.params))
        for _ in range(evaluations):
            (c,) = optimizer.ask(1)
            optimizer.tell(c, *value(c.params))
            seen.append(repr(c.params))
            if optimizer.generation % 8 == 7:
                with contextlib.suppress(RuntimeError):  # in the middle of a generation
                    optimizer.restart()
        return seen

    optimizer = Optimizer(space, strategy=strategy, seed=seed, mean={"k": 1.0} if named else None)
    go(optimizer, moment)
    optimizer.ask(2)  # asked and not told
    text = json.dumps(optimizer.state(), allow_nan=False)
    restored = Optimizer.restore(json.loads(text))
    assert restored.state() == optimizer.state()
    assert [c.id for c in restored.pending] == [c.id for c in optimizer.pending]
    assert go(restored, 60) == go(optimizer, 60)
    assert restored.state() == optimizer.state()


def test_restore_other_bit_generators() -> None:
    for bits in (np.random.MT19937(1), np.random.Philox(1), np.random.SFC64(1)):
        optimizer = Optimizer(SPACE, seed=np.random.Generator(bits))
        trace(optimizer, 2)
        restored = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
        assert trace(restored, 3) == trace(optimizer, 3)


def test_copy_and_pickle_go_on_alike() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    trace(optimizer, 3)
    optimizer.ask(2)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert other.state() == optimizer.state()


def test_restore_with_the_space_keeps_the_very_values() -> None:
    space = Space({"v": Ordinal([Fraction(1, 3), Fraction(1, 2), 2])})
    state = json.loads(json.dumps(Optimizer(space, seed=1).state()))
    kinds = {type(c.params["v"]) for c in Optimizer.restore(state, space).ask()}
    assert Fraction in kinds
    assert Fraction not in {type(c.params["v"]) for c in Optimizer.restore(state).ask()}
    with pytest.raises(ValueError, match="another space"):
        Optimizer.restore(state, SPACE)


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
    generations = (
        3000 if strategy == "cma-es-margin" else 1000
    )  # its sd falls to 0, others stay where they are
    for _ in range(generations):
        candidates = optimizer.ask()
        points = np.array([c.params for c in candidates])
        assert np.all(np.isfinite(points))
        optimizer.tell(candidates, ((points - 0.2) ** 2).sum(1))


def test_a_state_of_before_the_model_is_not_continued_with_one() -> None:
    """What was called saltus then is saltus-es now."""
    older = Optimizer(SPACE, seed=1, strategy="saltus-es").state() | {"format": 3, "strategy": "saltus"}
    with pytest.raises(ValueError, match=r"an older Saltus wrote it: .* strategy='saltus-es'"):
        Optimizer.restore(older)


def test_broken_states_are_refused() -> None:
    optimizer = Optimizer(SPACE, seed=1, strategy="saltus-es")
    trace(optimizer, 2)
    good = optimizer.state()
    Optimizer.restore(good)
    array = {"dtype": "float64", "shape": [1], "order": "C", "base64": "AAAAAAAAAAA="}
    run = ["search", "descent", "phase", "state"]
    gaussian = [*run, "gaussian", "state"]

    def broken(path: list[str], value: Any) -> dict[str, Any]:
        state = copy.deepcopy(good)
        inner = state
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return state

    for state in (
        {},
        {"format": 99},
        broken(["space"], 3),
        broken(["strategy"], "nope"),
        broken([*gaussian, "m"], array),
        broken([*run, "gaussian"], {"m": 1}),
        broken([*run, "gaussian", "state"], "os.system"),
        broken([*run, "best"], array),
        broken([*run, "best", "x"], array),
        broken([*run, "gaussian", "z"], array),
        broken(["search", "descent", "phase", "kind"], "Nope"),
        broken(["search", "kind"], "nope"),
        broken(["rng", "bit_generator"], "__import__('os')"),
        broken([*gaussian, "m"], {"dtype": "object", "shape": [1], "order": "C", "base64": "AAAA"}),
        broken(["search", "stop"], "NOPE"),
    ):
        with pytest.raises(ValueError, match=r"state|strategy"):
            Optimizer.restore(state)


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


# the memory


def remembered(optimizer: Optimizer) -> Any:
    memory = optimizer.memory
    parts = [memory.ids, memory.x, memory.values, memory.violations]
    parts += [memory.constraint(name) for name in memory.constraint_names]
    return [part.tobytes() for part in parts], memory.constraint_names, memory.failures


def eventful(p: dict[str, Any]) -> Any:
    """Constraints by name and kinds of failure, always the same at the same point."""
    if p["grid"] == 4:
        return Outcome(math.nan, failure=Failure.TIMEOUT)
    if p["x"] > 3:
        return math.inf
    if p["k"] > 2:
        return Outcome(objective(p), {"high": p["k"] - 5.0, "on": -1.0 if p["on"] else 1.0})
    return objective(p)


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
        optimizer = Optimizer(SPACE, seed=4)
        for _ in range(30):
            candidates = optimizer.ask()[::step]
            while candidates:
                part, candidates = candidates[:portion], candidates[portion:]
                optimizer.tell(part, [eventful(c.params) for c in part])
        return remembered(optimizer)

    assert final(1, 100) == final(-1, 100) == final(1, 1) == final(-1, 3)


@pytest.mark.parametrize("strategy", MANY_PHASES)
def test_the_memory_is_restored_in_the_middle_of_a_batch(strategy: str) -> None:
    optimizer = Optimizer(SPACE, strategy=strategy, seed=4, batch=4)
    for _ in range(20):
        candidates = optimizer.ask()
        middle = len(candidates) // 2
        optimizer.tell(candidates[:middle], [eventful(c.params) for c in candidates[:middle]])
        other = Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))
        assert remembered(other) == remembered(optimizer)
        for each in (optimizer, other):
            left = each.pending
            each.tell(left, [eventful(c.params) for c in left])
        assert remembered(other) == remembered(optimizer)
        optimizer = other
    assert len(optimizer.memory) == optimizer.evaluations


def test_a_state_without_the_memory_does_not_grow() -> None:
    optimizer = Optimizer(Space([Float(-5, 5)] * 5), strategy="dx-nes-ici", seed=1)
    sizes = []
    for _ in range(2):
        for _ in range(40):
            candidates = optimizer.ask()
            optimizer.tell(candidates, [float(c.params @ c.params) for c in candidates])
        state = optimizer.state(memory=False)
        assert "memory" not in state
        sizes.append(len(json.dumps(state)))
        other = Optimizer.restore(state)
        assert len(other.memory) == 0
        assert [c.params.tolist() for c in other.ask()] == [
            c.params.tolist() for c in Optimizer.restore(optimizer.state()).ask()
        ]
    assert sizes[1] < 1.02 * sizes[0]


# points of others


def test_what_is_for_optimizers_that_do_not_wait_is_refused_by_others() -> None:
    optimizer = Optimizer(Space([Int(0, 9)]), seed=1)
    for call in (lambda: optimizer.ask_as(3), lambda: optimizer.replay({}, {})):
        with pytest.raises(RuntimeError, match=r"does not wait: Optimizer\(asynchronous=True\)"):
            call()


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
    assert optimizer.evaluations == 4 * 8
    assert optimizer.best is not None
    assert optimizer.best.id == 16
    assert optimizer.best.x.tolist() == [3.0, 3.0, 3.0]
    candidates = optimizer.ask()
    assert candidates[0].id == 72
    optimizer.tell(candidates, [100.0] * len(candidates))
    assert len(optimizer.memory) == 40 + 5 * 8
    assert optimizer.memory.best is not None
    assert optimizer.memory.ids[optimizer.memory.best] == 16


def test_a_point_of_another_is_remembered_with_its_outcome() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    point = {"k": 3, "x": 1.0, "lr": 0.5, "grid": 4, "on": True}
    optimizer.add(point, Outcome(5.0, {"mass": -1.0}))
    optimizer.add(point, 7.0, violation=0.5)
    optimizer.add(point, Outcome(math.nan, failure=Failure.DIED))
    trace(optimizer, 1)
    assert optimizer.memory.ids.tolist() == list(range(11))
    assert optimizer.memory.x[:3].tolist() == [[3.0, 1.0, 0.5, 4.0, 1.0]] * 3
    assert optimizer.memory.failures[:3] == [None, None, Failure.DIED]
    assert optimizer.memory.violations[:3].tolist() == [0.0, 0.5, 0.0]
    np.testing.assert_array_equal(optimizer.memory.constraint("mass")[:3], [-1.0, math.nan, math.nan])
    assert (optimizer.evaluations, optimizer.failures) == (8, 1)


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


# what is left out, and restarts

# what this problem has no use for: their own tests leave them out
ELSEWHERE = ("limits", "evolution")


@pytest.mark.parametrize("name", [name for name in OPTIONAL_WITH_A_MODEL if name not in ELSEWHERE])
def test_what_is_left_out_is_saved_with_the_state_and_changes_the_search(name: str) -> None:
    """All of them are at work within some thousand evaluations of a small problem."""
    of_the_model = name not in OPTIONAL
    # a scan comes early if not much else does
    others = ["model", "sweep", "neighbours", "deep"] if name == "asking in scans" else []
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

    def points(**options: Any) -> list[Any]:
        optimizer = Optimizer(space, **how, **options)
        seen: list[Any] = []
        while optimizer.evaluations < (150 if of_the_model else 2500):
            candidates = optimizer.ask()
            optimizer.tell(candidates, *told(candidates))
            seen += [c.params for c in candidates]
        assert optimizer.state()["without"] == sorted(options.get("without", ()))
        return seen

    assert points(without=[name, *others]) != points(without=others)
    optimizer = Optimizer(space, **how, without=[name])
    restored = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
    assert restored.state() == optimizer.state()
    for _ in range(40):
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
