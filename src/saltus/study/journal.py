"""What a study remembers while it runs: candidates before they are evaluated, outcomes as they come.

The driver calls a `Journal` at every step of an evaluation (asked, begun, over), and each call is a
transaction of the `Database`. So a process that is killed at any moment leaves a record from which the same
search goes on.
"""

import json
import math
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from .._typing import Params
from ..execution.evaluation import LONGEST_MESSAGE, EvaluationError, Run
from ..execution.evaluator import Job, settled
from ..execution.log import REPEATS_IN_A_ROW, HistoryRow
from ..execution.processes import identity
from ..optimizer import Optimizer
from ..order import Outcome
from ..result import Candidate
from ..search.memory import Memory
from ..search.stopping import Stop
from ..space import Space
from .database import Database
from .errors import RecordError
from .summary import sign_of
from .trial import Snapshot, Tell, Trial

# So many evaluations in a row that failed stop a study in which none has ever succeeded ...
FAILURES_AT_FIRST = 20
# ... and so many one that had worked: the search is not to learn from a simulator that is down.
FAILURES_LATER = 100
# Characters of the optimizer's state that may be written for each trial: in up to 20 variables it is written
# with every batch, of a matrix in 1000 after 1000 trials. What was told since is told again when it goes on.
STATE_FOR_EACH_TRIAL = 20_000
LONGEST_STDERR = 4000
# what becomes of values on record if the objective is another now
KEPT = "values on record are kept; `saltus run --reevaluate` (Study.reevaluate) evaluates the best ones again"
LONGEST_STDERR_OF_SUCCESS = 1000
LONGEST_REASON = 300


