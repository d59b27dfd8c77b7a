"""Which points the model is made of when there are more than it can take: the best ones, and the nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray

MOST_POINTS = 250


def chosen(
    x: FloatArray, y: FloatArray, near: FloatArray, lengths: FloatArray, most: int = MOST_POINTS
) -> NDArray[np.intp]:
    """Rows, in their order: of values and of distances to a place, what is early in both lists.

    Args:
        x, y: points and finite values.
        near: the place of interest.
        lengths: the units of distance, one for each coordinate.
        most: how many rows.
    """
    if len(y) <= most:
        return np.arange(len(y))
    distances = (((x - near) / lengths) ** 2).sum(axis=1)
    ranks = np.zeros(len(y))
    for criterion in (distances, y):
        ranks[np.argsort(criterion, kind="stable")] += np.arange(len(y))
    return np.sort(np.argsort(ranks, kind="stable")[:most])
