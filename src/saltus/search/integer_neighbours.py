"""Integer neighbours: the integer vectors next to a point, each with continuous variables of its own.

Where integers and continuous variables depend on each other strongly, no integer can change unless the
continuous variables follow. Here they do: every neighbour gets a few Newton steps, all side by side.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from .._typing import FloatArray
from .integer_sweep import any_other
from .newton import Newton
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results

AFFORDABLE = 10  # evaluations of a round for each variable, at most: with many continuous ones it costs more
HOPE = 10.0  # a neighbour is given up when that many times what its next step promises would not be enough


def affordable(domain: Domain) -> bool:
    """Whether the gradients of all neighbours are worth their price."""
    neighbours = 2 * (domain.lattice.size - domain.n_categories) + sum(domain.sizes) - domain.n_categories
    return neighbours * (2 * domain.n_continuous + 1) <= AFFORDABLE * domain.N


def beside(domain: Domain, plateaus: FloatArray) -> FloatArray:
    """The plateaus that differ in one integer by one, or in one category, one row each."""
    size, last = domain.lattice.size - domain.n_categories, domain.lattice.last
    steps = np.eye(domain.lattice.size)[:size]
    moved = plateaus + np.concatenate((-steps, steps))
    rows = [moved[((moved >= 0) & (moved <= last)).all(axis=1)]]
    for j in range(size, domain.lattice.size):
        others = any_other(float(plateaus[j]), float(last[j]))
        changed = np.tile(plateaus, (len(others), 1))
        changed[:, j] = others
        rows.append(changed)
    return np.concatenate(rows)


class IntegerNeighbours(Phase):
    """A Newton search at every vector of integers and categories beside a point; `winner` is the best."""

    saved = ("start", "best", "done")  # and the searches, below

    def __init__(self, domain: Domain, model: Newton) -> None:
        """Around the best point of a search that has found its curvature."""
        self.domain = domain
        self.best = self.start = point = model.best
        self.winner = model
        self.crowd: list[Newton] = []
        moved = beside(domain, point.plateaus)
        points = domain.proposals(point.x[None, : domain.n_continuous], moved)
        new = domain.distinct(points, point)
        for x, plateaus in zip(points.x[new], points.plateaus[new], strict=True):
            self.crowd.append(model.elsewhere(Evaluated(x, plateaus, 0.0, math.nan)))
        self.done = not self.crowd

    def propose(self) -> Proposals:
        """The batches of all searches that are still on."""
        batches = [one.propose() for one in self.crowd]
        self._sizes = [len(batch.x) for batch in batches]
        return Proposals(*(np.concatenate(part) for part in zip(*batches, strict=True)))

    def observe(self, results: Results) -> None:
        """Let each take its part; go on with those that may still win."""
        first = 0
        for one, size in zip(self.crowd, self._sizes, strict=True):
            one.observe(results.part(slice(first, first + size)))
            first += size
            if one.best.key < self.best.key:
                self.best, self.winner = one.best, one
        self.crowd = [one for one in self.crowd if not one.done and self._hopeful(one)]
        self.done = not self.crowd

    def _hopeful(self, one: Newton) -> bool:
        return one.centre.value - HOPE * one.promised < self.best.value

    def state(self) -> dict[str, Any]:
        """Its own, and that of every search; the winner may be one of those that go on."""
        place = next((i for i, one in enumerate(self.crowd) if one is self.winner), None)
        return super().state() | {
            "crowd": [one.state() for one in self.crowd],
            "winner": self.winner.state() if place is None else place,
        }

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Self:
        """The phase whose state this is."""
        state = dict(state)
        crowd, winner = state.pop("crowd"), state.pop("winner")
        self = super().restored(domain, state)
        self.crowd = [Newton.restored(domain, one) for one in crowd]
        self.winner = self.crowd[winner] if isinstance(winner, int) else Newton.restored(domain, winner)
        return self
