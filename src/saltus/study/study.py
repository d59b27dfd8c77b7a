"""A study on disk: what is optimised, everything that was tried, and how to go on."""

from __future__ import annotations

import inspect
import itertools
import json
import logging
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from .._checks import check_attempts, check_callable, check_seed, wants_maximum, worker_count
from .._minimize import check_bears_late_results, default_budget, stopping
from .._typing import Params, PerVariable
from .._version import __version__
from ..execution.choose import evaluating
from ..execution.driver import Callback, Driver, Limits
from ..execution.evaluation import Objective
from ..execution.evaluator import Evaluator
from ..execution.log import HistoryRow
from ..execution.progress import Progress
from ..execution.watching import OnEvaluation
from ..execution.worker_process import leave_if_unguarded
from ..optimizer import Optimizer
from ..result import History, Notes, Result
from ..search.settings import DEFAULT_STRATEGY
from ..space import Space
from . import fit, known, session
from .by_hand import ByHand
from .changing import Changing
from .database import Database
from .fit import SearchSettings
from .interrupts import interruptible
from .journal import Journal
from .lock import locked
from .looking import Looking
from .record import PATIENCE
from .summary import history_rows
from .trial import Direction, Head, Trial

if TYPE_CHECKING:
    from ..notebook.page import Page


