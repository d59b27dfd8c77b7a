"""Problems of COCO's suites as solvers see them, each noting what a run is judged by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.noise import NoiseFree, noisy
from experiments.solvers import Enough, Task
from saltus import Float, Int, Space
from saltus._typing import FloatArray

TARGETS = np.logspace(2, -8, 51)
BUDGETS = (5, 10, 20, 50, 100, 200, 500, 1000)  # evaluations for each variable


class CocoTask(Task):
    """A problem without constraints and noise; it notes when each target is hit."""

    def __init__(self, coco: Any, best: float, budget: int) -> None:
        """The budget is in evaluations."""
        super().__init__(space_of(coco))
        self.coco = coco
        self.best = best
        self.budget = budget
        self.evaluations = 0
        self.evaluations_left = budget
        self.hits: list[int] = []

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """COCO's value; there are no constraints."""
        if self.evaluations >= self.budget:
            raise Enough
        value = self.coco(x)
        self.evaluations += 1
        self.evaluations_left = self.budget - self.evaluations
        while value - self.best <= TARGETS[len(self.hits)]:
            self.hits.append(self.evaluations)
            if len(self.hits) == len(TARGETS):
                raise Enough
        return value, 0.0


class ConstrainedTask(Task):
    """A problem of bbob-constrained that notes the best feasible value; a point asked again is free."""

    def __init__(self, coco: Any, budget: int) -> None:
        """The budget is in evaluations."""
        super().__init__(space_of(coco))
        self.coco, self.budget = coco, budget
        self.limits = int(coco.number_of_constraints)
        self.evaluations = 0
        self.evaluations_left = budget
        self.best = math.inf
        self.trail: list[float] = []  # the best feasible value after each evaluation
        self._known: dict[bytes, tuple[float, list[float]]] = {}

    def examine(self, x: FloatArray) -> tuple[float, list[float]]:
        """Value and constraints, above 0 is violated; raises Enough when the budget is spent."""
        x = np.minimum(np.maximum(np.asarray(x, dtype=float), self.low), self.high)
        name = x.tobytes()
        if name not in self._known:
            if self.evaluations >= self.budget:
                raise Enough
            self.evaluations += 1
            self.evaluations_left = self.budget - self.evaluations
            value, g = float(self.coco(x)), np.array(self.coco.constraint(x))
            if (g <= 0).all():
                self.best = min(self.best, value)
            self.trail.append(self.best)
            self._known[name] = value, g.tolist()
        return self._known[name]

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """Value and the sum of what is violated."""
        value, constraints = self.examine(x)
        return value, sum(max(g, 0.0) for g in constraints)

    def values(self) -> tuple[float, ...]:
        """The best feasible values at the budgets; if it has ended before, what it had then."""
        last = self.trail[-1] if self.trail else math.inf
        places = [b * self.N for b in BUDGETS if b * self.N <= self.budget]
        return tuple(self.trail[n - 1] if n <= len(self.trail) else last for n in places)


class NoisyTask(Task):
    """A problem of bbob-noisy that notes the value without noise of the point that is recommended.

    A solver that recommends nothing is taken to recommend the best point that it has seen.
    """

    noisy = True

    def __init__(self, D: int, function: int, instance: int, budget: int, rng: np.random.Generator) -> None:
        """The budget is in evaluations; the noise is drawn from the generator."""
        super().__init__(Space([Float(-5.0, 5.0)] * D))
        self.budget = budget
        self.evaluations = 0
        self.evaluations_left = budget
        self.trail: list[float] = []  # by budget
        self.truth = NoiseFree(D, function, instance)
        self._function, self._rng = function, rng
        self._places = [b * D for b in BUDGETS if b * D <= budget]
        self._best: tuple[float, FloatArray] = math.inf, (self.low + self.high) / 2

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """A value with noise; there are no constraints."""
        self._note()
        if self.evaluations >= self.budget:
            raise Enough
        x = np.minimum(np.maximum(np.asarray(x, dtype=float), self.low), self.high)
        value = noisy(self.truth(x), self._function, self.N, self._rng)
        if value < self._best[0]:
            self._best = value, x
        self.evaluations += 1
        self.evaluations_left = self.budget - self.evaluations
        return value, 0.0

    def _note(self, over: bool = False) -> None:
        while len(self.trail) < len(self._places) and (
            over or self._places[len(self.trail)] <= self.evaluations
        ):
            said = None if self.recommendation is None else self.recommendation()
            x = self._best[1] if said is None else np.asarray(said, dtype=float)
            above = self.truth(np.minimum(np.maximum(x, self.low), self.high))
            self.trail.append(max(above, float(TARGETS[-1])))  # what is nearer is the optimum

    def values(self) -> tuple[float, ...]:
        """How far above the optimum what was recommended at the budgets is; 1e-8 is the optimum."""
        self._note(over=True)
        return tuple(self.trail)


def space_of(coco: Any) -> Space:
    """The box of a problem; its integers come first."""
    n_int = coco.number_of_integer_variables
    low, high = coco.lower_bounds, coco.upper_bounds
    return Space(
        [
            Int(int(low[i]), int(high[i])) if i < n_int else Float(float(low[i]), float(high[i]))
            for i in range(coco.dimension)
        ]
    )
