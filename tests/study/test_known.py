"""Points in line, and past data, on record."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from saltus import Float, Int, Space, Study, minimize
from saltus.order import Failure, Outcome
from saltus.study import journal

from ..objectives import SPACE, bowl
from .studies import DISCRETE, distance, essence, made

TWO = Space({"x": Float(-5, 5), "k": Int(0, 20)})


def value(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + (p["k"] - 7) ** 2)


def test_a_study_with_points_is_the_search_of_minimize(tmp_path: Path) -> None:
    points = [{"k": 3}, {"x": 1.5, "k": 6}, {"x": -2.0}]
    seen: list[Any] = []

    def noting(p: dict[str, Any]) -> float:
        seen.append(dict(p))
        return value(p)

    minimize(noting, TWO, points=points, budget=30, seed=1)
    study = Study.create(tmp_path / "a.db", TWO, seed=1)
    study.enqueue(*points[:2])
    study.enqueue(points[2])
    for budget in (1, 2, 5, 30):
        study = Study.open(study.path)
        study.optimize(value, budget=budget)
    assert [t.params for t in study.trials()] == seen
    assert seen[:3] == [{"x": 0.0, "k": 3}, {"x": 1.5, "k": 6}, {"x": -2.0, "k": 10}]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("strategy", ["saltus", "dx-nes-ici"])
def test_whatever_happens_each_point_is_asked_once_and_in_order(
    tmp_path: Path, strategy: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "STATE_FOR_EACH_TRIAL", 1000)  # states are written now and then
    chance, path = random.Random(seed), tmp_path / "a.db"
    Study.create(path, TWO, seed=seed, strategy=strategy)
    lined: list[float] = []
    for turn in range(30):
        study = Study.open(path)  # as after a kill
        match chance.randrange(6):
            case 0:
                lined.append(-4.0 + turn / 16)
                study.enqueue({"x": lined[-1], "k": 20})
            case 1:
                study.ask(chance.randrange(1, 4))
            case 2:
                study.optimize(value, budget=study.summary().evaluations + chance.randrange(1, 4))
            case 3 if turn % 3 == 0:
                study.add({"x": turn / 8, "k": 1}, value({"x": turn / 8, "k": 1}))
            case 4 if turn % 5 == 0 and study.best is not None:
                study.forget([study.best.id])
            case _:
                waiting = study.summary().unfinished
                for trial in chance.sample(waiting, len(waiting)):
                    study.tell(trial.id, value(dict(trial.params)))
    study.optimize(value, budget=study.summary().evaluations + 20)
    own = [t.params["x"] for t in study.trials() if t.params["k"] == 20 and t.params["x"] in lined]
    assert [x for x in own if own.count(x) == 1] == own == lined
    assert study.summary().in_line == 0


def test_points_that_are_on_record_are_answered(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE)
    point = {"a": 3, "b": False, "c": 2}
    study.add(point, 0.0)
    study.enqueue(point)
    result = study.optimize(distance, budget=5)
    trials = list(study.trials())
    assert trials[1].status == "repeated"
    assert trials[1].repeats == 0
    assert result.fun == 0.0
    assert result.nfev == 5


def test_past_data_is_known_and_costs_nothing(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "a.db", TWO, seed=1, direction="maximize")
    points = [{"x": i / 4 - 2, "k": i} for i in range(15)]
    new = study.add(points, [-value(p) for p in points])
    assert [t.id for t in new] == [*range(15)]
    assert all(t.past and t.status == "done" for t in new)
    summary = study.summary()
    assert (summary.evaluations, summary.past, summary.generations) == (0, 15, 0)
    assert summary.best is not None
    assert summary.best.past
    result = study.optimize(lambda p: -value(p), budget=25)
    assert result.nfev == 25
    assert result.fun > -1e-6
    assert result.history.evaluations[-1] == 25
    assert study.summary().past == 15
    assert not {(t.params["x"], t.params["k"]) for t in list(study.trials())[15:]} & {
        (p["x"], p["k"]) for p in points
    }


def test_past_data_twice_is_taken_once(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE)
    point = {"a": 1, "b": True, "c": 5}
    assert len(study.add([point, point], [3.0, 3.0])) == 1
    before = essence(study)
    assert study.add(point, 3.0) == []
    assert essence(study) == before
    assert len(study.add(point, 4.0)) == 1  # another value: it is noisy


def test_constraints_and_failures_of_past_data(tmp_path: Path) -> None:
    study = made(tmp_path)
    (first,) = Study.create(tmp_path / "other.db", SPACE, seed=1).ask(1)
    point = first.params
    study.add(
        [{**point, "k": k} for k in range(5)],
        [1.0, 2.0, math.nan, Outcome(math.nan, failure=Failure.TIMEOUT), None],
        [{"mass": -1.0}, {"mass": 0.5}, None, None, None],
        failed=[None, None, None, None, "it broke"],
    )
    trials = list(study.trials())
    assert [t.status for t in trials] == ["done", "done", "failed", "failed", "failed"]
    assert [t.failure for t in trials[2:]] == [Failure.VALUE, Failure.TIMEOUT, Failure.EXCEPTION]
    assert (trials[1].violation, trials[4].reason) == (0.5, "it broke")
    assert study.best is not None
    assert study.best.id == 0
    assert study.summary().failures == {}
    study.optimize(bowl, budget=3)


def test_wrong_data_and_points_change_nothing(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "a.db", TWO, seed=1)
    good = {"x": 1.0, "k": 3}
    for call in (
        lambda: study.add([good, {"x": 9.0, "k": 3}], [1.0, 2.0]),
        lambda: study.add([good, {"x": 1.0}], [1.0, 2.0]),
        lambda: study.add([good, {**good, "q": 1}], [1.0, 2.0]),
        lambda: study.add([good], [1.0, 2.0]),
        lambda: study.add([good, good], ["1", 2.0]),
        lambda: study.enqueue(good, {"k": 21}),
        lambda: study.enqueue(good, {"q": 1}),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    assert list(study.trials()) == []
    assert study.summary().in_line == 0


def test_points_in_line_stay_when_the_search_begins_anew(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "a.db", TWO, seed=1)
    study.optimize(value, budget=5)
    study.enqueue({"x": 4.0, "k": 19}, {"x": 4.5, "k": 18})
    study.reevaluate(2)
    study.enqueue({"x": 4.25, "k": 17})  # while others wait to be evaluated
    assert study.summary().in_line == 3
    study.optimize(value, budget=12)
    assert [t.params["k"] for t in study.trials()][7:10] == [19, 18, 17]


def test_a_record_with_points_in_line_is_not_empty(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "a.db", TWO, seed=1)
    study.enqueue({"k": 3})
    assert not study.remove_if_empty()
