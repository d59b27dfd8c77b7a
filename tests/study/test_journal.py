"""What is remembered of a search while it goes on: repeats, failures, and what a kill leaves behind."""

from __future__ import annotations

import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from saltus import Float, Int, Optimizer, Result, Space, Stop, Study, Trial
from saltus.order import Failure, Outcome, sign
from saltus.search import Memory
from saltus.study import database, rows
from saltus.study.database import Database
from saltus.study.journal import remember

from ..objectives import SPACE, bowl, fails_sometimes
from .studies import DISCRETE, distance, essence, made


def named(p: dict[str, Any]) -> tuple[float, dict[str, float]]:
    return bowl(p), {"stress": 10.0 - p["k"], "mass": p["x"] - 1.0}


def unbounded(p: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """Constraints that hold by far: minus infinity is no failure."""
    return bowl(p), {"stress": 10.0 - p["k"], "mass": -math.inf if p["on"] else 0.0}


@pytest.mark.machines
def test_killed_again_and_again_it_is_the_same(tmp_path: Path) -> None:
    words = ["-m", "tests.torture", "--only", "transaction", "--times", "0.1", "--folder", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "SALTUS_TORTURE_SIZE": "30"},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert "4 times: at " in done.stdout


def test_points_on_record_are_not_paid_again(tmp_path: Path) -> None:
    calls: list[tuple[Any, ...]] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(tuple(p.values()))
        return distance(p)

    study = made(tmp_path, DISCRETE)
    result = study.optimize(fun, budget=1000)
    assert result.stop is Stop.EXHAUSTED
    assert len(calls) == len(set(calls)) <= 30
    assert result.fun == 0.0
    summary = study.summary()
    assert summary.repeated > 0
    assert summary.evaluations == result.nfev == len(calls)
    first = {tuple(t.params.values()): t for t in study.trials() if t.status == "done"}
    for trial in study.trials():
        if trial.status == "repeated":
            same = first[tuple(trial.params.values())]
            assert trial.repeats == same.id
            assert trial.value == same.value
    before = essence(study)
    study.optimize(fun, budget=10)  # less than it has
    assert essence(study) == before


def test_noise_is_paid_for(tmp_path: Path) -> None:
    calls = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(1)
        return distance(p) + len(calls) % 3 * 0.1

    study = made(tmp_path, DISCRETE, noisy=True)
    assert study.optimize(fun, budget=200).nfev == len(calls) == 200
    assert study.summary().repeated == 0


def test_failures_are_on_record_with_their_reason(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(fails_sometimes, budget=40)
    summary = study.summary()
    assert sum(summary.failures.values()) == sum(t.status == "failed" for t in study.trials()) > 0
    assert any(reason.startswith("ArithmeticError: no value at k=") for reason in summary.failures)
    last = summary.last_failure
    assert last is not None
    assert last.stderr is not None
    assert "fails_sometimes" in last.stderr
    assert last.value is None


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (math.nan, "the value is NaN"),
        (math.inf, "the value is infinite"),
        ((1.0, [math.nan]), "a constraint is NaN"),
        (None, "TypeError: the objective's value must be a real number, got None"),
        ("3", "TypeError: the objective's value must be a real number, got '3'"),
    ],
)
def test_what_is_no_value_fails(tmp_path: Path, returned: Any, reason: str) -> None:
    study = made(tmp_path)
    result = study.optimize(lambda p: returned, budget=1000)
    assert result.stop is Stop.FAILING
    assert result.nfev == 20  # not the whole budget
    assert not result.success
    assert all(known.startswith(reason) for known in study.summary().failures)
    assert study.optimize(lambda p: returned, budget=1000).nfev == 40  # another try is another twenty


def test_a_simulator_that_goes_down_stops_the_study(tmp_path: Path) -> None:
    def fun(p: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) > 50:
            raise OSError("licence server not reached")
        return bowl(p)

    calls: list[int] = []
    result = made(tmp_path).optimize(fun, budget=1000)
    assert result.stop is Stop.FAILING
    assert result.nfev == 150


