"""Coordinate scan: each continuous variable over its whole range, for a better valley farther away."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..order import WORST, Key
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .settings import MANY_VARIABLES

POINTS = 30  # over the range, stratified
MINIMA = 3  # the best of them are refined ...
VAIN = 10  # lines: of many variables, if so many are no better the scan is over
HALVINGS = 4  # ... by that many halvings of the distance between points


class CoordinateScan(Phase):
    """A search along each continuous coordinate in turn, from a point."""

    saved = ("start", "best", "order", "places", "minima", "halvings", "done")

    def __init__(self, domain: Domain, point: Evaluated, rng: np.random.Generator) -> None:
        """The coordinates come in random order."""
        self.domain = domain
        self.best = self.start = point
        active = domain.active(point)
        order: list[int] = rng.permutation(domain.n_continuous).tolist()
        self.order = [j for j in order if active[j]]  # the first one is the current
        self.places: FloatArray | None = None  # on the line, from 0 to 1: what is to be evaluated next
        self.minima: list[tuple[Key, float]] = []  # with their places, while they are refined
        self.halvings = 0
        self.done = not self.order

    def draw(self, rng: np.random.Generator) -> None:
        """Stratified points, at the beginning of a line."""
        if self.places is None:
            self.places = (np.arange(POINTS) + rng.random(POINTS)) / POINTS

    def propose(self) -> Proposals:
        """Points along the current line."""
        if self.places is None:
            raise RuntimeError("draw before propose")
        j = self.order[0]
        rows = np.tile(self.best.x[: self.domain.n_continuous], (len(self.places), 1))
        rows[:, j] = self.domain.low[j] + self.places * self.domain.span[j]
        return self.domain.proposals(rows, self.best.plateaus[None, :])

    def observe(self, results: Results) -> None:
        """Refine the best minima; then go on with the next line."""
        places = self.places.tolist() if self.places is not None else []
        found = [(results.key(i), t) for i, t in enumerate(places)]
        if self.halvings == 0:
            self.minima = _minima(found)
        else:
            pairs = zip(self.minima, found[::2], found[1::2], strict=True)
            self.minima = [min(three) for three in pairs]
        best = results.best()
        if best.key < self.best.key:  # it differs along this line alone: the line stays the same
            self.best = best
        if self.halvings < HALVINGS and self.minima:
            self.halvings += 1
            h = 0.5**self.halvings / POINTS
            self.places = np.array([t + step for _, t in self.minima for step in (-h, h)])
            return
        self.order = self.order[1:]
        self.places, self.minima, self.halvings = None, [], 0
        self.done = not self.order or self._vain()

    def _vain(self) -> bool:
        """Whether none of the first lines has led anywhere: of many variables the others will not, either."""
        n = self.domain.n_continuous
        return n > MANY_VARIABLES and n - len(self.order) >= VAIN and not self.best.key < self.start.key

    def _prepare(self) -> None:
        self.minima = [((violation, value), t) for (violation, value), t in self.minima]


def _minima(found: list[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """The best points that are better than those beside them."""
    keys = [WORST, *(key for key, _ in found), WORST]
    beside = zip(keys, found, keys[2:], strict=False)
    return sorted((key, t) for before, (key, t), after in beside if key < before and key <= after)[:MINIMA]
