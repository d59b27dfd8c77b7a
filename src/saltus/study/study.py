"""A study on disk: what is optimised, everything that was tried, and how to go on."""

from __future__ import annotations

import itertools
import json
import operator
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import check_attempts, check_seed, checked_count, wants_maximum, worker_count
from .._typing import Params, PerVariable
from .._version import __version__
from ..execution.choose import evaluating
from ..execution.driver import Callback, Driver, Limits
from ..execution.evaluation import Constraints, EvaluationError, Objective, Run, checked_outcome, described
from ..execution.evaluator import Evaluator
from ..execution.processes import end_commands, end_worker
from ..execution.progress import Progress
from ..execution.worker_process import leave_if_unguarded
from ..minimize import default_budget, stopping
from ..optimizer import Optimizer
from ..result import Candidate, History, Result
from ..search import Memory
from ..search.learnt import Expected, Learnt, Share
from ..search.recommendation import Recommended
from ..search.settings import DEFAULT_STRATEGY
from ..space import Encoding, Space
from . import anew, known
from .database import Database
from .errors import RecordError, SettingsError, StudyError
from .interrupts import interruptible
from .journal import KEPT, Journal, remember, reset
from .lock import is_held, locked, name_of
from .replay import DepartedError, replay
from .summary import Summary, history_rows, sign_of, summarise
from .trial import Direction, Head, Session, Snapshot, Trial

PATIENCE = 10.0  # seconds that short work on a record waits for its turn


