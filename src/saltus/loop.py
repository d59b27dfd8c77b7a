"""The only loop: ask, evaluate, remember, tell, until there is a reason to stop.

`minimize` remembers in memory, a study on disk: the loop knows a `Log` and nothing more.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from functools import partial
from numbers import Real
from queue import Empty, SimpleQueue
from typing import Any, Literal, Protocol

from .candidates import Candidate
from .child import WorkerError
from .evaluation import Ended, Outcome, Run
from .optimizer import Optimizer
from .progress import Progress
from .result import History, Result, Stop
from .workers import Evaluator, Job

Callback = Callable[[Result], Any]
OnError = Literal["raise", "infeasible"]
_LONGEST_WAIT = 3600.0  # seconds: a queue cannot wait for ever with a timeout
HistoryRow = tuple[float, float, float, float]


class ObjectiveError(RuntimeError):
    """The objective raised an exception; the exception itself is the cause of this one.

    `params` is the point, `optimizer` holds everything told before: `optimizer.state()` can be saved, and
    `optimizer.pending` lists what is still to be evaluated.
    """

    def __init__(self, candidate: Candidate, optimizer: Optimizer, error: Exception) -> None:
        """Say where and what."""
        super().__init__(
            f"the objective raised {type(error).__name__}: {error} at {candidate.params!r}; "
            "on_error='infeasible' would count such points as infeasible and go on"
        )
        self.candidate = candidate
        self.params = candidate.params
        self.optimizer = optimizer
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: an error may come out of another process."""
        return ObjectiveError, (self.candidate, self.optimizer, self.error)


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search ends, whatever it has found: evaluations, a value this good, seconds."""

    budget: int
    target: float | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        """A clear error for a limit that is none."""
        budget: Any = self.budget
        if isinstance(budget, bool) or not isinstance(budget, Real) or budget < 1 or budget % 1 != 0:
            raise ValueError(f"budget must be a positive whole number, got {budget!r}")
        for name, value in (("target", self.target), ("max_seconds", self.max_seconds)):
            if value is not None and (not isinstance(value, Real) or math.isnan(value)):
                raise ValueError(f"{name} must be a number or None, got {value!r}")


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


class Memory:
    """Remembers the history and nothing else."""

    stop = None

    def __init__(self, optimizer: Optimizer) -> None:
        """Nothing has happened yet."""
        self._optimizer = optimizer
        self.rows: list[HistoryRow] = []

    @property
    def evaluations(self) -> int:
        """All of them."""
        return self._optimizer.evaluations

    def knows(self, candidate: Candidate) -> bool:
        """Never."""
        return False

    def begin(self, candidates: list[Candidate], submit: Callable[[Candidate], Job]) -> Iterable[Job]:
        """Begin all of them."""
        return map(submit, candidates)

    def begun(self, candidate: Candidate, worker: int | None, process: int | None) -> None:
        """Of no interest."""

    def heard(self, candidate: Candidate, run: Run) -> None:
        """Of no interest."""

    def told(self, row: HistoryRow) -> None:
        """One more row."""
        self.rows.append(row)


class Loop:
    """An optimizer, its limits, and a log."""

    def __init__(
        self,
        optimizer: Optimizer,
        log: Log,
        limits: Limits,
        *,
        restarts: bool = True,
        maximize: bool = False,
        on_error: OnError = "raise",
    ) -> None:
        """The other arguments are those of `minimize`, which explains them."""
        self.optimizer = optimizer
        self.log = log
        self.budget = int(limits.budget)
        self.restarts = restarts
        self.on_error = on_error
        self.sign = -1.0 if maximize else 1.0
        self.target = None if limits.target is None else self.sign * limits.target
        self.max_seconds = math.inf if limits.max_seconds is None else limits.max_seconds
        self.interrupted = False
        self._batch: Batch | None = None

    def run(self, evaluator: Evaluator, callback: Callable[[], bool], bar: Progress) -> Stop:
        """Generation after generation; `callback` is called after each and says whether to stop."""
        deadline = time.monotonic() + self.max_seconds
        try:
            while True:
                if self.optimizer.stop is not None and self.optimizer.between_generations:
                    if not self.restarts:
                        return self.optimizer.stop
                    self.optimizer.restart()
                stop = self._generation(evaluator, bar, deadline)
                if stop is None and callback():
                    stop = Stop.CALLBACK
                if stop is not None:
                    return stop
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except WorkerError as error:
            error.optimizer = self.optimizer
            raise

    def tell(self, candidate: Candidate, run: Run) -> Outcome:
        """Tell the optimizer an outcome; what it was told, in the user's direction."""
        told = run.told
        self.optimizer.tell(candidate, self.sign * told.value, told.violation)
        return told

    def interrupt(self) -> None:
        """Begin nothing more, wait for what is running, and return; may be called from a signal handler."""
        self.interrupted = True
        if self._batch is not None:
            self._batch.wake()

    def _generation(self, evaluator: Evaluator, bar: Progress, deadline: float) -> Stop | None:
        """Evaluate one generation, or what the budget leaves of it."""
        optimizer, log = self.optimizer, self.log
        if self._reached_target():
            return Stop.TARGET
        if log.stop is not None and not optimizer.pending:
            return log.stop
        candidates = self._candidates()
        if not candidates:
            return Stop.BUDGET
        self._batch = batch = Batch(self, deadline)
        batch.begin(candidates, evaluator)
        values: list[float] = []
        failed: ObjectiveError | WorkerError | None = None
        for candidate, run in batch:
            if isinstance(run.outcome, Exception) and self.on_error == "raise":
                failed = failed or self._failed(candidate, run.outcome)
                batch.withdraw()  # what is running is not lost: it is told before the raise
                continue
            told = self.tell(candidate, run)
            if told.violation == 0 and math.isfinite(told.value):
                values.append(self.sign * told.value)
            bar.step(log.evaluations, optimizer, self.sign)
            if self._reached_target():
                batch.withdraw()
                break
            if log.stop is not None:
                batch.withdraw()
        batch.drain()
        if failed is not None:
            raise failed from failed.error if isinstance(failed, ObjectiveError) else None
        log.told(self._history_row(values, len(candidates)))
        return self._reason(batch)

    def _history_row(self, values: list[float], size: int) -> HistoryRow:
        """What the history says about a generation with these feasible values."""
        best = self.optimizer.best
        return (
            self.log.evaluations,
            self.sign * best.value if best is not None and best.feasible else math.nan,
            self.sign * min(values) if values else math.nan,
            size,
        )

    def _reason(self, batch: Batch) -> Stop | None:
        """Why to stop after a batch, if there is a reason."""
        if self._reached_target():
            return Stop.TARGET
        if self.interrupted:
            return Stop.INTERRUPTED
        if batch.late:
            return Stop.SECONDS
        if self.log.stop is not None:
            return self.log.stop
        return Stop.BUDGET if self.log.evaluations >= self.budget else None

    def _candidates(self) -> list[Candidate]:
        """What is pending, for instance after a restore, and then new ones, within the budget."""
        room = self.budget - self.log.evaluations
        chosen = []
        for candidate in self.optimizer.pending:
            if not self.log.knows(candidate):
                if room <= 0:
                    continue
                room -= 1
            chosen.append(candidate)
        return chosen + (self.optimizer.ask(room) if room > 0 else [])

    def _failed(self, candidate: Candidate, error: Exception) -> ObjectiveError | WorkerError:
        if isinstance(error, WorkerError):
            return error
        return ObjectiveError(candidate, self.optimizer, error)

    def _reached_target(self) -> bool:
        best = self.optimizer.best
        return self.target is not None and best is not None and best.feasible and best.value <= self.target

    def result(self, stop: Stop | None, history: History) -> Result:
        """The result so far; without a stop, an intermediate one."""
        optimizer, best = self.optimizer, self.optimizer.best
        feasible = best is not None and best.feasible
        planned = stop is not None and stop.planned and self.target is None
        return Result(
            x=None if best is None else best.x.copy(),
            params=None if best is None else best.params,
            fun=math.nan if best is None else self.sign * best.value,
            nfev=self.log.evaluations,
            nit=optimizer.generation,
            success=feasible and (stop is Stop.TARGET or planned),
            stop=stop,
            restarts=optimizer.restarts,
            failures=optimizer.failures,
            violation=0.0 if best is None else best.violation,
            history=history,
        )


