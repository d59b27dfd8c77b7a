"""Constrained problems: records, duels, and budgets that everybody keeps."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import pytest

from experiments.coco import Key
from experiments.constrained import (
    BOOK,
    BUDGETS,
    ConstrainedTask,
    Run,
    ahead,
    duel,
    functions,
    problem,
    read,
    run_one,
    table,
)
from experiments.solvers import Enough


@pytest.mark.parametrize("method", ["saltus-es", "saltus", "pycma-AL", "COBYQA"])
def test_a_run_keeps_its_budget_and_is_the_same_again(method: str) -> None:
    key = Key(method, 2, 7, 1, 0)
    run = run_one((key, 10))
    assert len(run.values) == 2
    assert run.values[1] <= run.values[0]
    assert run_one((key, 10)).values == run.values


def test_instances_that_are_not_ours_are_refused() -> None:
    with pytest.raises(ValueError, match="instances are 1 to 6, got 7"):
        run_one((Key("saltus", 5, 1, 7, 0), 5))


def test_a_point_counts_once_and_only_feasible_ones_are_good() -> None:
    coco = problem(5, 2, 1)
    task = ConstrainedTask(coco, 2)
    feasible = np.array(coco.initial_solution)
    for _ in range(3):
        value, g = task.measure(np.zeros(5))
    assert (g > 0).any()
    assert task.evaluations == 1
    value, g = task.measure(feasible)
    assert (g <= 0).all()
    assert task.trail == [math.inf, value]
    with pytest.raises(Enough):
        task.measure(np.ones(5))


def test_values_after_each_budget() -> None:
    task = ConstrainedTask(problem(2, 1, 1), 20)
    task.trail = [math.inf] * 9 + [3.0, 2.0]
    assert BUDGETS[:2] == (5, 10)
    assert task.values() == (3.0, 2.0)


def test_equal_values_count_half() -> None:
    assert [ahead(*pair) for pair in ((1, 2), (2, 1), (2, 2), (math.inf, math.inf), (1, math.inf))] == [
        1.0,
        0.0,
        0.5,
        0.5,
        1.0,
    ]


def test_a_record_comes_back_and_makes_tables(tmp_path: Path) -> None:
    file = tmp_path / "constrained.csv"
    BOOK.run([], run_one, file, 1, 0)
    runs = {
        Key("saltus", 5, 1, 1, 0): Run(10, 1.5, (math.inf, -2.5)),
        Key("saltus", 5, 2, 1, 0): Run(10, 1.5, (math.inf, 1.0)),
        Key("COBYQA", 5, 1, 1, 0): Run(10, 0.5, (math.inf, -2.0)),
        Key("COBYQA", 5, 2, 1, 0): Run(10, 0.5, (3.0, 1.0)),
    }
    with file.open("a") as lines:
        for key, run in runs.items():
            lines.write(",".join(map(str, BOOK.row((key, 10), run))) + "\n")
    record = read(file)
    assert record == runs
    o = argparse.Namespace(
        methods=["saltus", "COBYQA"], dims=[5], instances=[1], functions=[1, 2], seeds=1, first_seed=0,
        budget=10, at=10,
    )  # fmt: skip
    keys = [key for key in runs if key.method == "saltus"]
    assert duel(record, keys, "COBYQA", 0) == (0.25, 2)
    assert duel(record, keys, "NOMAD", 0).problems == 0
    text = table(record, o, 5)
    assert "| saltus ahead of COBYQA | 0.25 (2) | 0.75 (2) |" in text
    assert "| something feasible: COBYQA | 0.50 | 1.00 | 10.0 |" in text
    assert "| sphere | 0.75 (2) |" in functions(record, o)