def test_what_runs_is_seen_from_outside(tmp_path: Path) -> None:
    study = made(tmp_path)
    seen: list[Trial] = []

    def fun(p: dict[str, Any]) -> float:
        seen.extend(t for t in Study.open(study.path).summary().unfinished if t.status == "running")
        return bowl(p)

    study.optimize(fun, budget=3)
    assert [t.id for t in seen] == [0, 1, 2]
    assert all(t.started is not None and t.worker == 0 for t in seen)


def test_a_short_state_is_written_with_its_generation(tmp_path: Path) -> None:
    """Whatever the moment, the state in the record fits the trials in it."""
    study = made(tmp_path)
    seen: list[tuple[int, int, Any]] = []

    def fun(p: dict[str, Any]) -> float:
        with closing(Database(study.path, write=False)) as record:
            count, state = record.state()
            seen.append((count, len(list(record.trials())), json.loads(state)["asked"]))
        return bowl(p)

    study.optimize(fun, budget=25)
    assert len(seen) == 25
    assert all(count == trials and sampled is not None for count, trials, sampled in seen)


def test_a_budget_that_cuts_a_generation_between_twins(tmp_path: Path) -> None:
    """Of two candidates at one point the second has no value before the first, however it is cut."""
    whole = Study.create(tmp_path / "whole.db", DISCRETE, seed=3)
    whole.optimize(distance, budget=28)
    pieces = Study.create(tmp_path / "pieces.db", DISCRETE, seed=3)
    for budget in range(1, 29):
        pieces.optimize(distance, budget=budget)
        pieces.optimize(distance, budget=max(1, budget - 2))  # a smaller one does nothing
    assert essence(pieces) == essence(whole)
    assert all(t.value == distance(t.params) for t in pieces.trials() if t.status == "repeated")


def test_an_exhausted_space_ends_at_the_same_place(tmp_path: Path) -> None:
    space = Space({"a": Int(0, 5), "b": Int(0, 5)})

    def fun(p: dict[str, Any]) -> float:
        return float((p["a"] - 3) ** 2 + (p["b"] - 3) ** 2)

    whole = Study.create(tmp_path / "whole.db", space, seed=1)
    result = whole.optimize(fun, budget=100)
    pieces = Study.create(tmp_path / "pieces.db", space, seed=1)
    stopped = 0

    def sometimes(intermediate: Result) -> bool:
        nonlocal stopped
        stopped += 1
        return stopped % 11 == 0

    while pieces.optimize(fun, budget=100, callback=sometimes).stop is Stop.CALLBACK:
        pass
    assert essence(pieces) == essence(whole)
    assert result.stop in (Stop.EXHAUSTED, Stop.BUDGET)


@pytest.mark.parametrize("fun", [named, unbounded])
def test_constraints_keep_their_names_and_what_they_are(tmp_path: Path, fun: Any) -> None:
    """Also when the search goes on from the record."""
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=5)
    whole.optimize(fun, budget=30)
    assert {tuple(t.constraints or ()) for t in whole.trials()} == {("stress", "mass")}
    done = [t for t in whole.trials() if t.status == "done"]
    assert all(t.violation == Outcome(0.0, t.constraints or {}).violation for t in done)
    pieces = Study.create(tmp_path / "pieces.db", SPACE, seed=5)
    for budget in (1, 7, 8, 19, 30):
        pieces.optimize(fun, budget=budget)
    assert essence(pieces) == essence(whole)


def test_failures_have_a_kind(tmp_path: Path) -> None:
    study = made(tmp_path)

    def fun(p: dict[str, Any]) -> Any:
        calls.append(1)
        returned: list[Any] = [1.0, math.nan, (1.0, {"mass": math.inf}), "no number"]
        return returned[len(calls) % 4]

    calls: list[int] = []
    study.optimize(fun, budget=8)
    kinds = [Failure.VALUE, Failure.CONSTRAINT, Failure.EXCEPTION, None] * 2
    assert [t.failure for t in study.trials() if t.evaluated] == kinds


def troubled(p: dict[str, Any]) -> tuple[float, list[float]]:
    """Fails for some points, and for others a constraint is not known."""
    if p["a"] == 1 and p["c"] == 5:
        raise OSError("no licence")
    x = p.get("x", 0.0)
    return distance(p) + x**2, [math.nan if p["a"] == 2 and p["b"] else p["a"] - 3.5 if x < 1 else math.nan]


