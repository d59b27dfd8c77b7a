"""A study from Python: what is on record, and how it goes on."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Ordinal, Result, Space, Stop, Study, StudyError, Trial, minimize
from saltus.study import LockedError, RecordError, database
from saltus.study.database import Database

from . import objectives
from .objectives import SPACE, bowl, constrained, fails_sometimes
from .torture import DISCRETE as DISCRETE_TORTURE
from .torture import torture

DISCRETE = Space({"a": Int(0, 4), "b": Bool(), "c": Ordinal([1, 2, 5])})


def distance(p: dict[str, Any]) -> float:
    return float((p["a"] - 3) ** 2 + p["b"] + abs(p["c"] - 2))


def made(path: Path, space: Space = SPACE, **kwargs: Any) -> Study:
    return Study.create(path / "study.db", space, **{"seed": 1, **kwargs})


def essence(study: Study) -> list[Any]:
    return [(t.id, t.params, t.status, t.value, t.constraints, t.reason, t.repeats) for t in study.trials()]


def test_a_study_is_minimize_with_a_memory(tmp_path: Path) -> None:
    result = made(tmp_path, noisy=True).optimize(bowl, budget=300)
    plain = minimize(bowl, SPACE, budget=300, seed=1)
    assert (result.params, result.fun, result.nit) == (plain.params, plain.fun, plain.nit)
    np.testing.assert_array_equal(result.history.best, plain.history.best)
    np.testing.assert_array_equal(result.history.evaluations, plain.history.evaluations)
    study = Study.open(tmp_path / "study.db")
    assert study.best is not None
    assert study.best.value == plain.fun
    assert [t.status for t in study.trials()].count("done") == 300
    assert study.space == SPACE


@pytest.mark.parametrize("fun", [bowl, fails_sometimes, constrained])
def test_in_pieces_it_is_the_same(tmp_path: Path, fun: Any) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=5)
    whole.optimize(fun, budget=150)
    for budget in (1, 2, 30, 31, 97, 150):
        pieces = tmp_path / "pieces.db"
        study = Study.open(pieces) if pieces.exists() else Study.create(pieces, SPACE, seed=5)
        result = study.optimize(fun, budget=budget)
        assert result.nfev == budget
        assert result.stop is Stop.BUDGET
    assert essence(study) == essence(whole)
    workers = Study.create(tmp_path / "workers.db", SPACE, seed=5)
    workers.optimize(fun, budget=150, workers=2)
    assert [row[:5] for row in essence(workers)] == [row[:5] for row in essence(whole)]


def test_killed_again_and_again_it_is_the_same(tmp_path: Path) -> None:
    said = torture(tmp_path / "torture", kills=6, budget=120, seed=2, floats=DISCRETE_TORTURE)
    assert "the same" in said


def test_a_larger_budget_later_or_at_once(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(bowl, budget=20)
    assert study.optimize(bowl, budget=10).nfev == 20  # used up already
    assert study.optimize(bowl, budget=25).nfev == 25


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


def test_the_target_ends_it_and_a_better_one_goes_on(tmp_path: Path) -> None:
    study = made(tmp_path)
    first = study.optimize(bowl, budget=500, target=1.0)
    assert first.stop is Stop.TARGET
    assert study.optimize(bowl, budget=500, target=1.0).nfev == first.nfev
    second = study.optimize(bowl, budget=500, target=0.01)
    assert second.nfev > first.nfev
    assert second.success


def test_maximize_keeps_the_users_signs(tmp_path: Path) -> None:
    study = made(tmp_path, direction="maximize")
    result = study.optimize(lambda p: -bowl(p), budget=200)
    best = study.best
    assert best is not None
    assert best.value == result.fun == max(t.value for t in study.trials() if t.value is not None)
    assert result.history.best[-1] == result.fun
    again = Study.open(study.path).optimize(lambda p: -bowl(p), budget=260)
    assert again.fun >= result.fun


def test_failures_are_on_record_with_their_reason(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(fails_sometimes, budget=100)
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


def test_retries(tmp_path: Path) -> None:
    calls: list[int] = []

    def flaky(p: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) % 3:
            raise ConnectionError("try again")
        return bowl(p)

    study = made(tmp_path)
    study.optimize(flaky, budget=10, retries=2)
    assert [t.status for t in study.trials()] == ["done"] * 10
    assert {t.attempts for t in study.trials()} == {3}
    assert len(calls) == 30


def test_a_timeout_ends_the_evaluation(tmp_path: Path) -> None:
    study = made(tmp_path)
    tick = time.monotonic()
    study.optimize(objectives.hangs_sometimes, budget=8, workers=2, timeout=2)
    assert time.monotonic() - tick < 30
    reasons = study.summary().failures
    assert reasons == {"timeout after 2 s": sum(t.params["k"] % 3 == 0 for t in study.trials())}
    assert reasons


def test_a_worker_that_dies_is_a_failure_with_its_signal(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(objectives.is_killed_sometimes, budget=8, workers=2)
    failed = [t for t in study.trials() if t.status == "failed"]
    assert {t.reason for t in failed} == {"the worker process was ended by SIGKILL"}
    assert {t.exit_code for t in failed} == {-9}
    assert len(failed) == sum(t.params["k"] % 3 == 0 for t in study.trials())


def test_an_executor(tmp_path: Path) -> None:
    here = made(tmp_path)
    here.optimize(bowl, budget=60)
    there = Study.create(tmp_path / "there.db", SPACE, seed=1)
    with ThreadPoolExecutor(3) as pool:
        there.optimize(bowl, budget=60, executor=pool)
    assert essence(there) == essence(here)


def test_a_callback_stops_and_the_study_goes_on(tmp_path: Path) -> None:
    seen: list[int] = []

    def stop(result: Result) -> bool:
        seen.append(result.nfev)
        return len(seen) == 3

    study = made(tmp_path)
    assert study.optimize(bowl, budget=200, callback=stop).stop is Stop.CALLBACK
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1)
    whole.optimize(bowl, budget=90)
    study.optimize(bowl, budget=90)
    assert essence(study) == essence(whole)


def test_a_space_without_names(tmp_path: Path) -> None:
    space = Space([Float(-1, 1), Int(0, 9), Int(4, 4)])
    study = Study.create(tmp_path / "row.db", space, seed=1)
    study.optimize(lambda x: float(x[0] ** 2 + (x[1] - 4) ** 2), budget=120)
    best = Study.open(study.path).best
    assert best is not None
    assert best.params[1:] == [4.0, 4.0]


def test_by_hand_it_is_the_same(tmp_path: Path) -> None:
    whole = Study.create(tmp_path / "whole.db", DISCRETE, seed=2)
    whole.optimize(distance, budget=20)
    hand = Study.create(tmp_path / "hand.db", DISCRETE, seed=2)
    count = 0
    while count < 20:
        trials = Study.open(hand.path).ask(1 + count % 3)
        for trial in reversed(trials):
            hand.tell(trial.id, distance(trial.params))
        count += len(trials)
    mine = [(t.params, t.value) for t in hand.trials() if t.status == "done"]
    assert mine[:20] == [(t.params, t.value) for t in whole.trials() if t.status == "done"]
    assert len({tuple(p.values()) for p, _ in mine}) == len(mine)


def test_asking_and_telling_is_checked(tmp_path: Path) -> None:
    study = made(tmp_path)
    trials = study.ask()
    assert study.ask() == []  # all are out
    assert [t.id for t in study.summary().unfinished] == [t.id for t in trials]
    told = study.tell(trials[0].id, 3.0, [0.5, -1])
    assert (told.value, told.violation, told.constraints) == (3.0, 0.5, {"0": 0.5, "1": -1.0})
    assert study.tell(trials[1].id, failed="spilled").reason == "spilled"
    assert study.tell(trials[2].id, math.nan).status == "failed"
    for wrong in (trials[0].id, 999, -1):
        with pytest.raises(StudyError, match=f"trial {wrong} is not waiting for a value; these are: 3, 4"):
            study.tell(wrong, 1.0)
    with pytest.raises(ValueError, match="exactly one"):
        study.tell(trials[3].id)
    with pytest.raises(TypeError, match="must be a real number"):
        study.tell(trials[3].id, "3")  # type: ignore[arg-type]
    assert len(study.summary().unfinished) == len(trials) - 3


def test_wrong_arguments_are_named_and_leave_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"direction": "up"}, "direction must be"),
        ({"strategy": "saltsu"}, "did you mean 'saltus'"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**63}, "seed must be"),
        ({"population": 7}, "try 8"),
    ]
    for kwargs, words in wrong:
        with pytest.raises(ValueError, match=words):
            Study.create(path, SPACE, **kwargs)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RecordError, match="there is no record"):
        Study.open(path)
    study = Study.create(path, SPACE)
    with pytest.raises(RecordError, match="there is something already"):
        Study.create(path, SPACE)
    with pytest.raises(RecordError, match="cannot write in its folder"):
        Study.create(tmp_path / "nowhere" / "study.db", SPACE)
    more: list[tuple[dict[str, Any], str]] = [
        ({"budget": 0}, "budget must be"),
        ({"timeout": -1}, "timeout must be"),
        ({"retries": 1.5}, "retries must be"),
        ({"workers": 0}, "workers must be"),
    ]
    for kwargs, words in more:
        with pytest.raises(ValueError, match=words):
            study.optimize(bowl, **kwargs)
    assert list(study.trials()) == []


def test_only_one_at_a_time(tmp_path: Path) -> None:
    study = made(tmp_path)
    looked: list[int] = []

    def fun(p: dict[str, Any]) -> float:
        with pytest.raises(LockedError, match=f"being run by process {os.getpid()} on "):
            Study.open(study.path).optimize(bowl, budget=3)
        looked.append(len(list(Study.open(study.path).trials())))  # looking is free
        return bowl(p)

    assert study.optimize(fun, budget=3).nfev == 3
    assert study.summary().failures == {}
    assert min(looked) >= 3
    assert not study.path.with_name("study.db.lock").exists()
    assert {p.name for p in tmp_path.iterdir()} <= {"study.db", "study.db-wal", "study.db-shm"}


def test_what_runs_is_seen_from_outside(tmp_path: Path) -> None:
    study = made(tmp_path)
    seen: list[Trial] = []

    def fun(p: dict[str, Any]) -> float:
        seen.extend(t for t in Study.open(study.path).summary().unfinished if t.status == "running")
        return bowl(p)

    study.optimize(fun, budget=3)
    assert [t.id for t in seen] == [0, 1, 2]
    assert all(t.started is not None and t.worker == 0 for t in seen)


def test_a_study_can_run_in_a_thread(tmp_path: Path) -> None:
    study = made(tmp_path)
    thread = threading.Thread(target=study.optimize, args=(bowl,), kwargs={"budget": 20})
    thread.start()
    thread.join()
    assert study.summary().evaluations == 20


CTRL_C = """
import sys, time
from saltus import Float, Space, Study
from tests.objectives import slow_square, very_slow_square

