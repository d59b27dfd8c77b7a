"""The record as a file: readable by others, and on bad days damaged, foreign, full, read-only, or old."""

from __future__ import annotations

import json
import math
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltus import Optimizer, Study, StudyError
from saltus._version import __version__
from saltus.order import Failure
from saltus.study import RecordError, database, rows
from saltus.study.database import Database
from saltus.study.rows import checksum

from ..objectives import SPACE, bowl, constrained
from .studies import DISCRETE, distance, essence, made


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of 60 evaluations, in one file."""
    path = tmp_path_factory.mktemp("finished") / "study.db"
    Study.create(path, SPACE, seed=1).optimize(constrained, budget=60)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    return path


def everything(path: Path) -> Any:
    """All that can be read from a record, and how it would go on."""
    study = Study.open(path)
    rows = essence(study), list(study.snapshots()), study.summary()
    with closing(Database(path, write=False)) as opened:
        state = json.loads(opened.state()[1])
    return rows, json.dumps(Optimizer.restore(state, study.space).state()), study.space, study.head


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_damage_is_noticed_or_harmless(finished: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Never a traceback, never a silent wrong value: a damaged file gives an error, or what it held."""
    original = finished.read_bytes()
    damaged = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.sampled_from([1, 1, 1, 8, 512]))
        damaged[at : at + length] = data.draw(st.binary(min_size=length, max_size=length))
    path = tmp_path / "damaged.db"
    path.write_bytes(damaged)
    try:
        read = everything(path)
    except RecordError:
        return
    assert read == everything(finished)


@pytest.mark.parametrize("table", ["trials", "points", "generations", "sessions"])
def test_rows_that_got_lost_are_noticed(finished: Path, tmp_path: Path, table: str) -> None:
    """The first page of a table says how many rows are on it: here none."""
    path = tmp_path / "lost.db"
    shutil.copy(finished, path)
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    damaged = bytearray(path.read_bytes())
    start = (page - 1) * size
    assert damaged[start + 3 : start + 5] != b"\0\0"
    damaged[start + 3 : start + 5] = b"\0\0"
    path.write_bytes(damaged)
    with pytest.raises(RecordError, match="damaged"):
        everything(path)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.binary(max_size=300), st.integers(0, 60000)))
def test_foreign_and_cut_files_are_refused(finished: Path, tmp_path: Path, what: bytes | int) -> None:
    path = tmp_path / "foreign.db"
    path.write_bytes(what if isinstance(what, bytes) else finished.read_bytes()[: what % 50000])
    if path.stat().st_size == finished.stat().st_size:
        return
    with pytest.raises(RecordError, match=str(path)):
        everything(path)


@pytest.mark.parametrize("header", ["PRAGMA application_id = 0", "PRAGMA user_version = 99"])
def test_other_databases_are_refused(finished: Path, tmp_path: Path, header: str) -> None:
    path = tmp_path / "other.db"
    shutil.copy(finished, path)
    db = sqlite3.connect(path)
    db.execute(header)
    db.commit()
    db.close()
    with pytest.raises(RecordError, match=r"not a record of Saltus|reads records of version"):
        Study.open(path)
    with pytest.raises(RecordError, match="there is something already"):
        Study.create(path, SPACE)


OLD = Path(__file__).parent / "record-0.1.db"


def test_a_record_of_saltus_0_1_is_refused(tmp_path: Path) -> None:
    """Its constraints have no names: it is not to be misread, nor touched."""
    path = tmp_path / "old.db"
    shutil.copy(OLD, path)
    for use in (Study.open, lambda path: Database(path, write=True)):
        with pytest.raises(RecordError, match="reads records of version 5, got one of version 1;") as caught:
            use(path)
        assert str(caught.value).startswith(f"{path}: Saltus {__version__} reads")
        assert f"`saltus migrate {path} NEW.db` takes its trials over" in str(caught.value)
    with pytest.raises(RecordError, match="there is something already"):
        Study.create(path, SPACE)
    assert path.read_bytes()[100:] == OLD.read_bytes()[100:]


