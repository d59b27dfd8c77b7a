"""Records of older versions become records of this one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from saltus import Study
from saltus.order import Failure
from saltus.study import RecordError
from saltus.study.migration import migrate

OLD = Path(__file__).parent / "record-0.1.db"


def objective(p: dict[str, Any]) -> tuple[float, list[float]]:
    return (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, [2 - p["x"], p["k"] - 15]


def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    shutil.copy(OLD, path)
    return path


def test_trials_of_0_1_are_past_data(tmp_path: Path) -> None:
    path, new = old(tmp_path), tmp_path / "new.db"
    assert migrate(path, new) == 42
    assert path.read_bytes()[100:] == OLD.read_bytes()[100:]
    study = Study.open(new)
    assert study.head.strategy == "saltus-es"
    trials = list(study.trials())
    with closing(sqlite3.connect(path)) as db:
        rows = list(db.execute("SELECT id, value, status FROM trials"))
    assert [(t.id, t.value, t.status) for t in trials] == rows
    assert trials[0].constraints == {"0": 1.481623711902821, "1": -2.0}
    assert [t.failure for t in trials if t.status == "failed"] == [Failure.EXCEPTION]
    summary = study.summary()
    assert summary.evaluations == 40
    assert summary.best is not None
    assert summary.best.id == 21
    assert study.sensitivity() is not None
    result = study.optimize(objective, budget=60)
    assert result.nfev == 60
    after = list(study.trials())
    assert all(t.over for t in after[:42])  # what waited was evaluated first
    assert [t.params for t in after[:42]] == [t.params for t in trials]
    assert result.fun <= summary.best.value if summary.best.value is not None else False
    assert [t.id for t in after] == list(range(len(after)))


def test_trials_of_version_4_are_past_data(tmp_path: Path) -> None:
    """A run that was killed at its 23rd evaluation."""
    path, new = tmp_path / "old.db", tmp_path / "new.db"
    shutil.copy(OLD.with_name("record-version-4.db"), path)
    with pytest.raises(RecordError, match=r"version 4.*saltus migrate"):
        Study.open(path)
    assert migrate(path, new) == 23
    study = Study.open(new)
    assert (study.head.noisy, study.head.asynchronous, study.head.strategy) == (False, False, "saltus")
    before = study.summary()
    assert before.best is not None
    result = study.optimize(objective, budget=30)
    assert result.nfev == 30
    assert result.fun <= (before.best.value or 0.0)
    assert all(t.over for t in list(study.trials())[:23])  # what waited was evaluated first


@pytest.mark.parametrize(("version", "strategy"), [(2, "saltus-es"), (3, "saltus")])
def test_trials_of_versions_between_are_past_data(tmp_path: Path, version: int, strategy: str) -> None:
    """Runs that were killed: something was running, and 28 of 30 evaluations gave a value."""
    path, new = tmp_path / "old.db", tmp_path / "new.db"
    shutil.copy(OLD.with_name(f"record-version-{version}.db"), path)
    with closing(sqlite3.connect(path)) as db:
        rows = list(db.execute("SELECT id, params, value, constraints, failure, status FROM trials"))
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
    with pytest.raises(RecordError, match=rf"version {version}.*saltus migrate"):
        Study.open(path)
    assert migrate(path, new) == len(rows)
    study = Study.open(new)
    assert (study.head.strategy, study.head.batch) == (strategy, 1)
    trials = list(study.trials())
    for trial, (id, params, value, constraints, failure, status) in zip(trials, rows, strict=True):
        assert (trial.id, trial.params, trial.value) == (id, json.loads(params), value)
        assert trial.constraints == (None if constraints is None else json.loads(constraints))
        assert (trial.failure and trial.failure.name) == failure
        assert trial.status == ("asked" if status == "running" else status)
    assert {t.failure for t in trials} == {None, Failure.EXCEPTION, Failure.VALUE}
    before = study.summary()
    assert before.evaluations == 30
    assert before.best is not None
    result = study.optimize(objective, budget=36)
    assert result.nfev == 36
    assert result.fun <= (before.best.value or 0.0)
    assert all(t.over for t in list(study.trials())[: len(trials)])  # what waited was evaluated first


def test_what_cannot_be_taken_over(tmp_path: Path) -> None:
    path, new = old(tmp_path), tmp_path / "new.db"
    with pytest.raises(RecordError, match="there is no record"):
        migrate(tmp_path / "none.db", new)
    migrate(path, new)
    with pytest.raises(RecordError, match="there is something already"):
        migrate(path, new)
    with pytest.raises(RecordError, match="migrate takes records of version 1 to 4, got one of version 5"):
        migrate(new, tmp_path / "newer.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE trials SET value = 0 WHERE id = 3")
    with pytest.raises(RecordError, match="damaged: row 3 of the table trials"):
        migrate(path, tmp_path / "damaged.db")
    (tmp_path / "other.db").write_text("no record at all")
    with pytest.raises(RecordError, match=r"damaged|not an SQLite file"):
        migrate(tmp_path / "other.db", tmp_path / "from_other.db")
    assert not list(tmp_path.glob("*.part"))
    assert not (tmp_path / "damaged.db").exists()
