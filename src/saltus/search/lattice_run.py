"""Lattice run: integers around the best point that differ from its own in several at once.

Where variables depend on each other, the next better integers often differ in two or more, with other
continuous values: a sweep changes one at a time, and a Gaussian that is smaller than the plateaus seldom
draws just those. But all runs that have led to the best point have measured its surroundings: a quadratic of
all variables says which of the many neighbours are worth an evaluation. It is fitted anew after each batch.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..model.relaxed import relaxed
from ..model.threads import with_one_thread
from .acquisition import Seen
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results

MOST_VARIABLES = 8  # of more, a quadratic has more coefficients than was worth it (docs/saltus.md)
LATEST = 4000  # evaluations that it is made of, at most
VAIN, VAIN_PER_VARIABLE = 4, 3  # evaluations without success: then it is over
RANDOM = 8  # neighbours for each point of a batch, where there is no quadratic


def possible(domain: Domain) -> bool:
    """Whether there can be such runs: several integers, few variables, values and nothing else."""
    if domain.surrogate is None or domain.n_categories or domain.conditional is not None:
        return False
    return domain.lattice.size > 1 and domain.N <= MOST_VARIABLES and domain.surrogate.plain


class LatticeRun(Phase):
    """Points where a quadratic on the lattice is lowest, until many in a row are no better."""

    saved = ("start", "best", "points", "tried", "vain", "done")

    def __init__(self, domain: Domain, point: Evaluated) -> None:
        """Around a point, as many points at a time as the settings' `batch`."""
        self.domain = domain
        self.best = self.start = point
        self.points: FloatArray = np.empty((0, domain.N))  # of the batch, in the unit cube
        self.tried: FloatArray = np.empty((0, domain.lattice.size))  # plateaus that it has evaluated
        self.vain = 0  # evaluations since the last success
        self.done = False

    @with_one_thread
    def draw(self, rng: np.random.Generator) -> None:
        """The lowest points of the quadratic that are new; where it has none, neighbours at random."""
        domain, own, size = self.domain, self.best.plateaus, self.domain.settings.batch
        n, cube = domain.n_continuous, domain.model.cube
        best = cube.of_points(self.best.x[None], own[None])[0]
        known, merits = domain.model.latest(LATEST)
        away = np.column_stack((known[:, :n] - best[:n], cube.lattice.plateau(known[:, n:]) - own))
        found = relaxed(away, merits, n)
        points = np.empty((0, domain.N))
        if found is not None:
            moves = found.lowest(-own, domain.lattice.last - own)
            moves = moves[~Seen(self.tried).which(own + moves)]
            points = self._moved(best, moves, found.continuous(moves))
        if len(points) < size:
            moves = rng.integers(-1, 2, (RANDOM * size, len(own))).astype(float)
            moves = np.clip(moves, -own, domain.lattice.last - own)
            points = np.concatenate((points, self._moved(best, moves, np.zeros((1, n)))))
        new = points[~Seen(known).which(points)]
        new = new[np.sort(np.unique(new, axis=0, return_index=True)[1])]
        self.points = (new if len(new) else best[None])[:size]

    def _moved(self, best: FloatArray, moves: FloatArray, continuous: FloatArray) -> FloatArray:
        """Points of the unit cube that are allowed, from the best one."""
        n, cube = self.domain.n_continuous, self.domain.model.cube
        points = np.empty((len(moves), len(best)))
        points[:, n:] = cube.lattice.value(self.best.plateaus + moves)
        points[:, :n] = np.clip(best[:n] + continuous, cube.low[:n], cube.high[:n])
        return points if self.domain.known is None else points[self.domain.known.allowed(points)]

    def propose(self) -> Proposals:
        """The points that were drawn."""
        return Proposals(*self.domain.model.cube.points(self.points))

    def observe(self, results: Results) -> None:
        """Go on around what is better; the quadratic reads the memory."""
        results = results.known_part()
        self.tried = np.concatenate((self.tried, results.points.plateaus))
        self.vain += len(results.values)
        best = results.best()
        if best.key < self.best.key:
            x, plateaus = self.domain.with_values(results.points)
            first = results.first()
            self.best, self.vain = best._replace(x=x[first], plateaus=plateaus[first]), 0
        self.done = self.vain >= VAIN + VAIN_PER_VARIABLE * self.domain.N
