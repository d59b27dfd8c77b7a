"""Records of older versions: their trials are taken over into a new record, as past data.

The old file is only read, and stays as it is.
"""

import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

from .._version import __version__
from ..order import Failure
from ..space import Space
from . import anew
from .connection import connected
from .database import APPLICATION, VERSION, Database
from .errors import RecordError
from .lock import locked
from .rows import checksum
from .trial import Head, Session, Snapshot, Trial

# how reasons of failures begin where their kind is not on record
_KINDS = {
    "the value is": Failure.VALUE,
    "a constraint is": Failure.CONSTRAINT,
    "timeout": Failure.TIMEOUT,
    "the worker process": Failure.DIED,
    "ended with": Failure.DIED,
    "was ended by": Failure.DIED,
}


def migrate(old: Path, new: Path) -> int:
    """Make a record of this version from one of an older Saltus, and say how many trials there are.

    Args:
        old: a record of version 1 (Saltus 0.1) to 4.
        new: the file to be made.

    What was evaluated is past data for a search that begins anew; what was asked and not evaluated is
    evaluated first. What was called "saltus" before there was a model is "saltus-es".
    """
    if not old.is_file():
        raise RecordError(f"{old}: there is no record")
    try:
        with closing(connected(old, write=False)) as db:
            version = _version(db, old)
            db.row_factory = sqlite3.Row
            (row,) = _rows(db, old, "study")
            head = _head(row, version)
            (state,) = _rows(db, old, "state")
            points = {row["id"]: row for row in _rows(db, old, "points")} if version >= 4 else {}
            trials = [_trial(row | points.get(row["id"], {})) for row in _rows(db, old, "trials")]
            snapshots = [_snapshot(row) for row in _rows(db, old, "generations")]
            sessions = [_taken(Session, row) for row in _rows(db, old, "sessions")]
            last = max((t.generation + 1 for t in trials), default=0)
            going_on = anew.mark(json.loads(state["optimizer"]), last)
    except RecordError:
        raise
    except (sqlite3.Error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise RecordError(f"{old}: the record is damaged: {error}") from error
    with locked(new):
        if Database.is_made(new):
            raise RecordError(f"{new}: there is something already; another name is needed")
        half = new.with_name(new.name + ".part")
        half.unlink(missing_ok=True)
        Database.create(half, head, going_on)
        with closing(Database(half, write=True)) as database:
            for snapshot in snapshots:
                database.add([], snapshot, None)
            for number, session in enumerate(sessions):
                database.put_session(number, session)
            database.add(trials, None, going_on)
        os.replace(half, new)  # never half a record
    return len(trials)


def _version(db: sqlite3.Connection, path: Path) -> int:
    application, version = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise RecordError(f"{path}: this SQLite file is not a record of Saltus")
    if not 1 <= version < VERSION:
        raise RecordError(
            f"{path}: migrate takes records of version 1 to {VERSION - 1}, got one of version {version}"
        )
    return version


def _rows(db: sqlite3.Connection, path: Path, table: str) -> Iterator[dict[str, Any]]:
    for row in db.execute(f"SELECT * FROM {table} ORDER BY 1"):
        if checksum(row[:-1]) != row[-1]:
            raise RecordError(f"{path}: the record is damaged: row {row[0]!r} of the table {table}")
        yield dict(row)


def _taken(kind: Any, row: dict[str, Any], **other: Any) -> Any:
    """The columns that a row still has today."""
    names = [field.name for field in fields(kind)]
    return kind(**{name: row[name] for name in names if name in row} | other)


def _head(row: dict[str, Any], version: int) -> Head:
    strategy = "saltus-es" if version < 3 and row["strategy"] == "saltus" else row["strategy"]
    space = Space.from_plain(json.loads(row["space"]))
    noisy = {1: True, -1: False}.get(row["noisy"])
    made = {"batch": row.get("batch", 1), "noisy": noisy, "asynchronous": False, "version": __version__}
    head: Head = _taken(Head, row, space=space, strategy=strategy, **made)
    return head


def _trial(row: dict[str, Any]) -> Trial:
    given = None if row["constraints"] is None else json.loads(row["constraints"])
    if isinstance(given, list):  # in 0.1 they had no names
        given = {str(i): amount for i, amount in enumerate(given)}
    amounts = None
    if given is not None:
        amounts = {name: math.nan if c is None else float(c) for name, c in given.items()}
    failure = None
    if row.get("failure") is not None:
        failure = Failure[row["failure"]]
    elif row["reason"] is not None:
        kinds = (kind for words, kind in _KINDS.items() if row["reason"].startswith(words))
        failure = next(kinds, Failure.EXCEPTION)
    status = "asked" if row["status"] == "running" else row["status"]
    now = {"params": json.loads(row["params"]), "status": status, "process": None}
    trial: Trial = _taken(Trial, row, constraints=amounts, failure=failure, **now)
    return trial


def _snapshot(row: dict[str, Any]) -> Snapshot:
    mean, sd = (tuple(map(float, json.loads(row[name]))) for name in ("mean", "sd"))
    snapshot: Snapshot = _taken(Snapshot, row, mean=mean, sd=sd)
    return snapshot
