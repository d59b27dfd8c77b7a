"""Which trial is best, and how the history of a study is told from its trials."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from saltus.study.summary import history_rows, ranking
from saltus.study.trial import Snapshot, Trial

from ..objectives import constrained
from .studies import made


def trial(id: int, value: float | None, violation: float = 0.0, generation: int = 0) -> Trial:
    return Trial(id, generation, {}, "done", value, violation)


@pytest.mark.parametrize(
    ("direction", "order"), [("minimize", [3, 0, 2, 1, 4]), ("maximize", [2, 0, 3, 1, 4])]
)
def test_feasible_first_then_violation_then_value_then_the_first(direction: str, order: list[int]) -> None:
    trials = [trial(0, 2.0), trial(1, -9.0, 0.5), trial(2, 3.0), trial(3, 1.0), trial(4, None, 0.5)]
    assert [t.id for t in sorted(trials, key=ranking(direction))] == order
    twins = [trial(6, 1.0), trial(5, 1.0)]
    assert min(twins, key=ranking(direction)).id == 5


@pytest.mark.parametrize("sign", [1, -1])
def test_history_is_of_feasible_values(sign: int) -> None:
    values = [(None, 1.0, 0), (5.0, 0.0, 1), (4.0, 2.0, 1), (7.0, 0.0, 2), (3.0, 0.0, 3), (2.0, 0.0, 3)]
    trials = [trial(i, None if v is None else sign * v, bad, g) for i, (v, bad, g) in enumerate(values)]
    snapshots = [Snapshot(0, 0, 0, (), ()), Snapshot(2, 3, 1, (), ())]
    rows = list(history_rows("minimize" if sign == 1 else "maximize", trials, snapshots))
    expected = [(1, math.nan, math.nan, 1, 0), (3, 5, 5, 2, 0), (4, 5, 7, 1, 1), (6, 2, 2, 2, 1)]
    np.testing.assert_array_equal(rows, np.array(expected) * (1, sign, sign, 1, 1))


def test_a_study_knows_its_best(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(constrained, budget=60)
    summary = study.summary()
    assert summary.best == min((t for t in study.trials() if t.status == "done"), key=ranking("minimize"))
    assert summary.best.constraints == {
        "0": 10.0 - summary.best.params["k"],
        "1": summary.best.params["x"] - 100,
    }
