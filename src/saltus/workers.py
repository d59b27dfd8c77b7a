"""Where evaluations run: here, in places of our own, or in an executor that the user brings.

A place runs one evaluation at a time, in processes of its own: a worker process for a Python function
(below), or an external command (`command.py`). A pool keeps several places busy, with a thread for each.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from numbers import Integral
from queue import SimpleQueue
from typing import Any, Protocol

from .candidates import Candidate
from .evaluation import Ended, EvaluationError, Objective, Outcome, Run, evaluate, timed
from .optimizer import Optimizer

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_NOT_STARTED = (
    "a worker process could not be started: it {how}. A script that uses workers must "
    "guard its main part with `if __name__ == '__main__':`, and the objective must be a function "
    "of a module, not of an interactive session"
)


class Job(Protocol):
    """An evaluation under way; `concurrent.futures.Future` is one."""

    def result(self) -> Run:
        """Wait for its end."""

    def cancel(self) -> bool:
        """Take the job back unless it has begun."""

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Call this when there is a result, or the job was taken back."""


Begun = Callable[[int | None, int | None], None]  # called with the worker's number and its process


class Evaluator(Protocol):
    """Begins evaluations."""

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Begin one, or put it in line."""

    def end(self) -> None:
        """End what is running, now: their jobs raise `Ended`."""


class Place(Protocol):
    """Runs one evaluation at a time."""

    def evaluate(self, candidate: Candidate, begun: Callable[[int], None]) -> Outcome:
        """The outcome, or an exception; `begun` gets the process that does the work."""

    def end(self) -> None:
        """End what is running; the place is not used again."""


class WorkerError(EvaluationError):
    """A worker process could not be started, or it died; `optimizer` holds everything told before."""

    optimizer: Optimizer | None = None


class RemoteError(RuntimeError):
    """Stands for an exception that cannot travel between processes: its type, message and traceback."""


@dataclass(slots=True)
class Settled:
    """A job whose result is known."""

    run: Run

    def result(self) -> Run:
        """The result."""
        return self.run

    def cancel(self) -> bool:
        """Too late."""
        return False

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """At once."""
        callback(self)


@dataclass(slots=True)
class _HereJob:
    """A job that runs in this process, when its outcome is wanted."""

    run: Callable[[], Run]
    over: Run | None = None

    def result(self) -> Run:
        if self.over is None:
            self.over = self.run()
        return self.over

    def cancel(self) -> bool:
        return True

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        callback(self)


class Here:
    """Evaluates in this process, one after the other."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        """Nothing to start."""
        self._fun, self._retries = fun, retries
        self._busy = False

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """In line, until the outcome is wanted."""
        return _HereJob(partial(self._run, candidate, begun))

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        begun(0, None)
        self._busy = True
        try:  # a copy for each attempt: the objective may write into what it gets
            return timed(
                lambda: evaluate(self._fun, candidate.params.copy()), retries=self._retries, worker=0
            )
        finally:
            self._busy = False

    def end(self) -> None:
        """Interrupt the objective, as Ctrl-C would (called from a signal handler)."""
        if self._busy:
            raise KeyboardInterrupt


class Pool:
    """Keeps places busy, with a thread for each."""

    def __init__(self, places: Sequence[Place], retries: int = 0) -> None:
        """Take over these places."""
        self._places, self._retries = places, retries
        self._free: SimpleQueue[int] = SimpleQueue()
        for i in range(len(places)):
            self._free.put(i)
        self._threads = ThreadPoolExecutor(len(places), thread_name_prefix="saltus-worker")

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """In line for the next free place."""
        return self._threads.submit(self._run, candidate, begun)

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        number = self._free.get()
        try:
            attempt = partial(self._places[number].evaluate, candidate, partial(begun, number))
            return timed(attempt, retries=self._retries, worker=number)
        finally:
            self._free.put(number)

    def end(self) -> None:
        """End what is running in every place."""
        for place in self._places:
            place.end()

    def close(self) -> None:
        """Take back what has not begun and end the rest."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.end()
        self._threads.shutdown()


class _Remote:
    """Evaluates in the user's executor."""

    def __init__(self, fun: Objective, executor: Executor, retries: int) -> None:
        self._fun, self._executor, self._retries = fun, executor, retries

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        return self._executor.submit(_run_remotely, self._fun, candidate.params.copy(), self._retries)

    def end(self) -> None:
        """Nothing: it is the user's."""


@contextmanager
def evaluating(
    fun: Objective, workers: int, executor: Executor | None, timeout: float | None = None, retries: int = 0
) -> Iterator[Evaluator]:
    """Where to evaluate, in the way the user chose; cleans up what it started.

    With a timeout, also a single worker is a process of its own: only that can be ended.
    """
    if executor is not None:
        if not hasattr(executor, "submit"):
            raise TypeError(
                "executor must have a submit method, like concurrent.futures.Executor, "
                f"got {type(executor).__name__}"
            )
        if workers != 1:
            raise ValueError("give either workers or executor, not both")
        if timeout is not None:
            raise ValueError("timeout needs workers of our own; an executor's cannot be ended from here")
        yield _Remote(fun, executor, retries)
        return
    count = worker_count(workers)
    if count == 1 and timeout is None:
        yield Here(fun, retries)
        return
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise TypeError(
            f"the objective {fun!r} cannot be sent to worker processes ({error}); "
            "define it with def at the top level of a module, or pass executor="
        ) from error
    with pooled(partial(_the, fun), count, timeout, retries) as pool:
        yield pool


