"""Workers: runs with several points at a time, and how many more evaluations they need."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

from experiments.small import Run, run_one
from experiments.suites import Key
from experiments.workers import FOUR, ONE, interval, needed, ratio, table


@pytest.mark.parametrize("method", [ONE, FOUR])
def test_a_run_keeps_its_budget_and_is_the_same_again(method: str) -> None:
    run = run_one((Key(method, 5, 1, 1, 0), 4))
    assert run.hits
    assert all(1 <= hit <= 20 for hit in run.hits)
    assert run_one((Key(method, 5, 1, 1, 0), 4)).hits == run.hits


def test_four_points_at_a_time_are_another_search() -> None:
    one, four = (run_one((Key(method, 5, 1, 1, 0), 6)) for method in (ONE, FOUR))
    assert one.hits != four.hits


def test_how_many_more_evaluations_are_needed() -> None:
    one = [Run(100, (10, 20, 40), 0.0), Run(100, (30, 90), 0.0)]
    four = [Run(100, (10, 24, 44), 0.0), Run(100, (60,), 0.0)]
    assert needed(four, 2) == 24
    assert ratio(one, four, 20) == 24 / 20
    assert ratio(one, four, 40) == 60 / 40
    assert ratio(one, four, 100) == float("inf")
    assert ratio(one, four, 5) == 0
    low, high = interval(one, four, 40, np.random.default_rng(0))
    assert low <= 60 / 40 <= high


def test_the_table() -> None:
    record = {Key(ONE, 5, 1, 4, 0): Run(100, (40, 50), 1.0), Key(FOUR, 5, 1, 4, 0): Run(100, (40, 60), 1.0)}
    o = argparse.Namespace(dims=[5, 10], instances=[4], functions=[1, 2], seeds=1, first_seed=0)
    text = table(record, o)
    assert "| 5 | 10 D | 0.039 | 0.020 | 1.20 (1.20–1.20) | 1 |" in text
    assert "| 10 |" not in text
