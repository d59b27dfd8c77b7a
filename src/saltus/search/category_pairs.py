"""Category pairs: two categories at a time, for values that count only together.

A sweep changes one coordinate at a time, and a slope leads from one integer to the next. Two categories of
which each alone changes nothing have neither: here both are changed at once, in random order.
"""

from __future__ import annotations

import itertools

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results

MOST = 30  # evaluations for each variable


def pairs(domain: Domain, plateaus: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Changes of two categories in random order, one row each: a coordinate, its value, and again both."""
    first, size = domain.lattice.size - domain.n_categories, domain.lattice.size
    couples = list(itertools.combinations(range(first, size), 2))
    rows: list[tuple[int, int, int, int]] = []
    for place in rng.permutation(len(couples)).tolist():
        i, j = couples[place]
        values = ([k for k in range(int(domain.lattice.last[c]) + 1) if k != plateaus[c]] for c in (i, j))
        rows += [(i, a, j, b) for a, b in itertools.product(*values)]
        if len(rows) >= MOST * domain.N:
            break
    shuffled = rng.permutation(len(rows))[: MOST * domain.N]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)[shuffled]


class CategoryPairs(Phase):
    """Other values of two categories, until something is better; everything else stays as it is."""

    saved = ("start", "best", "queue", "done")

    def __init__(self, domain: Domain, point: Evaluated, rng: np.random.Generator) -> None:
        """Around this point."""
        self.domain = domain
        self.best = self.start = point
        queue = pairs(domain, point.plateaus, rng)
        self.queue = queue[domain.distinct(self._changed(queue), point)]
        self.done = not len(self.queue)

    def propose(self) -> Proposals:
        """The next changes, as many as a population has."""
        return self._changed(self.queue[: self.domain.settings.population])

    def _changed(self, changes: FloatArray) -> Proposals:
        plateaus = np.tile(self.start.plateaus, (len(changes), 1))
        rows = np.arange(len(changes))
        for k in (0, 2):
            plateaus[rows, changes[:, k].astype(np.intp)] = changes[:, k + 1]
        return self.domain.proposals(self.start.x[None, : self.domain.n_continuous], plateaus)

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """The next change: it would come anyway if nothing is better before."""
        place = self.domain.settings.population + k
        return self._changed(self.queue[place : place + 1]) if place < len(self.queue) else None

    def ready(self, results: Results) -> bool:
        """Everything, or anything that is better."""
        return results.decide(self.best)

    def observe(self, results: Results) -> None:
        """Take the best, if it is better; else go on."""
        found = results.known_part().best()
        if found.key < self.best.key:
            self.best = found
        self.queue = self.queue[len(results.values) :]
        self.done = self.best.key < self.start.key or not len(self.queue)

    def _prepare(self) -> None:
        self.queue = _serialize.shaped(self.queue, (len(self.queue), 4), "queue")
        changed, last = self.queue[:, ::2], self.domain.lattice.last
        if not np.isin(changed, np.arange(len(last))).all():
            raise ValueError(f"state: queue must name coordinates below {len(last)}")
        if (self.queue[:, 1::2] < 0).any() or (self.queue[:, 1::2] > last[changed.astype(np.intp)]).any():
            raise ValueError("state: queue must hold values of categories")
