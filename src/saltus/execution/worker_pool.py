"""Workers of our own, kept busy with a thread for each.

A worker runs one evaluation at a time, in processes of its own: a worker process for a Python function
(`worker_process.py`), or an external command (`command.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from queue import SimpleQueue

from ..result import Candidate
from .evaluation import Objective, Run, timed
from .evaluator import Begun, Job, Worker
from .worker_process import WorkerProcess


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
            attempt = partial(self._workers[number].evaluate, candidate, partial(begun, number))
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
    processes: list[WorkerProcess] = []
    try:
        for _ in range(workers):
            processes.append(WorkerProcess(load, timeout, own_errors))
        for process in processes:  # all are starting meanwhile
            process.ready()
        with closing(WorkerPool(processes, retries)) as pool:
            yield pool
    finally:
        for process in processes:
            process.end()
