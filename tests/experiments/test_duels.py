"""Runs that are judged by a value: records, duels, and budgets that everybody keeps."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import pytest

from experiments.duels import BOOK, Run, ahead, duel, functions, groups, read, run_one, table
from experiments.suites import CONSTRAINED, NOISY, SUITES, Key


@pytest.mark.parametrize("method", ["saltus-es", "saltus", "pycma-AL", "COBYQA"])
def test_a_run_keeps_its_budget_and_is_the_same_again(method: str) -> None:
    key = Key(method, 2, 7, 1, 0)
    run = run_one((key, 10), CONSTRAINED)
    assert len(run.values) == 2
    assert run.values[1] <= run.values[0]
    assert run_one((key, 10), CONSTRAINED).values == run.values


@pytest.mark.parametrize("method", ["saltus-es", "pycma", "pycma-noise", "DE"])
def test_what_is_recommended_under_noise_is_the_same_again(method: str) -> None:
    run = run_one((Key(method, 2, 107, 1, 0), 20), NOISY)
    assert len(run.values) == 3
    assert all(value >= 1e-8 for value in run.values)
    run_one((Key(method, 2, 107, 1, 1), 5), NOISY)  # COCO's own noise would be another one now
    assert run_one((Key(method, 2, 107, 1, 0), 20), NOISY).values == run.values


def test_instances_that_are_not_ours_are_refused() -> None:
    with pytest.raises(ValueError, match="instances are 1 to 6, got 7"):
        run_one((Key("saltus", 5, 1, 7, 0), 5), CONSTRAINED)


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
    file.write_text(",".join(BOOK.header) + "\n")
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
    text = table(record, o, 5, CONSTRAINED)
    assert "| saltus ahead of COBYQA | 0.25 (2) | 0.75 (2) |" in text
    assert "| something feasible: COBYQA | 0.50 | 1.00 | 10.0 |" in text
    assert "| sphere | 0.75 (2) |" in functions(record, o, CONSTRAINED)


def test_every_function_has_its_groups() -> None:
    for suite, often in ((CONSTRAINED, 2), (NOISY, 2)):
        members = [f for group in groups(suite).values() for f in group]
        assert sorted(members) == sorted(list(SUITES[suite].functions) * often)


def test_the_table_of_noisy_problems_shows_how_far_away_it_is() -> None:
    record = {
        Key("saltus", 5, 101, 4, 0): Run(5, 1.0, (3.0,)),
        Key("pycma", 5, 101, 4, 0): Run(5, 1.0, (4.0,)),
    }
    o = argparse.Namespace(
        methods=["saltus", "pycma"], dims=[5], instances=[4], functions=[101], seeds=1, first_seed=0, budget=5
    )
    text = table(record, o, 5, NOISY)
    assert "| saltus ahead of pycma | 1.00 (1) |" in text
    assert "| above the optimum, median: pycma | 4 |" in text
