"""Evaluations under way: begun in the log's sight, waited for, taken back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Protocol

from ..candidates import Candidate
from ..search.stopping import Stop
from .evaluation import Ended, Run
from .evaluator import Evaluator, Job
from .worker_process import WorkerError

_LONGEST_WAIT = 3600.0  # seconds: a queue cannot wait for ever with a timeout
HistoryRow = tuple[float, float, float, float]


class Log(Protocol):
    """What remembers a search while it goes on."""

    @property
    def evaluations(self) -> int:
        """How many count against the budget."""

    @property
    def stop(self) -> Stop | None:
        """A reason to stop that only the log can see."""

    def knows(self, candidate: Candidate) -> bool:
        """Whether this candidate, which is pending, has an outcome already."""

    def begin(self, candidates: list[Candidate], submit: Callable[[Candidate], Job]) -> Iterable[Job]:
        """Remember that these candidates are asked, then begin what has to be evaluated."""

    def begun(self, candidate: Candidate, worker: int | None, process: int | None) -> None:
        """An evaluation has begun."""

    def heard(self, candidate: Candidate, run: Run) -> None:
        """An outcome is known, in whatever order."""

    def told(self, row: HistoryRow) -> None:
        """A generation, or a part of it, was told."""


class Flight:
    """Evaluations of several candidates. The log hears of outcomes as they come."""

    def __init__(
        self, log: Log, evaluator: Evaluator, interrupted: Callable[[], bool], deadline: float = math.inf
    ) -> None:
        """After the deadline (of `time.monotonic`), or when interrupted, what has not begun is taken back."""
        self._log, self._evaluator, self._interrupted = log, evaluator, interrupted
        self._deadline = deadline
        self.late = False
        self._thread = threading.get_ident()
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()  # from all threads to this one
        self._candidates: dict[int, Candidate] = {}
        self._jobs: dict[int, Job] = {}  # neither heard of nor taken back
        self._runs: dict[int, Run] = {}  # heard of

    def begin(self, candidates: list[Candidate]) -> None:
        """Begin all of them."""

        def submit(candidate: Candidate) -> Job:
            return self._evaluator.submit(candidate, partial(self._begun, candidate))

        try:
            jobs = list(self._log.begin(candidates, submit))
        except BrokenExecutor as error:
            raise WorkerError(f"the executor is broken: {error}") from error
        for candidate, job in zip(candidates, jobs, strict=True):
            self._candidates[candidate.id], self._jobs[candidate.id] = candidate, job
        for candidate, job in zip(candidates, jobs, strict=True):
            job.add_done_callback(partial(self._over, candidate.id))
        if self._interrupted():  # between two batches
            self.withdraw()

    @property
    def size(self) -> int:
        """How many are under way."""
        return len(self._jobs)

    def in_order(self) -> Iterator[tuple[Candidate, Run]]:
        """The outcomes in the candidates' order, whatever ended first: results do not depend on timing.

        Those taken back are left out.
        """
        for id, candidate in list(self._candidates.items()):
            while id in self._jobs:
                self._wait()
            if id in self._runs:
                yield candidate, self._runs.pop(id)

    def as_they_come(self) -> Iterator[tuple[Candidate, Run]]:
        """The outcomes in the order of their ends; more may be begun meanwhile."""
        while self._jobs or self._runs:
            if not self._runs:
                self._wait()
                continue
            id = next(iter(self._runs))
            yield self._candidates.pop(id), self._runs.pop(id)

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
            event = self._events.get(timeout=None if self.late else min(remaining, _LONGEST_WAIT))
        except Empty:
            return
        if self._interrupted():
            self.withdraw()
        event()

    def _begun(self, candidate: Candidate, worker: int | None, process: int | None) -> None:
        """From any thread: the log hears of it in its own."""
        event = partial(self._log.begun, candidate, worker, process)
        if threading.get_ident() == self._thread:
            event()
        else:
            self._events.put(event)

    def _over(self, id: int, job: object) -> None:
        """From any thread."""
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
        self._log.heard(self._candidates[id], run)
        self._runs[id] = run

    def wake(self) -> None:
        """From a signal handler: look whether the search was interrupted."""
        self._events.put(self.withdraw)

    def withdraw(self) -> None:
        """Take back what has not begun."""
        self._evaluator.finish()
        self._jobs = {id: job for id, job in self._jobs.items() if not job.cancel()}
