"""Where evaluations run: here, in places of our own, or in an executor that the user brings.

A place runs one evaluation at a time, in processes of its own: a worker process for a Python function
(`child.py`), or an external command (`command.py`). A pool keeps several places busy, with a thread for each.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from ..result import Candidate
from .evaluator import Begun, Evaluator, Job, Place
from .executor import Remote
from .in_process import Here
from .outcome import Objective, Run, timed
from .worker_process import Child


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
        remote = Remote(fun, executor, retries)
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
