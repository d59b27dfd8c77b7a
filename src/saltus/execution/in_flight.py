"""Evaluations under way: begun, heard of from any thread, given in order or as they end, taken back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

from ..result import Candidate
from .evaluation import Ended, Run, WorkerError
from .evaluator import Evaluator, Job
from .log import Log

_LONGEST_WAIT = 0.5  # seconds: a signal that another thread got is not heard while this one waits


class InFlight:
    """Evaluations of several candidates at a time. The log hears of outcomes as they come."""

    def __init__(self, log: Log, evaluator: Evaluator, deadline: float = math.inf) -> None:
        """After the deadline (of `time.monotonic`), or when interrupted, what has not begun is taken back."""
        self._log, self._evaluator, self._deadline = log, evaluator, deadline
        self.late = self.interrupted = False
        self._thread = threading.get_ident()
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()  # from all threads to this one
        self._candidates: dict[int, Candidate] = {}
        self._jobs: dict[int, Job] = {}  # neither heard of nor taken back
        self._runs: dict[int, Run] = {}  # heard of
        self._paid: set[int] = set()  # evaluated, not answered by something known

    def begin(self, candidates: list[Candidate]) -> None:
        """Begin all of them."""

        try:
            jobs = list(self._log.begin(candidates, self._submit))
        except BrokenExecutor as error:
            raise WorkerError(f"the executor is broken: {error}") from error
        for candidate, job in zip(candidates, jobs, strict=True):
            self._candidates[candidate.id], self._jobs[candidate.id] = candidate, job
        for candidate, job in zip(candidates, jobs, strict=True):
            job.add_done_callback(partial(self._over, candidate.id))
        if self.interrupted:  # between two batches
            self.withdraw()

    def _submit(self, candidate: Candidate) -> Job:
        self._paid.add(candidate.id)
        begun = None if self._log.begun is None else partial(self._begun, candidate)
        return self._evaluator.submit(candidate, begun)

    def was_paid(self, candidate: Candidate) -> bool:
        """Whether the outcome of a candidate, which was just given, is that of an evaluation of its own."""
        if candidate.id not in self._paid:
            return False
        self._paid.remove(candidate.id)
        return True

    @property
    def size(self) -> int:
        """How many are under way."""
        return len(self._jobs)

    def holds(self, candidate: Candidate) -> bool:
        """Whether it is under way, or has ended and was not given yet."""
        return candidate.id in self._jobs or candidate.id in self._runs

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and everything that has ended was given."""
        return not (self._jobs or self._runs)

    def results(self, ordered: bool) -> Iterator[tuple[Candidate, Run]]:
        """The outcomes, until nothing is under way any more; more may be begun meanwhile.

        Ordered, they come in the order of their beginning, whatever ended first: then results do not
        depend on timing. Else they come as they end. Those taken back are left out.
        """
        while not self.idle:
            id = next(iter(self._candidates if ordered else self._runs), None)
            if id in self._runs:
                yield self._candidates.pop(id), self._runs.pop(id)
            elif id is None or id in self._jobs:
                self._wait()
            else:
                del self._candidates[id]  # taken back

    def rest(self) -> Iterator[tuple[Candidate, Run]]:
        """The outcomes that are there and were not given yet, although the executor is broken."""
        while not self._events.empty():
            with suppress(WorkerError):  # of which one is known already
                self._events.get()()
        for id in list(self._runs):
            yield self._candidates[id], self._runs.pop(id)

    def drain(self) -> None:
        """Let the log hear of what has ended, also if nobody waits for it any more."""
        while not self._events.empty():
            self._events.get()()

    def _wait(self) -> None:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0 and not self.late:
            self.late = True
            self.withdraw()
            return
        try:
            event = self._events.get(timeout=_LONGEST_WAIT if self.late else min(remaining, _LONGEST_WAIT))
        except Empty:
            return
        if self.interrupted:
            self.withdraw()
        event()

    def _begun(self, candidate: Candidate, worker: int | None, process: int | None) -> None:
        """From any thread: the log hears of it in its own."""
        if self._log.begun is None:
            return
        event = partial(self._log.begun, candidate, worker, process)
        if threading.get_ident() == self._thread:
            event()
        else:
            self._events.put(event)

    def _over(self, id: int, job: object) -> None:
        """A job has ended; called from any thread, so that the one of the driver hears of it."""
        self._events.put(partial(self._done, id))

    def _done(self, id: int) -> None:
        if id not in self._jobs:
            return
        try:
            run = self._jobs[id].result()
        except (CancelledError, Ended):
            del self._jobs[id]
            return
        except BrokenExecutor as error:
            raise WorkerError(f"the executor is broken: {error}") from error
        del self._jobs[id]
        if self._log.heard is not None and not run.withheld:
            self._log.heard(self._candidates[id], run)
        self._runs[id] = run

    def interrupt(self) -> None:
        """From a signal handler: the search was interrupted."""
        self.interrupted = True
        self._events.put(self.withdraw)

    def withdraw(self) -> None:
        """Take back what has not begun."""
        self._evaluator.finish()
        self._jobs = {id: job for id, job in self._jobs.items() if not job.cancel()}
