"""The only loop: ask, evaluate, remember, tell, until there is a reason to stop.

`minimize` remembers in memory, a study on disk: the driver knows a `Log` and nothing more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from .._checks import check_limits
from ..optimizer import Optimizer
from ..order import Outcome, sign
from ..result import Candidate, History, Result
from ..search.stopping import Stop
from .evaluation import Run
from .evaluator import Evaluator
from .in_flight import InFlight
from .log import Log
from .progress import Progress
from .worker_process import WorkerError

Callback = Callable[[Result], Any]
OnError = Literal["raise", "infeasible"]


class ObjectiveError(RuntimeError):
    """The objective raised an exception; the exception itself is the cause of this one.

    `params` is the point, `optimizer` holds everything told before: `optimizer.state()` can be saved, and
    `optimizer.pending` lists what is still to be evaluated.

    >>> from saltus import Int, Space, minimize
    >>> try:
    ...     minimize(lambda p: 1 / 0, Space({"k": Int(0, 9)}), budget=10, seed=1)
    ... except ObjectiveError as failed:
    ...     print(failed.error, "at", sorted(failed.params))
    division by zero at ['k']
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


class Driver:
    """An optimizer, its limits, and a log: asks, evaluates, remembers, tells until there is a reason to stop.

    An optimizer that waits gets its batch evaluated as a whole, and the outcomes in the order asked: the
    result does not depend on timing. One that does not (`asynchronous`) gets every outcome as it comes, and a
    free worker a candidate at once.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        log: Log,
        limits: Limits,
        *,
        maximize: bool = False,
        on_error: OnError = "raise",
    ) -> None:
        """The arguments are explained in `minimize`."""
        self.optimizer = optimizer
        self.log = log
        self.budget = int(limits.budget)
        self.on_error = on_error
        self.sign = sign(maximize)
        self.target = None if limits.target is None else self.sign * limits.target
        self.max_seconds = math.inf if limits.max_seconds is None else limits.max_seconds
        self.interrupted = False
        self._flight: InFlight | None = None
        self._failure: ObjectiveError | WorkerError | None = None  # the first, to be raised
        # of the generation under way: feasible values, and how many were begun if it is evaluated as a whole
        self._values: list[float] = []
        self._begun = 0

    def run(
        self,
        evaluator: Evaluator,
        callback: Callable[[], bool],
        bar: Progress | None,
        width: int | None = None,
    ) -> Stop:
        """Evaluate until there is a reason to stop.

        Args:
            evaluator: where evaluations run.
            callback: called after each generation; says whether to stop.
            bar: told of every evaluation, or None.
            width: how many evaluations to keep under way; None: whole batches.
        """
        deadline = time.monotonic() + self.max_seconds
        flight = self._flight = InFlight(self.log, evaluator, deadline)
        flight.interrupted = self.interrupted
        try:
            stop = self._drive(flight, callback, bar, width)
            flight.drain()
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure from failure.error if isinstance(failure, ObjectiveError) else None
            return self._reason(flight) or stop or Stop.BUDGET
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except WorkerError as error:
            for candidate, run in flight.rest():  # nothing is lost
                if self.on_error == "infeasible" or run.error is None:
                    self.tell(candidate, run)
            error.optimizer = self.optimizer
            raise

    def _drive(
        self, flight: InFlight, callback: Callable[[], bool], bar: Progress | None, width: int | None
    ) -> Stop | None:
        """Begin what may be begun and tell what has ended, until there is a reason to stop: that one."""
        optimizer, waits = self.optimizer, width is None
        generation = optimizer.generation
        stop = self._feed(flight, width)
        for candidate, run in flight.results(ordered=waits):
            if not self._hear(flight, candidate, run, bar):
                continue
            if not waits:
                optimizer.settle()
            stop = stop or self._reason(flight)
            if flight.idle if waits else optimizer.generation != generation:
                self._note_generation()
                generation = optimizer.generation
                if stop is None and callback():
                    stop = Stop.CALLBACK
            if stop is None and self._failure is None and (not waits or flight.idle):
                stop = self._feed(flight, width)
            if stop is not None:
                flight.withdraw()
            if stop is Stop.TARGET:
                break
        if self._begun and self._failure is None:  # what was left of it was taken back
            self._note_generation()
        return stop

    def _feed(self, flight: InFlight, width: int | None) -> Stop | None:
        """Begin what may be begun; a reason to stop if there is one, or if nothing can be."""
        optimizer, log = self.optimizer, self.log
        if self._reached_target():
            return Stop.TARGET
        if optimizer.stop is not None and optimizer.between_generations and not optimizer.auto_restart:
            return optimizer.stop
        if log.stop is not None and not optimizer.pending:
            return log.stop
        room = self.budget - log.evaluations - flight.size
        if width is None:
            candidates = self._batch(room)
            self._begun = len(candidates)
        else:
            free = min(width - flight.size, room)
            candidates = optimizer.ask(free) if free > 0 else []
        if candidates:
            flight.begin(candidates)
        return None if candidates or not flight.idle else Stop.BUDGET

    def _batch(self, room: int) -> list[Candidate]:
        """What is pending, for instance after a restore, and then new candidates, within the budget."""
        chosen = []
        for candidate in self.optimizer.pending:
            if not self.log.knows(candidate):
                if room <= 0:
                    continue
                room -= 1
            chosen.append(candidate)
        return chosen + (self.optimizer.ask(room) if room > 0 else [])

    def _hear(self, flight: InFlight, candidate: Candidate, run: Run, bar: Progress | None) -> bool:
        """Tell an outcome; False if it is to be raised. Then what is running is told before the raise."""
        if run.error is not None and self.on_error == "raise":
            if self._failure is None:
                self._failure = (
                    run.error
                    if isinstance(run.error, WorkerError)
                    else ObjectiveError(candidate, self.optimizer, run.error)
                )
            flight.withdraw()
            return False
        told = self.tell(candidate, run)
        if told.failure is None and (not told.constraints or told.violation == 0):
            self._values.append(self.sign * told.value)
        if bar is not None:
            bar.step(self.log.evaluations, self.optimizer, self.sign)
        return True

    def tell(self, candidate: Candidate, run: Run) -> Outcome:
        """Tell the optimizer an outcome; what it was told, in the user's direction."""
        told = run.outcome if run.outcome.failure is None else run.result
        value = self.sign * told.value
        if told.constraints or told.failure is not None:
            self.optimizer.tell(candidate, replace(told, value=value))
        else:
            self.optimizer.tell(candidate, value)
        return told

    def interrupt(self) -> None:
        """Begin nothing more, wait for what is running, and return; may be called from a signal handler."""
        self.interrupted = True
        if self._flight is not None:
            self._flight.interrupt()

    def _note_generation(self) -> None:
        """Tell the log about the generation that is over."""
        best, values = self.optimizer.best, self._values
        row = (
            self.log.evaluations,
            self.sign * best.value if best is not None and best.feasible else math.nan,
            self.sign * min(values) if values else math.nan,
            self._begun or len(values),
        )
        self._values, self._begun = [], 0
        self.log.told(row)

    def _reason(self, flight: InFlight) -> Stop | None:
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