class Journal:
    """The log of one session, which writes to a record.

    Besides writing, it answers candidates at points that are on record (unless the study is noisy), counts
    the evaluations of all sessions, and sees when going on makes no sense: everything fails, or nothing
    is new.
    """

    def __init__(
        self,
        database: Database,
        optimizer: Optimizer,
        waiting: Sequence[Candidate] | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Go on where the record ends.

        Args:
            database: the record, open for writing.
            optimizer: the search, restored from the record; what it has pending may be evaluated already.
            waiting: what is to be evaluated before the search begins, if it is to begin anew.
            say: is called with a line for the user where something unusual happens.
        """
        self._database, self._optimizer = database, optimizer
        self._points = optimizer.space.count_points()
        self._trials: dict[int, Trial] = {}  # of the generation under way, and those that are not told
        self._first: dict[str, int] = {}  # of each point in it, the first trial
        self._jobs: dict[int, Job] = {}  # of those that are not told, by the trial that is evaluated
        # an asynchronous search depends on what it was told before it asked; what is waiting it has not asked
        self._orders_tells = database.head.asynchronous and waiting is None
        self._told: set[int] = {tell.trial for tell in database.tells()} if self._orders_tells else set()
        self._saved, state = database.state()  # how many trials there were then
        self._size = len(state)
        self._asked = database.count_trials()
        self._generation = optimizer.generation - 1
        for candidate in optimizer.pending if waiting is None else waiting:
            self._generation = optimizer.generation
            trial = database.trial(candidate.id)
            if trial.params != as_plain(candidate.params):
                raise RecordError(f"{database.path}: trial {trial.id} does not fit the optimizer's state")
            self._remember(trial)
        self.evaluations, self.failures = database.count_evaluations()
        self._past = database.count_past()
        done = any(t.status == "done" for t in self._trials.values())
        self._succeeded = done or optimizer.best is not None
        self._failures_in_a_row = 0
        self._say = say
        self._constraints = database.names_of_constraints()
        self._repeats_in_a_row = database.repeats_in_a_row()
        # times on record never go back, even if the clock does: they say what was before what
        times = (t for s in database.sessions() for t in (s.started, s.ended) if t is not None)
        self._begun = self._latest = max(times, default=0.0)
        # failures of before a session that was stopped because of them say nothing: something is repaired now
        failing = (s.ended for s in database.sessions() if s.stop == Stop.FAILING.name and s.ended)
        self._repaired = max(failing, default=0.0)

    @property
    def _answers(self) -> bool:
        """Whether points that are on record are answered from there."""
        return not (self._database.head.noisy or self._optimizer.noisy)

    def now(self) -> float:
        """The time, but never one before a time on record."""
        self._latest = max(self._latest, time.time())
        return self._latest

    @property
    def stop(self) -> Stop | None:
        """FAILING if too many evaluations in a row failed, EXHAUSTED if all that is proposed is known."""
        limit = FAILURES_LATER if self._succeeded else FAILURES_AT_FIRST
        if self._failures_in_a_row >= limit:
            return Stop.FAILING
        if self._repeats_in_a_row >= REPEATS_IN_A_ROW * self._optimizer.space.dimension:
            return Stop.EXHAUSTED
        enough = self._answers and self.evaluations + self._past >= self._points
        if enough and self._database.count_points(self._repaired) >= self._points:
            return Stop.EXHAUSTED
        return None

    def knows(self, candidate: Candidate) -> bool:
        """Whether this pending candidate, or an earlier one at the same point, has an outcome."""
        return self._answer(self._trials[candidate.id]).evaluated

    def _answer(self, trial: Trial) -> Trial:
        """The trial that is evaluated for this one: itself, unless it repeats another."""
        if trial.repeats is None:
            return trial
        return self._trials.get(trial.repeats) or self._database.trial(trial.repeats)

    def begin(self, candidates: list[Candidate], submit: Callable[[Candidate], Job]) -> Iterable[Job]:
        """Write down what is asked; then submit what is not on record.

        One job for each candidate comes back, in their order; candidates at the same point share one.
        """
        self.add([c for c in candidates if c.id >= self._asked])
        return [self._job(candidate, submit) for candidate in candidates]

    def _job(self, candidate: Candidate, submit: Callable[[Candidate], Job]) -> Job:
        answer = self._answer(self._trials[candidate.id])
        if answer.evaluated:
            return settled(run_of(answer))
        if answer.id == candidate.id:
            self._jobs[candidate.id] = submit(candidate)
        return self._jobs[answer.id]

    def add(self, new: list[Candidate]) -> None:
        """Write down new candidates, and now and then the optimizer that asked them, in one transaction."""
        if not new:
            return
        optimizer = self._optimizer
        snapshot = None
        if optimizer.generation > self._generation:  # asked for the first time
            self._generation = optimizer.generation
            older = {c.id for c in optimizer.pending} - {c.id for c in new}  # of an asynchronous search
            self._trials = {id: trial for id, trial in self._trials.items() if id in older}
            self._jobs = {id: job for id, job in self._jobs.items() if id in older}
            self._first.clear()
            where = (tuple(np.asarray(v).tolist()) for v in (optimizer.mean, optimizer.sd))
            snapshot = Snapshot(self._generation, new[0].id, optimizer.restarts, *where)
        trials = [self._trial(candidate) for candidate in new]
        asked, state = new[-1].id + 1, None
        if self._size <= STATE_FOR_EACH_TRIAL * (asked - self._saved):
            state = json.dumps(optimizer.state(memory=False), allow_nan=False)
            self._saved, self._size = asked, len(state)
        self._database.add(trials, snapshot, state)
        self._asked = asked

    def _trial(self, candidate: Candidate) -> Trial:
        """The trial of a new candidate; if the point is known, it says whose outcome is its own."""
        params = as_plain(candidate.params)
        trial = Trial(candidate.id, self._generation, params, "asked")
        same = None
        if self._answers:
            here = self._first.get(json.dumps(params))
            same = self._on_record(params) if here is None else self._trials[here]
        self._repeats_in_a_row = 0 if same is None else self._repeats_in_a_row + 1
        if same is not None:
            trial = replace(trial, repeats=same.id)
            if same.evaluated:
                trial = repeated(trial, same)
        self._remember(trial)
        return trial

    def _on_record(self, params: Params) -> Trial | None:
        """An earlier trial at this point whose outcome holds."""
        same = self._database.find(params)
        if same is not None and same.status == "failed" and (same.started or 0.0) < self._repaired:
            return None
        return same

    def _remember(self, trial: Trial) -> None:
        self._trials[trial.id] = trial
        if trial.repeats is None:
            self._first.setdefault(json.dumps(trial.params), trial.id)

    def answer(self, candidate: Candidate) -> Run:
        """The outcome of a pending candidate that is known; if it repeats another, this is written down."""
        run = run_of(self._answer(self._trials[candidate.id]))
        self.heard(candidate, run)
        return run

    def to_evaluate(self, candidates: Iterable[Candidate]) -> list[Trial]:
        """The trials of those candidates that nothing on record answers, or is going to."""
        trials = (self._trials[c.id] for c in candidates)
        return [t for t in trials if t.repeats is None and not t.evaluated]

    def begun(self, candidate: Candidate, worker: int | None, process: int | None) -> None:
        """An evaluation is running: by which worker, and in which process, is on record from now on."""
        trial, who = self._trials[candidate.id], identity(process)
        self._put(replace(trial, status="running", worker=worker, started=self.now(), process=who))

    def heard(self, candidate: Candidate, run: Run) -> None:
        """An evaluation is over: its outcome is on record from now on."""
        trial = self._trials[candidate.id]
        self._jobs.pop(candidate.id, None)  # some executors keep what somebody may still want
        if trial.over:  # it was in the record
            self._note_told(trial)
            return
        if trial.repeats is not None:
            self._put(repeated(trial, replace(with_run(trial, run), id=trial.repeats)), told=True)
            return
        trial = with_run(trial, run)
        if trial.started is not None and trial.started < self._begun:
            trial = replace(trial, started=self._begun)
        self._put(trial, told=True)
        self.evaluations += 1
        if trial.status == "failed":
            self.failures += 1
            self._failures_in_a_row += 1
        else:
            self._succeeded, self._failures_in_a_row = True, 0
            self._compare(list(trial.constraints or ()))

    def _compare(self, names: list[str]) -> None:
        """Say it if the objective has other constraints than before: the best may violate them."""
        if self._constraints is not None and sorted(names) != sorted(self._constraints):
            before, now = (", ".join(each) or "none" for each in (self._constraints, names))
            self._say(f"note: the constraints were {before} before and are {now} now; {KEPT}")
            self._constraints = None  # once is enough

    def withheld(self, candidate: Candidate, run: Run) -> bool:
        """An evaluation is not to count: it is done again, unless too many in a row are like this."""
        reason = _shortened(run.failure_reason or "no reason given")
        self._put(replace(reset(self._trials[candidate.id]), reason=reason))
        self._failures_in_a_row += 1
        return True

    def _put(self, trial: Trial, told: bool = False) -> None:
        self._database.put([trial], self._tell(trial) if told else None)
        self._trials[trial.id] = trial

    def _note_told(self, trial: Trial) -> None:
        """The search is told an outcome that is on record already."""
        tell = self._tell(trial)
        if tell is not None:
            self._database.put([], tell)

    def _tell(self, trial: Trial) -> Tell | None:
        """What goes on record when the search is told of a trial, if the order matters."""
        if not self._orders_tells or trial.id in self._told:
            return None
        self._told.add(trial.id)
        return Tell(trial.id, self._asked, len(self._optimizer.memory))

    def told(self, row: HistoryRow) -> None:
        """A generation is complete. Nothing to do: its row of the history follows from its trials."""

    def close(self) -> None:
        """What was running is not any more: it is to be evaluated again."""
        self._database.put(reset(t) for t in self._trials.values() if t.status == "running")


def reset(trial: Trial) -> Trial:
    """A trial whose evaluation was ended before it gave anything, or gave nothing that counts."""
    return replace(trial, status="asked", worker=None, started=None, process=None)


def repeated(trial: Trial, same: Trial) -> Trial:
    """The trial answered with the outcome of another one."""
    fields = ("value", "violation", "constraints", "failure", "reason")
    return replace(trial, status="repeated", repeats=same.id, **{f: getattr(same, f) for f in fields})


def with_run(trial: Trial, run: Run) -> Trial:
    """The trial with what its evaluation gave: done, or failed with the reason."""
    outcome, stderr = run.outcome, run.stderr
    failed = outcome.failure is not None
    if run.error is not None and not isinstance(run.error, EvaluationError):
        stderr = "\n".join(getattr(run.error, "__notes__", None) or traceback.format_exception(run.error))
    known, timed = not failed and math.isfinite(outcome.value), math.isfinite(run.started)
    return replace(
        trial,
        status="failed" if failed else "done",
        value=outcome.value + 0.0 if known else None,  # SQLite has no -0.0
        violation=0.0 if failed else outcome.violation,
        constraints=dict(outcome.constraints) or None,
        failure=outcome.failure,
        reason=None if run.failure_reason is None else _shortened(run.failure_reason),
        attempts=run.attempts,
        exit_code=run.exit_code,
        stderr=clean(stderr, LONGEST_STDERR_OF_SUCCESS if run.error is None else LONGEST_STDERR),
        worker=trial.worker if run.worker is None else run.worker,
        started=run.started if timed else trial.started,
        seconds=run.seconds if timed else None,
        process=None,
    )


def run_of(trial: Trial) -> Run:
    """The evaluation of a trial that is over, as the driver knows it."""
    value = math.nan if trial.value is None else trial.value
    error = None if trial.reason is None else EvaluationError(trial.reason, failure=trial.failure)
    return Run(Outcome(value, trial.constraints or {}, trial.failure), error)


def remember(memory: Memory, trials: Iterable[Trial], space: Space, direction: str) -> None:
    """Fill the memory of a search with trials that it was told of."""
    factor = sign_of(direction)
    rows = [(t.id, t.params, run_of(t).result) for t in trials]
    if rows:
        ids, points, outcomes = zip(*rows, strict=True)
        x = [space.numbers(point) for point in points]
        values = [factor * o.value for o in outcomes]
        detailed = (i for i, o in enumerate(outcomes) if o.constraints or o.failure is not None)
        details = {i: replace(outcomes[i], value=values[i]) for i in detailed}
        violations = [o.violation + e for o, e in zip(outcomes, beyond(space, points), strict=True)]
        memory.extend(list(ids), np.array(x, dtype=np.float64), values, violations, details)


def beyond(space: Space, points: Sequence[Params]) -> list[float]:
    """By how much each point breaks the known constraints, as past data may; 0 where it is allowed."""
    if not space.where.given:
        return [0.0] * len(points)
    numbers = np.array([space.numbers(point) for point in points])
    return list(map(float, space.where.excess(numbers, list, given=True)))


def as_plain(params: Params) -> Params:
    """Params as they come back from JSON."""
    if isinstance(params, np.ndarray):
        return params.tolist()
    return {name: _plain_value(v) for name, v in params.items()}


def _plain_value(value: Any) -> str | bool | int | float | None:
    if value is None or isinstance(value, str | bool | int | float):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.bool_):
        return bool(value)
    return int(value) if isinstance(value, Integral) else float(value)


def clean(text: str | None, longest: int) -> str | None:
    """The tail of a text, without what a database or a terminal cannot show."""
    if text is None:
        return None
    kept = text.strip()[-longest:].encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in kept)


def _shortened(reason: str) -> str:
    line = " ".join(str(clean(reason[:LONGEST_MESSAGE], LONGEST_MESSAGE)).split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "\N{HORIZONTAL ELLIPSIS}"
