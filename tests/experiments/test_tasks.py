"""Problems of COCO's suites as solvers see them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.solvers import Enough
from experiments.suites import CONSTRAINED, SUITES, best_point, optimum, problem
from experiments.tasks import BUDGETS, TARGETS, CocoTask, ConstrainedTask, NoisyTask


@pytest.mark.parametrize("suite", [name for name, suite in SUITES.items() if suite.measure == "targets"])
def test_the_optimum_hits_every_target(suite: str) -> None:
    coco = problem(SUITES[suite].dims[0], 1, 6, suite)
    task = CocoTask(coco, optimum(coco), 10)
    middle = np.rint((task.low + task.high) / 2)
    assert task.measure(middle)[0] > task.best + TARGETS[-1]
    with pytest.raises(Enough):
        task.measure(best_point(coco))
    assert len(task.hits) == len(TARGETS)
    assert task.hits[-1] == 2


def test_a_point_counts_once_and_only_feasible_ones_are_good() -> None:
    coco = problem(5, 2, 1, CONSTRAINED)
    task = ConstrainedTask(coco, 2)
    feasible = np.array(coco.initial_solution)
    for _ in range(3):
        value, g = task.examine(np.zeros(5))
    assert max(g) > 0
    assert task.evaluations == 1
    value, g = task.examine(feasible)
    assert max(g) <= 0
    assert task.trail == [math.inf, value]
    with pytest.raises(Enough):
        task.examine(np.ones(5))


def test_values_after_each_budget() -> None:
    task = ConstrainedTask(problem(2, 1, 1, CONSTRAINED), 20)
    task.trail = [math.inf] * 9 + [3.0, 2.0]
    assert BUDGETS[:2] == (5, 10)
    assert task.values() == (3.0, 2.0)


def test_what_is_recommended_is_noted_after_each_budget_without_noise() -> None:
    task = NoisyTask(2, 107, 1, 25, np.random.default_rng(1))
    near = np.full(2, 1.0)
    for _ in range(12):
        task.measure(np.zeros(2))
    assert task.trail == [task.truth(np.zeros(2))]  # the best point that was seen
    task.recommendation = lambda: near
    for _ in range(13):
        task.measure(np.zeros(2))
    with pytest.raises(Enough):
        task.measure(np.zeros(2))
    assert BUDGETS[:3] == (5, 10, 20)
    assert task.values() == (task.truth(np.zeros(2)), task.truth(near))


def test_a_run_that_ends_early_keeps_its_last_recommendation() -> None:
    task = NoisyTask(2, 101, 1, 20, np.random.default_rng(1))
    task.measure(np.ones(2))
    assert task.values() == (task.truth(np.ones(2)),) * 2
