"""Line search: each continuous variable over its whole range, for a better valley farther away."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from .phase import Piece, at_rest
from .proposal import WORST, Batch, Domain, Key, Point, Told

POINTS = 30  # over the range, stratified
MINIMA = 3  # the best of them are refined ...
HALVINGS = 4  # ... by that many halvings of the distance between points


class Lines(Piece):
    """A search along each continuous coordinate in turn, from a point."""

    saved = ("start", "best", "order", "places", "minima", "halvings", "done")

    def __init__(self, domain: Domain, point: Point, rng: np.random.Generator) -> None:
        """The coordinates come in random order."""
        self.domain = domain
        self.best = self.start = point
        self.order: list[int] = rng.permutation(domain.first).tolist()  # the first one is the current
        self.places: FloatArray | None = None  # on the line, from 0 to 1: what is to be evaluated next
        self.minima: list[tuple[Key, float]] = []  # with their places, while they are refined
        self.halvings = 0
        self.done = not self.order

    def draw(self, rng: np.random.Generator) -> None:
        """Stratified points, at the beginning of a line."""
        if self.places is None:
            self.places = (np.arange(POINTS) + rng.random(POINTS)) / POINTS

    def batch(self) -> Batch:
        """Points along the current line."""
        if self.places is None:
            raise RuntimeError("draw before batch")
        j = self.order[0]
        rows = np.tile(self.best.x[: self.domain.first], (len(self.places), 1))
        rows[:, j] = self.domain.low[j] + self.places * self.domain.span[j]
        return self.domain.batch(rows, self.best.plateaus[None, :])

    def take(self, told: Told) -> None:
        """Refine the best minima; then go on with the next line."""
        places = self.places.tolist() if self.places is not None else []
        found = [(told.key(i), t) for i, t in enumerate(places)]
        if self.halvings == 0:
            self.minima = _minima(found)
        else:
            pairs = zip(self.minima, found[::2], found[1::2], strict=True)
            self.minima = [min(three) for three in pairs]
        best = told.best()
        if best.key < self.best.key:  # it differs along this line alone: the line stays the same
            self.best = best
        if self.halvings < HALVINGS and self.minima:
            self.halvings += 1
            h = 0.5**self.halvings / POINTS
            self.places = np.array([t + step for _, t in self.minima for step in (-h, h)])
            return
        self.order = self.order[1:]
        self.places, self.minima, self.halvings = None, [], 0
        self.done = not self.order

    def _prepare(self) -> None:
        self.minima = [((violation, value), t) for (violation, value), t in self.minima]

    def where(self) -> tuple[FloatArray, FloatArray]:
        """At its best point."""
        return at_rest(self.best)


def _minima(found: list[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """The best points that are better than those beside them."""
    keys = [WORST, *(key for key, _ in found), WORST]
    beside = zip(keys, found, keys[2:], strict=False)
    return sorted((key, t) for before, (key, t), after in beside if key < before and key <= after)[:MINIMA]