@pytest.mark.parametrize("mixed", [False, True])
def test_killed_at_any_write_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixed: bool
) -> None:
    """Without processes, so that it can be done hundreds of times: a transaction that does not happen."""
    variables = dict(zip(DISCRETE.names or (), DISCRETE.variables, strict=True))
    space = Space({"x": Float(-5, 5), **variables}) if mixed else DISCRETE
    budget = 30 if mixed else 22
    rng = random.Random(1)
    insert = rows.insert
    left = 0

    def insert_or_die(db: sqlite3.Connection, *arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise SystemExit
        insert(db, *arguments)

    for seed in range(1 if mixed else 2):
        whole = Study.create(tmp_path / f"whole{seed}.db", space, seed=seed)
        whole.optimize(troubled, budget=budget)
        pieces = Study.create(tmp_path / f"pieces{seed}.db", space, seed=seed)
        for _ in range(20):
            left = rng.randint(1, 30)
            with monkeypatch.context() as patch, suppress(SystemExit):
                patch.setattr(database, "insert", insert_or_die)
                Study.open(pieces.path).optimize(troubled, budget=budget)
        Study.open(pieces.path).optimize(troubled, budget=budget)
        assert essence(pieces) == essence(whole)


def test_points_that_failed_while_it_was_down_are_tried_again(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE)

    def down(p: dict[str, Any]) -> float:
        raise OSError("no licence")

    assert study.optimize(down, budget=100).stop is Stop.FAILING
    failed = study.summary().evaluations
    result = study.optimize(distance, budget=100)
    assert result.fun == 0.0
    assert result.stop is Stop.EXHAUSTED
    assert result.nfev <= 30 + failed
    before = essence(study)
    assert study.optimize(distance, budget=100).stop is Stop.EXHAUSTED
    assert study.ask() == []
    assert essence(study) == before  # there is nothing to do


def test_an_early_success_counts_after_a_kill(tmp_path: Path) -> None:
    study = made(tmp_path)
    trials = study.ask()
    study.tell(trials[0].id, 1.0)

    def down(p: dict[str, Any]) -> float:
        raise OSError("no licence")

    assert study.optimize(down, budget=1000).nfev == 101


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_memory_of_a_search_comes_back_from_its_record(tmp_path: Path, direction: Any) -> None:
    """A state in a record is without its memory: no point is on disk twice, and none is lost."""

    def fun(p: dict[str, Any]) -> tuple[float, dict[str, float]]:
        return (math.nan, {}) if p["k"] == 3 else named(p)

    study = Study.create(tmp_path / "study.db", SPACE, seed=3, direction=direction, noisy=True)
    study.optimize(fun, budget=40)
    with closing(Database(study.path, write=False)) as record:
        state = json.loads(record.state()[1])
        generation = state["counts"]["generation"]
        told = [t for t in record.trials() if t.generation < generation]
    assert "memory" not in state
    memory = Memory(len(SPACE))
    remember(memory, told, SPACE, direction)
    factor = sign(direction == "maximize")
    optimizer = Optimizer(SPACE, seed=3, auto_restart=True, noisy=True)
    while optimizer.generation < generation:
        for candidate in optimizer.ask():
            value, constraints = fun(candidate.params)
            failure = Failure.VALUE if math.isnan(value) else None
            optimizer.tell(candidate, Outcome(factor * value, constraints, failure))
    assert len(memory) == len(optimizer.memory) > 30
    assert memory.state() == optimizer.memory.state()


def test_a_clock_that_is_set_back_does_not_make_failures_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made(tmp_path, DISCRETE)
    evaluated: list[str] = []

    def failing(p: dict[str, Any]) -> float:
        evaluated.append(str(p))
        raise ValueError("down")

    assert study.optimize(failing, budget=200).stop is Stop.FAILING
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)
    evaluated.clear()
    study.optimize(failing, budget=200)
    assert len(evaluated) == len(set(evaluated))
    times = [t for s in study.summary().sessions for t in (s.started, s.ended or 0.0)]
    assert times == sorted(times)
