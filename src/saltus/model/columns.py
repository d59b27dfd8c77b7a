"""The columns of the unit cube as a kernel sees them: a category is as far from any other as from the next.

The last columns of a point may be categories, with the number of a value in the middle of equal cells. Of K
values each becomes K columns: 1/sqrt(2) for the value and 0 for the others, less the mean of these. So two
values are 1 apart, whichever they are, and a distance, a product and a plane are what they are for numbers.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray

Sizes = tuple[int, ...]  # how many values each category has, those of the last columns
MIDDLE = 0.5  # of the unit cube: columns of numbers begin there


@cache
def places(D: int, sizes: Sizes) -> NDArray[np.intp]:
    """For each column of the kernel the column of the cube that it comes from.

    >>> places(3, (4,)).tolist()
    [0, 1, 2, 2, 2, 2]
    """
    ordered = D - len(sizes)
    counts = np.array([1] * ordered + list(sizes), dtype=np.intp)
    return np.repeat(np.arange(D), counts)


def spread_out(x: FloatArray, sizes: Sizes) -> FloatArray:
    """Points of the cube, one row each, in the columns of the kernel.

    >>> a, b, c = spread_out(np.array([[0.5, 0.125], [0.5, 0.375], [0.5, 0.875]]), (4,))
    >>> round(float(((a - b) ** 2).sum()), 9), round(float(((a - c) ** 2).sum()), 9)
    (1.0, 1.0)
    """
    if not sizes:
        return np.asarray(x - MIDDLE)
    ordered = x.shape[-1] - len(sizes)
    parts = [x[..., :ordered] - MIDDLE]
    for j, size in enumerate(sizes):
        own = np.minimum((x[..., ordered + j] * size).astype(np.intp), size - 1)
        parts.append((np.eye(size)[own] - 1 / size) / math.sqrt(2))
    return np.concatenate(parts, axis=-1)


def gathered(by_columns: FloatArray, D: int, sizes: Sizes) -> FloatArray:
    """Numbers for each column of the kernel, added up for each column of the cube."""
    if not sizes:
        return by_columns
    return np.asarray(np.bincount(places(D, sizes), by_columns, D), dtype=np.float64)


def squared_distances(x: FloatArray, near: FloatArray, lengths: FloatArray, sizes: Sizes) -> FloatArray:
    """Of points from a place, in units of lengths, one for each column of the cube."""
    apart = (x - near) / lengths
    if sizes:
        first = x.shape[1] - len(sizes)
        differs = np.abs(x[:, first:] - near[first:]) > 1e-9
        apart[:, first:] = differs / lengths[first:]
    return np.asarray((apart**2).sum(axis=1))
