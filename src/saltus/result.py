"""What a user gets to see: candidates, the best of them, and the result of a search."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ._typing import FloatArray, Params
from .search.learnt import Expected, Learnt, Share
from .search.recommendation import Recommended
from .search.stopping import Stop
from .space import Encoding

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.optimize import OptimizeResult


MANY_FAILURES = 20  # in a row: no success, whatever was found before


@dataclass(slots=True, eq=False)  # not frozen: that takes longer to make
class Candidate:
    """A point to evaluate: `params` goes to the objective, the candidate itself back to `tell`.

    Attributes:
        id: its number, from 0, in the order asked.
        params: what the objective gets: a dict, or a 1-D array for a space without names.
        slot: its place in the batch that it is of.

    >>> from saltus import Int, Optimizer, Space
    >>> (candidate,) = Optimizer(Space({"k": Int(3, 9)}), seed=1).ask(1)
    >>> candidate.id, sorted(candidate.params)
    (0, ['k'])
    """

    id: int
    params: Params
    slot: int = field(default=0, repr=False)

    def __eq__(self, other: object) -> bool:
        """Equal ids and values: a copy that comes back from another process is the same candidate."""
        if not isinstance(other, Candidate):
            return NotImplemented
        return self.id == other.id and _same(self.params, other.params)

    def __hash__(self) -> int:
        """By its id, which no other candidate of the same optimizer has."""
        return hash(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One evaluation that is over, as `on_evaluation` of `minimize` and `Study.optimize` gets it.

    Attributes:
        id: of the candidate, or of the trial in a study.
        number: how many evaluations there are now, this one included; those of earlier sessions count.
        params: what the objective got.
        value: what it gave, in the user's direction; NaN if it failed.
        constraints: each by its name; above 0 is violated.
        violation: by how much constraints are violated in total.
        reason: why it failed, in words; None if it did not.
        seconds: how long it took; NaN if it is not known.
        improved: whether it is better than everything before.

    >>> from saltus import Int, Space, minimize
    >>> seen, space = [], Space({"k": Int(0, 20)})
    >>> result = minimize(lambda p: abs(p["k"] - 7), space, seed=1, on_evaluation=seen.append)
    >>> seen[0].number, seen[0].improved, min(e.value for e in seen) == result.fun
    (1, True, True)
    """

    id: int
    number: int
    params: Params
    value: float
    constraints: dict[str, float]
    violation: float
    reason: str | None
    seconds: float
    improved: bool

    @property
    def feasible(self) -> bool:
        """Whether there is a value and every constraint holds."""
        return self.reason is None and self.violation == 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best evaluation so far: feasible if `violation` is 0, else the least violated.

    Attributes:
        id: of the candidate.
        value: what was told, to be minimised.
        violation: by how much constraints are violated in total.
        x: the point as numbers, in the order of the variables.

    >>> from saltus import Int, Optimizer, Space
    >>> optimizer = Optimizer(Space({"k": Int(3, 9)}), seed=1)
    >>> candidates = optimizer.ask()
    >>> optimizer.tell(candidates, [float(c.params["k"]) for c in candidates])
    >>> optimizer.best.value == optimizer.best.params["k"], optimizer.best.feasible
    (True, True)
    """

    id: int
    value: float
    violation: float
    x: FloatArray
    _encoding: Encoding = field(repr=False)

    @property
    def params(self) -> Params:
        """The point as the objective got it."""
        return self._encoding.params_of(self.x)

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds."""
        return self.violation == 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class History:
    """One row a generation, as arrays: `evaluations`, `best`, `value`, `population`, `restarts`.

    With a `length`, only the first rows are shown: others may come later.

    >>> history = History([(6, 2.5, 2.5, 6, 0), (12, 2.5, 3.0, 6, 0)])
    >>> len(history), history.evaluations.tolist(), history.best.tolist()
    (2, [6.0, 12.0], [2.5, 2.5])
    >>> history
    <History of 2 generations: 12 evaluations, best 2.5>
    """

    rows: Sequence[tuple[float, float, float, float, float]] = ()
    length: int | None = None

    def __len__(self) -> int:
        """How many generations there were when the history was made."""
        return len(self.rows) if self.length is None else self.length

    def __repr__(self) -> str:
        """How long it is, and what it led to."""
        if not len(self):
            return "<History of 0 generations>"
        evaluations, best, *_ = self.rows[len(self) - 1]
        return f"<History of {len(self)} generations: {evaluations:g} evaluations, best {best:.6g}>"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from .notebook.tables import of_history

        return of_history(self)

    def _column(self, i: int) -> FloatArray:
        return np.array([row[i] for row in self.rows[: self.length]], dtype=np.float64)

    @property
    def evaluations(self) -> FloatArray:
        """Evaluations at the end of each generation."""
        return self._column(0)

    @property
    def best(self) -> FloatArray:
        """Best feasible value so far; NaN before there is one."""
        return self._column(1)

    @property
    def value(self) -> FloatArray:
        """Best feasible value of the generation; NaN if there was none."""
        return self._column(2)

    @property
    def population(self) -> FloatArray:
        """Candidates in the generation."""
        return self._column(3)

    @property
    def restarts(self) -> FloatArray:
        """How many runs there were before that of the generation."""
        return self._column(4)


