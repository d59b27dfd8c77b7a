"""What patience saves, and what the model expects."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.patience import Ran, ended, expected_gain, lost, of, points_around
from saltus import Optimizer
from saltus.execution.evaluation import evaluate
from saltus.space import Encoding


def test_where_a_patience_would_have_ended_a_search() -> None:
    ran = Ran(2, 100, [(10, 9.0), (20, 5.0), (60, 5.0), (100, 1.0)])
    assert ended(ran, 40) == (60, 5.0)
    assert ended(ran, 90) == (100, 1.0)
    assert lost(ran, 5.0) == 0.5


@pytest.mark.parametrize("name", ["GearTrain", "ConcreteBeam"])
def test_a_gain_is_expected_where_constraints_may_hold(name: str) -> None:
    space, fun = of(name, 0)
    optimizer, rng = Optimizer(space, seed=0), np.random.default_rng(0)
    assert math.isnan(expected_gain(optimizer, rng))
    while optimizer.evaluations < 20:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [evaluate(fun, candidate.params) for candidate in candidates])
    assert optimizer.best is not None
    for point in points_around(space, optimizer.best.x, rng):
        Encoding(space).numbers_of(point)  # else an error: all of them can be evaluated
    assert optimizer.best.violation or expected_gain(optimizer, rng) >= 0
