"""Whether the objective is noisy: the same point, evaluated twice, has two values."""

from __future__ import annotations

import math

import numpy as np

from ..search import Memory

ROUNDING = 1e-9  # relative: values that differ by less are the same, on whatever machine


class Repeats:
    """Looks at what is new in a memory for points that were there before.

    >>> memory, repeats = Memory(1), Repeats()
    >>> memory.extend([0, 1], np.array([[3.0], [4.0]]), [1.0, 2.0], None)
    >>> repeats.differ(memory)
    False
    >>> memory.extend([2], np.array([[3.0]]), [1.5], None)
    >>> repeats.differ(memory)
    True
    """

    def __init__(self) -> None:
        """Nothing was looked at yet."""
        self._rows: dict[int, int] = {}  # of points with a value, by the hash of their bytes
        self._seen = 0

    def differ(self, memory: Memory) -> bool:
        """Whether a point that is new in the memory has another value than it had before."""
        if len(memory) < self._seen:  # it has forgotten, so rows have other numbers now
            self._rows, self._seen = {}, 0
        x, values = memory.x, memory.values
        for row in range(self._seen, len(memory)):
            value = float(values[row])
            if not math.isfinite(value):
                continue
            first = self._rows.setdefault(hash(x[row].tobytes()), row)
            other = float(values[first])
            differs = abs(value - other) > ROUNDING * max(abs(value), abs(other))
            if differs and np.array_equal(x[row], x[first]):
                self._seen = row
                return True
        self._seen = len(memory)
        return False
