"""The value of a category that was tried least: where a model run tries it next.

One that was seen in bad places alone looks bad itself, and what is near the best point with one value says
little about another: a model of all points would leave it for ever. So it has turns of its own, anywhere; a
model of the points with this value alone says where, with as much optimism as it takes to find something
better than the best of them, and not next to what was tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from ..model import Fitted
from ..space.unit import UnitCube
from .acquisition import LARGEST_SIDE, SAME, Criterion, WithValue, random_points, region
from .proposal import Domain

MARGIN = 0.1  # of the standard deviation of values, by which such a point is to be better than the others ...
OPTIMISM = (1.0, 20.0)  # ... with the same value, and the kappas that this may take
APART = 0.25  # and how far it is away from them, relative to how far apart they would be on a grid


class Look(NamedTuple):
    """Where a model is asked for the next point: around a centre; perhaps with one value of a category."""

    centre: FloatArray
    side: float
    fixed: tuple[int, float] | None = None  # the category's column, and the value
    taken: FloatArray = np.empty((0, 0))  # the ordered coordinates of points with that value, ...
    apart: float = 0.0  # ... from which it keeps away so far in one of these

    def only(self, criterion: Criterion) -> Criterion:
        """What is to be lowest, with that value alone."""
        if self.fixed is None:
            return criterion
        return WithValue(criterion, *self.fixed, self.taken, self.apart)


def rare_value(domain: Domain, best: FloatArray, under_way: FloatArray, rng: np.random.Generator) -> Look:
    """Anywhere, with the value of any category that was tried least, but not that of the best point.

    Args:
        domain: with a model and categories.
        best, under_way: points of the unit cube, the second ones in rows; nothing is known of them yet.
        rng: chooses the category, and one of several values that were tried as often.
    """
    model, lattice = domain.model, domain.model.cube.lattice
    known, merits = model.known()
    j = lattice.size - 1 - int(rng.integers(domain.n_categories))
    column = domain.n_continuous + j
    places = np.arange(int(lattice.last[j]) + 1)
    values = lattice.value(np.where(np.arange(lattice.size) == j, places[:, None], 0.0))[:, j]
    points = np.concatenate((known, under_way))
    counts = (np.abs(points[:, column] - values[:, None]) < SAME).sum(axis=1)
    others = rng.permutation(np.flatnonzero(np.abs(values - best[column]) > SAME))
    value = float(values[others[counts[others].argmin()]])
    own = np.flatnonzero(np.abs(known[:, column] - value) < SAME)
    centre = known[own[merits[own].argmin()]].copy() if len(own) else best.copy()
    centre[column] = value
    taken = points[np.abs(points[:, column] - value) < SAME, : domain.n_ordered]
    # coordinates that are not active with this value are the same in all of them
    active = np.count_nonzero(np.abs(taken - taken[:1]).max(axis=0, initial=0.0) > SAME)
    apart = APART * len(taken) ** (-1 / active) if active else 0.0
    return Look(centre, LARGEST_SIDE, (column, value), taken, apart)


def optimism(cube: UnitCube, model: Fitted, look: Look, rng: np.random.Generator) -> float:
    """The least kappa with which there may be something better than the centre of a look, by a margin.

    With a smaller one the point with the lowest mean - kappa sd would be next to the centre, and teach
    nothing; with a larger one it would be in a corner.
    """
    points = random_points(cube, region(cube, look.centre, look.side, model.lengths), rng)
    if look.fixed is not None:
        points[:, look.fixed[0]] = look.fixed[1]
    mean, sd = model.predict(points)
    needed = (mean - model.mean(look.centre[None]) + MARGIN) / sd
    return float(np.clip(needed.min(), *OPTIMISM))