def test_a_record_of_before_the_model_is_not_continued_with_one(finished: Path, tmp_path: Path) -> None:
    """What was called saltus then is saltus-es now."""
    path = tmp_path / "before.db"
    shutil.copy(finished, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 2")
    with pytest.raises(RecordError, match=r"got one of version 2; an older Saltus wrote it: `saltus migrate"):
        Study.open(path)


def test_a_record_of_a_later_saltus_is_refused(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "later.db"
    shutil.copy(finished, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 6")
    with pytest.raises(RecordError, match="got one of version 6; a newer Saltus wrote it"):
        Study.open(path)


def test_trials_come_back_as_they_were_put(tmp_path: Path) -> None:
    """Also what JSON cannot write, and every kind of failure."""
    study = made(tmp_path)
    asked = study.ask()
    amounts = {"a": -math.inf, "b": math.inf, "c": math.nan, "d": -0.0, "e": 0.1, "": 5e-324}
    with closing(Database(study.path, write=True)) as opened:
        for trial, failure in zip(asked, [*Failure, None], strict=False):
            put = replace(trial, status="failed", constraints=amounts, failure=failure, reason="so")
            opened.put([put])
            back = opened.trial(trial.id)
            assert repr(back) == repr(put)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM trials WHERE id = 50", "trial 50 is missing"),
        ("DELETE FROM trials WHERE id > 40", "trial 41 is missing"),
        (
            "UPDATE trials SET value = value - 1 WHERE id = 7",
            "row 7 of the table trials has a wrong checksum",
        ),
        ("UPDATE points SET params = '{}' WHERE id = 7", "wrong checksum"),
        ("DELETE FROM points WHERE id = 7", "the point of trial 7 is missing"),
        ("DELETE FROM study", "the table study is empty"),
        ("UPDATE study SET space = '{}'", "wrong checksum"),
        ("UPDATE generations SET mean = '[0]' WHERE generation = 2", "wrong checksum"),
        ("DELETE FROM state", "the table state is empty"),
        ("UPDATE state SET optimizer = replace(optimizer, '1', '2')", "wrong checksum"),
        ("DROP TABLE trials", "no such table"),
        ("DROP TABLE trials; CREATE VIEW trials AS SELECT 1", "damaged"),
    ],
)
def test_a_hand_that_changes_rows_is_noticed(
    finished: Path, tmp_path: Path, statement: str, words: str
) -> None:
    path = tmp_path / "changed.db"
    shutil.copy(finished, path)
    db = sqlite3.connect(path)
    db.executescript(statement)
    db.close()
    with pytest.raises(RecordError, match=words):
        everything(path)


def test_a_forged_state_executes_nothing(finished: Path, tmp_path: Path) -> None:
    """With right checksums, and everything in it wrong: an error, and no code is run."""
    forged: list[Any] = [
        "no json",
        "[]",
        '{"format": 2}',
        json.dumps({"format": 2, "space": {"names": ["a"], "variables": [{"kind": "os.system"}]}}),
        '{"tuple": "os.system", "fields": {"command": "touch pwned"}}',
        "[" * 100_000,
    ]
    for state in forged:
        path = tmp_path / "forged.db"
        shutil.copy(finished, path)
        db = sqlite3.connect(path, isolation_level=None)
        rows.insert(db, "state", (1, 0, state))
        db.close()
        with pytest.raises(RecordError, match="state cannot be read"):
            Study.open(path).optimize(bowl, budget=200)
    for params in ("no json", "[" * 100_000):
        db = sqlite3.connect(path, isolation_level=None)
        rows.insert(db, "points", (0, params, b""))
        db.close()
        with pytest.raises(RecordError, match="damaged"):
            list(Study.open(path).trials())
    for space in ('{"names": ["a"], "variables": [{"kind": "os.system"}]}', "3", "[" * 100_000):
        db = sqlite3.connect(path, isolation_level=None)
        head = db.execute("SELECT * FROM study").fetchone()
        rows.insert(db, "study", (*head[:2], space, *head[3:-1]))
        db.close()
        with pytest.raises(RecordError, match="space cannot be read"):
            Study.open(path)


def test_a_file_left_half_made_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.touch()  # where a kill between opening and writing leaves it
    assert not Database.is_made(path)
    assert Study.create(path, SPACE, seed=1).optimize(bowl, budget=5).nfev == 5


class Trouble:
    """Makes the n-th write from now on fail, and all after it until it is over."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, left: int, strike: Callable[[sqlite3.Connection], None]
    ):
        insert = rows.insert

        def insert_or_fail(db: sqlite3.Connection, *arguments: Any) -> None:
            self.left -= 1
            if self.left == 0:
                strike(db)
            insert(db, *arguments)

        self.left = left
        monkeypatch.setattr(database, "insert", insert_or_fail)


def fill_the_disk(db: sqlite3.Connection) -> None:
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")


def forbid_writing(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA query_only = ON")


@pytest.mark.parametrize(
    ("strike", "words"),
    [
        (fill_the_disk, "the disk is full; what was recorded before is safe"),
        (forbid_writing, "cannot be written"),
    ],
)
def test_a_write_that_fails_leaves_the_record_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strike: Any, words: str
) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=4, strategy="saltus-es")
    whole.optimize(constrained, budget=100)
    path = tmp_path / "study.db"
    Study.create(path, SPACE, seed=4, strategy="saltus-es")
    rng = random.Random(1)
    struck = 0
    for _ in range(12):
        with monkeypatch.context() as patch:
            Trouble(patch, rng.randint(1, 12), strike)
            try:
                Study.open(path).optimize(constrained, budget=100)
            except RecordError as error:
                struck += words in str(error)
        everything(path)  # all that is there can be read
    assert struck >= 3
    Study.open(path).optimize(constrained, budget=100)
    assert essence(Study.open(path)) == essence(whole)


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The limit is the operating system's: a real failure of a real write, in a process of its own."""
    path = tmp_path / "study.db"
    Study.create(path, SPACE, seed=4, strategy="saltus-es")
    program = (
        "import sys; from saltus import Study, StudyError; from tests.objectives import constrained\n"
        "try: Study.open(sys.argv[1]).optimize(constrained, budget=400)\n"
        "except StudyError as error: print(error); sys.exit(9)\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    words = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(
        words, preexec_fn=limit, capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 9, done.stderr
    assert "what was recorded before is safe" in done.stdout
    count = Study.open(path).summary().evaluations
    assert 0 < count < 400
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=4, strategy="saltus-es")
    whole.optimize(constrained, budget=400)
    Study.open(path).optimize(constrained, budget=400)
    assert essence(Study.open(path)) == essence(whole)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot write in its folder"):
        Study.create(tmp_path / "no" / "study.db", SPACE)
    assert not (tmp_path / "no").exists()


def test_the_record_is_readable_with_any_client(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(constrained, budget=30)
    db = sqlite3.connect(study.path)
    best = db.execute(
        "SELECT value, json_extract(params, '$.k') FROM trials JOIN points USING (id) "
        "WHERE status = 'done' AND violation = 0 ORDER BY value LIMIT 1"
    ).fetchone()
    expected = study.best
    assert expected is not None
    assert best == (expected.value, expected.params["k"])
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("SELECT count(*) FROM generations").fetchone()[0] == study.summary().generations
    assert json.loads(db.execute("SELECT space FROM study").fetchone()[0])["names"] == ["x", "k", "on"]
    db.close()


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


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that has evaluated and waits for a value; to be copied."""
    folder = tmp_path_factory.mktemp("waiting")
    study = made(folder)
    study.optimize(bowl, budget=12)
    study.ask()
    return folder


def forge(path: Path, table: str, column: str, value: Any) -> None:
    """Write a value into the last row of a table, with the right checksum."""
    db = sqlite3.connect(path)
    with closing(db), db:
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        row = list(db.execute(f"SELECT * FROM {table} ORDER BY {names[0]} DESC LIMIT 1").fetchone())
        row[names.index(column)] = value
        row[-1] = checksum(row[:-1])
        db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(row))})", row)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        *(("points", "params", text) for text in ("[]", "3", '{"x": 1}', "null", '{"a": "b"}')),
        *(("points", "params", f'{{"x": {x}, "k": 3, "on": true}}') for x in ("Infinity", "1e308", "NaN")),
        *(("trials", name, "text") for name in ("generation", "status", "value", "violation", "repeats")),
        *(("trials", name, "text") for name in ("attempts", "exit_code", "worker", "started", "seconds")),
        *(("trials", name, b"bytes") for name in ("reason", "stderr", "process", "constraints")),
        *(("sessions", name, "text") for name in ("started", "ended", "pid", "workers")),
        *(("sessions", name, time) for name in ("started", "ended") for time in (math.inf, 1e18)),
        ("trials", "started", -math.inf),
        ("sessions", "stop", b"bytes"),
        *(("study", name, "text") for name in ("direction", "population", "batch", "seed", "created")),
        *(("study", name, b"bytes") for name in ("name", "strategy", "version")),
        ("study", "noisy", 7),
        ("progress", "trials", math.inf),
        *(("generations", name, '["x"]') for name in ("mean", "sd", "first", "restarts")),
    ],
)
def test_forged_rows_are_errors_of_the_record(
    waiting: Path, tmp_path: Path, table: str, column: str, value: Any
) -> None:
    """Also if their checksums are right."""
    shutil.copytree(waiting, tmp_path / "copy")
    study = Study.open(tmp_path / "copy" / "study.db")
    forge(study.path, table, column, value)
    for look in (study.summary, lambda: list(study.snapshots()), lambda: study.optimize(bowl, budget=30)):
        with suppress(RecordError):
            look()
    with pytest.raises(RecordError, match="damaged"):
        Study.open(study.path).summary()


def test_an_index_that_does_not_fit_is_made_anew(tmp_path: Path) -> None:
    """By it points are found that are known."""
    study = made(tmp_path, DISCRETE)
    study.optimize(distance, budget=10)
    db = sqlite3.connect(study.path)
    with closing(db), db:
        db.execute("PRAGMA writable_schema = ON")
        (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'points_hash'").fetchone()
        db.execute("DELETE FROM sqlite_master WHERE name = 'points_hash'")
    db = sqlite3.connect(study.path)
    with closing(db), db:  # an index of nothing, under the name of the right one
        db.execute(sql + " WHERE id < 0")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'points_hash'", (sql,))
    evaluated: list[str] = []

    def counted(p: dict[str, Any]) -> float:
        evaluated.append(str(p))
        return distance(p)

    known = [str(t.params) for t in study.trials() if t.evaluated]
    study.optimize(counted, budget=30)
    assert not set(known) & set(evaluated)
