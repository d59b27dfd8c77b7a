"""The record: one SQLite file that holds a study, readable with any SQLite client (docs/record.md).

Everything is written in transactions that either happened or did not: a process that is killed loses
nothing. Outcomes are also forced to the disk at once; those that took less than SYNC_INTERVAL may wait so
long, and be paid again when the power fails. Each row has a checksum: damage is never taken for data.
"""

import json
import math
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from .._typing import Params
from .._version import __version__
from ..space import Space
from .connection import connected, explained
from .errors import RecordError
from .points import Points
from .rows import as_json, checksum, hash_of, insert, point_row, trial_of, trial_row, typed
from .trial import Head, Session, Snapshot, Tell, Trial

APPLICATION = 0x53414C54  # "SALT": says in the file's header whose it is
# of schema.sql; 1 was that of Saltus 0.1: constraints without names, no kind of failure; in 2 there was no
# batch, and the strategy "saltus" was what is "saltus-es" now; in 3 the state was written with every batch;
# in 4 every study waited for its batches
VERSION = 5
SYNC_INTERVAL = 0.05  # seconds
_WITH_POINTS = "SELECT trials.*, points.* FROM trials LEFT JOIN points USING (id)"

# on record, whether the objective is noisy: it is not, nobody has said, it is
_SAID = {-1: False, 0: None, 1: True}
_NOISY = {said: number for number, said in _SAID.items()}
_TRUTH = {0: False, 1: True}


