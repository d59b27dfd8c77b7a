"""The plateaus of the integer coordinates: where they end, and which one a point lies on.

Coordinate j has K_j values z_1 < ... < z_K and K_j - 1 thresholds halfway between neighbours (paper,
Section 3.1). Plateaus are counted from 0, so a point's plateau is the number of thresholds below it;
a point exactly on a threshold belongs to the plateau below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray


@dataclass(frozen=True, slots=True)
class _Tables:
    """All numbers of the uneven coordinates in one sorted array, searched in a single call.

    NumPy orders complex numbers by real, then imaginary part: with the coordinate's position as real
    part, one `searchsorted` serves every coordinate at once.
    """

    keys: NDArray[np.complex128]
    numbers: FloatArray
    start: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Sequence[FloatArray]) -> _Tables:
        lengths = np.array([len(row) for row in rows], dtype=np.intp)
        numbers = np.concatenate(rows) if rows else np.empty(0)
        return cls(
            np.repeat(np.arange(len(rows)), lengths) + 1j * numbers,
            numbers,
            np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.intp),
        )

    def count_below(self, x: FloatArray) -> NDArray[np.intp]:
        """How many numbers of each coordinate's table are smaller than x."""
        return np.searchsorted(self.keys, np.arange(x.shape[-1]) + 1j * x) - self.start


class Lattice:
    """The values and thresholds of all integer coordinates, as arrays.

    Even grids (the common case) are arithmetic and may have any number of values; uneven ones are kept
    as tables.

    >>> lattice = Lattice([np.arange(-1.0, 2.0), np.array([0.0, 1.0, 5.0])])
    >>> lattice.plateau(np.array([0.4, 0.6]))
    array([1., 1.])
    >>> lattice.close(np.array([0.4, 4.0]))
    array([0.5, 3. ])
    """

    def __init__(self, grids: Sequence[ArrayLike | tuple[float, float, int]]) -> None:
        """Each grid is a sorted array of at least two values, or `(first, step, count)`."""
        self.size = len(grids)
        self._grids = grids
        first, step, last, high = (np.ones(self.size) for _ in range(4))
        uneven: list[int] = []
        tables: list[FloatArray] = []
        for j, grid in enumerate(grids):
            if isinstance(grid, tuple):
                first[j], step[j], count = grid
                last[j] = count - 1
                high[j] = first[j] + (last[j] + 0.5) * step[j]
                continue
            values = np.asarray(grid, dtype=np.float64)
            gaps = np.diff(values)
            first[j], step[j], last[j] = values[0], gaps[0], len(values) - 1
            high[j] = values[-1] + gaps[-1] / 2
            if not np.array_equal(values, first[j] + step[j] * np.arange(len(values))):
                uneven.append(j)
                tables.append(values)
        self.last = last  # number of each coordinate's last plateau
        # ends of the outermost plateaus, if they were as wide outwards as inwards
        self.low, self.high = first - step / 2, high
        self.largest = np.maximum(np.abs(self.low), np.abs(high))  # size of the numbers that are added up
        self._first, self._step = first, step
        self._first_threshold = first + step / 2
        self._zero = np.zeros(self.size)
        self._uneven = np.array(uneven, dtype=np.intp)
        self._values = _Tables.of(tables)
        self._thresholds = _Tables.of([(v[:-1] + v[1:]) / 2 for v in tables])

    def first(self, count: int) -> Lattice:
        """The lattice of the first coordinates alone; itself if these are all."""
        return self if count == self.size else Lattice(self._grids[:count])

    def plateau(self, x: FloatArray) -> FloatArray:
        """Number of the plateau each coordinate of x lies on (whole numbers, as floats)."""
        k = x - self._first_threshold
        k /= self._step
        np.ceil(k, out=k)
        np.maximum(k, self._zero, out=k)
        np.minimum(k, self.last, out=k)
        if self._uneven.size:
            k[..., self._uneven] = self._thresholds.count_below(x[..., self._uneven])
        return k

    def value(self, plateau: FloatArray) -> FloatArray:
        """The value that stands for a plateau."""
        x = self._step * plateau
        x += self._first
        if self._uneven.size:
            x[..., self._uneven] = self._look_up(self._values, plateau)
        return x

    def threshold(self, k: FloatArray) -> FloatArray:
        """The threshold between plateaus k and k + 1."""
        x = self._step * k
        x += self._first_threshold
        if self._uneven.size:
            x[..., self._uneven] = self._look_up(self._thresholds, k)
        return x

    def ends_of(self, plateau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both thresholds around plateaus; infinite beyond the outermost ones."""
        low, high = (
            self.threshold(np.maximum(plateau - 1.0, 0.0)),
            self.threshold(np.minimum(plateau, self.last - 1.0)),
        )
        return np.where(plateau > 0, low, -np.inf), np.where(plateau < self.last, high, np.inf)

    def resolution(self, m: FloatArray, ci: FloatArray) -> FloatArray:
        """Res: the number of thresholds in [m - CI, m + CI), along each coordinate."""
        count = self.plateau(m + ci)
        count -= self.plateau(m - ci)
        return count

    def close(self, x: FloatArray) -> FloatArray:
        """l_close: the threshold between the two values around x, the outermost one beyond the ends."""
        between = x - self._first
        between /= self._step
        np.ceil(between, out=between)
        if self._uneven.size:
            between[..., self._uneven] = self._values.count_below(x[..., self._uneven])
        np.minimum(between, self.last, out=between)
        between -= 1.0
        np.maximum(between, self._zero, out=between)
        return self.threshold(between)

    def _look_up(self, table: _Tables, k: FloatArray) -> FloatArray:
        return table.numbers[table.start + k[..., self._uneven].astype(np.intp)]
