"""What a model expects along one variable, and over two of them, with all others as at the best point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from ..space.activity import count_values
from ..space.variable import Variable

MOST_VALUES = 25  # of a discrete variable, that are all looked at
ALONG, OVER = 49, 33  # points along one variable, and along each of two


class Effect(NamedTuple):
    """What to expect along one variable.

    Attributes:
        at: its numbers in the user's units; of a category the places of its choices.
        value: what to expect there, the others as at the best point.
        low, high: the error bars: nine times in ten an evaluation gives something between them.
    """

    at: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


class Pair(NamedTuple):
    """What to expect over two variables.

    Attributes:
        first, second: the numbers of each in the user's units.
        value: what to expect, one row for each number of the second.
    """

    first: FloatArray
    second: FloatArray
    value: FloatArray


def places(variable: Variable, tried: FloatArray, count: int) -> FloatArray:
    """Numbers of a variable, from one end of its range to the other; without bounds, of what was tried.

    >>> from saltus import Float, Int
    >>> places(Int(1, 4), np.array([2.0]), 9).tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> places(Float(1, 100, log=True), np.array([2.0]), 3).tolist()
    [1.0, 10.0, 100.0]
    >>> places(Float(), np.array([-1.0, 3.0]), 3).tolist()
    [-1.0, 1.0, 3.0]
    """
    if variable.discrete:
        grid = variable.grid()
        values = grid[0] + grid[1] * np.arange(grid[2]) if isinstance(grid, tuple) else np.asarray(grid)
        if count_values(variable) <= MOST_VALUES or len(values) <= count:
            return np.asarray(values, dtype=float)
        return np.asarray(values[np.unique(np.linspace(0, len(values) - 1, count).round().astype(np.intp))])
    low, high = variable.range()
    low = low if math.isfinite(low) and (low > 0 or not variable.log) else float(tried.min())
    high = high if math.isfinite(high) else float(tried.max())
    if variable.log:
        return np.clip(np.geomspace(low, high, count), low, high)
    return np.linspace(low, high, count)


def along(best: FloatArray, column: int, numbers: FloatArray) -> FloatArray:
    """Points like the best one, one row for each number of a variable."""
    rows = np.tile(best, (len(numbers), 1))
    rows[:, column] = numbers
    return rows


def over(best: FloatArray, columns: tuple[int, int], first: FloatArray, second: FloatArray) -> FloatArray:
    """Points like the best one, for all numbers of two variables; the first runs fastest."""
    rows = np.tile(best, (len(first) * len(second), 1))
    rows[:, columns[0]] = np.tile(first, len(second))
    rows[:, columns[1]] = np.repeat(second, len(first))
    return rows
