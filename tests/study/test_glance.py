"""A study at a glance: the same as its summary says, read piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltus import Evaluation
from saltus.study import RecordError
from saltus.study.database import Database
from saltus.study.glance import Glance, Watcher

from ..objectives import bowl, constrained, fails_sometimes
from .studies import DISCRETE, distance, made


def facts(glance: Glance) -> list[Any]:
    best = glance.best
    return [glance.evaluations, None if best is None else best.id, glance.failures, glance.restarts]


@pytest.mark.parametrize("fun", [bowl, constrained, fails_sometimes])
def test_it_agrees_with_the_summary_at_every_evaluation(tmp_path: Path, fun: Any) -> None:
    study = made(tmp_path, strategy="saltus-es")
    watcher, seen = Watcher(study.path), []

    def look(evaluation: Evaluation) -> None:
        glance, summary = watcher.look(), study.summary()
        best = None if summary.best is None else summary.best.id
        failed = sum(summary.failures.values())
        assert facts(glance) == [summary.evaluations, best, failed, summary.restarts]
        assert glance.alive
        assert [t.id for t in glance.running] == [t.id for t in summary.unfinished if t.status == "running"]
        seen.append(glance)

    study.optimize(fun, budget=60, on_evaluation=look)
    assert [g.evaluations for g in seen] == [*range(1, 61)]
    last = watcher.look()
    assert not last.alive
    assert last.session is not None
    assert last.session.why == "The budget of evaluations was used up."
    assert facts(last) == facts(Watcher(study.path).look())  # in one piece


def test_the_trend_is_that_of_the_best_value(tmp_path: Path) -> None:
    study = made(tmp_path, direction="maximize", strategy="saltus-es")
    study.optimize(lambda p: -bowl(p), budget=60)
    glance = Watcher(study.path).look()
    values = [t.value for t in study.trials() if t.value is not None]
    assert [v for _, v in glance.trend] == sorted({max(values[: i + 1]) for i in range(len(values))})
    assert glance.best is not None
    assert glance.trend[-1][1] == glance.best.value
    assert glance.since_best == 60 - glance.trend[-1][0]


def test_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, firsts = made(tmp_path, strategy="saltus-es"), []
    read = Database.trials_from
    monkeypatch.setattr(Database, "trials_from", lambda self, id: firsts.append(id) or read(self, id))  # type: ignore[func-returns-value]
    watcher = Watcher(study.path)

    def look(evaluation: Evaluation) -> None:
        if evaluation.number % 10 == 0:
            watcher.look()

    study.optimize(bowl, budget=30, on_evaluation=look)
    assert len(firsts) == 3
    assert firsts[0] < firsts[1] < firsts[2]
    assert firsts[2] >= 18


def test_what_is_answered_from_the_record_is_no_evaluation(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE, strategy="saltus-es")
    result = study.optimize(distance, budget=300)
    assert Watcher(study.path).look().evaluations == result.nfev


def test_trials_that_are_forgotten_count_no_more(tmp_path: Path) -> None:
    study = made(tmp_path, strategy="saltus-es")
    study.optimize(bowl, budget=20)
    watcher = Watcher(study.path)
    before = watcher.look().best
    assert before is not None
    study.forget([before.id])
    study.optimize(bowl, budget=19)  # another session, of no evaluation
    after = watcher.look()
    assert after.evaluations == 19
    assert after.best is not None
    assert after.best.id != before.id


def test_how_fast_it_goes(tmp_path: Path) -> None:
    study = made(tmp_path, strategy="saltus-es")
    assert Watcher(study.path).look().pace is None
    study.optimize(bowl, budget=300)
    glance = Watcher(study.path).look()
    assert glance.pace is not None
    assert glance.seconds is not None
    assert glance.session is not None
    assert glance.session.ended is not None
    assert glance.pace >= 200 / (glance.session.ended - glance.session.started)


def test_there_may_be_no_record_yet(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path / "study.db")
    with pytest.raises(RecordError, match="there is no record"):
        watcher.look()
    made(tmp_path)
    assert watcher.look().session is None
