"""Peers for continuous variables: they keep to the box, begin again, and are the same again."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.continuous_peers import CONTINUOUS_PEERS, starts
from experiments.solvers import Enough, Favourite, Task
from saltus import Float, Space
from saltus._typing import FloatArray


class Valley(Task):
    """A bowl in a box, with a limit that the optimum keeps."""

    def __init__(self, D: int, budget: int) -> None:
        super().__init__(Space([Float(-5.0, 5.0)] * D))
        self.limits = 1
        self.evaluations_left = budget
        self.budget = budget
        self.seen: list[FloatArray] = []

    def examine(self, x: FloatArray) -> tuple[float, list[float]]:
        if len(self.seen) >= self.budget:
            raise Enough
        self.seen.append(np.array(x))
        return float(((np.array(x) - 1) ** 2).sum()), [float(x[0]) - 4.0]

    def measure(self, x: FloatArray) -> tuple[float, float]:
        value, (limit,) = self.examine(x)
        return value, max(0.0, limit)


@pytest.mark.parametrize("method", CONTINUOUS_PEERS)
def test_they_get_better_within_the_box_until_the_budget_is_spent(method: str) -> None:
    D, budget = (10 if "V" in method else 3), 400
    seen = []
    for _ in range(2):
        task = Valley(D, budget)
        with pytest.raises(Enough):
            CONTINUOUS_PEERS[method](task, np.random.default_rng(1))
        seen.append(np.array(task.seen))
    assert seen[0].shape == (budget, D)
    assert (np.abs(seen[0]) <= 5).all()
    assert ((seen[0] - 1) ** 2).sum(axis=1).min() < 0.5
    assert (seen[0] == seen[1]).all()


@pytest.mark.parametrize("method", ["pycma-BIPOP", "pycma-sep", "pycma-noise", "COBYQA"])
def test_they_begin_again_at_another_point(method: str) -> None:
    task = Valley(2, 3000)
    with pytest.raises(Enough):
        CONTINUOUS_PEERS[method](task, np.random.default_rng(1))
    away = ((np.array(task.seen) - 1) ** 2).sum(axis=1)
    found = int(np.argmax(away < 1e-6))
    assert 0 < found < 2000
    assert away[found:].max() > 2.0


def test_the_first_start_is_the_middle() -> None:
    task = Valley(2, 10)
    places = starts(task, np.random.default_rng(1))
    assert (next(places) == 0).all()
    assert (next(places) != 0).all()


class Es:
    """What is asked of pycma: the mean of a run."""

    def __init__(self, mean: float) -> None:
        self.result = self
        self.xfavorite = np.array([mean])


def test_the_favourite_is_that_of_the_run_with_the_lowest_median() -> None:
    favourite = Favourite()
    assert favourite() is None
    first, second = Es(1.0), Es(2.0)
    favourite.told(first, [3.0, 1.0, 2.0])
    assert favourite() == 1.0
    first.xfavorite = np.array([1.5])
    assert favourite() == 1.5  # it is as it is now
    favourite.told(second, [9.0, 1.9, 9.0])
    assert favourite() == 1.5  # one lucky value is not enough
    favourite.told(second, [1.9, 1.9, 9.0])
    assert favourite() == 2.0
    favourite.told(Es(3.0), [9.0, 9.0, 9.0])
    assert favourite() == 2.0
