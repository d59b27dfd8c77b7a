"""Rows of a record: what objects become in a table, and back; their checksums, and what a row may hold."""

import hashlib
import json
import math
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin

from .._typing import Params
from ..order import Failure
from .trial import Head, Session, Snapshot, Tell, Trial

R = TypeVar("R", Head, Trial, Session, Snapshot, Tell)
# of the table trials
_COLUMNS = tuple(field.name for field in fields(Trial) if field.name != "params")


def _types_of(kind: Any) -> frozenset[Any]:
    """What an annotation allows: types, and the values of a Literal."""
    if get_origin(kind) is Literal:
        return frozenset(get_args(kind))
    if isinstance(kind, UnionType):
        return frozenset().union(*map(_types_of, get_args(kind)))
    return frozenset({float, int}) if kind is float else frozenset({get_origin(kind) or kind})


_encoded = json.JSONEncoder(default=bytes.hex).encode  # made once: a long record has many rows
_TIMES = ("created", "started", "ended")
_LATEST = 6e10  # seconds before and after 1970 that any calendar can tell: the years 69 to 3871
_ALLOWED = {
    kind: [(f.name, _types_of(f.type)) for f in fields(kind) if f.name != "params"]
    for kind in (Head, Trial, Session, Snapshot, Tell)
}


def typed(row: R) -> R:
    """The row, if everything in it is of its type, and times are dates: a checksum does not say so."""
    for name, allowed in _ALLOWED[type(row)]:
        value = getattr(row, name)
        if type(value) not in allowed and not (isinstance(value, str) and value in allowed):
            raise TypeError(f"{name} cannot be {value!r:.40}")
        if name in _TIMES and value is not None and not abs(value) < _LATEST:
            raise ValueError(f"{name} cannot be {value!r:.40}")
    return row


def insert(db: sqlite3.Connection, table: str, values: Sequence[Any]) -> None:
    """Write a row with its checksum, over one with the same key."""
    row = (*values, checksum(values))
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(row))})", row)


def checksum(values: Sequence[Any]) -> int:
    """Of a row, as JSON; bytes as hexadecimal digits."""
    return zlib.crc32(_encoded(values).encode("ascii"))


def trial_row(trial: Trial) -> tuple[Any, ...]:
    """Of the table trials."""
    row = {name: getattr(trial, name) for name in _COLUMNS}
    if trial.constraints is not None:
        row["constraints"] = as_json({name: _written(c) for name, c in trial.constraints.items()})
    if trial.failure is not None:
        row["failure"] = trial.failure.name
    return tuple(row.values())


def trial_of(row: Sequence[Any], params: Params) -> Trial:
    """Of a row of the table trials, and its point."""
    id, generation, status, value, violation, constraints, failure, *rest = row
    amounts = None
    if constraints is not None:
        given = json.loads(constraints).items()
        amounts = {name: math.nan if c is None else float(c) for name, c in given}
    kind = None if failure is None else Failure[failure]
    return typed(Trial(id, generation, params, status, value, violation, amounts, kind, *rest))


def point_row(trial: Trial) -> tuple[Any, ...]:
    """Of the table points."""
    text = as_json(trial.params)
    return trial.id, text, hash_of(text)


def as_json(value: Any) -> str:
    """Without NaN and infinity, which JSON does not have."""
    return json.dumps(value, allow_nan=False)


def hash_of(text: str) -> bytes:
    """Of a point, as JSON: by this repeats are found."""
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).digest()


def _written(amount: float) -> float | str | None:
    """For JSON, which has no NaN and no infinity."""
    return amount if math.isfinite(amount) else None if math.isnan(amount) else str(amount)
