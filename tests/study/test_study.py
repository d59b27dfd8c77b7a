"""A study from Python: what is on record, and how it goes on."""

from __future__ import annotations

import math
import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Result, Space, Stop, Study, StudyError, minimize
from saltus.execution.processes import identity
from saltus.model import fit
from saltus.search import surrogate
from saltus.study import RecordError
from saltus.study.database import Database

from .. import objectives
from ..objectives import SPACE, bowl, constrained, fails_sometimes
from .studies import DISCRETE, distance, essence, made


def test_a_study_is_minimize_with_a_memory(tmp_path: Path) -> None:
    result = made(tmp_path, noisy=True).optimize(bowl, budget=100)
    plain = minimize(bowl, SPACE, budget=100, seed=1, noisy=True)
    assert (result.params, result.fun, result.nit) == (plain.params, plain.fun, plain.nit)
    np.testing.assert_array_equal(result.history.best, plain.history.best)
    np.testing.assert_array_equal(result.history.evaluations, plain.history.evaluations)
    study = Study.open(tmp_path / "study.db")
    assert study.best is not None
    assert study.best.value == plain.fun
    assert [t.status for t in study.trials()].count("done") == 100
    assert study.space == SPACE


@pytest.mark.parametrize("fun", [bowl, fails_sometimes, constrained])
def test_in_pieces_it_is_the_same(tmp_path: Path, fun: Any) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=5)
    whole.optimize(fun, budget=30)
    for budget in (1, 2, 14, 15, 22, 30):
        pieces = tmp_path / "pieces.db"
        study = Study.open(pieces) if pieces.exists() else Study.create(pieces, SPACE, seed=5)
        result = study.optimize(fun, budget=budget)
        assert result.nfev == budget
        assert result.stop is Stop.BUDGET
    assert essence(study) == essence(whole)
    workers = Study.create(tmp_path / "workers.db", SPACE, seed=5)  # the batch was chosen there, it is 1
    workers.optimize(fun, budget=30, workers=2)
    assert [row[:5] for row in essence(workers)] == [row[:5] for row in essence(whole)]