if __name__ == "__main__":
    study = Study.create(sys.argv[1], Space({"x": Float(-1, 1)}), seed=1)
    fun = {"1": slow_square, "10": very_slow_square}[sys.argv[3]]
    print(study.optimize(fun, budget=50, workers=int(sys.argv[2])).stop.name, flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_waits_and_again_ends(tmp_path: Path, workers: int, presses: int) -> None:
    script, path = tmp_path / "script.py", tmp_path / "study.db"
    script.write_text(CTRL_C)
    words = [sys.executable, str(script), str(path), str(workers), "1" if presses == 1 else "10"]
    path_of_modules = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path_of_modules}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while sum(t.status == "running" for t in _peek(path)) < workers:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.15)
        tick = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.read().decode().strip() == "INTERRUPTED"
    waited = time.monotonic() - tick
    assert process.returncode == 0
    statuses = [t.status for t in Study.open(path).trials()]
    if presses == 1:
        assert waited > 0.3
        assert statuses.count("done") == workers
    else:
        assert waited < 5  # an evaluation takes 10 s
        assert statuses.count("done") == 0
    assert set(statuses) <= {"done", "asked"}
    again = Study.open(path)
    again.optimize(lambda p: p["x"] ** 2, budget=30)
    assert again.summary().evaluations == 30


