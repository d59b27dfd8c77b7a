"""The record of a study as an object: who reads it, who writes it, and the search that it holds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..optimizer import Optimizer
from ..result import Candidate
from . import anew, known
from .database import Database
from .errors import RecordError, StudyError
from .journal import remember
from .lock import locked
from .replay import DepartedError, follow, learnt, replay
from .trial import Trial

PATIENCE = 10.0  # seconds that short work on a record waits for its turn


class Record:
    """What all parts of a `Study` stand on: the file, opened for each piece of work and closed after it."""

    def __init__(self, path: Path) -> None:
        """Use `Study.create` or `Study.open`."""
        if not isinstance(path, Path):
            raise TypeError(
                f"Study.open(path) opens a study, Study.create(path, space) begins one, got {path!r}"
            )
        with closing(Database(path, write=False)) as database:
            self.head = database.head
        self.path = path.absolute()  # the objective may go to another folder
        self.space = self.head.space

    @property
    def maximize(self) -> bool:
        """Whether larger values are better, as `direction` said when the study was created."""
        return self.head.direction == "maximize"

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
                if not waiting and self.head.asynchronous:
                    follow(optimizer, [*before, *trials], database.tells(), count, direction)
                elif not waiting:
                    replay(optimizer, list(trials), count, direction)
                return optimizer, waiting
            # the state is without its memory: points are in the record already, those that are asked too
            optimizer = Optimizer.restore(state, self.space, lambda id: database.trial(id).params)
            if optimizer.asynchronous != self.head.asynchronous:
                raise ValueError("it is not of this study: one of them is asynchronous")
            if self.head.asynchronous:
                everything, tells = list(trials), database.tells()
                for part in learnt(optimizer, everything[:count], tells):
                    remember(optimizer.memory, part, self.space, direction)
                follow(optimizer, everything, tells, count, direction)
                return optimizer, []
            told, later = _parted(trials, optimizer.generation)
            remember(optimizer.memory, told, self.space, direction)
            replay(optimizer, [*later, *trials], count, direction)
            return optimizer, []

    def _begin_anew(self, database: Database, changed: list[Trial]) -> None:
        """Write trials, and that the search begins anew, all or nothing."""
        with self._readable():
            state = json.loads(database.state()[1])
            last = max((t.generation for t in itertools.chain(database.trials(), changed)), default=-1)
            mark = anew.mark(state, last + 1, known.in_line(database))
            database.add(changed, None, mark, untold=True)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """A record that makes no sense is a RecordError."""
        try:
            yield
        except (StudyError, DepartedError):
            raise
        except Exception as error:  # whatever a foreign file may hold
            raise RecordError(f"{self.path}: the optimizer's state cannot be read: {error}") from error


def _parted(trials: Iterator[Trial], generation: int) -> tuple[list[Trial], list[Trial]]:
    """Of the trials before a generation those that count; and the first one of it, if there is one."""
    told: list[Trial] = []
    for trial in trials:
        if trial.generation >= generation:
            return told, [trial]
        if trial.over:
            told.append(trial)
    return told, []
