"""The experiment on categories: its functions, its record, its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from experiments import categories
from experiments.categories import CATEGORIES, NONE, PARTS, PEER, Key, Task, Tuning, svm_table, table, wanted
from experiments.harness import Trial


def options(**changed: object) -> argparse.Namespace:
    usual = {"size": 2, "seeds": 2, "methods": ["saltus", PEER], "parts": ["sphere"], "categories": ["pairs"]}
    return argparse.Namespace(**(usual | changed))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", CATEGORIES)
def test_the_optimum_is_zero_wherever_the_choices_stand(part: str, kind: str) -> None:
    for seed in range(3):
        task = Task(Key("saltus", 3, part, kind, seed))
        assert sorted(task.choices[0]) == ["v0", "v1", "v2", "v3", "v4"]
        assert task.at(np.zeros(3), np.zeros(3), ["v0"] * 3) == 0.0
        assert task.at(np.zeros(3), np.zeros(3), ["v0", "v0", "v1"]) == 1.0
        assert task.evaluations == 2
    assert Task(Key("saltus", 3, part, kind, 0)).choices != Task(Key("saltus", 3, part, kind, 1)).choices


def test_without_categories() -> None:
    for method in ("dx-nes-ici", PEER):
        key = Key(method, 1, "sphere", NONE, 0)
        assert len(Task(key).space) == 2
        assert categories.run(key).success
    assert "| 2 + 2 variables, 2 runs |" in table({}, options(categories=[NONE]))


def test_what_categories_count() -> None:
    one_wrong = [True, False, True, True, True]
    assert [part(one_wrong) for part in CATEGORIES.values()] == [1.0, 4.0, 1.0]
    assert [part([False] * 5) for part in CATEGORIES.values()] == [5.0, 5.0, 3.0]


def test_runs_and_their_record(tmp_path: Path) -> None:
    for method in ("saltus", "dx-nes-ici", PEER):
        trial = categories.run(Key(method, 1, "sphere", "count", 0))
        assert trial.success
        assert trial.evaluations < 2000
    key = Key("saltus", 5, "sphere", "count", 3)
    row = [str(each) for each in categories.BOOK.row(key, Trial(True, 120, 1e-9))]
    assert categories.BOOK.parse(row) == (key, Trial(True, 120, 1e-9))


def test_tables() -> None:
    o = options()
    record = {key: Trial(True, 100 if key.method == "saltus" else 400) for key in wanted(o)}
    assert "| pairs, sphere | 100 ± 0 [0.25] | 400 ± 0 |" in table(record, o)
    tuned = {Tuning("saltus", "a b", seed): 0.97 + 0.01 * seed for seed in range(2)}
    assert "| saltus | a b | 0.9750 | 0.9750 | 0.9700 | 2 |" in svm_table(tuned)
