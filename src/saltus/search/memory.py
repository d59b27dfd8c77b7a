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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import order
from .._typing import FloatArray
from ..order import Failure, Outcome

CAPACITY = 100_000  # evaluations; of more, the older half is forgotten, but for the best
MOST_NUMBERS = 10**7  # likewise: with more than 100 variables it holds fewer evaluations
_FIRST = 256  # rows that there is room for at first
_KINDS = (None, *Failure)  # a failure is kept as its place in this list


class Memory:
    """Evaluations as arrays, one row each; what is minimised is `values`.

    >>> memory = Memory(2)
    >>> late = Outcome(math.nan, failure=Failure.TIMEOUT)
    >>> memory.extend([0, 1], np.array([[1.0, 2.0], [1.5, 2.0]]), [5.0, math.nan], [0.0, 0.0], {1: late})
    >>> memory.values.tolist(), memory.best, memory.failures
    ([5.0, nan], 0, [None, <Failure.TIMEOUT: 'it took too long'>])
    """

    def __init__(self, width: int, capacity: int | None = None) -> None:
        """Empty, for points with so many variables; the capacity is that of `CAPACITY` and `MOST_NUMBERS`."""
        usual = min(CAPACITY, MOST_NUMBERS // max(1, width))
        self._width, self._capacity = width, usual if capacity is None else capacity
        self._count = 0
        self._names: list[str] = []
        # with room for more rows than there are; of each: variables, value, violation, and each constraint
        self._table = np.empty((_FIRST, width + 2))
        self._ids = np.empty(_FIRST, dtype=np.int64)
        self._kinds = np.zeros(_FIRST, dtype=np.int8)
        self._judged = 0  # rows whose kind of failure is known, also where nobody has said it

    def __len__(self) -> int:
        """How many evaluations it holds."""
        return self._count

    @property
    def ids(self) -> NDArray[np.int64]:
        """The id of each evaluation."""
        return self._ids[: self._count]

    @property
    def x(self) -> FloatArray:
        """The points, one row each, in the user's order and units."""
        return self._table[: self._count, : self._width]

    @property
    def values(self) -> FloatArray:
        """What is minimised; NaN where there is no value."""
        return self._table[: self._count, self._width]

    @property
    def violations(self) -> FloatArray:
        """By how much constraints are violated in total; 0 where all hold."""
        return self._table[: self._count, self._width + 1]

    @property
    def constraint_names(self) -> list[str]:
        """The names of all constraints that were told."""
        return list(self._names)

    def constraint(self, name: str) -> FloatArray:
        """The values of one of `constraint_names`; NaN where it was not told."""
        return self._table[: self._count, self._width + 2 + self._names.index(name)]

    @property
    def failures(self) -> list[Failure | None]:
        """Why evaluations failed; None for those that did not."""
        return [_KINDS[kind] for kind in self._judge().tolist()]

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
        values: Sequence[float] | FloatArray,
        violations: Sequence[float] | FloatArray | None,
        details: Mapping[int, Outcome] | None = None,
    ) -> None:
        """Remember evaluations.

        Args:
            ids: one for each, increasing.
            x: the points, one row each.
            values, violations: what they gave; None: nothing is violated.
            details: outcomes that have constraints or a kind of failure, by row.
        """
        first, width = self._count, self._width
        self._count = last = first + len(ids)
        if last > len(self._ids):
            self._resize(2 * last, self._table.shape[1])
        self._ids[first:last] = ids
        rows = self._table[first:last]
        rows[:, :width] = x
        rows[:, width] = values
        rows[:, width + 1] = 0.0 if violations is None else violations
        for row, outcome in (details or {}).items():
            self._kinds[first + row] = _KINDS.index(outcome.failure)
            for name, number in outcome.constraints.items():
                column = self._column(name)  # the table may be another one afterwards
                self._table[first + row, column] = number
        if last > self._capacity:
            self._forget()

    def _column(self, name: str) -> int:
        """The column of a constraint; one that is new was not told before."""
        if name not in self._names:
            self._names.append(name)
            self._resize(len(self._ids), self._width + 2 + len(self._names))
        return self._width + 2 + self._names.index(name)

    def _resize(self, rows: int, columns: int) -> None:
        table, ids, kinds = self._table, self._ids, self._kinds
        known = min(rows, len(ids))
        self._table = np.empty((rows, columns))
        self._table[:, self._width + 2 :] = math.nan  # constraints that were not told
        self._table[:known, : table.shape[1]] = table[:known]
        self._ids, self._kinds = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int8)
        self._ids[:known], self._kinds[:known] = ids[:known], kinds[:known]

    def _judge(self) -> NDArray[np.int8]:
        """The kinds of failure, also of values and violations that are not finite."""
        new = slice(self._judged, self._count)
        value, violation, kinds = self.values[new], self.violations[new], self._kinds[new]
        known = (violation > 0) | np.isfinite(value)  # what is violated by a known amount has not failed
        kinds[(kinds == 0) & ~known] = _KINDS.index(Failure.VALUE)
        kinds[(kinds == 0) & ~np.isfinite(violation)] = _KINDS.index(Failure.CONSTRAINT)
        self._judged = self._count
        return self._kinds[: self._count]

    def copy_first(self, other: Memory, count: int) -> None:
        """Hold what another memory of the same kind held when there was so much in it."""
        self._names = list(other._names)
        self._table, self._ids = other._table[:count].copy(), other._ids[:count].copy()
        self._kinds, self._count, self._judged = other._kinds[:count].copy(), count, min(count, other._judged)

    def _forget(self) -> None:
        """Keep the newer half, and the best."""
        self._judge()
        best = self.best
        rows = np.arange(self._count - self._capacity // 2, self._count)
        if best is not None and best < rows[0]:
            rows[0] = best
        self._table, self._ids, self._kinds = self._table[rows], self._ids[rows], self._kinds[rows]
        self._count = self._judged = len(rows)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, as plain data: compact, since it is the part of a state that grows."""
        parts = (np.diff(self.ids, prepend=0), self._judge(), self._table[: self._count].T)
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
        self._count, self._names, self._judged = n, names, n
        self._ids = np.cumsum(np.frombuffer(raw, "<i8", n)).astype(np.int64)
        self._kinds = np.frombuffer(raw, "i1", n, 8 * n).copy()
        if n and not 0 <= self._kinds.min() <= self._kinds.max() < len(_KINDS):
            raise ValueError("state: the memory holds an unknown kind of failure")
        columns = np.frombuffer(raw, "<f8", n * height, 9 * n).reshape(height, n)
        self._table = np.ascontiguousarray(columns.T, dtype=np.float64)
