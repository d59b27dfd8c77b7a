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
        since, x, values = self._seen, memory.x, memory.values
        raw, width = x[since:].tobytes(), x.itemsize * x.shape[1]
        for row, value in enumerate(values[since:].tolist(), since):
            place = (row - since) * width
            first = self._rows.setdefault(hash(raw[place : place + width]), row)
            if first != row and _differ(value, float(values[first])) and np.array_equal(x[row], x[first]):
                self._seen = row
                return True
        self._seen = len(memory)
        return False


def _differ(a: float, b: float) -> bool:
    """Whether two values, if there are two, differ by more than rounding."""
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) > ROUNDING * max(abs(a), abs(b))
