"""Which points the model is made of: the best ones and the nearest, or those that are far from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from .columns import Sizes, squared_distances

MOST_POINTS = 250


def chosen(
    x: FloatArray,
    y: FloatArray,
    near: FloatArray,
    lengths: FloatArray,
    most: int = MOST_POINTS,
    sizes: Sizes = (),
) -> NDArray[np.intp]:
    """Rows, in their order: of values and of distances to a place, what is early in both lists.

    Args:
        x, y: points and finite values.
        near: the place of interest.
        lengths: the units of distance, one for each coordinate.
        most: how many rows.
        sizes: how many values each category has, of the last coordinates.
    """
    if len(y) <= most:
        return np.arange(len(y))
    distances = squared_distances(x, near, lengths, sizes)
    ranks = np.zeros(len(y))
    for criterion in (distances, y):
        ranks[np.argsort(criterion, kind="stable")] += np.arange(len(y))
    return np.sort(np.argsort(ranks, kind="stable")[:most])


def spread(
    x: FloatArray, first: int, most: int = MOST_POINTS, least: float = 0.0, fewest: int = 1
) -> NDArray[np.intp]:
    """Rows, in their order, that are far from each other: always the one that is farthest from all taken.

    A search crowds its points around the best. A model of them all would see little but that crowd, where
    values may differ by many orders of magnitude over distances that are of no interest.

    Args:
        x: points.
        first: the row to begin with.
        most: how many rows at most.
        least: rows that are nearer than this to one that is taken are left out, ...
        fewest: ... unless there are not so many rows yet. The same point is never taken twice.

    >>> spread(np.array([[0.0], [0.1], [0.5], [0.5], [1.0]]), 0, least=0.2).tolist()
    [0, 2, 4]
    """
    rows = [first]
    squares = ((x - x[first]) ** 2).sum(axis=1)
    while len(rows) < most:
        row = int(squares.argmax())
        if squares[row] <= 0.0 or (squares[row] < least**2 and len(rows) >= fewest):
            break
        rows.append(row)
        squares = np.minimum(squares, ((x - x[row]) ** 2).sum(axis=1))
    return np.sort(np.array(rows, dtype=np.intp))
