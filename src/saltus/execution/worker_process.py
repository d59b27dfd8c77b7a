"""A worker process that evaluates a Python function."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, NamedTuple

from ..order import Failure, Outcome
from .evaluation import (
    LONGEST_MESSAGE,
    Answer,
    Ended,
    EvaluationError,
    MachineError,
    NotCountedError,
    Objective,
    WorkerError,
    described,
    evaluate,
    only_here,
)
from .evaluator import Started
from .one_thread import ONE_THREAD, environment
from .processes import WORKER_OF, deaf_to_ctrl_c, end_group, how_it_ended, own_session
from .sending import packed

if TYPE_CHECKING:  # a worker process is not to load the search
    from ..result import Candidate

_GUARD = (
    "a worker process ran the main part of the script again. A script that uses workers must guard it with "
    "`if __name__ == '__main__':`"
)
_NOT_STARTED = (
    "a worker process {how} before the objective was loaded. Does its module exit or crash when imported? "
    "A script that uses workers must guard its main part with `if __name__ == '__main__':`"
)

UNGUARDED = 64  # exit code of a worker process that would start workers while it is being started itself
_LONGEST_PICKLE = 1_000_000  # bytes of an exception that is sent itself, and not described
_LONGEST_START = 600.0  # seconds
_context = multiprocessing.get_context("spawn")  # a clean process: no threads, no locks


def leave_if_unguarded() -> None:
    """End this process if it is a worker that is being started, and runs the script that started it again.

    The parent knows what to say then; a traceback here would only hide it.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(UNGUARDED)


class RemoteError(EvaluationError):
    """Stands for an exception that cannot travel between processes: its type and message, its traceback."""

    def __str__(self) -> str:
        """The traceback as the worker wrote it, so that it is shown where this error is; else the reason."""
        return self.stderr or self.reason


class Sent(NamedTuple):
    """An exception on its way between processes: described, and the exception itself if it can travel."""

    reason: str
    trace: str
    pickled: bytes | None

    @classmethod
    def of(cls, error: Exception, itself: bool = True) -> Sent:
        """Pack an exception; `itself` says whether the receiver wants more than the description."""
        itself = itself or isinstance(error, NotCountedError)
        trace = "".join(traceback.format_exception(error)).strip()[-LONGEST_MESSAGE:]
        pickled = None
        if itself:
            with suppress(Exception):
                error.add_note(f"In the worker:\n{trace}")  # tracebacks do not travel
                pickled = packed(error)
        if pickled is not None and len(pickled) > _LONGEST_PICKLE:
            pickled = None
        return cls(described(error), trace, pickled)

    def error(self) -> Exception:
        """The exception, or one that stands for it."""
        if self.pickled is not None:
            with suppress(Exception):  # some pickle, but do not unpickle
                error = pickle.loads(self.pickled)
                if isinstance(error, Exception):
                    return error
        return RemoteError(self.reason, stderr=self.trace)


