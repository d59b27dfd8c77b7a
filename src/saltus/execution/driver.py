"""The only loop: ask, evaluate, remember, tell, until there is a reason to stop.

`minimize` remembers in memory, a study on disk: the loop knows a `Log` and nothing more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from .._checks import check_limits
from ..asynchronous import AsynchronousOptimizer
from ..candidates import Candidate
from ..optimizer import Optimizer
from ..order import Outcome
from ..result import History, Result
from ..search.stopping import Stop
from .evaluation import Run
from .evaluator import Evaluator, Job
from .in_flight import Flight, HistoryRow, Log
from .progress import Progress
from .worker_process import WorkerError

Callback = Callable[[Result], Any]
OnError = Literal["raise", "infeasible"]


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
        check_limits(self.budget, self.target, self.max_seconds)


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
        self._flight: Flight | None = None
        self._failure: ObjectiveError | WorkerError | None = None  # the first, to be raised

    def run(
        self, evaluator: Evaluator, callback: Callable[[], bool], bar: Progress, width: int | None = None
    ) -> Stop:
        """Generation after generation; `callback` is called after each and says whether to stop.

        With a width, so many evaluations are always under way, for an `AsynchronousOptimizer`.
        """
        deadline = time.monotonic() + self.max_seconds
        try:
            if width is not None:
                flight = self._flight = Flight(self.log, evaluator, lambda: self.interrupted, deadline)
                return self._stream(flight, callback, bar, width)
            while True:
                stop = self._run_over() or self._generation(evaluator, bar, deadline)
                if stop is None and callback():
                    stop = Stop.CALLBACK
                if stop is not None:
                    return stop
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except WorkerError as error:
            for candidate, run in [] if self._flight is None else self._flight.rest():  # nothing is lost
                if self.on_error == "infeasible" or run.error is None:
                    self.tell(candidate, run)
            error.optimizer = self.optimizer
            raise

    def tell(self, candidate: Candidate, run: Run) -> Outcome:
        """Tell the optimizer an outcome; what it was told, in the user's direction."""
        told = run.result
        self.optimizer.tell(candidate, self.sign * told.value, told.violation)
        return told

    def interrupt(self) -> None:
        """Begin nothing more, wait for what is running, and return; may be called from a signal handler."""
        self.interrupted = True
        if self._flight is not None:
            self._flight.wake()

    def _run_over(self) -> Stop | None:
        """If the run has ended, begin another; without restarts, the reason to stop."""
        if self.optimizer.stop is not None and self.optimizer.between_generations:
            if not self.restarts:
                return self.optimizer.stop
            self.optimizer.restart()
        return None

    def _stream(self, flight: Flight, callback: Callable[[], bool], bar: Progress, width: int) -> Stop:
        """Begin an evaluation whenever one has ended."""
        optimizer, log = self.optimizer, self.log
        if not isinstance(optimizer, AsynchronousOptimizer):
            raise TypeError(f"a stream needs an AsynchronousOptimizer, got {type(optimizer).__name__}")
        generation, values = optimizer.generation, list[float]()
        stop = self._feed(flight, width)
        for candidate, run in flight.as_they_come():
            if not self._heard(flight, values, candidate, run, bar):
                continue
            optimizer.settle()
            if optimizer.generation != generation:
                log.told(self._history_row(values, len(values)))
                generation, values = optimizer.generation, []
                if stop is None and callback():
                    stop = Stop.CALLBACK
            if self._reached_target():
                break
            if self._failure is None:
                stop = stop or self._reason(flight) or self._feed(flight, width)
                if stop is not None:
                    flight.withdraw()
        flight.drain()
        self._raise()
        return self._reason(flight) or stop or Stop.BUDGET

    def _feed(self, flight: Flight, width: int) -> Stop | None:
        """Keep so many under way, within the budget."""
        stop = self._run_over()
        room = self.budget - self.log.evaluations - flight.size
        free = min(width - flight.size, room)
        if stop is None and free > 0:
            flight.begin(self.optimizer.ask(free))
        return stop

    def _heard(
        self, flight: Flight, values: list[float], candidate: Candidate, run: Run, bar: Progress
    ) -> bool:
        """Tell an outcome, and add it to the values if it is feasible; False if it is to be raised.

        Then what is running is not lost: it is told before the raise.
        """
        if run.error is not None and self.on_error == "raise":
            self._failure = self._failure or self._failed(candidate, run.error)
            flight.withdraw()
            return False
        told = self.tell(candidate, run)
        if told.violation == 0 and math.isfinite(told.value):
            values.append(self.sign * told.value)
        bar.step(self.log.evaluations, self.optimizer, self.sign)
        return True

    def _raise(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure from failure.error if isinstance(failure, ObjectiveError) else None

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
        flight = self._flight = Flight(log, evaluator, lambda: self.interrupted, deadline)
        flight.begin(candidates)
        values: list[float] = []
        for candidate, run in flight.in_order():
            if not self._heard(flight, values, candidate, run, bar):
                continue
            if self._reached_target():
                flight.withdraw()
                break
            if log.stop is not None:
                flight.withdraw()
        flight.drain()
        self._raise()
        log.told(self._history_row(values, len(candidates)))
        return self._reason(flight)

    def _history_row(self, values: list[float], size: int) -> HistoryRow:
        """What the history says about a generation with these feasible values."""
        best = self.optimizer.best
        return (
            self.log.evaluations,
            self.sign * best.value if best is not None and best.feasible else math.nan,
            self.sign * min(values) if values else math.nan,
            size,
        )

    def _reason(self, flight: Flight) -> Stop | None:
        """Why to stop now, if there is a reason."""
        if self._reached_target():
            return Stop.TARGET
        if self.interrupted:
            return Stop.INTERRUPTED
        if flight.late:
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