def _peek(path: Path) -> list[Trial]:
    try:
        return list(Study.open(path).trials())
    except RecordError:
        return []  # not there, or just being made


def test_the_record_is_readable_with_any_client(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(constrained, budget=30)
    db = sqlite3.connect(study.path)
    best = db.execute(
        "SELECT value, json_extract(params, '$.k') FROM trials "
        "WHERE status = 'done' AND violation = 0 ORDER BY value LIMIT 1"
    ).fetchone()
    expected = study.best
    assert expected is not None
    assert best == (expected.value, expected.params["k"])
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("SELECT count(*) FROM generations").fetchone()[0] == study.summary().generations
    assert json.loads(db.execute("SELECT space FROM study").fetchone()[0])["names"] == ["x", "k", "on"]
    db.close()


def test_a_state_is_written_with_its_generation(tmp_path: Path) -> None:
    """Whatever the moment, the state in the record fits the trials in it."""
    study = made(tmp_path)
    seen: list[tuple[int, int, Any]] = []

    def fun(p: dict[str, Any]) -> float:
        with closing(Database(study.path, write=False)) as record:
            count, _, state = record.state()
            seen.append((count, len(list(record.trials())), json.loads(state)["sampled"]))
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


def test_pending_candidates_wait_for_a_larger_budget(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE)
    asked = study.ask()
    study.tell(asked[0].id, distance(asked[0].params))
    assert study.optimize(distance, budget=3).nfev == 3
    assert all(t.value == distance(t.params) for t in study.trials() if t.value is not None)
    assert study.optimize(distance, budget=9).nfev == 9


def test_a_finished_study_begins_nothing(tmp_path: Path) -> None:
    study = made(tmp_path)
    first = study.optimize(bowl, budget=500, target=1.0, workers=2)
    again = study.optimize(objectives.kills_its_process, budget=500, target=1.0, workers=2)
    assert again.stop is Stop.TARGET
    assert again.nfev == first.nfev
    assert study.summary().failures == {}


@pytest.mark.parametrize(
    ("strategy", "total"), [("saltus", 800), ("dx-nes-ici", 3000), ("cma-es-margin", 1600)]
)
def test_restarts_come_at_the_same_place(tmp_path: Path, strategy: str, total: int) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1, strategy=strategy, noisy=True)
    whole.optimize(bowl, budget=total)
    assert whole.summary().restarts > 0
    pieces = Study.create(tmp_path / "pieces.db", SPACE, seed=1, strategy=strategy, noisy=True)
    for budget in range(total // 20, total + 1, total // 20):
        pieces.optimize(bowl, budget=budget)
    assert essence(pieces) == essence(whole)


def test_an_exhausted_space_ends_at_the_same_place(tmp_path: Path) -> None:
    space = Space({"a": Int(0, 15), "b": Int(0, 15)})

    def fun(p: dict[str, Any]) -> float:
        return float((p["a"] - 3) ** 2 + (p["b"] - 3) ** 2)

    whole = Study.create(tmp_path / "whole.db", space, seed=1)
    result = whole.optimize(fun, budget=256)
    pieces = Study.create(tmp_path / "pieces.db", space, seed=1)
    stopped = 0

    def sometimes(intermediate: Result) -> bool:
        nonlocal stopped
        stopped += 1
        return stopped % 60 == 0

    while pieces.optimize(fun, budget=256, callback=sometimes).stop is Stop.CALLBACK:
        pass
    assert essence(pieces) == essence(whole)
    assert result.stop in (Stop.EXHAUSTED, Stop.BUDGET)


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
    budget = 40 if mixed else 22
    rng = random.Random(1)
    insert = database._insert
    left = 0

    def insert_or_die(db: sqlite3.Connection, *arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise SystemExit
        insert(db, *arguments)

    for seed in range(3):
        whole = Study.create(tmp_path / f"whole{seed}.db", space, seed=seed)
        whole.optimize(troubled, budget=budget)
        pieces = Study.create(tmp_path / f"pieces{seed}.db", space, seed=seed)
        for _ in range(20):
            left = rng.randint(1, 30)
            with monkeypatch.context() as patch, suppress(SystemExit):
                patch.setattr(database, "_insert", insert_or_die)
                Study.open(pieces.path).optimize(troubled, budget=budget)
        Study.open(pieces.path).optimize(troubled, budget=budget)
        assert essence(pieces) == essence(whole)


def test_dear_outcomes_are_forced_to_the_disk(tmp_path: Path) -> None:
    study = made(tmp_path)
    trials = study.ask()
    with closing(Database(study.path, write=True)) as opened:
        statements: list[str] = []
        opened._db.set_trace_callback(statements.append)
        for trial, seconds in zip(trials, (3600.0, 3600.0, 0.001), strict=False):
            opened.put([replace(trial, status="done", value=1.0, seconds=seconds)])
    modes = [s.rpartition(" ")[2] for s in statements if "synchronous" in s]
    assert modes == ["FULL", "FULL", "NORMAL"]  # the cheap one, right after the others, may wait


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


def test_an_error_of_a_callback_ends_the_session_in_order(tmp_path: Path) -> None:
    study = made(tmp_path)

    def callback(result: Result) -> None:
        raise LookupError("my mistake")

    with pytest.raises(LookupError):
        study.optimize(bowl, budget=50, callback=callback)
    assert study.summary().sessions[-1].why == "LookupError: my mistake"
    assert study.optimize(bowl, budget=50).nfev == 50


FORKS = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from saltus import Float, Space, Study

def fun(p):
    time.sleep(3)
    return p["x"] ** 2

if __name__ == "__main__":
    study = Study.create(sys.argv[1], Space({"x": Float(-1, 1)}), seed=1)
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        study.optimize(fun, budget=50, executor=pool)
"""


def test_forked_workers_do_not_hold_the_lock_of_a_dead_process(tmp_path: Path) -> None:
    script, path = tmp_path / "script.py", tmp_path / "study.db"
    script.write_text(FORKS)
    with subprocess.Popen([sys.executable, str(script), str(path)], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while not _peek(path):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)  # now its workers are forked
        process.kill()
    assert Study.open(path).optimize(lambda p: float(p["x"] ** 2), budget=10).nfev == 10


def test_more_wrong_arguments(tmp_path: Path) -> None:
    study = made(tmp_path)
    for wrong in (0, -1, "3", True):
        with pytest.raises(ValueError, match="ask takes a positive whole number"):
            study.ask(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name must be text"):
        Study.create(tmp_path / "five.db", SPACE, name=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="noisy must be"):
        Study.create(tmp_path / "five.db", SPACE, noisy="yes")  # type: ignore[arg-type]
    with pytest.raises(RecordError, match="this is a folder"):
        Study.create(tmp_path, SPACE)
    trial = study.ask(1)[0]
    assert study.tell(np.int64(trial.id), 1.0).value == 1.0  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 2,000,000"):
        study.optimize(bowl, timeout=math.inf)
    with pytest.raises(ValueError, match="budget must be"):
        study.optimize(bowl, budget="a", progress=True)  # type: ignore[arg-type]
    assert study.optimize(bowl, budget=6, max_seconds=1e12).nfev == 6


def test_no_second_attempt_after_ctrl_c(tmp_path: Path) -> None:
    study = made(tmp_path)
    attempts: list[int] = []

    def fails(p: dict[str, Any]) -> float:
        attempts.append(1)
        if len(attempts) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        raise OSError("again")

    assert study.optimize(fails, budget=10, retries=1000).stop is Stop.INTERRUPTED
    assert len(attempts) == 3
    assert [t.status for t in study.trials()].count("asked") == len(list(study.trials()))
