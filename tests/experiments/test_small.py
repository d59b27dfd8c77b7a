"""Small budgets: records, tables, and solvers that cannot be stopped from within."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from experiments import small
from experiments.small import BOOK, Run, ratios, read, run_one, share, table
from experiments.small_peers import ALL_PEERS, SMALL_PEERS, WANTS, _Ended
from experiments.solvers import Enough
from experiments.suites import Key, optimum, problem
from experiments.tasks import TARGETS, CocoTask


@pytest.mark.parametrize("method", ["saltus-es", "lq-CMA-ES", "pycma"])
def test_a_run_keeps_its_budget_and_is_the_same_again(method: str) -> None:
    key = Key(method, 5, 1, 1, 0)
    run = run_one((key, 6))
    assert run.hits
    assert all(1 <= hit <= 30 for hit in run.hits)
    assert run_one((key, 6)).hits == run.hits


def test_instances_that_are_not_ours_are_refused() -> None:
    with pytest.raises(ValueError, match="instances are 1 to 6, got 7"):
        run_one((Key("saltus-es", 5, 1, 7, 0), 5))


def test_the_share_of_targets() -> None:
    runs = [Run(10, (1, 2, 50), 0.1), Run(10, tuple(range(1, len(TARGETS) + 1)), 0.1)]
    assert share(runs, 5, 10) == (3 + 50) / (2 * len(TARGETS))
    assert share(runs, 5, 1) == (2 + 5) / (2 * len(TARGETS))


def test_a_run_ends_with_its_last_target_or_its_budget() -> None:
    assert Run(10, (1, 2, 7), 0.1).evaluations(5) == 50
    assert Run(10, tuple(range(1, len(TARGETS) + 1)), 0.1).evaluations(5) == len(TARGETS)


def test_a_record_comes_back_and_makes_a_table(tmp_path: Path) -> None:
    file = tmp_path / "small.csv"
    keys = [Key("saltus-es", 5, f, 1, 0) for f in (1, 2)] + [Key("SMAC", 5, 1, 1, 0)]
    BOOK.run([], run_one, file, 1, 0)
    with file.open("a") as lines:
        for key in keys:
            lines.write(",".join(map(str, BOOK.row((key, 10), Run(10, (3, 40), 1.5)))) + "\n")
        lines.write(",".join(map(str, BOOK.row((keys[0], 3), Run(3, (3,), 1.5)))) + "\n")
    record = read(file)
    assert record[keys[0]] == Run(10, (3, 40), 1.5)
    o = argparse.Namespace(
        methods=["saltus-es", "SMAC"],
        dims=[5],
        instances=[1],
        functions=[1, 2],
        seeds=1,
        first_seed=0,
        budget=10,
    )
    text = table(record, o, 5)
    assert "| saltus-es | 0.020 |" in text
    assert "SMAC (1 of 2 runs)" in text
    assert "... saltus-es on these" in text
    few = ratios(record, o, 5)
    assert "| saltus-es / SMAC (1 problems) | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) |" in few
    record[keys[1]._replace(method="SMAC")] = Run(10, (30, 60), 1.5)
    assert "| saltus-es / SMAC (2 problems) | 2.00 (1.00 to inf) | 1.33 (1.00 to 2.00) |" in ratios(
        record, o, 5
    )


def test_a_solver_in_another_language_gets_worse_values_at_the_end() -> None:
    coco = problem(5, 1, 1)
    task = CocoTask(coco, optimum(coco), 3)
    value = _Ended(task)
    values = [value(np.zeros(5)) for _ in range(5)]
    assert values[0] == values[2] < values[3] == values[4] == 1e99
    assert value.over
    assert task.evaluations_left == 0
    with pytest.raises(Enough):
        task.measure(np.zeros(5))


def test_every_peer_is_known_and_says_what_it_needs() -> None:
    assert set(WANTS) <= set(ALL_PEERS)
    assert set(small.METHODS) == {"saltus-es", "saltus", *SMALL_PEERS}