class Database:
    """A connection to the file of a record: every row that is written or read passes through it.

    It knows tables and rows, checks every row that it reads, and turns errors of SQLite into a `RecordError`
    that says what to do; which rows belong together is the business of the `Journal`.
    """

    def __init__(self, path: Path, *, write: bool) -> None:
        """Open a file that is a record; `create` makes one."""
        self.path = path
        self._synced = -math.inf
        if path.is_dir():
            raise RecordError(f"{path}: this is a folder, not a record")
        if not path.is_file():
            raise RecordError(f"{path}: there is no record")
        if path.stat().st_size == 0:
            raise RecordError(f"{path}: this file is empty, not a record")
        self._db = connected(path, write)
        try:
            self._file = os.stat(path)
        except FileNotFoundError:  # somebody has just removed it
            self._db.close()
            raise RecordError(f"{path}: there is no record") from None
        try:
            with explained(self.path):
                self._check_header()
            self.head = self._head()
            self._points = Points(self.head.space)
            if write:
                self._check_index()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path, head: Head, state: str) -> None:
        """Write an empty record. An empty file, or one that was left half made, is taken over."""
        if cls.is_made(path):
            other = "Study.open opens it, another name begins anew"
            raise RecordError(f"{path}: there is something already; {other}")
        db = connected(path, write=True)
        with explained(path), closing(db), db:
            db.execute("BEGIN IMMEDIATE")
            schema = files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
            for statement in schema.split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            row = head.as_dict() | {
                "space": json.dumps(head.space.to_plain()),
                "noisy": _NOISY[head.noisy],
                "asynchronous": int(head.asynchronous),
            }
            insert(db, "study", (1, *row.values()))
            insert(db, "state", (1, 0, state))
            insert(db, "progress", (1, 0, 0))

    @staticmethod
    def is_made(path: Path) -> bool:
        """Whether there is something in the file: a record, or anything else that must not be lost."""
        if not path.exists() or path.stat().st_size == 0:
            return False
        with explained(path), closing(connected(path, write=False)) as db:
            (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (application,) = db.execute("PRAGMA application_id").fetchone()
            return bool(tables or application)

    def _check_header(self) -> None:
        names = "application_id", "user_version"
        application, version = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if application != APPLICATION:
            raise RecordError(f"{self.path}: this SQLite file is not a record of Saltus")
        if version != VERSION:
            advice = "a newer Saltus wrote it: update this one"
            if version < VERSION:
                advice = (
                    f"an older Saltus wrote it: `saltus migrate {self.path} NEW.db` takes its trials over"
                )
            here = f"Saltus {__version__} reads records of version {VERSION}"
            raise RecordError(f"{self.path}: {here}, got one of version {version}; {advice}")

    def _check_index(self) -> None:
        """Repeats are found by the index of points: one that does not fit its table is made anew."""
        with explained(self.path):
            (said,) = self._db.execute("PRAGMA integrity_check(points)").fetchone()
            if said != "ok":
                self._db.execute("REINDEX points_hash")

    def _head(self) -> Head:
        with self._understanding("study"):
            head = Head(*self._only_row("study"))
            noisy, asynchronous = _SAID[int(head.noisy or 0)], _TRUTH[int(head.asynchronous)]
        try:
            head = replace(head, space=Space.from_plain(json.loads(str(head.space))))
        except Exception as error:  # whatever a foreign file may hold
            what = f"the record is damaged: its space cannot be read ({error})"
            raise RecordError(f"{self.path}: {what}") from error
        with self._understanding("study"):
            return typed(replace(head, noisy=noisy, asynchronous=asynchronous))

    # writing

    def add(
        self,
        trials: Iterable[Trial],
        snapshot: Snapshot | None,
        state: str | None,
        *,
        untold: bool = False,
    ) -> None:
        """Write a generation, or a part of it, and perhaps the optimizer that asked it: all or nothing.

        Args:
            trials: the new ones.
            snapshot: where the search was looking, if the generation is new.
            state: the optimizer, as JSON; None: it follows from the one on record and what was told since.
            untold: the search begins anew, so what it was told before is of no interest any more.
        """
        self._check_still_there()
        with self._writing():
            if snapshot is not None:
                *numbers, mean, sd = astuple(snapshot)
                insert(self._db, "generations", (*numbers, json.dumps(mean), json.dumps(sd)))
            for trial in trials:
                insert(self._db, "points", point_row(trial))
                insert(self._db, "trials", trial_row(trial))
            (count,) = self._db.execute("SELECT coalesce(max(id) + 1, 0) FROM trials").fetchone()
            if untold:
                self._db.execute("DELETE FROM tells")
            self._note_progress(count)
            if state is not None:
                insert(self._db, "state", (1, count, state))

    def _check_still_there(self) -> None:
        """What is written to a file that was removed is lost: better to stop."""
        with suppress(OSError):
            if os.path.samestat(os.stat(self.path), self._file):
                return
        raise RecordError(f"{self.path}: the record was removed or replaced while the study was running")

    def _note_progress(self, trials: int) -> None:
        """So many trials there are; and so many tells: rows that are missing at the end are noticed."""
        (tells,) = self._db.execute("SELECT coalesce(max(number) + 1, 0) FROM tells").fetchone()
        insert(self._db, "progress", (1, trials, tells))

    def put(self, trials: Iterable[Trial], tell: Tell | None = None) -> None:
        """Write what is known about trials now, over what was known before; and that the search was told it.

        An outcome that took long is forced to the disk at once; others may wait a moment, and that an
        evaluation is running may be lost.
        """
        rows = list(trials)
        over = [t for t in rows if t.status != "running"]
        dear = any(t.seconds is None or t.seconds >= SYNC_INTERVAL for t in over)
        late = time.monotonic() - self._synced >= SYNC_INTERVAL
        with self._writing(sync=dear or (late and bool(over))):
            for trial in rows:
                insert(self._db, "trials", trial_row(trial))
            if tell is not None:
                count, number = self._progress()
                insert(self._db, "tells", (number, *astuple(tell)))
                self._note_progress(count)

    def put_session(self, number: int, session: Session) -> None:
        """Write what is known about a process that runs the study: when it begins, and when it has ended."""
        with self._writing():
            insert(self._db, "sessions", (number, *astuple(session)))

    # reading

    def state(self) -> tuple[int, str]:
        """How many trials there were when the optimizer was last written, and the optimizer."""
        with self._understanding("state"):
            trials, optimizer = self._only_row("state")
            return int(trials), str(optimizer)

    def count_trials(self) -> int:
        """How many there are."""
        return self._progress()[0]

    def _progress(self) -> tuple[int, int]:
        with self._understanding("progress"):
            trials, tells = self._only_row("progress")
            return int(trials), int(tells)

    def tells(self) -> list[Tell]:
        """What an asynchronous search was told, in this order; a synchronous one needs none."""
        trials, count = self._progress()
        rows = self._rows("tells", "ORDER BY number")
        if [row[0] for row in rows] != [*range(count)]:
            raise self._damaged("a row of the table tells is missing")
        with self._understanding("tells"):
            tells = [typed(Tell(*row[1:])) for row in rows]
            asked = [tell.asked for tell in tells]
            if len({tell.trial for tell in tells}) < count or sorted(asked) != asked:
                raise ValueError("each trial can be told once, after it was asked")
            if any(not 0 <= tell.trial < tell.asked <= trials for tell in tells):
                raise ValueError("a trial cannot be told before it was asked")
        return tells

    def count_evaluations(self) -> tuple[int, int]:
        """How many trials were evaluated, with success or not, and how many of them failed; no past data."""
        which = "SELECT count(*) FROM trials WHERE generation >= 0 AND status ="
        failed = self._count(f"{which} 'failed'")
        return failed + self._count(f"{which} 'done'"), failed

    def count_forgotten(self) -> int:
        """How many trials count no more."""
        return self._count("SELECT count(*) FROM trials WHERE status = 'forgotten'")

    def count_past(self) -> int:
        """How many trials are past data that counts."""
        which = "generation < 0 AND status IN ('done', 'failed')"
        return self._count(f"SELECT count(*) FROM trials WHERE {which}")

    def trial(self, id: int) -> Trial:
        """The trial of this number as it is on record; one that is not there is a RecordError."""
        for trial in self._trials("WHERE trials.id = ?", id):
            return trial
        raise self._damaged(f"trial {id} is missing")

    def find(self, params: Params) -> Trial | None:
        """The last trial with exactly these values that is no repeat itself and counts, or None."""
        text = as_json(params)
        which = "WHERE hash = ? AND repeats IS NULL AND status != 'forgotten' ORDER BY trials.id DESC LIMIT 1"
        for trial in self._trials(which, hash_of(text)):
            return trial if as_json(trial.params) == text else None
        return None

    def count_points(self, failures_since: float) -> int:
        """How many different points have an outcome that holds: a value, or a failure since then."""
        holds = "status = 'done' OR (status = 'failed' AND coalesce(started, 0) >= ?)"
        both = "trials JOIN points USING (id)"
        return self._count(f"SELECT count(DISTINCT hash) FROM {both} WHERE {holds}", failures_since)

    def names_of_constraints(self) -> list[str] | None:
        """Those of the last trial that gave a value; None if there is none."""
        for trial in self._trials("WHERE status = 'done' ORDER BY trials.id DESC LIMIT 1"):
            return list(trial.constraints or ())
        return None

    def repeats_in_a_row(self) -> int:
        """How many of the last trials repeat others."""
        last = "SELECT id FROM trials WHERE repeats IS NULL ORDER BY id DESC LIMIT 1"
        return self._count(f"SELECT count(*) FROM trials WHERE id > coalesce(({last}), -1)")

    def trials(self, first: int = 0) -> Iterator[Trial]:
        """All trials from a number on, in the order asked, one at a time: memory does not grow."""
        expected, count = self.count_trials(), first
        for trial in self._trials("WHERE trials.id >= ? ORDER BY trials.id", first):
            if trial.id != count:
                raise self._damaged(f"trial {count} is missing")
            count += 1
            yield trial
        if count < expected:  # more may have been asked since
            raise self._damaged(f"trial {count} is missing")

    def trials_from(self, id: int) -> Iterator[Trial]:
        """The trials of this number and later, in the order asked: what is new to somebody who looks on."""
        return self._trials("WHERE trials.id >= ? ORDER BY trials.id", id)

    def restarts(self) -> int:
        """How many runs there were before the present one."""
        for row in self._rows("generations", "ORDER BY generation DESC LIMIT 1"):
            return int(row[2])
        return 0

    def unfinished(self) -> list[Trial]:
        """The trials that are asked or running."""
        return list(self._trials("WHERE status IN ('asked', 'running') ORDER BY trials.id"))

    def _trials(self, condition: str, *values: Any) -> Iterator[Trial]:
        with explained(self.path):
            rows = self._db.execute(f"{_WITH_POINTS} {condition}", values)
            with self._understanding("trials"):  # once, not for each of many rows
                for row in rows:
                    trial, point = self._checked("trials", row[:-4]), row[-4:]
                    if point[0] is None:
                        raise self._damaged(f"the point of trial {trial[0]} is missing")
                    params = json.loads(self._checked("points", point)[1])
                    self._points.check(params)
                    yield trial_of(trial, params)

    def snapshots(self, first: int = 0) -> Iterator[Snapshot]:
        """All generations from a number on, one at a time."""
        if not first:
            self._check_complete("generations")
        every = "SELECT * FROM generations WHERE generation >= ? ORDER BY generation"
        with explained(self.path):
            for row in self._db.execute(every, (first,)):
                with self._understanding("generations"):
                    generation, first, restarts, *lists = self._checked("generations", row)
                    mean, sd = (tuple(map(float, json.loads(v))) for v in lists)
                    snapshot = typed(Snapshot(generation, first, restarts, mean, sd))
                yield snapshot

    def sessions(self) -> list[Session]:
        """The processes that ran the study, oldest first."""
        self._check_complete("sessions")
        with self._understanding("sessions"):
            return [typed(Session(*row[1:])) for row in self._rows("sessions", "ORDER BY id")]

    def _check_complete(self, table: str) -> None:
        """Rows may not have got lost, where nothing else on record says how many there are."""
        with explained(self.path):
            (said,) = self._db.execute(f"PRAGMA integrity_check({table})").fetchone()
        if said != "ok":
            raise self._damaged(f"rows of the table {table} are missing")

    def _only_row(self, table: str) -> tuple[Any, ...]:
        """The row of a table that has one, without its id."""
        for row in self._rows(table, "LIMIT 1"):
            return row[1:]
        raise self._damaged(f"the table {table} is empty")

    def _count(self, query: str, *values: Any) -> int:
        with explained(self.path):
            return int(self._db.execute(query, values).fetchone()[0])

    def _rows(self, table: str, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        with explained(self.path):
            rows = self._db.execute(f"SELECT * FROM {table} {condition}", values).fetchall()
        return [self._checked(table, row) for row in rows]

    def _checked(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The row without its checksum, which must be right."""
        if checksum(row[:-1]) != row[-1]:
            raise self._damaged(f"row {row[0]!r} of the table {table} has a wrong checksum")
        return row[:-1]

    def _damaged(self, what: str) -> RecordError:
        return RecordError(f"{self.path}: the record is damaged: {what}; use a copy that is not")

    @contextmanager
    def _understanding(self, table: str) -> Iterator[None]:
        """What stands in a row must mean something, also if its checksum is right."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise self._damaged(f"the table {table}: {error}") from error

    @contextmanager
    def _writing(self, sync: bool = False) -> Iterator[None]:
        """A transaction; `sync` forces it to the disk, with all that was written before."""
        with explained(self.path):
            self._db.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            with self._db:  # committed at the end, or rolled back
                self._db.execute("BEGIN IMMEDIATE")
                yield
            if sync:
                self._synced = time.monotonic()

    def close(self) -> None:
        """Close the file; the write-ahead log is merged into it."""
        with suppress(sqlite3.Error):
            self._db.close()
