"""Looking at a study: the best point, trials, a summary, what the model has learnt. Nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .._typing import Params
from ..search import Memory
from ..search.learnt import MOST_LOOKED_AT, Expected, Learnt, Share
from ..search.recommendation import Recommended
from ..space import Encoding
from . import anew, known
from .errors import RecordError
from .journal import remember
from .lock import is_held
from .record import Record
from .replay import DepartedError
from .summary import Summary, sign_of, summarise
from .trial import Snapshot, Trial

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..watch.process import Watch


class Looking(Record):
    """What a `Study` tells about itself, also while it runs elsewhere."""

    @property
    def best(self) -> Trial | None:
        """The best trial: feasible if there is one, else the least violated; None before the first value."""
        return self.summary().best

    @property
    def noisy(self) -> bool:
        """Whether values are taken for noisy: since somebody said so, or since the search has noticed it."""
        with self._reading() as database, self._readable():
            return bool(self.head.noisy or json.loads(database.state()[1]).get("noticed"))

    @property
    def recommended(self) -> Recommended | None:
        """The point to take, what it is worth, and the standard error of that, as `Optimizer.recommended`.

        Without noise it is the best point, with error 0. None before the first value.

        >>> import tempfile
        >>> from saltus import Int, Space, Study
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> study.recommended.params == study.best.params, study.recommended.error
        (True, 0.0)
        """
        if not self.noisy:
            best, own = self.best, Encoding(self.space)
            if best is None or best.value is None:
                return None
            x = own.numbers_of(best.params)
            return Recommended(own.params_of(x), x, best.value, 0.0)
        with self._reading() as database, self._readable():
            try:
                found = self._optimizer(database)[0].recommended
            except DepartedError as error:
                raise RecordError(f"{self.path}: the search cannot be followed here: {error}") from error
        return None if found is None else found._replace(value=sign_of(self.head.direction) * found.value)

    def trials(self) -> Iterator[Trial]:
        """All trials in the order asked, one at a time: a long record does not fill the memory.

        >>> import tempfile
        >>> from saltus import Int, Space, Study
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
        >>> min(trial.value for trial in study.trials() if trial.status == "done") == result.fun
        True
        """
        with self._reading() as database:
            yield from database.trials()

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from ..notebook.tables import of_study

        return of_study(self)

    def to_dataframe(self) -> DataFrame:
        """Every evaluation as a row of a data frame of pandas (`pip install 'saltus[notebook]'`).

        The columns: `trial`, `status`, each variable, `value`, each constraint, `feasible`, `violation`,
        `failure` (the kind) and `reason` (in words), `seconds`, `generation` (-1 for past data),
        `attempts`, `worker`, `started`. A variable or a constraint with the name of another column is
        called `variable ...` or `constraint ...`. What is missing or not active is missing: integers and
        switches with a condition have pandas' types Int64 and boolean.

        >>> import tempfile
        >>> from saltus import Int, Space, Study
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: (p["teeth"] - 37) ** 2, budget=10)
        >>> study.to_dataframe().sort_values("value").iloc[0][["trial", "teeth"]].to_dict() == {
        ...     "trial": study.best.id, "teeth": study.best.params["teeth"]}
        True
        """
        from ..notebook.frame import of_study

        return of_study(self)

    def snapshots(self) -> Iterator[Snapshot]:
        """Where the search was looking, generation by generation.

        >>> import tempfile
        >>> from saltus import Int, Space, Study
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
        >>> from saltus import Int, Space, Study
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> waiting = study.ask(2)
        >>> study.summary().evaluations, [trial.id for trial in study.summary().unfinished]
        (0, [0, 1])
        """
        with self._reading() as database:
            parts = database.trials(), database.snapshots(), database.sessions()
            return summarise(self.head, *parts, is_held(self.path), len(known.in_line(database)))

    def watch(self, *, address: str = "127.0.0.1", port: int = 0, token: bool = False) -> Watch:
        """Serve a page about the study that changes by itself while it runs, by a process of its own.

        Args:
            address: where to listen; at any other than 127.0.0.1 a token is needed, which is part of the url.
            port: 0 is one that is free.
            token: ask for a token also at 127.0.0.1, where other users of this machine may look.

        What comes back has a `url` for a browser, and `close()`; `with` closes it as well. The record is only
        read (docs/report.md).
        """
        from ..watch.process import Watch

        return Watch(self.path, address=address, port=port, token=token)

    def sensitivity(self, *, everywhere: bool = False) -> dict[str, Share] | None:
        """Which variables matter around the best point, from the record; as `Optimizer.sensitivity`.

        >>> import tempfile
        >>> from saltus import Float, Int, Space, Study
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> study = Study.create(tempfile.mkdtemp() + "/bowl.db", space, seed=1)
        >>> study.sensitivity() is None  # nothing is known yet
        True
        >>> result = study.optimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, budget=60)
        >>> [*study.sensitivity()]
        ['k', 'x']
        """
        return self.learnt().sensitivity(everywhere=everywhere)

    def predict(self, points: Sequence[Params]) -> list[Expected]:
        """What evaluations at points would give, with error bars, from the record; as `Optimizer.predict`.

        >>> import tempfile
        >>> from saltus import Int, Space, Study
        >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
        >>> result = study.optimize(lambda p: (p["teeth"] - 37) ** 2, budget=10)
        >>> (expected,) = study.predict([{"teeth": 40}])
        >>> expected.low < 9 < expected.high
        True
        """
        return self.learnt().predict(points)

    def learnt(self, *, looked_at: int = MOST_LOOKED_AT, trials: Iterable[Trial] | None = None) -> Learnt:
        """What the record teaches by now: one model of it for `sensitivity`, `predict` and `effects`.

        Args:
            looked_at: evaluations that are looked at, at most; of more, evenly chosen ones.
            trials: those that count, for who has read the record; by default it is read.
        """
        memory = Memory(len(self.space))
        with self._reading() as database, self._readable():
            encoding = anew.encoding(self.space, json.loads(database.state()[1]))
            read = database.trials() if trials is None else trials
            remember(memory, (t for t in read if t.evaluated), self.space, self.head.direction)
        return Learnt(encoding, memory, maximize=self.maximize, looked_at=looked_at)
