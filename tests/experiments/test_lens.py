"""The lens: rays as the example's program traces them, budgets, medians."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from experiments.lens import BOOK, MARKS, Key, LensTask, run_one, table
from experiments.lens_rays import STUDY, merit, space
from experiments.solvers import Enough
from experiments.steps import Run, best_within, interval
from saltus import Optimizer


def test_the_rays_are_those_of_the_example() -> None:
    optimizer = Optimizer(space(), strategy="dx-nes-ici", seed=1, population=20)
    failed = 0
    for candidate in optimizer.ask():
        words = [f"{name}={str(value).lower()}" for name, value in candidate.params.items()]
        arguments = [part for word in words for part in ("-v", word)]
        done = subprocess.run(
            ["awk", *arguments, "-f", str(STUDY.parent / "lens.awk")],
            capture_output=True,
            text=True,
            check=False,
        )
        value, constraints = merit(candidate.params)
        assert math.isnan(value) == (done.returncode == 1)
        if math.isnan(value):
            failed += 1
            continue
        expected = json.loads(done.stdout.splitlines()[-1])
        np.testing.assert_allclose(
            [value, *constraints], [expected["value"], *expected["constraints"].values()], atol=2e-6
        )
    assert failed < 20


def test_a_ray_that_does_not_get_through_is_a_failure() -> None:
    lens = dict(zip(space().names or (), LensTask(1).low.tolist(), strict=True))
    lens |= {
        "c1": 0.05,
        "c2": -0.02,
        "c3": 0.0,
        "c4": 0.05,
        "c5": 0.02,
        "crown1": 12,
        "flint": 1,
        "crown2": 1,
    }
    lens |= {"t1": 10, "t2": 1, "t3": 2, "air1": 20.0, "air2": 20.0}
    value, constraints = merit(lens)
    assert math.isnan(value)
    assert np.isnan(constraints).all()
    task = LensTask(10)
    assert task.measure(np.array(list(lens.values())))[1] > 0


@pytest.mark.parametrize("method", ["saltus", "saltus-es", "dx-nes-ici", "pycma", "lq-CMA-ES, soft"])
def test_a_trial_keeps_its_budget_and_is_the_same_again(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.lens.MARKS", (10, 30))
    run = run_one(Key(method, 0))
    assert run.evaluations == 30
    assert list(run.steps) == sorted(run.steps, key=lambda step: -step[1])
    assert run_one(Key(method, 0)).steps == run.steps


def test_a_record_comes_back_and_makes_a_table(tmp_path: Path) -> None:
    run = Run(1500, 1.5, ((20, 60.5), (200, 20.25), (1400, 5.125)))
    file = tmp_path / "lens.csv"
    BOOK.run([], run_one, file, 1, 0)
    with file.open("a") as lines:
        lines.write(",".join(map(str, BOOK.row(Key("saltus", 0), run))) + "\n")
        lines.write(",".join(map(str, BOOK.row(Key("SMAC", 0), Run(100, 200.0, ())))) + "\n")
    record = BOOK.read(file)
    assert record[Key("saltus", 0)] == run
    assert [best_within(run, mark) for mark in (10, *MARKS)] == [math.inf, 60.5, 20.25, 5.125]
    text = table(record, ["saltus", "SMAC"], 25)
    assert "| saltus | 1 | 60.5 (60.5–60.5) | 20.2 (20.2–20.2) | 5.1 (5.1–5.1) |" in text
    assert "| SMAC | 1 | none (none–none) |  |  |" in text


def test_the_interval_of_a_median() -> None:
    assert interval([float(i) for i in range(1, 26)]) == (13.0, 8.0, 18.0)
    assert interval([3.0, 1.0]) == (2.0, 1.0, 3.0)


def test_the_task_ends_with_its_budget() -> None:
    task = LensTask(1)
    task.examine(task.decode((task.low + task.high) // 2))
    with pytest.raises(Enough):
        task.measure(task.decode(task.low))
