"""Changes of categories around a point: two at a time, and single ones that a model has spared.

A sweep changes one coordinate at a time, and a slope leads from one integer to the next. Two categories of
which each alone changes nothing have neither: `CategoryPairs` changes both at once, in random order.

A model that is asked before a sweep is paid for spares most of it. About the next integer it is mostly right.
But nothing leads from one value of a category to another: one that was seen in bad places alone is taken for
bad, and for sure. `SparedCategories` evaluates what a sweep without success has not: it costs no more than a
sweep of the categories, and what comes after it costs many times as much.
"""

from __future__ import annotations

import itertools

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from .acquisition import Seen
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results

MOST = 30  # pairs for each variable ...
MOST_SPARED = 10  # ... and single changes that a model has spared


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


def singles(domain: Domain, plateaus: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Changes of single categories in random order, in the form of `pairs`: the same coordinate twice."""
    first, size = domain.lattice.size - domain.n_categories, domain.lattice.size
    rows = [
        (j, k, j, k) for j in range(first, size) for k in range(int(domain.lattice.last[j]) + 1)
        if k != plateaus[j]
    ]  # fmt: skip
    return np.array(rows, dtype=np.float64).reshape(-1, 4)[rng.permutation(len(rows))]


class CategoryPairs(Phase):
    """Other values of two categories, until something is better; everything else stays as it is."""

    saved = ("start", "best", "queue", "done")

    def __init__(self, domain: Domain, point: Evaluated, rng: np.random.Generator) -> None:
        """Around this point."""
        self.domain = domain
        self.best = self.start = point
        queue = self._changes(rng)
        self.queue = queue[domain.distinct(self._changed(queue), point)]
        self.done = not len(self.queue)

    def _changes(self, rng: np.random.Generator) -> FloatArray:
        return pairs(self.domain, self.start.plateaus, rng)

    def propose(self) -> Proposals:
        """The next changes, as many as a population has."""
        return self._changed(self.queue[: self.domain.settings.population])

    def _changed(self, changes: FloatArray) -> Proposals:
        plateaus = np.tile(self.start.plateaus, (len(changes), 1))
        rows = np.arange(len(changes))
        for k in (0, 2):
            plateaus[rows, changes[:, k].astype(np.intp)] = changes[:, k + 1]
        x = np.tile(self.start.x[: self.domain.n_continuous], (len(changes), 1))  # there may be none
        return self.domain.proposals(x, plateaus)

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


class SparedCategories(CategoryPairs):
    """Other values of single categories that were not evaluated here, until something is better."""

    def _changes(self, rng: np.random.Generator) -> FloatArray:
        model = self.domain.model
        changes = singles(self.domain, self.start.plateaus, rng)
        known = Seen(model.known()[0]).which(model.cube.of_points(*self._changed(changes)))
        return np.asarray(changes[~known][: MOST_SPARED * self.domain.N])