def test_to_open_it_again_costs_one_fit_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model has found is on record with the optimizer."""
    counts: list[int] = []

    def counting(x: Any, y: Any, *others: Any, **options: Any) -> Any:
        counts.append(len(y))
        return fit(x, y, *others, **options)

    monkeypatch.setattr(surrogate, "fit", counting)
    study = made(tmp_path)
    study.optimize(bowl, budget=40)
    assert len(counts) > 10
    for budget in (41, 42, 43):
        counts.clear()
        Study.open(study.path).optimize(bowl, budget=budget)
        assert len(counts) <= 1
    counts.clear()
    (trial,) = Study.open(study.path).ask(1)  # by hand: one for the question, none for the answer
    assert len(counts) <= 1
    counts.clear()
    Study.open(study.path).tell(trial.id, bowl(trial.params))
    assert not counts


def test_a_larger_budget_later_or_at_once(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(bowl, budget=20)
    assert study.optimize(bowl, budget=10).nfev == 20  # used up already
    assert study.optimize(bowl, budget=25).nfev == 25


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
    result = study.optimize(lambda p: -bowl(p), budget=40)
    best = study.best
    assert best is not None
    assert best.value == result.fun == max(t.value for t in study.trials() if t.value is not None)
    assert result.history.best[-1] == result.fun
    again = Study.open(study.path).optimize(lambda p: -bowl(p), budget=60)
    assert again.fun >= result.fun


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
    study.optimize(objectives.hangs_sometimes, budget=4, workers=2, timeout=2)
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
    here.optimize(bowl, budget=30)
    there = Study.create(tmp_path / "there.db", SPACE, seed=1)
    with ThreadPoolExecutor(3) as pool:
        there.optimize(bowl, budget=30, executor=pool)
    assert essence(there) == essence(here)


def test_a_callback_stops_and_the_study_goes_on(tmp_path: Path) -> None:
    seen: list[int] = []

    def stop(result: Result) -> bool:
        seen.append(result.nfev)
        return len(seen) == 3

    study = made(tmp_path)
    assert study.optimize(bowl, budget=200, callback=stop).stop is Stop.CALLBACK
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1)
    whole.optimize(bowl, budget=40)
    study.optimize(bowl, budget=40)
    assert essence(study) == essence(whole)


def test_a_space_without_names(tmp_path: Path) -> None:
    space = Space([Float(-1, 1), Int(0, 9), Int(4, 4)])
    study = Study.create(tmp_path / "row.db", space, seed=1)
    study.optimize(lambda x: float(x[0] ** 2 + (x[1] - 4) ** 2), budget=40)
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


def test_a_study_can_run_in_a_thread(tmp_path: Path) -> None:
    study = made(tmp_path)
    thread = threading.Thread(target=study.optimize, args=(bowl,), kwargs={"budget": 20})
    thread.start()
    thread.join()
    assert study.summary().evaluations == 20


def test_pending_candidates_wait_for_a_larger_budget(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE)
    asked = study.ask()
    study.tell(asked[0].id, distance(asked[0].params))
    assert study.optimize(distance, budget=3).nfev == 3
    assert all(t.value == distance(t.params) for t in study.trials() if t.value is not None)
    assert study.optimize(distance, budget=9).nfev == 9


def test_a_finished_study_begins_nothing(tmp_path: Path) -> None:
    study = made(tmp_path)
    first = study.optimize(bowl, budget=500, target=1.0)
    again = study.optimize(objectives.kills_its_process, budget=500, target=1.0, workers=2)
    assert again.stop is Stop.TARGET
    assert again.nfev == first.nfev
    assert study.summary().failures == {}


@pytest.mark.parametrize(
    ("strategy", "total"),
    [("saltus", 120), ("saltus-es", 200), ("cma-es-margin", 1200)],
)
def test_restarts_come_at_the_same_place(tmp_path: Path, strategy: str, total: int) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1, strategy=strategy)
    whole.optimize(bowl, budget=total)
    assert whole.summary().restarts > 0
    pieces = Study.create(tmp_path / "pieces.db", SPACE, seed=1, strategy=strategy)
    for budget in range(total // 5, total + 1, total // 5):
        pieces.optimize(bowl, budget=budget)
    assert essence(pieces) == essence(whole)


def test_an_error_of_a_callback_ends_the_session_in_order(tmp_path: Path) -> None:
    study = made(tmp_path)

    def callback(result: Result) -> None:
        raise LookupError("my mistake")

    with pytest.raises(LookupError):
        study.optimize(bowl, budget=50, callback=callback)
    assert study.summary().sessions[-1].why == "LookupError: my mistake"
    assert study.optimize(bowl, budget=50).nfev == 50


def test_more_wrong_arguments(tmp_path: Path) -> None:
    study = made(tmp_path)
    for wrong in (0, -1, "3", True):
        with pytest.raises(ValueError, match="ask takes a positive whole number"):
            study.ask(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Study.open\(path\) opens a study, Study.create"):
        Study(str(study.path))  # type: ignore[arg-type]
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


def test_the_bar_of_a_study_begins_where_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study = made(tmp_path)
    best = study.optimize(bowl, budget=25).fun
    capfd.readouterr()
    study.optimize(bowl, budget=25, progress=True)  # a cell that is run again
    shown = capfd.readouterr().err.split("\r")[-1]
    assert "100%" in shown
    assert f"25/25 [00:00<?, ?eval/s, best {best:.6g}, restarts " in shown


@pytest.mark.parametrize(
    ("fun", "direction"), [(bowl, "minimize"), (fails_sometimes, "maximize"), (constrained, "maximize")]
)
def test_what_matters_is_in_the_record(tmp_path: Path, fun: Any, direction: Any) -> None:
    """A study that was run says the same as its result, without a run."""
    study = made(tmp_path, direction=direction)
    assert study.sensitivity() is None
    with pytest.raises(ValueError, match="predict needs at least 5 evaluations with a value"):
        study.predict([{"x": 0.0, "k": 3, "on": True}])
    result = study.optimize(fun, budget=25)
    shares = Study.open(study.path).sensitivity()
    assert shares is not None
    assert shares == result.sensitivity
    assert set(shares) == {"x", "k", "on"}
    points = [{"x": 0.0, "k": 3, "on": True}, {"x": 3.0, "k": 8, "on": False}]
    assert study.predict(points) == result.predict(points)
    trials = list(study.trials())
    assert study.sensitivity(everywhere=True) != shares
    assert list(study.trials()) == trials


def test_points_told_by_hand_count_at_once(tmp_path: Path) -> None:
    study = made(tmp_path, Space([Float(0, 1), Float()]), mean=[0.5, 2.0], sigma=1.0, population=20)
    for trial in study.ask(12):
        study.tell(trial.id, 5 * (trial.params[0] - 0.5) ** 2 + 0.01 * trial.params[1])
    assert [*(study.sensitivity() or ())] == ["x0", "x1"]
    (expected,) = study.predict([[0.5, 2.0]])
    assert expected.low < 0.02 < expected.high


LOGS = Space({"rate": Float(1e-4, 1e2, log=True), "width": Float(1e-3, 10, log=True), "k": Int(0, 20)})


def log_bowl(p: Any) -> float:
    return float(np.log(p["rate"]) ** 2 + np.log(p["width"]) ** 2 + (p["k"] - 7) ** 2)


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "cma-es"])
def test_a_study_goes_on_where_numbers_are_rounded_otherwise(
    tmp_path: Path, strategy: str, other_processor: Callable[[], None]
) -> None:
    """What was asked is read from the record."""
    study = Study.create(tmp_path / "study.db", LOGS, seed=1, strategy=strategy, batch=4)
    study.optimize(log_bowl, budget=42)
    waiting = study.ask()
    before = [trial.params for trial in study.trials()]
    assert waiting
    other_processor()
    study = Study.open(tmp_path / "study.db")
    study.tell(waiting[0].id, log_bowl(waiting[0].params))
    result = study.optimize(log_bowl, budget=70)
    assert result.nfev == 70
    trials = list(study.trials())
    assert [trial.params for trial in trials[: len(before)]] == before
    assert all(trial.value == log_bowl(trial.params) for trial in trials if trial.status == "done")
    assert study.best is not None
    assert result.params == study.best.params
    assert result.fun == log_bowl(result.params)


def test_an_objective_may_change_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def moving(p: Any) -> float:
        os.chdir(tmp_path / "elsewhere")
        return bowl(p)

    study = Study.create("study.db", SPACE, seed=1)
    assert study.optimize(moving, budget=40).nfev == 40
    assert study.best is not None
    assert not list((tmp_path / "elsewhere").iterdir())
    assert not (tmp_path / "study.db.lock").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_that_cannot_be_shown_is_a_failure_like_others(tmp_path: Path, workers: int) -> None:
    study = made(tmp_path)
    result = study.optimize(objectives.raises_unspeakable, budget=3, workers=workers)
    assert result.failures == 3
    trial = next(study.trials())
    assert trial.reason == "Unspeakable: (no message: its __str__ raised RuntimeError)"
    assert "raises_unspeakable" in (trial.stderr or "")
    assert study.optimize(bowl, budget=20).nfev == 20


@pytest.mark.parametrize("workers", [1, 2])
def test_messages_are_cut(tmp_path: Path, workers: int) -> None:
    study = made(tmp_path)
    began = time.monotonic()
    assert study.optimize(objectives.raises_at_length, budget=4, workers=workers).failures == 4
    assert time.monotonic() - began < 10
    trial = next(study.trials())
    assert trial.reason is not None
    assert trial.reason.startswith("ValueError: xxx")
    assert len(trial.reason) == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("fun", [objectives.forks, objectives.forks_and_raises])
def test_a_child_of_the_objective_says_nothing(tmp_path: Path, workers: int, fun: Any) -> None:
    study = made(tmp_path)
    result = study.optimize(fun, budget=12, workers=workers)
    assert (result.nfev, result.failures) == (12, 0)
    assert all(trial.value == bowl(trial.params) for trial in study.trials() if trial.status == "done")
    assert len(study.summary().sessions) == 1


def test_a_forged_record_ends_no_process(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.ask()
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        try:
            for who in (identity(process.pid), f"{process.pid}", "nonsense"):
                trial = study.summary().unfinished[0]
                with closing(Database(study.path, write=True)) as record:
                    record.put([replace(trial, status="running", started=1.0, process=who)])
                study.optimize(bowl, budget=study.summary().evaluations + 1)
                assert process.poll() is None
        finally:
            process.kill()


def test_a_study_and_its_result_say_what_they_are(tmp_path: Path) -> None:
    def fun(p: dict[str, Any]) -> tuple[float, dict[str, float]]:
        return bowl(p), {"stress": 10.0 - p["k"]}

    study = Study.create(tmp_path / "study.db", SPACE, seed=1, maximize=True)
    assert repr(study) == f"<Study 'study' in '{tmp_path / 'study.db'}': maximize, 3 variables>"
    for budget in (9, 9):  # the second finds everything on record
        result = study.optimize(fun, budget=budget)
        assert result.constraints == fun(result.params)[1]
        assert len(result.history.restarts) == len(result.history) > 0


def test_failures_are_counted_as_the_record_does(tmp_path: Path) -> None:
    """Not once more for each time that such a point is proposed again."""

    def fails(p: dict[str, Any]) -> float:
        if p["a"] in (1, 2, 4):
            raise ValueError("no mesh")
        return distance(p)

    study = made(tmp_path, DISCRETE, strategy="dx-nes-ici")
    result = study.optimize(fails, budget=25)
    summary = study.summary()
    assert any(t.status == "repeated" and t.failure is not None for t in study.trials())
    assert result.failures == sum(summary.failures.values())
    assert isinstance(result.error, ValueError)


def test_a_noisy_study_recommends_the_same_point_after_it_was_closed(tmp_path: Path) -> None:
    noise = np.random.default_rng(1)
    space = Space({"x": Float(-5, 5), "y": Float(-5, 5)})
    study = Study.create(tmp_path / "noisy.db", space, seed=1, noisy=True, direction="maximize")
    result = study.optimize(lambda p: -(p["x"] ** 2) - p["y"] ** 2 + noise.normal(), budget=200)
    assert result.recommended is not None
    again = Study.open(tmp_path / "noisy.db").recommended
    assert again is not None
    assert again.params == result.recommended.params
    assert again.value == result.recommended.value < result.fun
    assert again.error == result.recommended.error > 0
    assert Study.open(tmp_path / "noisy.db").head.noisy is True


@pytest.mark.parametrize("noisy", [None, False, True])
def test_what_was_said_of_noise_is_on_record(tmp_path: Path, noisy: bool | None) -> None:
    made(tmp_path, noisy=noisy)
    assert Study.open(tmp_path / "study.db").head.noisy is noisy
