"""The experiments still run: one trial of each, nothing written."""

from __future__ import annotations

import pytest

from experiments import basis, bounds, ends, scale
from experiments.harness import Trial, summary
from saltus import bounds as fold
from saltus import variables
from saltus.strategy import Integers


def test_one_trial_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "DEFAULT_SHARE", variables.DEFAULT_SHARE)  # restored afterwards
    monkeypatch.setattr(Integers, "overshoot", Integers.overshoot)
    monkeypatch.setattr(fold, "SHARE_OF_RANGE", fold.SHARE_OF_RANGE)
    assert basis.trial(3, 20, False, 0).success
    assert bounds.trial("fold 10%", "corner", 4, 0).success
    assert scale.trial(0.2, "EllipsoidInt", 10, 0)[0].success
    assert ends.trial("Int(0, 100)", 1, "by overshoot", 0)


def test_summary() -> None:
    cell = summary([Trial(True, 10), Trial(True, 14), Trial(False, 99)])
    assert (cell.trials, cell.successes, cell.mean) == (3, 2, 12.0)
    assert str(cell) == "12 ± 4 (2/3)"
    assert str(summary([Trial(False, 5)])) == "0/1"


def test_the_cost_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # the module sets them for its own process
    from experiments import cost

    figures = {10: cost.measure(10, rounds=1)}
    assert set(figures[10]) == set(cost.METHODS)
    lines = cost.table(figures)
    assert lines[0].startswith("| N | saltus dx-nes-ici")
    assert any("the nearest peer" in line for line in lines)