class WorkerProcess:
    """A worker that evaluates a Python function in a process and session of its own, with one BLAS thread."""

    def __init__(self, load: Callable[[], Objective], timeout: float | None, own_errors: bool = True) -> None:
        """Start the process, without waiting for it.

        Args:
            load: gives the objective; called in the process.
            timeout: seconds after which an evaluation is ended, and the process with it; None waits for ever.
            own_errors: whether exceptions of the objective come back themselves. Otherwise they are described
                by a `RemoteError`: this process then need not know their classes.
        """
        self._load, self._timeout, self._own_errors = load, timeout, own_errors
        self._ended = self._busy = False
        self._lock = threading.RLock()  # no start while being ended; a signal may come while ending
        self._start()

    def _start(self) -> None:
        leave_if_unguarded()
        with self._lock:
            if self._ended:
                raise Ended
            self._pipe, there = _context.Pipe()
            self._process = _context.Process(target=_serve, args=(there, self._load, self._own_errors))
            with (
                environment(ONE_THREAD | {WORKER_OF: str(os.getpid())}),
                _main_that_exists(),
                deaf_to_ctrl_c(),
            ):
                self._process.start()
            there.close()
            self._alive, self._ready, self._busy = True, False, False

    def ready(self) -> None:
        """Wait until the objective is loaded, or raise why it is not."""
        try:
            if not self._pipe.poll(_LONGEST_START):
                self._bury()
                raise WorkerError(f"the objective was not loaded within {_LONGEST_START:g} s")
            error = self._pipe.recv()
        except (EOFError, OSError):
            if self._ended:
                raise Ended from None
            how = self._bury(patience=0.2)
            unguarded = self._process.exitcode == UNGUARDED
            raise WorkerError(_GUARD if unguarded else _NOT_STARTED.format(how=how)) from None
        if error is not None:
            self._bury()
            raise error
        self._ready = True

    def evaluate(self, candidate: Candidate, begun: Started) -> Answer:
        """Send the point and wait for its outcome; a process that died or hung is replaced the next time."""
        if self._ended:
            raise Ended
        if not self._alive:
            self._start_again()
        sent = packed((candidate.id, candidate.params), "the point")
        self._busy = True
        if begun is not None:
            begun(self._process.pid or 0)
        try:
            self._pipe.send_bytes(sent)
            answered = self._pipe.poll(self._timeout)
            number, answer = self._pipe.recv() if answered else (candidate.id, None)
        except (EOFError, OSError):
            if self._ended:
                raise Ended from None
            how = self._bury(patience=0.2)
            raise WorkerError(f"the worker process {how}", self._process.exitcode) from None
        if number != candidate.id:
            self._bury()
            raise WorkerError(f"the worker process gave an answer for trial {number} instead")
        self._busy = False
        if isinstance(answer, Outcome):
            return Answer(answer)
        if isinstance(answer, Sent):
            raise answer.error()
        self._bury()
        raise EvaluationError(f"timeout after {self._timeout:g} s", failure=Failure.TIMEOUT)

    def _start_again(self) -> None:
        try:
            self._start()
            self.ready()
        except Exception as error:
            raise MachineError(f"a worker process cannot be started again: {error}") from error

    def _bury(self, patience: float = 0.0) -> str:
        """End the process with all that it started, and say how it ended."""
        self._process.join(patience)  # one on its way out has an exit code of its own to tell
        self._kill()
        self._pipe.close()
        self._alive = False
        return how_it_ended(self._process.exitcode)

    def end(self) -> None:
        """End the process; the evaluation that it runs raises `Ended`."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            if self._alive:
                if self._ready and not self._busy:
                    self._pipe.close()  # then it ends by itself, in an orderly way
                    self._process.join(2.0)
                self._kill()

    def _kill(self) -> None:
        end_group(self._process.pid)
        self._process.kill()  # it may not lead a session yet
        self._process.join()


def _serve(pipe: Connection, load: Callable[[], Objective], own_errors: bool) -> None:
    """What a worker process does: evaluate what comes, until nobody is there any more."""
    own_session()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        try:
            with only_here():
                fun = load()
        except Exception as error:
            pipe.send(Sent.of(error).error())
            return
        pipe.send(None)
        while True:
            number, params = pipe.recv()
            answer: Outcome | Sent
            try:
                answer = evaluate(fun, params)
            except Exception as error:
                answer = Sent.of(error, own_errors)
            pipe.send((number, answer))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        end_group(os.getpid())


@contextmanager
def _main_that_exists() -> Iterator[None]:
    """A process that is started meanwhile runs the script again, but not '<stdin>' and other such names."""
    main = vars(sys.modules["__main__"])
    path = main.get("__file__")
    if path is None or os.path.exists(path):
        yield
        return
    del main["__file__"]
    try:
        yield
    finally:
        main["__file__"] = path
