"""The only loop: ask, evaluate, remember, tell, until there is a reason to stop.

`minimize` remembers in memory, a study on disk: the driver knows a `Log` and nothing more.
"""

from __future__ import annotations

import itertools
import math
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._checks import check_limits
from ..optimizer import Optimizer
from ..order import Outcome, sign
from ..result import MANY_FAILURES, Candidate, History, Notes, Result
from ..search.recommendation import Recommended
from ..search.stopping import Stop
from .evaluation import Run, WorkerError
from .evaluator import Evaluator
from .in_flight import InFlight
from .log import HistoryRow, Log
from .patience import Patience
from .progress import Progress
from .watching import OnEvaluation, Watch

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
    """When a search ends, whatever it has found: evaluations, a value this good, seconds, no more gain."""

    budget: int
    target: float | None = None
    max_seconds: float | None = None
    since: float = field(default_factory=time.monotonic, compare=False)  # what the seconds are counted from
    patience: int | None = None
    min_gain: float | None = None

    def __post_init__(self) -> None:
        """A clear error for a limit that is none."""
        check_limits(self.budget, self.target, self.max_seconds, self.patience, self.min_gain)


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
        on_evaluation: OnEvaluation | None = None,
    ) -> None:
        """The arguments are explained in `minimize`."""
        self.optimizer = optimizer
        self.log = log
        self.budget = int(limits.budget)
        self.on_error = on_error
        self.sign = sign(maximize)
        self.target = None if limits.target is None else self.sign * limits.target
        self.deadline = math.inf if limits.max_seconds is None else limits.since + limits.max_seconds
        self.patience = None
        if limits.patience is not None:
            self.patience = Patience(int(limits.patience), limits.min_gain)
        self._watch = Watch(on_evaluation, self.sign)
        self.interrupted = False
        self._flight: InFlight | None = None
        self._failure: ObjectiveError | WorkerError | None = None  # the first, to be raised
        self._heard: list[tuple[Candidate, Outcome | float]] = []  # what the optimizer is to be told
        # of the generation under way: feasible values, and how many were begun if it is evaluated as a whole
        self._values: list[float] = []
        self._begun = 0
        self._failing = 0  # how many failures there were in a row ...
        self._error: Exception | None = None  # ... and the last exception
        self._constraints: tuple[int, dict[str, float]] | None = None  # of the best, by the candidate's id

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
        flight = self._flight = InFlight(self.log, evaluator, self.deadline)
        flight.interrupted = self.interrupted
        self._watch.begin(self.optimizer, self.log.evaluations, self.budget)
        stop: Stop | None = None
        try:
            stop = self._drive(flight, callback, bar, width)
            flight.drain()
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure from failure.error if isinstance(failure, ObjectiveError) else None
            stop = self._reason(flight) or stop or Stop.BUDGET
            return stop
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
            return stop
        except WorkerError as error:
            for candidate, run in flight.rest():  # nothing is lost
                if run.error is None or (self.on_error == "infeasible" and not run.withheld):
                    self._hear(candidate, run)
            error.optimizer = self.optimizer
            raise
        finally:
            self._tell()
            if stop is not None:
                self._watch.end(stop, self.log.evaluations)

    def evaluate(
        self, evaluator: Evaluator, candidates: list[Candidate], bar: Progress | None
    ) -> Stop | None:
        """Evaluate candidates that the optimizer has not asked, for the log alone.

        Args:
            evaluator: where evaluations run.
            candidates: those which the log knows.
            bar: told of every evaluation, or None.

        A reason to stop, if not all of them could be evaluated.
        """
        flight = self._flight = InFlight(self.log, evaluator, self.deadline)
        flight.interrupted = self.interrupted
        self._watch.begin(self.optimizer, self.log.evaluations, self.budget)
        possible = max(0, self.budget - self.log.evaluations)
        left = candidates[:possible]
        try:
            while left:
                again = []
                flight.begin(left)
                for candidate, run in flight.results(ordered=True):
                    if run.withheld and self.log.withheld(candidate, run):
                        again.append(candidate)
                    elif flight.was_paid(candidate):
                        self._watch.heard(candidate, run)
                    if bar is not None:
                        bar.step(self.log, self.optimizer, self.sign)
                    if self.log.stop is not None or self._watch.wants_stop:
                        flight.withdraw()
                left, stop = again, self._reason(flight)
                if stop is not None and (left or stop is not Stop.BUDGET):
                    return stop
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        return Stop.BUDGET if self.log.evaluations >= self.budget and len(candidates) > possible else None

    def _drive(
        self, flight: InFlight, callback: Callable[[], bool], bar: Progress | None, width: int | None
    ) -> Stop | None:
        """Begin what may be begun and tell what has ended, until there is a reason to stop: that one."""
        optimizer, waits = self.optimizer, width is None
        generation = optimizer.generation
        stop = self._feed(flight, width)
        for candidate, run in flight.results(ordered=waits):
            kept = run.withheld and self.log.withheld(candidate, run)  # to be evaluated again
            if run.error is not None and not kept and (self.on_error == "raise" or run.withheld):
                self._fail(flight, candidate, run.error)
                continue
            if not kept:
                self._hear(candidate, run)
                if flight.was_paid(candidate):
                    self._watch.heard(candidate, run)
            if waits and bar is None and not flight.idle and self._reason(flight) is None:
                continue  # a batch is told as a whole, unless somebody looks on
            self._tell()
            if bar is not None:
                bar.step(self.log, optimizer, self.sign)
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
            if stop is not None and not flight.idle:
                flight.withdraw()
            if stop is Stop.TARGET:
                break
        if self._begun and self._failure is None:  # what was left of it was taken back
            self._tell()
            self._note_generation()
        return stop

    def _feed(self, flight: InFlight, width: int | None) -> Stop | None:
        """Begin what may be begun; a reason to stop if there is one, or if nothing can be."""
        optimizer, log, under_way = self.optimizer, self.log, flight.size
        if self._reached_target():
            return Stop.TARGET
        if time.monotonic() >= self.deadline:
            return Stop.SECONDS
        if self.patience is not None and self.patience.over:
            return Stop.PATIENCE
        if optimizer.stop is not None and optimizer.between_generations and not optimizer.auto_restart:
            return optimizer.stop
        pending = optimizer.pending
        if log.stop is not None and not pending:
            return log.stop
        room = self.budget - log.evaluations - under_way
        candidates: list[Candidate] = []
        if width is not None:
            room = min(width - under_way, room)
            left = [c for c in pending if not flight.holds(c)]  # after a restore, or to be evaluated again
            candidates = left[: max(0, room)]
            room -= len(left)
            if log.stop is not None:
                room = 0
        elif pending:  # for instance after a restore
            known = [log.knows(candidate) for candidate in pending]
            paid = list(itertools.accumulate(map(operator.not_, known)))
            candidates = [c for c, k, n in zip(pending, known, paid, strict=True) if k or n <= room]
            room -= paid[-1]
        if room > 0:
            candidates += optimizer.ask(room)
        if width is None:
            self._begun = len(candidates)
        if candidates:
            flight.begin(candidates)
        return None if candidates or not flight.idle else Stop.BUDGET

    def _fail(self, flight: InFlight, candidate: Candidate, error: Exception) -> None:
        """An exception is to be raised, the first of several; what is running is told before."""
        if self._failure is None:
            own = ObjectiveError(candidate, self.optimizer, error)
            self._failure = error if isinstance(error, WorkerError) else own
        flight.withdraw()

    def tell(self, candidate: Candidate, run: Run) -> None:
        """Tell the optimizer an outcome."""
        self._hear(candidate, run)
        self._tell()
        if self.optimizer.asynchronous:
            self.optimizer.settle()

    def _hear(self, candidate: Candidate, run: Run) -> None:
        """Keep an outcome, as it is minimised, until the optimizer is told."""
        told = run.outcome if run.outcome.failure is None else run.result
        self._failing = 0 if told.failure is None else self._failing + 1
        self._error = run.error or self._error
        plain = not told.constraints and told.failure is None
        value = self.sign * told.value
        self._heard.append((candidate, value if plain else replace(told, value=value)))
        if plain or (told.failure is None and told.violation == 0):
            self._values.append(value)

    def _tell(self) -> None:
        """Tell the optimizer what was heard."""
        heard, self._heard = self._heard, []
        if heard:
            self.optimizer.tell([candidate for candidate, _ in heard], [told for _, told in heard])
        best = self.optimizer.best
        for candidate, told in heard:
            if best is not None and candidate.id == best.id:
                self._constraints = best.id, dict(told.constraints) if isinstance(told, Outcome) else {}

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
            self.sign * best.value if best is not None and not best.violation else math.nan,
            self.sign * min(values) if values else math.nan,
            self._begun or len(values),
            self.optimizer.restarts,
        )
        self._values, self._begun = [], 0
        self.log.told(row)
        self.recall(row)
        self._watch.generation(self.optimizer)

    def recall(self, row: HistoryRow) -> None:
        """A generation is over, just now or in an earlier session: what `patience` has to know of it."""
        if self.patience is not None:
            self.patience.told(row[0], self.sign * row[1])

    def _reason(self, flight: InFlight) -> Stop | None:
        """Why to stop now, if there is a reason."""
        if self._reached_target():
            return Stop.TARGET
        if self.interrupted:
            return Stop.INTERRUPTED
        if flight.late:
            return Stop.SECONDS
        if self._watch.wants_stop:
            return Stop.CALLBACK
        if self.log.stop is not None:
            return self.log.stop
        return Stop.BUDGET if self.log.evaluations >= self.budget else None

    def _reached_target(self) -> bool:
        """Whether a value this good is known, also if the optimizer was not told of it yet."""
        if self.target is None:
            return False
        best = self.optimizer.best
        known = best is not None and best.feasible and best.value <= self.target
        if self.optimizer.noisy:  # one lucky value is not enough
            found = self.optimizer.recommended if known else None
            return found is not None and found.value + found.error <= self.target
        return known or min(self._values, default=math.inf) <= self.target

    def _constraints_of_best(self) -> dict[str, float]:
        """As it was told here, or before: then it is in the memory."""
        best, memory = self.optimizer.best, self.optimizer.memory
        if best is None:
            return {}
        if self._constraints is not None and self._constraints[0] == best.id:
            return self._constraints[1]
        row = memory.ids == best.id
        told = {name: memory.constraint(name)[row] for name in memory.constraint_names}
        return {name: float(c[0]) for name, c in told.items() if len(c) and not np.isnan(c[0])}

    def _recommended(self) -> Recommended | None:
        """In the user's direction."""
        found = self.optimizer.recommended
        return None if found is None else found._replace(value=self.sign * found.value)

    def result(self, stop: Stop | None, history: History, notes: Notes | None = None) -> Result:
        """The result so far; without a stop, an intermediate one. `notes` are of earlier sessions, too."""
        optimizer, best = self.optimizer, self.optimizer.best
        planned = stop is not None and stop.planned and self.target is None
        feasible = best is not None and not best.violation
        return Result(
            x=None if best is None else best.x.copy(),
            params=None if best is None else best.params,
            fun=math.nan if best is None else self.sign * best.value,
            nfev=self.log.evaluations,
            nit=optimizer.generation,
            success=feasible and (stop is Stop.TARGET or (planned and self._failing < MANY_FAILURES)),
            stop=stop,
            restarts=optimizer.restarts,
            failures=self.log.failures,
            violation=0.0 if best is None else best.violation,
            constraints=self._constraints_of_best(),
            failing=self._failing,
            error=self._error,
            history=history,
            recommended=self._recommended(),
            _learnt=optimizer.learnt(maximize=self.sign < 0),
            _notes=self._watch.notes if notes is None else notes,
        )