class Study(Looking, Changing, ByHand):
    """A search whose every step is on disk: it can be stopped, killed, continued and looked at.

    >>> import tempfile
    >>> from saltus import Float, Int, Space
    >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
    >>> path = tempfile.mkdtemp() + "/bowl.db"
    >>> study = Study.create(path, space, seed=1)
    >>> result = study.optimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, budget=200)
    >>> Study.open(path).best.params["k"]
    7

    `create`, `open` or `open_or_create` give one. `optimize` goes on with it; `ask` and `tell` do so by hand.
    `best`, `recommended`, `trials`, `sensitivity`, `predict`, `report` and `watch` look at it, also while it
    runs elsewhere. `enqueue` puts points in line, `add` takes over what was evaluated elsewhere, `forget` and
    `reevaluate` are for an objective that was wrong or has changed.
    """

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
        asynchronous: bool = False,
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
            asynchronous: wait for nobody: a worker that is free gets a point at once, and every outcome
                counts, however late it comes. For evaluations that take unlike times (docs/asynchronous.md).

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
        if not isinstance(asynchronous, bool):
            raise TypeError(f"asynchronous must be True or False, got {asynchronous!r}")
        if asynchronous:
            check_bears_late_results(strategy)
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
            asynchronous=asynchronous,
        )
        title = path.stem if name is None else name
        now, version = time.time(), __version__
        sizes = optimizer.population, int(batch)
        head = Head(title, space, direction, strategy, *sizes, seed, noisy, asynchronous, now, version)
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

    @classmethod
    def open_or_create(
        cls, path: str | os.PathLike[str], space: Space, **settings: Unpack[SearchSettings]
    ) -> Study:
        """The study of a file if there is one, else a new one: a cell of a notebook can be run again.

        Args:
            path, space, settings: as for `create`. A study that exists must have the same space and
                settings, or a SettingsError says what is different; those that are None or left out may be
                any, but for `strategy`, `batch` and `asynchronous`, whose defaults count. One in which
                nothing was asked yet is made anew instead.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> path = tempfile.mkdtemp() + "/gears.db"
        >>> for again in range(2):
        ...     study = Study.open_or_create(path, Space({"teeth": Int(12, 60)}), seed=3)
        ...     result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> study.summary().evaluations
        10
        """
        bound = inspect.signature(cls.create).bind(path, space, **settings)
        bound.apply_defaults()
        check, create = (
            partial(fit.check, given=bound.arguments),
            partial(cls.create, path, space, **settings),
        )
        study: Study = fit.opened_or_created(Path(path), cls.open, check, create)
        return study

    def optimize(
        self,
        fun: Objective,
        *,
        budget: int | None = None,
        target: float | None = None,
        max_seconds: float | None = None,
        patience: int | None = None,
        min_gain: float | None = None,
        workers: int = 1,
        executor: Executor | None = None,
        timeout: float | None = None,
        retries: int = 0,
        callback: Callback | None = None,
        on_evaluation: OnEvaluation | None = None,
        progress: bool = False,
    ) -> Result:
        """Go on until the study has its budget of evaluations or its target.

        Args:
            fun: as for `minimize`; an exception counts as a failed evaluation, with its traceback on record.
            budget: evaluations of the whole study, those of earlier sessions included.
            timeout: end an evaluation after so many seconds, with all processes that it started. It then
                runs in a worker process, also with `workers=1`.
            retries: try an evaluation that failed so many times again; a value of NaN is not tried again.
            patience, min_gain: as for `minimize`, over all sessions: where it has stopped the study, more
                patience, or none, goes on.
            target, max_seconds, workers, executor, callback, on_evaluation, progress: as for `minimize`. The
                results that `callback` gets have no history. If the study is asynchronous and there is an
                executor, `workers` says how many evaluations are kept there.

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
        check_callable(callback=callback, on_evaluation=on_evaluation)
        most = default_budget(self.space) if budget is None else budget
        limits = Limits(most, target, max_seconds, patience=patience, min_gain=min_gain)
        count = worker_count(workers)
        if count > 1:
            leave_if_unguarded()
        elsewhere = self.head.asynchronous and executor is not None
        where = evaluating(fun, 1 if elsewhere else count, executor, timeout, retries)
        name = f"{getattr(fun, '__module__', '')}:{getattr(fun, '__qualname__', type(fun).__name__)}"
        bar = Progress(int(limits.budget)) if progress else None
        return self.run(
            where,
            f"python {name}",
            limits,
            workers=count,
            callback=callback,
            on_evaluation=on_evaluation,
            bar=bar,
            say=_warn,
        )

    def run(
        self,
        where: AbstractContextManager[Evaluator],
        objective: str,
        limits: Limits,
        *,
        workers: int,
        callback: Callback | None = None,
        on_evaluation: OnEvaluation | None = None,
        bar: Progress | None = None,
        say: Callable[[str], None] = lambda line: None,
        points: Sequence[Params] = (),
    ) -> Result:
        """`optimize` with evaluations of any kind, for instance by a command.

        Args:
            where: gives the evaluator; entered when the record is open, left before it is closed.
            objective: what is evaluated, as a phrase for the record.
            limits: when to stop.
            workers: how many evaluations run at a time, for the record, and for a study that is asynchronous.
            callback, on_evaluation: as for `optimize`.
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
            for line in session.tidy(database, objective):
                say(line)
            evaluator = stack.enter_context(where)
            self._line_up(database, known.new(database, points))
            optimizer, waiting = self._search(database)
            journal = Journal(database, optimizer, waiting or None, say)
            driver = Driver(
                optimizer,
                journal,
                limits,
                maximize=self.maximize,
                on_error="infeasible",
                on_evaluation=on_evaluation,
            )
            if bar is not None:
                bar.begin(journal, optimizer, driver.sign)
            with (
                interruptible(driver, evaluator, say),
                session.on_record(database, lambda: journal, workers, objective) as own,
            ):
                stop = driver.evaluate(evaluator, waiting, bar) if waiting else None
                if waiting and stop is None:  # now the search can begin
                    optimizer, _ = self._search(database)
                    journal = Journal(database, optimizer, say=say)
                    driver.optimizer, driver.log = optimizer, journal
                if stop is None:
                    # in their order, and only up to the first that is unknown: as if just evaluated
                    told_now = filter if self.head.asynchronous else itertools.takewhile
                    for candidate in told_now(journal.knows, optimizer.pending):
                        driver.tell(candidate, journal.answer(candidate))
                    if driver.patience is not None:
                        for row in self._rows(database, optimizer.generation):
                            driver.recall(row)
                    wants_stop = stopping(callback, lambda _: driver.result(None, History()))
                    width = workers if self.head.asynchronous else None
                    stop = driver.run(evaluator, wants_stop, bar, width)
                own.stop = stop.name
            notes = Notes()
            return driver.result(stop, History(list(self._rows(database, notes=notes))), notes)

    def _rows(
        self, database: Database, before: float = math.inf, notes: Notes | None = None
    ) -> Iterator[HistoryRow]:
        """The rows of a history, of the generations before this one; evaluations are noted meanwhile."""

        def trials() -> Iterator[Trial]:
            for trial in database.trials():
                if notes is not None and trial.evaluated:
                    notes.add(trial.id, trial.seconds, trial.reason)
                if trial.generation < before:
                    yield trial

        return history_rows(self.head.direction, trials(), database.snapshots())

    def report(self, path: str | os.PathLike[str] | None = None, *, height: int = 640) -> Page:
        """The page that `saltus report` writes: a notebook shows it below the cell, in a frame of its own.

        Args:
            path: write it to this file, too, whose name ends in .html.
            height: of the frame, in pixels.

        It is the study as it is now, also if it runs elsewhere. `html` of what comes back is its text.

        >>> import tempfile
        >>> from saltus import Int, Space
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> study.report().html[:15]
        '<!doctype html>'
        """
        from ..notebook.page import Page

        return Page.of(self, path, height)

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


def _warn(line: str) -> None:
    """For who calls from Python: what is noteworthy about the objective, and the rest in the log."""
    if line.startswith("note: "):
        warnings.warn(line.removeprefix("note: "), stacklevel=4)
    else:
        logging.getLogger("saltus.study").warning(line)
