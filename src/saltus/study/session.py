"""One process that runs a study: on record from its beginning to its end, and what one that died has left."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ..execution.evaluation import described
from ..execution.processes import end_commands, end_worker
from .database import Database
from .errors import RecordError
from .journal import KEPT, Journal, reset
from .lock import name_of
from .trial import Session


@contextmanager
def on_record(
    database: Database, journal: Callable[[], Journal], workers: int, objective: str
) -> Iterator[Session]:
    """On record from its beginning to its end; `stop` is the caller's to set, unless an error ends it."""
    number = len(database.sessions())
    session = Session(journal().now(), None, socket.gethostname(), os.getpid(), workers, None, objective)
    database.put_session(number, session)
    try:
        yield session
    except BaseException as error:
        session.stop = described(error)
        raise
    finally:
        with suppress(RecordError):  # that it cannot be written is known by then
            journal().close()
            session.ended = journal().now()
            database.put_session(number, session)


def tidy(database: Database, objective: str) -> Iterator[str]:
    """End and take back what a session that died left running; say what was done, and what is new."""
    for session in database.sessions()[-1:]:
        if session.objective != objective:
            yield (f"note: the objective was {session.objective} before and is {objective} now; {KEPT}")
    waiting = database.unfinished()
    left = [trial for trial in waiting if trial.status == "running"]
    parent = max((session.pid for session in database.sessions()[-1:]), default=0)
    ended = [trial.id for trial in left if end_worker(trial.process, parent)]
    ended += end_commands(name_of(database.path), [trial.id for trial in waiting])
    if left:
        database.put(map(reset, left))
        yield f"the last session died with {len(left)} evaluations running; they are done again"
    if ended:
        yield f"ended what it had left running: trials {', '.join(map(str, ended))}"