class Study:
    """A search whose every step is on disk: it can be stopped, killed, continued and looked at.

    >>> import tempfile
    >>> from saltus import Float, Int, Space
    >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
    >>> path = tempfile.mkdtemp() + "/bowl.db"
    >>> study = Study.create(path, space, seed=1)
    >>> result = study.optimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, budget=200)
    >>> Study.open(path).best.params["k"]
    7
    """

    def __init__(self, path: Path) -> None:
        """Use `Study.create` or `Study.open`."""
        with closing(Database(path, write=False)) as database:
            self.head = database.head
        self.path = path.absolute()  # the objective may go to another folder
        self.space = self.head.space

    def __repr__(self) -> str:
        """Where it is, and what it searches."""
        head = self.head
        return f"<Study {head.name!r} in {str(self.path)!r}: {head.direction}, {len(self.space)} variables>"

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        space: Space,
        *,
        name: str | None = None,
        direction: Direction | None = None,
        maximize: bool = False,
        strategy: str = DEFAULT_STRATEGY,
        population: int | None = None,
        batch: int = 1,
        mean: PerVariable = None,
        sigma: PerVariable = None,
        seed: int | None = None,
        noisy: bool | None = None,
    ) -> Study:
        """Begin a study in a new file.

        Args:
            path: the record, an SQLite file; by custom its name ends in `.db`.
            space: the variables.
            name: a title; default the file's name.
            direction: "minimize" (the default) or "maximize"; `maximize=True`, as in `minimize`, says the
                same.
            strategy, population, batch, mean, sigma: as for `Optimizer`.
            seed: a whole number; by default one is drawn, and recorded.
            noisy: True if the objective gives another value each time: then points that repeat are evaluated
                again instead of answered from the record, and the search believes no single value
                (docs/noise.md). False if it does not; by default it is noticed.

        The study comes back. A file that holds something already is left as it is: a RecordError.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> gears = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> gears.head.name, gears.head.direction, gears.head.seed
        ('gears', 'minimize', 3)
        """
        path = Path(path)
        if not (name is None or isinstance(name, str)):
            raise TypeError(f"name must be text or None, got {name!r}")
        direction = "maximize" if wants_maximum(maximize, direction) else "minimize"
        if isinstance(space, Space) and space.where.functions:
            raise TypeError(
                "a study records known constraints as text, such as where='2*a + b <= 10', and cannot record "
                f"the function {space.where.functions[0]!r}; minimize and Optimizer take it"
            )
        check_seed(seed)
        seed = int(np.random.SeedSequence().generate_state(1)[0] if seed is None else seed)
        optimizer = Optimizer(
            space,
            strategy=strategy,
            population=population,
            batch=batch,
            mean=mean,
            sigma=sigma,
            seed=seed,
            auto_restart=True,
            noisy=noisy,
        )
        title = path.stem if name is None else name
        now, version = time.time(), __version__
        sizes = optimizer.population, int(batch)
        head = Head(title, space, direction, strategy, *sizes, seed, noisy, now, version)
        if path.exists():
            leave_if_unguarded()
        with locked(path, patience=PATIENCE):
            Database.create(path, head, json.dumps(optimizer.state(memory=False), allow_nan=False))
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Study:
        """A study that exists; it may be running elsewhere, and can be looked at meanwhile.

        >>> Study.open("nowhere.db")
        Traceback (most recent call last):
        saltus.study.errors.RecordError: nowhere.db: there is no record
        """
        return cls(Path(path))

    @property
    def maximize(self) -> bool:
        """Whether larger values are better, as `direction` said when the study was created."""
        return self.head.direction == "maximize"

    def optimize(
        self,
        fun: Objective,
        *,
        budget: int | None = None,
        target: float | None = None,
        max_seconds: float | None = None,
        workers: int = 1,
        executor: Executor | None = None,
        timeout: float | None = None,
        retries: int = 0,
        callback: Callback | None = None,
        progress: bool = False,
    ) -> Result:
        """Go on until the study has its budget of evaluations or its target.

        Args:
            fun: as for `minimize`; an exception counts as a failed evaluation, with its traceback on record.
            budget: evaluations of the whole study, those of earlier sessions included.
            timeout: end an evaluation after so many seconds, with all processes that it started. It then
                runs in a worker process, also with `workers=1`.
            retries: try an evaluation that failed so many times again; a value of NaN is not tried again.
            target, max_seconds, workers, executor, callback, progress: as for `minimize`. The results that
                `callback` gets have no history.

        The result is that of the whole study. The first Ctrl-C waits for running evaluations, the second ends
        them; the record is whole either way.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> study.optimize(lambda p: abs(p["teeth"] - 37), budget=10).nfev
        10
        >>> study.optimize(lambda p: abs(p["teeth"] - 37), budget=200, target=0).params  # it goes on
        {'teeth': 37}
        """
        if not callable(fun):
            raise TypeError(f"fun must be callable, got {type(fun).__name__}")
        check_attempts(timeout, retries)
        limits = Limits(default_budget(self.space) if budget is None else budget, target, max_seconds)
        count = worker_count(workers)
        if count > 1:
            leave_if_unguarded()
        where = evaluating(fun, count, executor, timeout, retries)
        name = f"{getattr(fun, '__module__', '')}:{getattr(fun, '__qualname__', type(fun).__name__)}"
        bar = Progress(int(limits.budget)) if progress else None
        return self.run(where, f"python {name}", limits, workers=count, callback=callback, bar=bar, say=_warn)

    def run(
        self,
        where: AbstractContextManager[Evaluator],
        objective: str,
        limits: Limits,
        *,
        workers: int,
        callback: Callback | None = None,
        bar: Progress | None = None,
        say: Callable[[str], None] = lambda line: None,
        points: Sequence[Params] = (),
    ) -> Result:
        """`optimize` with evaluations of any kind, for instance by a command.

        Args:
            where: gives the evaluator; entered when the record is open, left before it is closed.
            objective: what is evaluated, as a phrase for the record.
            limits: when to stop.
            workers: how many evaluations run at a time, for the record.
            callback: as for `optimize`.
            bar: is told about every evaluation.
            say: is called with a line for the user where something unusual happens.
            points: are put in line, those that are neither there nor on record.

        The result is that of the whole study, as for `optimize`.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> here = evaluating(lambda p: abs(p["teeth"] - 37), workers=1, executor=None)
        >>> study.run(here, "python distance", Limits(budget=10), workers=1).stop.value
        'The budget of evaluations was used up.'
        """
        with ExitStack() as stack:
            database = stack.enter_context(self._writing())
            stack.enter_context(bar or nullcontext())
            for line in _tidy(database, objective):
                say(line)
            evaluator = stack.enter_context(where)
            self._line_up(database, known.new(database, points))
            optimizer, waiting = self._search(database)
            journal = Journal(database, optimizer, waiting or None, say)
            driver = Driver(optimizer, journal, limits, maximize=self.maximize, on_error="infeasible")
            with (
                interruptible(driver, evaluator, say),
                _session(database, lambda: journal, workers, objective) as session,
            ):
                stop = driver.evaluate(evaluator, waiting, bar) if waiting else None
                if waiting and stop is None:  # now the search can begin
                    optimizer, _ = self._search(database)
                    journal = Journal(database, optimizer, say=say)
                    driver.optimizer, driver.log = optimizer, journal
                if stop is None:
                    # in their order, and only up to the first that is unknown: as if just evaluated
                    for candidate in itertools.takewhile(journal.knows, optimizer.pending):
                        driver.tell(candidate, journal.answer(candidate))
                    watched = stopping(callback, lambda _: driver.result(None, History()))
                    stop = driver.run(evaluator, watched, bar)
                session.stop = stop.name
            rows = history_rows(self.head.direction, database.trials(), database.snapshots())
            return driver.result(stop, History(list(rows)))

    def ask(self, count: int | None = None) -> list[Trial]:
        """The next trials to evaluate by hand: the rest of the generation, or so many.

        If all are out, the list is empty: `tell` what is missing first. Points that the record can answer are
        not asked: here, and not by the loop of a driver, since that waits for what it asks.

        Args:
            count: how many at most; None is what is left of the generation, or all of the next one.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/lab.db", Space({"k": Int(0, 20)}), seed=1)
        >>> for trial in study.ask(2):
        ...     told = study.tell(trial.id, (trial.params["k"] - 7) ** 2, {"heat": trial.params["k"] - 30})
        >>> told.status, sorted(told.constraints)
        ('done', ['heat'])
        """
        if count is not None:
            count = checked_count(count)
        with self._writing(PATIENCE) as database:
            optimizer, waiting = self._search(database)
            if waiting:
                return []
            journal = Journal(database, optimizer)
            out: list[Trial] = []
            driver = Driver(optimizer, journal, Limits(budget=1), maximize=self.maximize)  # only to tell
            while count is None or len(out) < count:
                for candidate in filter(journal.knows, optimizer.pending):
                    driver.tell(candidate, journal.answer(candidate))
                if journal.stop is not None and not optimizer.pending:
                    break
                new = optimizer.ask(None if count is None else count - len(out))
                journal.add(new)
                out += journal.to_evaluate(new)
                if not new or (count is None and out):
                    break
            return out

    def tell(
        self,
        trial: int,
        value: float | None = None,
        constraints: Constraints | None = None,
        *,
        failed: str | None = None,
    ) -> Trial:
        """Put the outcome of a trial that `ask` gave on record, in any order; what is told stays.

        Args:
            trial: its number.
            value: what was measured.
            constraints: those above 0 are violated: a dict by name, or a list.
            failed: the reason why there is no value.

        The trial comes back as it is on record now.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/lab.db", Space({"k": Int(0, 20)}), seed=1)
        >>> first, second = study.ask(2)
        >>> study.tell(second.id, failed="the sample broke").status, study.tell(first.id, 2.5).value
        ('failed', 2.5)
        """
        if (value is None) == (failed is None):
            raise ValueError("tell takes a value, or failed= and a reason: exactly one of them")
        if failed is None:
            run = Run(checked_outcome(value, constraints))
        else:
            run = Run.failed(EvaluationError(failed))
        trial = operator.index(trial)
        with self._writing(PATIENCE) as database:
            optimizer, first = self._search(database)
            journal, pending = Journal(database, optimizer, first or None), first or optimizer.pending
            waiting = [t.id for t in journal.to_evaluate(pending)]
            if trial not in waiting:
                numbers = ", ".join(map(str, waiting)) or "none"
                raise SettingsError(f"trial {trial} is not waiting for a value; these are: {numbers}")
            journal.heard(next(c for c in pending if c.id == trial), run)
            return database.trial(trial)

    def enqueue(self, *points: Params) -> None:
        """Put points in line: they are evaluated next, in this order, and survive whatever happens.

        If nothing was asked before, the search then starts from the best of them (docs/known.md).

        Args:
            points: as for `Optimizer.enqueue`; what is not given is where the search starts.

        >>> import tempfile
        >>> from saltus import Float, Int, Space
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> study = Study.create(tempfile.mkdtemp() + "/bowl.db", space, seed=1)
        >>> study.enqueue({"x": 1.5, "k": 6}, {"k": 3})
        >>> [trial.params for trial in study.ask()]
        [{'x': 1.5, 'k': 6}, {'x': 0.0, 'k': 3}]
        """
        with self._writing(PATIENCE) as database:
            self._line_up(database, points)

    def enqueue_new(self, points: Iterable[Params]) -> None:
        """`enqueue` those of several points that are neither in line nor on record."""
        with self._writing(PATIENCE) as database:
            self._line_up(database, known.new(database, points))

    def _line_up(self, database: Database, points: Sequence[Params]) -> None:
        if not points:
            return
        optimizer, waiting = self._search(database)
        optimizer.enqueue(*points)
        state = optimizer.state(memory=False)
        if waiting:  # the search has not begun anew yet
            mark = json.loads(database.state()[1])
            database.add([], None, anew.mark(mark, mark["anew"], state["queue"]))
        else:
            database.add([], None, json.dumps(state, allow_nan=False))

    def add(
        self,
        params: Params | Sequence[Params],
        value: Any = None,
        constraints: Any = None,
        *,
        failed: Any = None,
    ) -> list[Trial]:
        """Put what was evaluated elsewhere on record, as past data: it is known, and no evaluation is paid.

        The search begins anew, with all that is on record as past data (docs/known.md).

        Args:
            params: a point with a value for each variable, or a list of points.
            value: what it gave, in the study's direction: a number, NaN for a failure, or an `Outcome`.
            constraints: those above 0 are violated: a dict by name, or a list.
            failed: the reason why there is no value.

        Of several points the other arguments are lists, one entry for each, or left out. The new trials come
        back; what is on record already, with the same outcome, is left out. If anything is wrong with one of
        the points, none is taken.

        >>> import tempfile
        >>> from saltus import Float, Int, Space
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> study = Study.create(tempfile.mkdtemp() + "/bowl.db", space, seed=1)
        >>> new = study.add([{"x": 1.5, "k": 6}, {"x": 0.0, "k": 3}], [1.25, 17.0])
        >>> study.best.params, study.summary().evaluations, study.summary().past
        ({'x': 1.5, 'k': 6}, 0, 2)
        """
        return self.add_past(known.rows(self.space, params, value, constraints, failed))

    def add_past(self, rows: Sequence[known.Row]) -> list[Trial]:
        """`add`, of points that are checked already."""
        with self._writing(PATIENCE) as database:
            new = known.trials(database, rows)
            if new:
                self._begin_anew(database, new)
        return new

    def forget(self, trials: Iterable[int] = (), *, failures: bool = False) -> list[int]:
        """Let trials count no more, as if they had not been: for instance with a simulator that was broken.

        They stay on record as "forgotten". The search begins anew, with all others as past data.

        Args:
            trials: their numbers; those that repeat them are forgotten, too.
            failures: forget all that failed, besides.

        The numbers of those that were forgotten now come back.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> study.forget([study.best.id]) and study.summary().evaluations
        9
        """
        given = {operator.index(trial) for trial in trials}
        with self._writing(PATIENCE) as database:
            gone, changed = anew.forgotten(list(database.trials()), given, failures)
            if gone:
                self._begin_anew(database, changed)
        return gone

    def reevaluate(self, count: int = 10) -> list[Trial]:
        """Forget all values, since the objective is another now, and put the best points in line for it.

        They are evaluated when the study is run, the best first; then the search begins anew.

        Args:
            count: how many points.

        The new trials come back.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> before = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> first = study.reevaluate(3)[0].params
        >>> after = study.optimize(lambda p: abs(p["teeth"] - 37) + 1, budget=3)
        >>> after.params == before.params == first, after.fun - before.fun
        (True, 1.0)
        """
        count = checked_count(count, "reevaluate takes a positive whole number of points")
        with self._writing(PATIENCE) as database:
            new, changed = anew.again(list(database.trials()), count, self.head.direction)
            if not new:
                raise SettingsError(f"{self.path}: there is no value on record, so nothing to evaluate again")
            self._begin_anew(database, changed)
        return new

    def _begin_anew(self, database: Database, changed: list[Trial]) -> None:
        """Write trials, and that the search begins anew, all or nothing."""
        with self._readable():
            state = json.loads(database.state()[1])
            last = max((t.generation for t in itertools.chain(database.trials(), changed)), default=-1)
            database.add(changed, None, anew.mark(state, last + 1, known.in_line(database)))

    @property
    def best(self) -> Trial | None:
        """The best trial: feasible if there is one, else the least violated; None before the first value."""
        return self.summary().best

    @property
    def recommended(self) -> Recommended | None:
        """The point to take, what it is worth, and the standard error of that, as `Optimizer.recommended`.

        Without noise it is the best point, with error 0. None before the first value.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> study.recommended.params == study.best.params, study.recommended.error
        (True, 0.0)
        """
        with self._reading() as database, self._readable():
            if not (self.head.noisy or json.loads(database.state()[1]).get("noticed")):
                best, own = self.best, Encoding(self.space)
                if best is None or best.value is None:
                    return None
                x = own.numbers_of(best.params)
                return Recommended(own.params_of(x), x, best.value, 0.0)
            try:
                found = self._optimizer(database)[0].recommended
            except DepartedError as error:
                raise RecordError(f"{self.path}: the search cannot be followed here: {error}") from error
        return None if found is None else found._replace(value=sign_of(self.head.direction) * found.value)

    def trials(self) -> Iterator[Trial]:
        """All trials in the order asked, one at a time: a long record does not fill the memory.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> min(trial.value for trial in study.trials() if trial.status == "done") == result.fun
        True
        """
        with self._reading() as database:
            yield from database.trials()

    def snapshots(self) -> Iterator[Snapshot]:
        """Where the search was looking, generation by generation.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> next(study.snapshots()).mean  # the first one: the middle of the range
        (36.0,)
        """
        with self._reading() as database:
            yield from database.snapshots()

    def summary(self) -> Summary:
        """The state of the study, from its whole record.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> waiting = study.ask(2)
        >>> study.summary().evaluations, [trial.id for trial in study.summary().unfinished]
        (0, [0, 1])
        """
        with self._reading() as database:
            parts = database.trials(), database.snapshots(), database.sessions()
            return summarise(self.head, *parts, is_held(self.path), len(known.in_line(database)))

    def sensitivity(self, *, everywhere: bool = False) -> dict[str, Share] | None:
        """Which variables matter around the best point, from the record; as `Optimizer.sensitivity`.

        >>> import tempfile
        >>> from saltus import Float, Int, Space
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> study = Study.create(tempfile.mkdtemp() + "/bowl.db", space, seed=1)
        >>> study.sensitivity() is None  # nothing is known yet
        True
        >>> result = study.optimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, budget=60)
        >>> [*study.sensitivity()]
        ['k', 'x']
        """
        return self._learnt().sensitivity(everywhere=everywhere)

    def predict(self, points: Sequence[Params]) -> list[Expected]:
        """What evaluations at points would give, with error bars, from the record; as `Optimizer.predict`.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: (p["teeth"] - 37) ** 2, budget=10)
        >>> (expected,) = study.predict([{"teeth": 40}])
        >>> expected.low < 9 < expected.high
        True
        """
        return self._learnt().predict(points)

    def _learnt(self) -> Learnt:
        memory = Memory(len(self.space))
        with self._reading() as database, self._readable():
            encoding = anew.encoding(self.space, json.loads(database.state()[1]))
            remember(memory, (t for t in database.trials() if t.evaluated), self.space, self.head.direction)
        return Learnt(encoding, memory, maximize=self.maximize)

    def remove_if_empty(self) -> bool:
        """Remove the record if nothing was ever asked, so that nothing is lost with it; whether it is gone.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> study.remove_if_empty(), study.path.exists()
        (True, False)
        """
        with locked(self.path, patience=PATIENCE):
            with self._reading() as database:
                if next(database.trials(), None) is not None or known.in_line(database):
                    return False
            for ending in (
                "-wal",
                "-shm",
                "",
            ):  # the file last: a log without it could be taken for another's
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        return True

    def _reading(self) -> closing[Database]:
        return closing(Database(self.path, write=False))

    @contextmanager
    def _writing(self, patience: float = 0.0) -> Iterator[Database]:
        """The record, for this process alone."""
        with locked(self.path, patience), closing(Database(self.path, write=True)) as database:
            yield database

    def _search(self, database: Database) -> tuple[Optimizer, list[Candidate]]:
        """The optimizer as it was; and if it is to begin anew, what is to be evaluated before that."""
        try:
            return self._optimizer(database)
        except DepartedError:
            self._begin_anew(database, [])
            return self._optimizer(database)

    def _optimizer(self, database: Database) -> tuple[Optimizer, list[Candidate]]:
        with self._readable():
            count, text = database.state()
            state, trials, direction = json.loads(text), database.trials(), self.head.direction
            if anew.is_mark(state):
                before = list(itertools.islice(trials, count))
                optimizer = anew.begun(self.head, state, before, count)
                waiting = anew.waiting(self.space, before)
                if not waiting:
                    replay(optimizer, list(trials), count, direction)
                return optimizer, waiting
            # the state is without its memory: points are in the record already, those that are asked too
            optimizer = Optimizer.restore(state, self.space, lambda id: database.trial(id).params)
            told, later = _parted(trials, optimizer.generation)
            remember(optimizer.memory, told, self.space, direction)
            replay(optimizer, [*later, *trials], count, direction)
            return optimizer, []

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """A record that makes no sense is a RecordError."""
        try:
            yield
        except (StudyError, DepartedError):
            raise
        except Exception as error:  # whatever a foreign file may hold
            raise RecordError(f"{self.path}: the optimizer's state cannot be read: {error}") from error


