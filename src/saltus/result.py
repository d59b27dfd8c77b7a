"""What a user gets to see: candidates, the best of them, and the result of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ._typing import FloatArray, Params
from .search.stopping import Stop
from .space import Encoding

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


@dataclass(slots=True, eq=False)  # not frozen: that takes longer to make
class Candidate:
    """A point to evaluate: `params` goes to the objective, the candidate itself back to `tell`.

    `Optimizer.ask` makes it; `slot` is its place in the batch.
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
        """By id."""
        return hash(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best evaluation so far: feasible if `violation` is 0, else the least violated."""

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


class History:
    """One row a generation, as arrays: `evaluations`, `best`, `value`, `population`."""

    def __init__(self, rows: Sequence[tuple[float, float, float, float]] = ()) -> None:
        """Rows may grow afterwards: a history shows those it was made with."""
        self._rows, self._length = rows, len(rows)

    def __len__(self) -> int:
        """How many generations."""
        return self._length

    def _column(self, i: int) -> FloatArray:
        return np.array([row[i] for row in self._rows[: self._length]], dtype=np.float64)

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
        """Population of the generation: it doubles at each restart."""
        return self._column(3)


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of `minimize`.

    `params` is what the objective got for the best point, `x` the same as numbers in the order of the
    variables. Without any feasible point, they are the least violated one (or None) and `success` is
    False. `success` means: the target was reached, or without a target, that the search ended as
    planned with a feasible point.
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
    history: History = field(default_factory=History)

    @property
    def message(self) -> str:
        """Why the search stopped, in a sentence."""
        reason = "The search goes on." if self.stop is None else self.stop.value
        if self.x is None:
            return f"No evaluation gave a finite value. {reason}"
        if self.violation > 0:
            return f"No feasible point was found; this one violates least. {reason}"
        return reason

    def to_scipy(self) -> OptimizeResult:
        """The same as `scipy.optimize.OptimizeResult`."""
        from scipy.optimize import OptimizeResult

        result: OptimizeResult = OptimizeResult()
        result.update({f.name: getattr(self, f.name) for f in fields(self)})
        result.update(message=self.message, status=0 if self.success else 1)
        return result

    def __str__(self) -> str:
        """Best value, best point, effort and reason."""
        rows = [
            ("fun", f"{self.fun:.10g}"),
            ("params", _listed(self.params)),
            ("evaluations", f"{self.nfev} in {self.nit} generations, {self.restarts} restarts"),
        ]
        if self.failures:
            rows.append(("failures", f"{self.failures} evaluations gave no finite value"))
        if self.violation > 0:
            rows.append(("violation", f"{self.violation:.6g}"))
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