class Batch:
    """Evaluations of several candidates, begun together.

    The log hears of outcomes as they come; iterating gives them in the candidates' order, whatever ended
    first, so that results do not depend on timing.
    """

    def __init__(self, loop: Loop, deadline: float = math.inf) -> None:
        """After the deadline (of `time.monotonic`) what has not begun is taken back."""
        self._loop, self._log = loop, loop.log
        self._deadline = deadline
        self.late = False
        self._thread = threading.get_ident()
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()  # from all threads to this one
        self._candidates: list[Candidate] = []
        self._evaluator: Evaluator | None = None
        self._jobs: list[Job] = []
        self._runs: dict[int, Run] = {}
        self._open: set[int] = set()  # neither heard of nor taken back

    def begin(self, candidates: list[Candidate], evaluator: Evaluator) -> None:
        """Begin all of them."""
        self._candidates, self._evaluator = candidates, evaluator

        def submit(candidate: Candidate) -> Job:
            return evaluator.submit(candidate, partial(self._begun, candidate))

        try:
            self._jobs = list(self._log.begin(candidates, submit))
        except BrokenExecutor as error:
            raise WorkerError(f"the executor is broken: {error}") from error
        self._open = set(range(len(candidates)))
        for i, job in enumerate(self._jobs):
            job.add_done_callback(partial(self._over, i))
        if self._loop.interrupted:  # between two batches
            self.withdraw()

    def __iter__(self) -> Iterator[tuple[Candidate, Run]]:
        """Wait for each outcome in turn; those taken back are left out."""
        for i, candidate in enumerate(self._candidates):
            while i in self._open:
                self._wait()
            if i in self._runs:
                yield candidate, self._runs.pop(i)

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
        if self._loop.interrupted:
            self.withdraw()
        event()

    def _begun(self, candidate: Candidate, worker: int | None, process: int | None) -> None:
        """From any thread: the log hears of it in its own."""
        event = partial(self._log.begun, candidate, worker, process)
        if threading.get_ident() == self._thread:
            event()
        else:
            self._events.put(event)

    def _over(self, i: int, job: Job) -> None:
        """From any thread."""
        self._events.put(partial(self._done, i))

    def _done(self, i: int) -> None:
        if i not in self._open:
            return
        try:
            run = self._jobs[i].result()
        except (CancelledError, Ended):
            self._open.discard(i)
            return
        except BrokenExecutor as error:
            raise WorkerError(f"the executor is broken: {error}") from error
        self._open.discard(i)
        self._log.heard(self._candidates[i], run)
        self._runs[i] = run

    def wake(self) -> None:
        """From a signal handler: look whether the loop was interrupted."""
        self._events.put(self.withdraw)

    def withdraw(self) -> None:
        """Take back what has not begun."""
        if self._evaluator is not None:
            self._evaluator.finish()
        self._open = {i for i in self._open if not self._jobs[i].cancel()}
