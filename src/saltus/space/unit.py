"""The unit cube: every free variable from 0 to 1, for a model that does not care for units.

Coordinates are in the order of a strategy, continuous ones first. A continuous variable goes from one bound
to the other, by its logarithm if it is that kind; without a bound, 0 or 1 is where a usual range would end,
and the cube is open there. A discrete one has its values in the middle of equal cells; by logarithms where
those are its coordinate. Categories come last, and look alike: who computes distances has to know them.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from .encoding import LARGEST_LOG, Encoding
from .lattice import Lattice
from .variable import Variable

FARTHEST = 1e9  # usual ranges: whoever gets there goes on without end


class UnitCube:
    """Points of a space in the unit cube, and back.

    >>> from saltus import Float, Int, Space
    >>> cube = UnitCube(Encoding(Space([Int(0, 3), Float(-5, 5)])))
    >>> cube.of_numbers(np.array([[0.0, -5.0], [3.0, 0.0]])).tolist()
    [[0.0, 0.125], [0.5, 0.875]]

    Attributes:
        low, high: where each coordinate ends; `FARTHEST` away without a bound.
        lattice: the plateaus of the discrete coordinates.
        n_categories: how many of these, the last ones, have no order, ...
        sizes: ... and how many values each of them has.
        order: which of the user's variables each coordinate is.
    """

    def __init__(self, encoding: Encoding) -> None:
        """The cube of an encoding."""
        self._encoding = encoding
        variables = encoding.space.variables
        free = [i for i, v in enumerate(variables) if not v.fixed]
        self._continuous = [i for i in free if not variables[i].discrete]
        self._discrete = [i for i in free if variables[i].discrete and variables[i].ordered]
        self._discrete += [i for i in free if not variables[i].ordered]
        self.n_categories = encoding.n_categories
        self.order = self._continuous + self._discrete
        self.N, self.n_continuous = len(free), len(self._continuous)
        floats = [variables[i] for i in self._continuous]
        self._log = np.array([v.log for v in floats], dtype=bool)
        bounds = np.array([v.internal_range() for v in floats]).reshape(-1, 2)
        low, high = encoding.internal_ends
        self._first = low[: self.n_continuous]
        self._span = high[: self.n_continuous] - self._first
        self._ranges = np.array([v.range() for v in floats]).reshape(-1, 2)
        ends = (bounds - self._first[:, None]) / self._span[:, None]
        self.low, self.high = (np.full(self.N, end) for end in (0.0, 1.0))
        self.low[: self.n_continuous], self.high[: self.n_continuous] = np.clip(ends.T, -FARTHEST, FARTHEST)
        self.lattice = Lattice([_cells(variables[i]) for i in self._discrete])
        n = self.lattice.size - self.n_categories
        self.sizes = tuple(int(last) + 1 for last in self.lattice.last[n:])

    def of_numbers(self, numbers: FloatArray) -> FloatArray:
        """Points, one row each, from numbers in the user's order and units."""
        u = np.empty((len(numbers), self.N))
        values = numbers[:, self._continuous]
        values[:, self._log] = np.log(values[:, self._log])
        u[:, : self.n_continuous] = (values - self._first) / self._span
        u[:, self.n_continuous :] = self.lattice.value(self._encoding.plateaus(numbers))
        return u

    def of_points(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        """Points from the coordinates of a strategy and the plateaus of the integer ones."""
        return self.of_numbers(self._encoding.numbers(x, plateaus))

    def snapped(self, u: FloatArray) -> FloatArray:
        """The nearest points that can be evaluated: within the ends, discrete coordinates on their values."""
        u = np.clip(u, self.low, self.high)
        n = self.n_continuous
        u[..., n:] = self.lattice.value(self.lattice.plateau(u[..., n:]))
        return self.settled(np.asarray(u))

    def settled(self, u: FloatArray) -> FloatArray:
        """The same points with what is not active where it always is: then equal ones are equal."""
        activity = self._encoding.space.activity
        if activity is None:
            return u
        rows = u.reshape(-1, self.N)
        active = activity.active(self._numbers(np.clip(rows, self.low, self.high))[0])[:, self.order]
        return np.where(active, rows, self.of_numbers(activity.idle[None])).reshape(u.shape)

    def points(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coordinates of a strategy, one row each, and the plateaus of the integer ones."""
        numbers, plateaus = self.numbers(u)
        x = np.array([self._encoding.encode(row) for row in numbers]).reshape(len(u), self.N)
        return x, plateaus

    def numbers(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points as numbers in the user's order and units, one row each, and the plateaus of the integers."""
        return self._numbers(np.clip(self.settled(u), self.low, self.high))

    def _numbers(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for points within the ends, as if everything were active."""
        n = self.n_continuous
        plateaus = self.lattice.plateau(u[:, n:])
        values = self._first + u[:, :n] * self._span
        if self._log.any():
            values[:, self._log] = np.exp(np.minimum(values[:, self._log], LARGEST_LOG))
        values = np.clip(values, self._ranges[:, 0], self._ranges[:, 1])
        return self._encoding.assembled(values, plateaus), plateaus


def _cells(variable: Variable) -> FloatArray | tuple[float, float, int]:
    """The values of a discrete variable between 0 and 1."""
    grid = variable.grid()
    count = grid[2] if isinstance(grid, tuple) else len(grid)
    if not variable.log:
        return 0.5 / count, 1 / count, count
    values = np.log(grid[0] + grid[1] * np.arange(count) if isinstance(grid, tuple) else grid)
    low, high = variable.internal_range()
    return np.asarray((values - low) / (high - low))
