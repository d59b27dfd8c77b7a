"""Known constraints of studies: recorded as text, and held by every session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltus import Float, Int, Space, Study
from saltus.cli import main

from .studies import essence, made

SPACE = Space({"a": Float(0, 1), "b": Float(0, 1), "k": Int(0, 9)}, where=["a + b <= 0.5", "k <= 8*a"])


def allowed(p: Any) -> bool:
    return bool(p["a"] + p["b"] <= 0.5 and p["k"] <= 8 * p["a"])


def cost(p: dict[str, Any]) -> float:
    assert allowed(p)
    return float((p["a"] - 0.5) ** 2 + (p["b"] - 0.4) ** 2 + (p["k"] - 3) ** 2)


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es"])
def test_sessions_are_one_search_and_keep_the_rules(tmp_path: Path, strategy: str) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=5, strategy=strategy)
    whole.optimize(cost, budget=30)
    pieces = tmp_path / "pieces.db"
    for budget in (7, 8, 19, 30):
        study = (
            Study.open(pieces) if pieces.exists() else Study.create(pieces, SPACE, seed=5, strategy=strategy)
        )
        assert study.space == SPACE
        study.optimize(cost, budget=budget)
    assert essence(study) == essence(whole)
    assert all(allowed(trial.params) for trial in study.trials())
    assert not any(trial.reason for trial in study.trials())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_past_data_that_is_not_allowed_is_violated_and_never_the_best(
    tmp_path: Path, asynchronous: bool
) -> None:
    how: dict[str, Any] = {"seed": 1, "asynchronous": asynchronous}
    whole, pieces = (Study.create(tmp_path / f"{i}.db", SPACE, **how) for i in range(2))
    for study in (whole, pieces):
        study.add([{"a": 1.0, "b": 1.0, "k": 0}, {"a": 0.25, "b": 0.25, "k": 2}], [-100.0, 2.0])
        assert [trial.violation > 0 for trial in study.trials()] == [True, False]
        assert study.best is not None
        assert study.best.value == 2.0
    whole.optimize(cost, budget=12, workers=1)
    for budget in (4, 8, 12):
        Study.open(pieces.path).optimize(cost, budget=budget, workers=1)
    assert essence(pieces) == essence(whole)
    assert pieces.best is not None
    assert pieces.best.params["a"] < 1


def test_past_data_that_is_not_allowed_is_not_evaluated_again(tmp_path: Path) -> None:
    study = made(tmp_path, SPACE)
    study.add([{"a": 1.0, "b": 1.0, "k": 0}, {"a": 0.25, "b": 0.25, "k": 2}], [-100.0, 2.0])
    assert [trial.params for trial in study.reevaluate()] == [{"a": 0.25, "b": 0.25, "k": 2}]


def test_a_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a study records known constraints as text"):
        made(tmp_path, Space({"a": Float(0, 1)}, where=lambda p: True))
    assert not list(tmp_path.iterdir())


def test_a_rule_of_the_file_that_has_changed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.toml"
    objective = '[objective]\ncommand = ["sh", "-c", "echo {a}"]\n'
    space = '[space]\na = { type = "float", low = 0, high = 1 }\nb = { type = "float", low = 0, high = 1 }\n'
    file.write_text('[study]\nbudget = 6\nworkers = 1\nwhere = ["a >= b + 0.5"]\n' + space + objective)
    assert main(["run", str(file)]) == 0
    trials = list(Study.open(tmp_path / "study.db").trials())
    assert len(trials) == 6
    assert all(trial.params["a"] >= trial.params["b"] + 0.5 for trial in trials)
    file.write_text(file.read_text().replace("0.5", "0.4"))
    assert main(["run", str(file)]) != 0
    assert "[study] where has changed" in capsys.readouterr().err