def _warn(line: str) -> None:
    """For who calls from Python: what is noteworthy about the objective."""
    if line.startswith("note: "):
        warnings.warn(line.removeprefix("note: "), stacklevel=4)


@contextmanager
def _session(
    database: Database, journal: Callable[[], Journal], workers: int, objective: str
) -> Iterator[Session]:
    """On record from its beginning to its end; `stop` is the caller's to set, unless an error ends it."""
    number = len(database.sessions())
    session = Session(journal().now(), None, socket.gethostname(), os.getpid(), workers, None, objective)
    database.put_session(number, session)
    try:
        yield session
    except BaseException as error:
        session.stop = described(error)
        raise
    finally:
        with suppress(RecordError):  # that it cannot be written is known by then
            journal().close()
            session.ended = journal().now()
            database.put_session(number, session)


def _tidy(database: Database, objective: str) -> Iterator[str]:
    """End and take back what a session that died left running; say what was done, and what is new."""
    for session in database.sessions()[-1:]:
        if session.objective != objective:
            yield (f"note: the objective was {session.objective} before and is {objective} now; {KEPT}")
    waiting = database.unfinished()
    left = [trial for trial in waiting if trial.status == "running"]
    parent = max((session.pid for session in database.sessions()[-1:]), default=0)
    ended = [trial.id for trial in left if end_worker(trial.process, parent)]
    ended += end_commands(name_of(database.path), [trial.id for trial in waiting])
    if left:
        database.put(map(reset, left))
        yield f"the last session died with {len(left)} evaluations running; they are done again"
    if ended:
        yield f"ended what it had left running: trials {', '.join(map(str, ended))}"


def _parted(trials: Iterator[Trial], generation: int) -> tuple[list[Trial], list[Trial]]:
    """Of the trials before a generation those that count; and the first one of it, if there is one."""
    told: list[Trial] = []
    for trial in trials:
        if trial.generation >= generation:
            return told, [trial]
        if trial.over:
            told.append(trial)
    return told, []
