"""Evaluators on this machine: in this process, or by workers of our own, kept busy with a thread for each.

A worker runs one evaluation at a time, in processes of its own: a worker process for a Python function
(`worker_process.py`), or an external command (`command.py`). `timed` makes the attempts that are allowed, for
all evaluators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from .evaluation import Answer, Ended, MachineError, Objective, Run, answer_of, evaluate
from .evaluator import Begun, Job, Worker

if TYPE_CHECKING:  # a worker process is not to load the search
    from ..result import Candidate


def timed(
    attempt: Callable[[], Answer],
    *,
    retries: int = 0,
    worker: int | None = None,
    hurry: Callable[[], bool] = lambda: False,
) -> Run:
    """Make an attempt to evaluate, and others as long as they raise and there are retries left.

    Args:
        attempt: makes one, and raises if it fails. A MachineError is raised here too: it is not about
            the point.
        retries: how many more attempts there may be.
        worker: who makes them, for the `Run`.
        hurry: asked before each further attempt. In a hurry there is none: the evaluation counts as not begun
            (`Ended`), so that it gets all its attempts another time.
    """
    started, tick = time.time(), time.monotonic()
    attempts = 0
    while True:
        attempts += 1
        error: Exception | None = None
        try:
            answer = attempt()
        except MachineError:
            raise
        except Exception as raised:
            error, answer = raised, answer_of(raised)
        if error is None or attempts > retries:
            outcome, exit_code, stderr = answer
            seconds = time.monotonic() - tick
            return Run(outcome, error, started, seconds, worker, attempts, exit_code, stderr)
        if hurry():
            raise Ended


@dataclass(slots=True)
class _Deferred:
    """A job that is evaluated when its result is wanted."""

    run: Callable[[], Run]
    over: Run | None = None

    def result(self) -> Run:
        if self.over is None:
            self.over = self.run()
        return self.over

    def cancel(self) -> bool:
        return True

    def add_done_callback(self, callback: Callable[[object], object], /) -> None:
        callback(self)


class InProcess:
    """An evaluator that calls the objective in this process, when an outcome is waited for."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        """`retries` is how often an evaluation that raised is tried again."""
        self._fun, self._retries = fun, retries
        self._busy = self._hurry = False

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Put a candidate in line; it is evaluated when its result is wanted."""
        return _Deferred(partial(self._run, candidate, begun))

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        def attempt() -> Answer:
            """With a copy for each: the objective may write into what it gets."""
            return Answer(evaluate(self._fun, candidate.params.copy()))

        if begun is not None:
            begun(0, None)
        self._busy = True
        try:
            return timed(attempt, retries=self._retries, worker=0, hurry=lambda: self._hurry)
        finally:
            self._busy = False

    def finish(self) -> None:
        """Make no second attempts."""
        self._hurry = True

    def end(self) -> None:
        """Interrupt the objective, as Ctrl-C would (called from a signal handler)."""
        if self._busy:
            raise KeyboardInterrupt


class WorkerPool:
    """An evaluator that hands each candidate to the next free worker."""

    def __init__(self, workers: Sequence[Worker], retries: int = 0) -> None:
        """Take over these workers; `retries` is how often an evaluation that failed is tried again."""
        self._workers, self._retries, self._hurry = workers, retries, False
        self._free: SimpleQueue[int] = SimpleQueue()
        for i in range(len(workers)):
            self._free.put(i)
        self._threads = ThreadPoolExecutor(len(workers), thread_name_prefix="saltus-worker")

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Put a candidate in line for the next free worker."""
        return self._threads.submit(self._run, candidate, begun)

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        number = self._free.get()
        try:
            started = None if begun is None else partial(begun, number)
            attempt = partial(self._workers[number].evaluate, candidate, started)
            return timed(attempt, retries=self._retries, worker=number, hurry=lambda: self._hurry)
        finally:
            self._free.put(number)

    def finish(self) -> None:
        """Make no second attempts."""
        self._hurry = True

    def end(self) -> None:
        """End what every worker is running."""
        for worker in self._workers:
            worker.end()

    def close(self) -> None:
        """Take back what has not begun and end the rest."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.end()
        self._threads.shutdown()


@contextmanager
def pooled(
    load: Callable[[], Objective], workers: int, timeout: float | None, retries: int, own_errors: bool = True
) -> Iterator[WorkerPool]:
    """A pool of worker processes for a Python objective.

    Args:
        load: gives the objective; called once in each process.
        workers: how many processes.
        timeout: seconds after which an evaluation is ended, with its process; another one takes its place.
        retries: how often an evaluation that failed is tried again.
        own_errors: whether exceptions come back themselves, and not only described.
    """
    from .worker_process import WorkerProcess  # here: a search in this process needs none

    processes: list[WorkerProcess] = []
    try:
        for _ in range(workers):
            processes.append(WorkerProcess(load, timeout, own_errors))
        for process in processes:  # all are starting meanwhile
            process.ready()
    except BaseException:
        for process in processes:
            process.end()
        raise
    with closing(WorkerPool(processes, retries)) as pool:
        yield pool
