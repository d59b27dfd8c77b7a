"""One process at a time may write to a record.

The lock is one of the operating system on a file beside the record: it ends with the process that holds it,
however that ends, so there are no stale locks. The file says who holds it. A process that is forked
meanwhile, such as a worker of a process pool, does not share it.
"""

import errno
import hashlib
import json
import os
import socket
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .errors import LockedError, RecordError

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # a byte far behind the text: what is locked cannot be read

    def _try_lock(file: IO[Any], shared: bool = False) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _is_at(file: IO[Any], path: Path) -> bool:
        return True  # a file that is open cannot be removed there

else:
    import fcntl

    def _try_lock(file: IO[Any], shared: bool = False) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _is_at(file: IO[Any], path: Path) -> bool:
        """Whether the file is still the one of this name: its last holder may have removed it."""
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))


# how a lock says that somebody else has it; other errors say that there are no locks
_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_LOOK = 0.2  # seconds within which whoever only looks at a lock has let it go


def _file_of(record: Path) -> Path:
    """Beside the file itself, by whichever links it is reached."""
    path = Path(os.path.realpath(record))
    return path.with_name(path.name + ".lock")


def name_of(record: Path) -> str:
    """A name for a record on this machine, the same by whichever links it is reached."""
    return hashlib.blake2b(os.fsencode(os.path.normcase(os.path.realpath(record))), digest_size=8).hexdigest()


def is_held(record: Path) -> bool:
    """Whether a process is running the study of this record."""
    try:
        with open(_file_of(record), "r+", encoding="utf-8") as file:
            _try_lock(file, shared=True)
    except OSError as error:
        return error.errno in _TAKEN
    return False


_held: weakref.WeakSet[IO[Any]] = weakref.WeakSet()  # the files of all locks


def _forget() -> None:
    """In a forked process: they are the parent's alone."""
    for file in _held:
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def locked(record: Path, patience: float = 0.0) -> Iterator[None]:
    """The right to write to a record; taken within so many seconds, or a LockedError says who holds it."""
    if record.is_dir():
        raise RecordError(f"{record}: this is a folder, not a record")
    path, deadline = _file_of(record), time.monotonic() + max(patience, _LOOK)
    while True:
        try:
            file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  (held open)
        except OSError as error:
            raise RecordError(f"{record}: cannot write in its folder: {error.strerror}") from error
        try:
            _try_lock(file)
        except OSError as error:
            holder = _holder(file)
            file.close()
            if error.errno not in _TAKEN:
                what = f"its folder has no locks: {error.strerror}; put the record on a disk that has"
                raise RecordError(f"{record}: {what}") from error
            if time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            message = f"this study is being run by {holder}; wait for it, or stop it first"
            raise LockedError(f"{record}: {message}") from None
        with suppress(OSError):
            if _is_at(file, path):
                break
        file.close()  # its last holder removed the file in between
    _held.add(file)
    mine = {"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}
    try:
        with suppress(OSError):  # a full disk does not unlock it
            file.seek(0)
            file.truncate()
            json.dump(mine, file)
            file.flush()
        yield
    finally:
        if not file.closed:  # as it is in a forked process
            with suppress(OSError):
                path.unlink()
            file.close()


def _holder(file: IO[Any]) -> str:
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError):
        file.seek(0)
        who = json.loads(file.read(1000))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(who["since"]))
        return f"process {int(who['process'])} on {who['host']} since {since}"
    return "another process"