@dataclass(slots=True)
class Notes:
    """Of each evaluation what a search does not learn: how long it took, and why it failed.

    >>> notes = Notes()
    >>> notes.add(3, 0.5, "the solver diverged")
    >>> 3 in notes, notes[3], 4 in notes
    (True, (0.5, 'the solver diverged'), False)
    """

    _seconds: array[float] = field(default_factory=lambda: array("d"))  # below 0 if it was not evaluated
    _reasons: dict[int, str] = field(default_factory=dict)

    def add(self, id: int, seconds: float | None, reason: str | None) -> None:
        """An evaluation is over."""
        if id >= len(self._seconds):
            self._seconds.extend([-1.0] * (id + 1 - len(self._seconds)))
        self._seconds[id] = math.nan if seconds is None else max(seconds, 0.0)
        if reason is not None:
            self._reasons[id] = reason

    def __contains__(self, id: int) -> bool:
        """Whether this one was evaluated."""
        return id < len(self._seconds) and not self._seconds[id] < 0

    def __getitem__(self, id: int) -> tuple[float, str | None]:
        """Seconds, and the reason of a failure."""
        return self._seconds[id], self._reasons.get(id)


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of `minimize`.

    `params` is what the objective got for the best point, `x` the same as numbers in the order of the
    variables. Without any feasible point, they are the least violated one (or None) and `success` is
    False. `success` means: the target was reached, or without a target, that the search ended as
    planned with a feasible point, and not with 20 or more failures in a row.

    Attributes:
        x, params: the best point, as above.
        fun: its value.
        nfev, nit, restarts: how many evaluations, generations and restarts there were.
        success, stop: as above, and why the search stopped; None while it goes on.
        failures: evaluations that gave no finite value.
        violation: by how much the best point violates constraints in total.
        constraints: the constraints of the best point, each by its name; above 0 is violated.
        failing: how many of the last evaluations failed one after the other; 0 if the last one did not.
        error: the last exception of the objective, if one was counted as a failure.
        history: generation by generation.
        recommended: the point to take, its `value` and the standard `error` of that. It is the best point,
            with error 0, unless the objective is noisy: then the best value is the luckiest one, and this is
            the point with the best estimate (docs/noise.md). None without a finite value.

    >>> from saltus import Int, Space, minimize
    >>> result = minimize(lambda p: abs(p["k"] - 7), Space({"k": Int(0, 20)}), target=0, seed=1)
    >>> result.params, result.success, result.message
    ({'k': 7}, True, 'The target was reached.')
    """

    x: FloatArray | None
    params: Params
    fun: float
    nfev: int
    nit: int
    success: bool
    stop: Stop | None
    restarts: int
    failures: int = 0
    violation: float = 0.0
    constraints: dict[str, float] = field(default_factory=dict)
    failing: int = 0
    error: Exception | None = None
    history: History = field(default_factory=History)
    recommended: Recommended | None = None
    _learnt: Learnt | None = field(default=None, repr=False)
    _notes: Notes | None = field(default=None, repr=False)

    @property
    def sensitivity(self) -> dict[str, Share] | None:
        """Which variables matter around the best point; computed when asked, by a model of all evaluations.

        The most important first, each with its `share` in the differences of value, an error bar from `low`
        to `high`, and what it does `alone`. None if nothing can be said. More: `Optimizer.sensitivity`.

        >>> from saltus import Float, Int, Space, minimize
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> result = minimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, space, seed=1, budget=60)
        >>> [*result.sensitivity]  # a quarter of the range of k is longer
        ['k', 'x']
        """
        return None if self._learnt is None else self._learnt.sensitivity()

    def predict(self, points: Sequence[Params]) -> list[Expected]:
        """What evaluations at points would give, with error bars, as `Optimizer.predict`.

        >>> from saltus import Float, Int, Space, minimize
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> result = minimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, space, seed=1, budget=60)
        >>> (expected,) = result.predict([{"x": 2.0, "k": 9}])
        >>> expected.low < 5.0 < expected.high
        True
        """
        if self._learnt is None:
            raise ValueError("predict needs the result of a search, got one that was made by hand")
        return self._learnt.predict(points)

    @property
    def message(self) -> str:
        """Why the search stopped, in a sentence."""
        reason = "The search goes on." if self.stop is None else self.stop.value
        if self.failing >= MANY_FAILURES:
            why = "" if self.error is None else f", the last with {type(self.error).__name__}: {self.error}"
            reason = f"The last {self.failing} evaluations failed{why[:300]}. {reason}"
        if self.x is None:
            return f"No evaluation gave a finite value. {reason}"
        if self.violation > 0:
            return f"No feasible point was found; this one violates least. {reason}"
        return reason

    def to_scipy(self) -> OptimizeResult:
        """The same as `scipy.optimize.OptimizeResult`, for code that expects one.

        >>> from saltus import Int, Space, minimize
        >>> minimize(lambda x: abs(x[0] - 7), Space([Int(0, 20)]), target=0, seed=1).to_scipy().x
        array([7.])
        """
        from scipy.optimize import OptimizeResult

        result: OptimizeResult = OptimizeResult()
        result.update({f.name: getattr(self, f.name) for f in fields(self) if not f.name.startswith("_")})
        result.update(message=self.message, status=0 if self.success else 1)
        return result

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from .notebook.tables import of_result

        return of_result(self)

    def to_dataframe(self) -> DataFrame:
        """Every evaluation as a row of a data frame of pandas (`pip install 'saltus[notebook]'`).

        The columns are those of `Study.to_dataframe`, without the ones that only a study knows. A search
        remembers its last 50,000 evaluations at least.

        >>> from saltus import Float, Int, Space, minimize
        >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
        >>> result = minimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, space, seed=1, budget=20)
        >>> frame = result.to_dataframe()
        >>> len(frame), str(frame["k"].dtype), float(frame["value"].min()) == result.fun
        (20, 'int64', True)
        """
        from .notebook.frame import of_result

        return of_result(self)

    def __str__(self) -> str:
        """Best value, best point, effort and reason."""
        rows = [
            ("fun", f"{self.fun:.10g}"),
            ("params", _listed(self.params)),
            ("evaluations", f"{self.nfev} in {self.nit} generations, {self.restarts} restarts"),
        ]
        if self.recommended is not None and self.recommended.error > 0:
            value, error = self.recommended.value, self.recommended.error
            rows[2:2] = [("recommended", f"{value:.6g} +- {error:.2g}: {_listed(self.recommended.params)}")]
        if self.failures:
            rows.append(("failures", f"{self.failures} evaluations gave no finite value"))
        if self.violation > 0:
            rows.append(("violation", f"{self.violation:.6g}"))
        if self.constraints:
            rows.append(("constraints", _listed(self.constraints)))
        rows.append(("success", f"{self.success}: {self.message}"))
        return "\n".join(f"{name:>11}: {text}" for name, text in rows)


def _listed(params: Any) -> str:
    if isinstance(params, dict):
        return ", ".join(f"{k}={_short(v)}" for k, v in params.items())
    return "none" if params is None else np.array2string(params, precision=6, threshold=20)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _same(a: Params, b: Params) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
