"""A study that somebody evaluates by hand: ask for trials, tell what they gave."""

from __future__ import annotations

import operator

from .._checks import checked_count
from ..execution.driver import Driver, Limits
from ..execution.evaluation import Constraints, EvaluationError, Run, checked_outcome
from .errors import SettingsError
from .journal import Journal
from .record import PATIENCE, Record
from .trial import Trial


class ByHand(Record):
    """Ask and tell, of which every step is on record."""

    def ask(self, count: int | None = None) -> list[Trial]:
        """The next trials to evaluate by hand: the rest of the generation, or so many.

        If all are out, the list is empty: `tell` what is missing first. An asynchronous study has always as
        many as are wanted, one if that is not said. Points that the record can answer are
        not asked: here, and not by the loop of a driver, since that waits for what it asks.

        Args:
            count: how many at most; None is what is left of the generation, or all of the next one.

        >>> import tempfile
        >>> from saltus import Int, Space, Study
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
                if journal.stop is not None and (self.head.asynchronous or not optimizer.pending):
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
        >>> from saltus import Int, Space, Study
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
