"""Integer sweep: integers and categories one at a time, every other value of each, until none is better."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results

ALL_VALUES = 16  # up to so many values all are tried; of more, those 1, 2, 4, ... plateaus away


class IntegerSweep(Phase):
    """A descent over single integers from a point; the continuous variables stay as they are.

    A batch holds the values of as many integers as fit into a population, at least one. If one of
    them is better, it is taken, and the search goes on from there.
    """

    saved = ("start", "best", "order", "queue", "done")

    def __init__(self, domain: Domain, point: Evaluated, rng: np.random.Generator) -> None:
        """The integers come in random order."""
        self.domain = domain
        self.best = self.start = point
        self.order = rng.permutation(domain.lattice.size).tolist()
        self.queue: list[int] = self._active(self.order)  # integers still to be tried here
        self.done = not self.queue

    def _active(self, integers: list[int]) -> list[int]:
        """Those of the integers that mean something at the best point."""
        active = self.domain.active(self.best)[self.domain.n_continuous :].tolist()
        return [j for j in integers if active[j]]

    def propose(self) -> Proposals:
        """All other values of the next integers."""
        return self._changed(self.queue[: self._count()])

    def _count(self) -> int:
        """How many integers fit into a population, at least one."""
        size = 0
        for count, j in enumerate(self.queue):
            size += len(self._values(j))
            if count and size > self.domain.settings.population:
                return count
        return len(self.queue)

    def _values(self, j: int) -> list[float]:
        own, last = float(self.best.plateaus[j]), float(self.domain.lattice.last[j])
        return any_other(own, last) if self.domain.is_category(j) else other_values(own, last)

    def _changed(self, integers: list[int]) -> Proposals:
        """All other values of these integers, one at a time."""
        rows: list[FloatArray] = []
        for j in integers:
            values = self._values(j)
            changed = np.tile(self.best.plateaus, (len(values), 1))
            changed[:, j] = values
            rows.extend(changed)
        return self.domain.proposals(self.best.x[None, : self.domain.n_continuous], np.array(rows))

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """The next integers: they would come anyway if nothing is better before."""
        j = self._count() + k
        return self._changed([self.queue[j]]) if j < len(self.queue) else None

    def ready(self, results: Results) -> bool:
        """Everything, or anything that is better."""
        return results.decide(self.best)

    def observe(self, results: Results) -> None:
        """Move to the best value, if it is better than the present one."""
        changed = self._which(results.points)
        self._move(results.known_part())
        if results.known is not None:  # integers of which not all values are known stay in line
            unknown = (j for j, known in zip(changed, results.known.tolist(), strict=True) if not known)
            self.queue += [j for j in dict.fromkeys(unknown) if j not in self.queue]
        self.done = not self.queue

    def _which(self, points: Proposals) -> list[int]:
        """The integer that each point changes."""
        changed: list[int] = (points.plateaus != self.best.plateaus).argmax(axis=1).tolist()
        return changed

    def _move(self, results: Results) -> None:
        changed = self._which(results.points)
        first = results.first()
        if not results.key(first) < self.best.key:
            self.queue = [j for j in self.queue if j not in changed]
            return
        winner = changed[first]
        better = {j for i, j in enumerate(changed) if results.key(i) < self.best.key}
        self.best = results.point(first)
        # what else was better most likely still is: those first, then what is left, then what was tried
        ahead = [j for j in self.queue if j in better and j != winner]
        left = [j for j in self.queue if j not in changed]
        if self.domain.lattice.last[winner] >= ALL_VALUES and not self.domain.is_category(winner):
            ahead.append(winner)  # not all of its values have been tried
        self.queue = ahead + left
        self.queue += [j for j in self.order if j not in self.queue and j != winner]
        self.queue = self._active(self.queue)


def other_values(plateau: float, last: float) -> list[float]:
    """Plateaus to try instead of one: all of few, else those at growing distances.

    >>> other_values(1.0, 3.0)
    [0.0, 2.0, 3.0]
    >>> other_values(9.0, 20.0)
    [8.0, 10.0, 7.0, 11.0, 5.0, 13.0, 1.0, 17.0]
    """
    if last < ALL_VALUES:
        return any_other(plateau, last)
    steps = 2.0 ** np.arange(np.floor(np.log2(last)) + 1)
    values = np.column_stack((plateau - steps, plateau + steps)).ravel()
    inside: list[float] = values[(values >= 0.0) & (values <= last)].tolist()
    return inside


def any_other(plateau: float, last: float) -> list[float]:
    """All plateaus but one."""
    return [float(k) for k in range(int(last) + 1) if k != plateau]
