"""Engineering designs: budgets, penalties, and what the tables count."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.engineering import BUDGETS, PROBLEMS, Design, Key, run_one, successes, table
from experiments.harness import Trial
from experiments.small_peers import WORSE, _Ended
from experiments.solvers import Enough


@pytest.mark.parametrize("method", ["saltus", "saltus-es", "pycma", "lq-CMA-ES, soft"])
def test_a_trial_keeps_its_budget_and_is_the_same_again(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, method.removesuffix(", soft"), 25)
    trial = run_one(Key("PressureVessel", method, 0))
    assert (trial.success, trial.evaluations) == (False, 25)
    assert run_one(Key("PressureVessel", method, 0)) == trial


def test_every_constraint_is_given_by_itself() -> None:
    task = Design(PROBLEMS["PressureVessel"], 10)
    assert task.limits == 4
    assert Design(PROBLEMS["GearTrain"], 10).limits == 0
    value, constraints = task.examine(np.array([1.0, 99.0, 100.0, 100.0]))
    assert [g > 0 for g in constraints] == [True, False, False, False]
    assert task.measure(np.array([1.0, 99.0, 100.0, 100.0])) == (value, constraints[0])
    assert task.evaluations_left == 8


def test_penalties_put_what_is_violated_behind() -> None:
    places = np.array([0.0, 98.0, 100.0, 100.0])  # plates 1 and 99
    hard, soft = (Design(PROBLEMS["PressureVessel"], 10, soft) for soft in (False, True))
    value, violation = hard.measure(hard.decode(places))
    assert hard.penalised(places) == 1e12 * (1 + violation)
    assert soft.penalised(places) == value + 10 * hard.problem.best * violation


def test_a_solver_in_another_language_gets_the_constraints_too() -> None:
    ended = _Ended(Design(PROBLEMS["PressureVessel"], 1))
    assert len(ended.examined([0.0, 98.0, 100.0, 100.0])) == 5
    assert ended.examined([0.0, 98.0, 100.0, 100.0]) == [WORSE] * 5
    assert ended.over
    with pytest.raises(Enough):
        ended.task.measure(np.array([1.0, 99.0, 100.0, 100.0]))


def test_the_tables() -> None:
    record = {
        Key("GearTrain", "saltus", 0): Trial(True, 500, 1.0),
        Key("GearTrain", "saltus", 1): Trial(True, 1500, 1.0),
        Key("GearTrain", "DE", 0): Trial(False, 20_000, 2.0),
    }
    assert "| GearTrain | 1,000 | – (0/1) |" in table(record, ["saltus", "DE"], 2)
    assert "| GearTrain | **1/2** | 0/1 |" in successes(record, ["saltus", "DE"], 2, 1000)
    assert "| GearTrain | **2/2** | 0/1 |" in successes(record, ["saltus", "DE"], 2, 20_000)