@contextmanager
def pooled(
    load: Callable[[], Objective], workers: int, timeout: float | None = None, retries: int = 0
) -> Iterator[Pool]:
    """Worker processes for a Python objective; `load` gives it, once in each of them."""
    places: list[Child] = []
    try:
        for _ in range(workers):
            places.append(Child(load, timeout))
        for place in places:  # all are starting meanwhile
            place.ready()
        pool = Pool(places, retries)
    except BaseException:
        for place in places:
            place.end()
        raise
    try:
        yield pool
    finally:
        pool.close()


def worker_count(workers: Any) -> int:
    """How many workers are meant: -1 is one for each core."""
    if isinstance(workers, bool) or not isinstance(workers, Integral) or (workers < 1 and workers != -1):
        raise ValueError(f"workers must be a positive whole number, or -1 for all, got {workers!r}")
    if workers != -1:
        return int(workers)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_context = multiprocessing.get_context("spawn")  # a clean process: no threads, no locks
_environment_lock = threading.Lock()


class Child:
    """A worker process with one BLAS thread, in a session of its own, that evaluates a Python function."""

    def __init__(self, load: Callable[[], Objective], timeout: float | None) -> None:
        """Start the process, without waiting for it."""
        self._load, self._timeout = load, timeout
        self._ended = self._busy = False
        self._lock = threading.Lock()  # a process is not started while the place is being ended
        self._start()

    def _start(self) -> None:
        with self._lock:
            if self._ended:
                raise Ended
            self._pipe, there = _context.Pipe()
            self._process = _context.Process(target=_serve, args=(there, self._load))
            with _environment(dict.fromkeys(_ONE_THREAD, "1")), _deaf_to_ctrl_c():
                self._process.start()
            there.close()
            self._alive, self._ready, self._busy = True, False, False

    def ready(self) -> None:
        """Wait until the objective is loaded, or raise why it is not."""
        try:
            error = self._pipe.recv()
        except (EOFError, OSError):
            if self._ended:
                raise Ended from None
            raise WorkerError(_NOT_STARTED.format(how=self._bury(patience=0.2))) from None
        if error is not None:
            self._bury()
            raise error
        self._ready = True

    def evaluate(self, candidate: Candidate, begun: Callable[[int], None]) -> Outcome:
        """Send the point, wait for its outcome; a process that died or hung is replaced the next time."""
        if self._ended:
            raise Ended
        if not self._alive:
            self._start()
        if not self._ready:
            self.ready()
        self._busy = True
        begun(self._process.pid or 0)
        try:
            self._pipe.send(candidate.params)
            answered = self._pipe.poll(self._timeout)
            outcome = self._pipe.recv() if answered else None
        except (EOFError, OSError):
            if self._ended:
                raise Ended from None
            how = self._bury(patience=0.2)
            raise WorkerError(f"the worker process {how}", self._process.exitcode) from None
        self._busy = False
        if outcome is None:
            self._bury()
            raise EvaluationError(f"timeout after {self._timeout:g} s")
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, Outcome)
        return outcome

    def _bury(self, patience: float = 0.0) -> str:
        """End the process with all that it started, and say how it ended."""
        self._process.join(patience)  # one on its way out has an exit code of its own to tell
        end_group(self._process.pid)
        self._process.join()
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
                if not self._busy:
                    self._pipe.close()  # then it ends by itself, in an orderly way
                    self._process.join(2.0)
                end_group(self._process.pid)
                self._process.join()


def end_group(pid: int | None, number: int = getattr(signal, "SIGKILL", signal.SIGTERM)) -> None:
    """Send a signal to a process that leads a session, and to all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if pid and hasattr(os, "killpg"):
            os.killpg(pid, number)
        elif pid:
            os.kill(pid, number)


def how_it_ended(exit_code: int | None) -> str:
    """A phrase for an exit code; negative ones are signals.

    >>> how_it_ended(3), how_it_ended(-9)
    ('ended with exit code 3', 'was ended by SIGKILL')
    """
    if exit_code is not None and exit_code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"


def _the(fun: Objective) -> Objective:
    return fun


def _serve(pipe: Connection, load: Callable[[], Objective]) -> None:
    """What a worker process does: evaluate what comes, until nobody is there any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C reaches the parent alone, and everything in here can be ended together
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)  # for what the objective may start
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        try:
            fun = load()
        except Exception as error:
            pipe.send(_transportable(error))
            return
        pipe.send(None)
        while True:
            params = pipe.recv()
            outcome: Outcome | Exception
            try:
                outcome = evaluate(fun, params)
            except Exception as error:
                outcome = _transportable(error)
            pipe.send(outcome)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, until they have a session of their own."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        end_group(os.getpid())


def _run_remotely(fun: Objective, params: Any, retries: int) -> Run:
    """Evaluate in an executor, and make sure that an exception arrives: some break it on their way."""
    run = timed(lambda: evaluate(fun, params.copy()), retries=retries)
    if isinstance(run.outcome, Exception):
        return Run(_transportable(run.outcome), run.started, run.seconds, run.worker, run.attempts)
    return run


def _transportable(error: Exception) -> Exception:
    """The error with its traceback as a note, since tracebacks do not travel, or one that stands for it."""
    text = "".join(traceback.format_exception(error)).strip()
    try:
        error.add_note(f"In the worker:\n{text}")
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RemoteError(text)
    return error


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    with _environment_lock:
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
