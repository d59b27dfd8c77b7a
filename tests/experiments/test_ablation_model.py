"""The ablation of the model at small budgets."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from experiments import ablation_model
from experiments.ablation_model import PARTS, table
from experiments.small import Run, read
from experiments.suites import Key


def test_every_part_of_the_model_is_tried() -> None:
    assert {"model", "asking", "quadratic kernel", "warping", "region"} <= set(PARTS)


def test_a_difference_is_taken_problem_by_problem() -> None:
    record = {}
    for function, (whole, less) in enumerate([((1, 2), (1, 60)), ((1, 2), (1, 2)), ((1, 40), (60, 70))], 1):
        record[Key("saltus", 5, function, 4, 0)] = Run(10, whole, 1.0)
        record[Key("saltus without warping", 5, function, 4, 0)] = Run(10, less, 1.0)
    o = argparse.Namespace(dims=[5], budget=10, parts=["warping", "region"], seeds=1)
    lines = table(record, o).splitlines()
    assert lines[0] == "| change of the share of targets | D = 5, 10 D |"
    assert lines[2] == "| without warping | -0.020 ± 0.022 |"
    assert lines[3] == "| without region |  |"


def test_it_runs_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "runs.csv"
    words = ["run", "--functions", "1", "2", "--parts", "warping"]
    for name, number in (("dims", 5), ("instances", 1), ("budget", 4), ("jobs", 1)):
        words += [f"--{name}", str(number)]
    monkeypatch.setattr("sys.argv", ["ablation_model", *words, "--file", str(file)])
    ablation_model.main()
    before = file.read_text()
    assert {key.method for key in read(file)} == {"saltus", "saltus without warping"}
    ablation_model.main()
    assert file.read_text() == before
    assert "without warping" in capsys.readouterr().out
