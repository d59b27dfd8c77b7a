"""Studies with conditions: on record, in files, for commands, in exports and reports."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saltus import Categorical, Float, Int, Space, Study, at_least
from saltus.cli import main
from saltus.execution.command import Command
from saltus.report.words import coordinate, parameter
from saltus.study import SettingsError
from saltus.study.points import Points
from saltus.study.settings import StudyFile
from saltus.study.trial import Trial

SPACE = Space(
    {
        "fine": Categorical([None, "a"], when={"degree": at_least(4)}),
        "kernel": Categorical(["rbf", "poly", "linear"]),
        "degree": Int(2, 5, when={"kernel": "poly"}),
        "x": Float(-1, 1),
    }
)


def cost(p: dict[str, Any]) -> float:
    assert ("degree" in p) == (p["kernel"] == "poly")
    return float((p["kernel"] != "poly") + p["x"] ** 2 + abs(p.get("degree", 3) - 4) + ("fine" not in p))


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
def test_a_study_goes_on_as_if_it_had_not_stopped(tmp_path: Path, strategy: str) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1, strategy=strategy)
    whole.optimize(cost, budget=45)
    parts = Study.create(tmp_path / "parts.db", SPACE, seed=1, strategy=strategy)
    for budget in (7, 20, 45):
        Study.open(parts.path).optimize(cost, budget=budget)
    trials = list(whole.trials())
    assert [t.params for t in trials] == [t.params for t in Study.open(parts.path).trials()]
    assert {frozenset(t.params) for t in trials} >= {frozenset({"kernel", "x"}), frozenset(SPACE.keys)}
    assert Study.open(parts.path).space == SPACE
    assert whole.best is not None
    assert cost(whole.best.params) == whole.best.value
    recommended = whole.recommended
    assert recommended is not None
    assert recommended.params == whole.best.params


DYING = """
import os, sys
from saltus import Study
from tests.study.test_conditions import SPACE, cost

calls = 0

def dying(p):
    global calls
    calls += 1
    if calls > 12:
        os._exit(9)  # as if it were killed
    return cost(p)

Study.create(sys.argv[1], SPACE, seed=1).optimize(dying, budget=30)
"""


def test_a_session_that_was_killed_goes_on(tmp_path: Path) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1)
    whole.optimize(cost, budget=30)
    root = Path(__file__).parent.parent.parent
    ended = subprocess.run([sys.executable, "-c", DYING, str(tmp_path / "killed.db")], cwd=root, check=False)
    assert ended.returncode == 9
    killed = Study.open(tmp_path / "killed.db")
    assert sum(trial.status == "done" for trial in killed.trials()) == 12
    killed.optimize(cost, budget=30)
    assert [t.params for t in killed.trials()] == [t.params for t in whole.trials()]


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf", "degree": 3, "x": 0.5},  # not active
        {"kernel": "poly", "x": 0.5},  # missing
        {"x": 0.5, "kernel": "rbf"},  # another order
        {"kernel": "rbf", "x": 0.5, "y": 1},
        {"kernel": "rbf", "x": 1.5},
        ["rbf", 0.5],
        {"kernel": "rbf", "x": "0.5"},
    ],
)
def test_a_point_on_record_has_what_is_active_and_nothing_else(params: Any) -> None:
    points = Points(SPACE)
    points.check({"kernel": "rbf", "x": 0.5})
    points.check({"fine": None, "kernel": "poly", "degree": 4, "x": 1})
    with pytest.raises(ValueError, match="params must"):
        points.check(params)


def written(folder: Path, when: str) -> Path:
    file = folder / "study.toml"
    file.write_text(
        "[space]\nkernel = { type = 'categorical', choices = ['rbf', 'poly'] }\n"
        f"layers = {{ type = 'int', low = 1, high = 3 }}\n"
        f"d = {{ type = 'int', low = 2, high = 5, when = {when} }}\n"
    )
    return file


@pytest.mark.parametrize(
    ("when", "same"),
    [
        ("{ kernel = 'rbf' }", {"kernel": "rbf"}),
        ("{ kernel = ['rbf', 'poly'], layers = 2 }", {"kernel": ["rbf", "poly"], "layers": 2}),
        ("{ layers = { at_least = 2 } }", {"layers": at_least(2)}),
    ],
)
def test_a_study_file(tmp_path: Path, when: str, same: Any) -> None:
    assert StudyFile.read(written(tmp_path, when)).space.variables[2] == Int(2, 5, when=same)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("'rbf'", r"\[space\] d: .*when must be a dict of wanted values by name"),
        ("{ kernal = 'rbf' }", r"'kernal', which is no variable.*kernel"),
        ("{ kernel = 'rbv' }", "'kernel' must be one of 'rbf', 'poly', got 'rbv'"),
        ("{ layers = { least = 2 } }", "takes at_least and at_most"),
        ("{ d = 2 }", "circle"),
    ],
)
def test_what_is_wrong_in_a_study_file_is_named(tmp_path: Path, when: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        StudyFile.read(written(tmp_path, when))


def test_a_command_gets_no_text_for_what_is_not_active(tmp_path: Path) -> None:
    command = Command(("sim", "--d={d}", "--x={x}", "{other}"), tmp_path, variables=("d", "x"))
    assert command.filled({"x": 0.5}, trial=0) == ["sim", "--d=", "--x=0.5", "{other}"]


def test_the_report_shows_nothing_for_what_is_not_active() -> None:
    trial = Trial(0, 0, {"kernel": "rbf", "x": 0.5}, "done")
    assert parameter(SPACE, trial, 0) == parameter(SPACE, None, 0)
    assert coordinate(SPACE, trial.params, 0) is None
    there = {"fine": None, "kernel": "poly", "degree": 4, "x": 0.5}
    assert coordinate(SPACE, there, 0) == 0.0


def test_from_a_file_to_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command, as users do: run, show, export, report, ask."""
    file = tmp_path / "study.toml"
    file.write_text(
        "[study]\nbudget = 10\nseed = 1\nworkers = 1\n[space]\n"
        "degree = { type = 'int', low = 2, high = 5, when = { kind = 'poly' } }\n"
        "kind = { type = 'categorical', choices = ['rbf', 'poly'] }\n"
        "x = { type = 'float', low = -1, high = 1 }\n[objective]\n"
        """command = ["awk", "-v", "x={x}", "-v", "d={degree}", 'BEGIN { print x^2 + (d != "") }']\n"""
    )

    def said(*words: str) -> str:
        assert main([words[0], str(file), *words[1:]]) == 0
        return capsys.readouterr().out

    said("run")
    assert 'kind = "rbf"' in said("show")
    rows = list(csv.DictReader(said("export", "--csv").splitlines()))
    assert {(row["kind"], row["degree"] != "") for row in rows} == {("rbf", False), ("poly", True)}
    assert all((float(row["value"]) >= 1) == (row["kind"] == "poly") for row in rows)
    said("report", "--out", str(tmp_path / "page.html"))
    assert "degree" in (tmp_path / "page.html").read_text()
    asked = json.loads(said("ask", "--json"))[0]["params"]
    assert ("degree" in asked) == (asked["kind"] == "poly")
    with sqlite3.connect(next(tmp_path.glob("*.db"))) as db:
        assert db.execute("SELECT count(*) FROM points").fetchone()[0] >= 10
