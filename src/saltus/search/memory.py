"""Memory: every point that was evaluated, with its outcome.

Points that somebody else evaluated enter here too.

Points are numbers in the user's order and units, exactly as they were evaluated: they mean the same to a
search, to a record and to a report. A search adds what it learns from, batch by batch and sorted by id within
a batch, so the memory does not depend on the order of telling.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import order
from .._typing import FloatArray
from ..order import Failure, Outcome

CAPACITY = 100_000  # evaluations; of more, the older half is forgotten, but for the best
_MOST_NEW = 1000  # batches that wait to be put into the table
_KINDS = (None, *Failure)  # a failure is kept as its place in this list


class _Rows(NamedTuple):
    ids: Sequence[int]
    x: FloatArray
    values: Sequence[float]
    violations: Sequence[float]
    details: Mapping[int, Outcome]


class Memory:
    """Evaluations as arrays, one row each; what is minimised is `values`.

    >>> memory = Memory(2)
    >>> late = Outcome(math.nan, failure=Failure.TIMEOUT)
    >>> memory.extend([0, 1], np.array([[1.0, 2.0], [1.5, 2.0]]), [5.0, math.nan], [0.0, 0.0], {1: late})
    >>> memory.values.tolist(), memory.best, memory.failures
    ([5.0, nan], 0, [None, <Failure.TIMEOUT: 'it took too long'>])
    """

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        """Empty, for points with so many variables."""
        self._width, self._capacity = width, capacity
        self._ids = np.empty(0, dtype=np.int64)
        self._kinds = np.empty(0, dtype=np.int8)
        # of each evaluation: the variables, value and violation, and each constraint
        self._table = np.empty((0, width + 2))
        self._names: list[str] = []
        self._new: list[_Rows] = []  # not in the table yet: it grows when it is looked at
        self._count = 0

    def __len__(self) -> int:
        """How many evaluations it holds."""
        return self._count

    @property
    def ids(self) -> NDArray[np.int64]:
        """The id of each evaluation."""
        self._settle()
        return self._ids

    @property
    def x(self) -> FloatArray:
        """The points, one row each, in the user's order and units."""
        self._settle()
        return self._table[:, : self._width]

    @property
    def values(self) -> FloatArray:
        """What is minimised; NaN where there is no value."""
        self._settle()
        return self._table[:, self._width]

    @property
    def violations(self) -> FloatArray:
        """By how much constraints are violated in total; 0 where all hold."""
        self._settle()
        return self._table[:, self._width + 1]

    @property
    def constraint_names(self) -> list[str]:
        """The names of all constraints that were told."""
        self._settle()
        return list(self._names)

    def constraint(self, name: str) -> FloatArray:
        """The values of one of `constraint_names`; NaN where it was not told."""
        self._settle()
        return self._table[:, self._width + 2 + self._names.index(name)]

    @property
    def failures(self) -> list[Failure | None]:
        """Why evaluations failed; None for those that did not."""
        self._settle()
        return [_KINDS[kind] for kind in self._kinds.tolist()]

    @property
    def best(self) -> int | None:
        """The row of the best evaluation, of equals the first; None if none has succeeded."""
        values, violations = self.values, self.violations
        if not len(values):
            return None
        row, key = order.best(values, violations)
        return row if key < order.WORST else None

    def extend(
        self,
        ids: Sequence[int],
        x: FloatArray,
        values: Sequence[float],
        violations: Sequence[float],
        details: Mapping[int, Outcome] | None = None,
    ) -> None:
        """Remember evaluations.

        Args:
            ids: one for each, increasing.
            x: the points, one row each.
            values, violations: what they gave.
            details: outcomes that have constraints or a kind of failure, by row.
        """
        self._new.append(_Rows(ids, x, values, violations, details or {}))
        self._count += len(ids)
        if self._count > self._capacity:
            self._forget()
        elif len(self._new) >= _MOST_NEW:
            self._settle()

    def _settle(self) -> None:
        """Put what is new into the table."""
        if not self._new:
            return
        new, self._new = self._new, []
        for outcome in (o for rows in new for o in rows.details.values()):
            self._names += [name for name in outcome.constraints if name not in self._names]
        height = self._width + 2 + len(self._names)
        table = np.full((self._count, height), math.nan)
        first = len(self._table)
        table[:first, : self._table.shape[1]] = self._table
        kinds = np.zeros(self._count, dtype=np.int8)
        kinds[:first] = self._kinds
        table[first:, : self._width] = np.concatenate([rows.x for rows in new])
        table[first:, self._width] = [value for rows in new for value in rows.values]
        table[first:, self._width + 1] = [violation for rows in new for violation in rows.violations]
        for rows in new:
            for row, outcome in rows.details.items():
                kinds[first + row] = _KINDS.index(outcome.failure)
                for name, number in outcome.constraints.items():
                    table[first + row, self._width + 2 + self._names.index(name)] = number
            first += len(rows.ids)
        value, violation = table[:, self._width], table[:, self._width + 1]
        known = (violation > 0) | np.isfinite(value)  # what is violated by a known amount has not failed
        kinds[(kinds == 0) & ~known] = _KINDS.index(Failure.VALUE)
        kinds[(kinds == 0) & ~np.isfinite(violation)] = _KINDS.index(Failure.CONSTRAINT)
        ids = np.array([id for rows in new for id in rows.ids], dtype=np.int64)
        self._ids = np.concatenate((self._ids, ids))
        self._table, self._kinds = table, kinds

    def _forget(self) -> None:
        """Keep the newer half, and the best."""
        best = self.best
        rows = np.arange(self._count - self._capacity // 2, self._count)
        if best is not None and best < rows[0]:
            rows[0] = best
        self._table, self._ids, self._kinds = self._table[rows], self._ids[rows], self._kinds[rows]
        self._count = len(rows)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, as plain data: compact, since it is the part of a state that grows."""
        self._settle()
        parts = (np.diff(self._ids, prepend=0), self._kinds, self._table.T)
        raw = b"".join(part.astype(part.dtype.newbyteorder("<")).tobytes() for part in parts)
        data = base64.b85encode(zlib.compress(raw, 1)).decode("ascii")
        return {"count": self._count, "constraints": list(self._names), "base85": data}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Hold what the memory held whose state this is."""
        n, names = int(state["count"]), [str(name) for name in state["constraints"]]
        if not 0 <= n <= self._capacity:
            raise ValueError(f"state: the memory must hold 0 to {self._capacity} evaluations, got {n}")
        height = self._width + 2 + len(names)
        size = n * (9 + 8 * height)
        try:  # at most what is expected: a few bytes could claim to be gigabytes
            raw = zlib.decompressobj().decompress(base64.b85decode(state["base85"]), size + 1)
        except (ValueError, zlib.error) as error:
            raise ValueError(f"state: the memory cannot be read: {error}") from None
        if len(raw) != size:
            raise ValueError(f"state: the memory must have {size} bytes for {n} evaluations, got {len(raw)}")
        self._new, self._count, self._names = [], n, names
        self._ids = np.cumsum(np.frombuffer(raw, "<i8", n)).astype(np.int64)
        self._kinds = np.frombuffer(raw, "i1", n, 8 * n).copy()
        if n and not 0 <= self._kinds.min() <= self._kinds.max() < len(_KINDS):
            raise ValueError("state: the memory holds an unknown kind of failure")
        columns = np.frombuffer(raw, "<f8", n * height, 9 * n).reshape(height, n)
        self._table = np.ascontiguousarray(columns.T, dtype=np.float64)
