"""Neighbours: the integer vectors next to a point, each with continuous variables of its own.

Where integers and continuous variables depend on each other strongly, no integer can change unless the
continuous variables follow. Here they do: every neighbour gets a few Newton steps, all side by side.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from .._typing import FloatArray
from .newton import Newton
from .phase import Piece, at_rest
from .proposal import Batch, Domain, Point, Told

AFFORDABLE = 10  # evaluations of a round for each variable, at most: with many continuous ones it costs more
HOPE = 10.0  # a neighbour is given up when that many times what its next step promises would not be enough


def affordable(domain: Domain) -> bool:
    """Whether the gradients of all neighbours are worth their price."""
    return 2 * domain.lattice.size * (2 * domain.first + 1) <= AFFORDABLE * domain.N


class Neighbours(Piece):
    """A Newton search at every integer vector that differs by one plateau; `winner` is the best of them."""

    saved = ("start", "best", "done")  # and the searches, below

    def __init__(self, domain: Domain, model: Newton) -> None:
        """Around the best point of a search that has found its curvature."""
        self.domain = domain
        self.best = self.start = point = model.best
        self.winner = model
        self.crowd: list[Newton] = []
        size = domain.lattice.size
        moved = point.plateaus + np.concatenate((-np.eye(size), np.eye(size)))
        inside = ((moved >= 0) & (moved <= domain.lattice.last)).all(axis=1)
        for x, plateaus in zip(*domain.batch(point.x[None, : domain.first], moved[inside]), strict=True):
            self.crowd.append(model.elsewhere(Point(x, plateaus, 0.0, math.nan)))
        self.done = not self.crowd

    def batch(self) -> Batch:
        """The batches of all searches that are still on."""
        batches = [one.batch() for one in self.crowd]
        self._sizes = [len(batch.x) for batch in batches]
        return Batch(*(np.concatenate(part) for part in zip(*batches, strict=True)))

    def take(self, told: Told) -> None:
        """Let each take its part; go on with those that may still win."""
        first = 0
        for one, size in zip(self.crowd, self._sizes, strict=True):
            one.take(told.part(slice(first, first + size)))
            first += size
            if one.best.key < self.best.key:
                self.best, self.winner = one.best, one
        self.crowd = [one for one in self.crowd if not one.done and self._hopeful(one)]
        self.done = not self.crowd

    def _hopeful(self, one: Newton) -> bool:
        return one.centre.value - HOPE * one.promised < self.best.value

    def where(self) -> tuple[FloatArray, FloatArray]:
        """At its best point."""
        return at_rest(self.best)

    def state(self) -> dict[str, Any]:
        """Its own, and that of every search; the winner may be one of those that go on."""
        place = next((i for i, one in enumerate(self.crowd) if one is self.winner), None)
        return super().state() | {
            "crowd": [one.state() for one in self.crowd],
            "winner": self.winner.state() if place is None else place,
        }

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Self:
        """The piece whose state this is."""
        state = dict(state)
        crowd, winner = state.pop("crowd"), state.pop("winner")
        self = super().restored(domain, state)
        self.crowd = [Newton.restored(domain, one) for one in crowd]
        self.winner = self.crowd[winner] if isinstance(winner, int) else Newton.restored(domain, winner)
        return self
