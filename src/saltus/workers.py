"""Where evaluations run: here, in places of our own, or in an executor that the user brings.

A place runs one evaluation at a time, in processes of its own: a worker process for a Python function
(`child.py`), or an external command (`command.py`). A pool keeps several places busy, with a thread for each.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Protocol
from uuid import uuid4

from .candidates import Candidate
from .child import Child, Sent, WorkerError
from .evaluation import Objective, Outcome, Run, evaluate, timed


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

    def finish(self) -> None:
        """Nothing more is wanted than what is running: no second attempts."""

    def end(self) -> None:
        """End what is running, now: their jobs raise `Ended`."""


class Place(Protocol):
    """Runs one evaluation at a time."""

    def evaluate(self, candidate: Candidate, begun: Callable[[int], None]) -> Outcome:
        """The outcome, or an exception; `begun` gets the process that does the work."""

    def end(self) -> None:
        """End what is running; the place is not used again."""


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
        self._busy = self._hurry = False

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """In line, until the outcome is wanted."""
        return _HereJob(partial(self._run, candidate, begun))

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        begun(0, None)
        self._busy = True
        try:  # a copy for each attempt: the objective may write into what it gets
            attempt = partial(self._evaluate, candidate)
            return timed(attempt, retries=self._retries, worker=0, hurry=lambda: self._hurry)
        finally:
            self._busy = False

    def _evaluate(self, candidate: Candidate) -> Outcome:
        return evaluate(self._fun, candidate.params.copy())

    def finish(self) -> None:
        """No second attempts."""
        self._hurry = True

    def end(self) -> None:
        """Interrupt the objective, as Ctrl-C would (called from a signal handler)."""
        if self._busy:
            raise KeyboardInterrupt


class Pool:
    """Keeps places busy, with a thread for each."""

    def __init__(self, places: Sequence[Place], retries: int = 0) -> None:
        """Take over these places."""
        self._places, self._retries, self._hurry = places, retries, False
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
            return timed(attempt, retries=self._retries, worker=number, hurry=lambda: self._hurry)
        finally:
            self._free.put(number)

    def finish(self) -> None:
        """No second attempts."""
        self._hurry = True

    def end(self) -> None:
        """End what is running in every place."""
        for place in self._places:
            place.end()

    def __enter__(self) -> Pool:
        """The places are there already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take back what has not begun and end the rest."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.end()
        self._threads.shutdown()


# How Dask and Ray say that an evaluation took its workers with it, however often it was begun again. They are
# known by name: neither library need be there.
_DIED_OF_IT = {"KilledWorker", "WorkerCrashedError", "OutOfMemoryError"}


@dataclass(slots=True)
class _RemoteJob:
    """A job in the user's executor, which may lose it."""

    future: Future[Run]
    withdrawn: bool = False

    def result(self) -> Run:
        """What the objective raised is in the run: all that is raised here is the executor's own trouble."""
        try:
            return self.future.result()
        except CancelledError:
            if self.withdrawn:
                raise
            raise WorkerError(
                "the executor dropped an evaluation: it was shut down, or lost its machines"
            ) from None
        except BrokenExecutor:
            raise
        except Exception as error:
            kind = type(error).__name__
            if kind in _DIED_OF_IT:
                died = WorkerError(f"the worker died ({kind})", stderr=str(error))
                died.add_note(str(error))
                return Run(died)
            raise WorkerError(f"the executor cannot evaluate: {kind}: {error}") from error

    def cancel(self) -> bool:
        self.withdrawn = self.future.cancel()
        return self.withdrawn

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        self.future.add_done_callback(callback)


class _Remote:
    """Evaluates in the user's executor."""

    def __init__(self, fun: Objective, executor: Executor, retries: int) -> None:
        self._fun, self._executor, self._retries = fun, executor, retries
        self._open: set[Future[Run]] = set()

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """At once; the executor has a line of its own.

        Dask evaluates a call once for all that look the same: the random word makes each its own, as a noisy
        objective wants it.
        """
        word = uuid4().hex
        try:
            future = self._executor.submit(
                _run_remotely, self._fun, candidate.params.copy(), self._retries, word
            )
        except BrokenExecutor:
            raise
        except Exception as error:
            raise WorkerError(f"the executor takes no evaluation: {type(error).__name__}: {error}") from error
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return _RemoteJob(future)

    def finish(self) -> None:
        """Nothing: what runs there is the user's."""

    def end(self) -> None:
        """Stop waiting (called from a signal handler): what runs there is the user's."""
        raise KeyboardInterrupt

    def close(self) -> None:
        """Take back what nobody waits for any more: the executor is the user's, and has other work."""
        for future in list(self._open):
            future.cancel()


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
        remote = _Remote(fun, executor, retries)
        try:
            yield remote
        finally:
            remote.close()
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
    load: Callable[[], Objective],
    workers: int,
    timeout: float | None = None,
    retries: int = 0,
    own_errors: bool = True,
) -> Iterator[Pool]:
    """Worker processes for a Python objective; `load` gives it, once in each of them."""
    places: list[Child] = []
    try:
        for _ in range(workers):
            places.append(Child(load, timeout, own_errors))
        for place in places:  # all are starting meanwhile
            place.ready()
        with Pool(places, retries) as pool:
            yield pool
    finally:
        for place in places:
            place.end()


def worker_count(workers: Any) -> int:
    """How many workers are meant: -1 is one for each core."""
    if isinstance(workers, bool) or not isinstance(workers, Integral) or (workers < 1 and workers != -1):
        raise ValueError(f"workers must be a positive whole number, or -1 for all, got {workers!r}")
    if workers != -1:
        return int(workers)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _the(fun: Objective) -> Objective:
    return fun


def _run_remotely(fun: Objective, params: Any, retries: int, word: str) -> Run:
    """Evaluate in an executor, and make sure that an exception arrives: some break it on their way."""
    run = timed(lambda: evaluate(fun, params.copy()), retries=retries)
    if isinstance(run.outcome, Exception):
        return replace(run, outcome=Sent.of(run.outcome).error())
    return run
