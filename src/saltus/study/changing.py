"""What a user changes in a study between its runs: points in line, past data, what counts no more."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from .._checks import checked_count
from .._typing import Params
from . import anew, known
from .database import Database
from .errors import SettingsError
from .record import PATIENCE, Record
from .trial import Trial


class Changing(Record):
    """What is put on record by hand, and lets the search begin anew where it must."""

    def enqueue(self, *points: Params) -> None:
        """Put points in line: they are evaluated next, in this order, and survive whatever happens.

        If nothing was asked before, the search then starts from the best of them (docs/known.md).

        Args:
            points: as for `Optimizer.enqueue`; what is not given is where the search starts.

        >>> import tempfile
        >>> from saltus import Float, Int, Space, Study
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
        >>> from saltus import Float, Int, Space, Study
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
        >>> from saltus import Int, Space, Study
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
        >>> from saltus import Int, Space, Study
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> before = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> first = study.reevaluate(3)[0].params
        >>> after = study.optimize(lambda p: abs(p["teeth"] - 37) + 1, budget=3)
        >>> after.params == before.params == first, after.fun - before.fun
        (True, 1.0)
        """
        count = checked_count(count, "reevaluate takes a positive whole number of points")
        with self._writing(PATIENCE) as database:
            new, changed = anew.again(list(database.trials()), count, self.head.direction, self.space)
            if not new:
                raise SettingsError(f"{self.path}: there is no value on record, so nothing to evaluate again")
            self._begin_anew(database, changed)
        return new
