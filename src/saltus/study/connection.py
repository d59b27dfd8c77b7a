"""Connections to the file of a record: how SQLite opens it, and its errors as sentences."""

import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import RecordError

_ADVICE = {  # what to do about a message of SQLite; the first that fits
    "full": "the disk is full; what was recorded before is safe: make room and continue",
    "read-?only": "it cannot be written; what was recorded before is safe: make it writable and continue",
    "disk I/O error": "the disk reports an error (is it full?); what was recorded before is safe",
    "not a database": "this is not an SQLite file, so no record of Saltus",
    "locked": "another program holds it locked; close that and try again",
    "unable to open": "it cannot be opened; does the folder exist, and may you write there?",
}
_NO_ADVICE = "the record cannot be used; is the file damaged?"


def connected(path: Path, write: bool) -> sqlite3.Connection:
    """A connection with a write-ahead log: readers and the writer do not wait for each other."""
    if write:
        return _connection(path, "mode=rwc")
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _connection(path, "mode=rw")  # SQLite tidies up after itself what it needs to read
    log, memory = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    if not log.exists():
        return _connection(path, "mode=ro&immutable=1")  # nobody else writes either
    if memory.exists():
        return _connection(path, "mode=ro")
    # SQLite cannot read a log without `memory`; Windows removes no file that is open: then the copies stay
    with tempfile.TemporaryDirectory(prefix="saltus-", ignore_cleanup_errors=True) as folder:
        for file in (path, log):
            shutil.copyfile(file, Path(folder, file.name))
        return _connection(Path(folder, path.name), "mode=rw", shown=path)


def _connection(path: Path, mode: str, shown: Path | None = None) -> sqlite3.Connection:
    """Open a file; `shown` is the name by which the user knows it."""
    with explained(shown or path):
        uri = f"{path.absolute().as_uri()}?{mode}"
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30.0)
        try:
            if shown is not None:
                db.execute("SELECT count(*) FROM sqlite_master")  # opens the files, whose names go
            db.execute("PRAGMA journal_mode = WAL" if mode == "mode=rwc" else "PRAGMA query_only = ON")
            db.execute("PRAGMA trusted_schema = OFF")  # nothing in the file's schema is executed
            db.execute("PRAGMA cell_size_check = ON")
            db.execute("PRAGMA secure_delete = OFF")  # a state that is replaced need not be overwritten first
        except BaseException:
            db.close()
            raise
        return db


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
        text = str(error)
        advice = next((said for sign, said in _ADVICE.items() if re.search(sign, text)), _NO_ADVICE)
        raise RecordError(f"{path}: {advice} (SQLite: {text})") from error
