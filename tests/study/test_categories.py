"""Studies with categories: on record, in files, for commands, in reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from saltus import Categorical, Float, Space, Study
from saltus.cli import main
from saltus.execution.command import Command
from saltus.report.words import domain
from saltus.study import SettingsError
from saltus.study.settings import StudyFile

KINDS = ["rbf", "poly", None, 2, 2.5, False]
SPACE = Space({"kind": Categorical(KINDS), "x": Float(-1, 1), "side": Categorical(["left", "right"])})


def cost(p: dict[str, Any]) -> float:
    return float((p["kind"] is not None) + p["x"] ** 2 + (p["side"] == "left"))


def test_a_study_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    for strategy in ("saltus", "dx-nes-ici"):
        whole = Study.create(tmp_path / f"{strategy}.db", SPACE, seed=1, strategy=strategy)
        whole.optimize(cost, budget=45)
        parts = Study.create(tmp_path / f"{strategy}-parts.db", SPACE, seed=1, strategy=strategy)
        for budget in (7, 20, 45):
            Study.open(parts.path).optimize(cost, budget=budget)
        assert [t.params for t in whole.trials()] == [t.params for t in Study.open(parts.path).trials()]
        kinds = {(type(t.params["kind"]), t.params["kind"]) for t in whole.trials()}
        assert kinds <= {(type(kind), kind) for kind in KINDS}
        assert len(kinds) > 3
        assert whole.best is not None
        assert whole.best.params["side"] == "right"
        assert Study.open(parts.path).space == SPACE


def test_other_values_cannot_be_written_down(tmp_path: Path) -> None:
    space = Space({"k": Categorical([(1, 2), (3, 4)]), "x": Float(0, 1)})
    with pytest.raises(TypeError, match=r"got \(1, 2\); give a name for it"):
        Study.create(tmp_path / "study.db", space)
    assert not (tmp_path / "study.db").exists()


def written(path: Path, variable: str) -> Path:
    file = path / "study.toml"
    file.write_text(f"[space]\nx = {{ type = 'float', low = 0, high = 1 }}\nkind = {variable}\n")
    return file


def test_a_study_file(tmp_path: Path) -> None:
    file = written(tmp_path, '{ type = "categorical", choices = ["a", 2, 2.5, true] }')
    assert StudyFile.read(file).space.variables[1] == Categorical(["a", 2, 2.5, True])


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ('{ type = "categorical" }', "'choices' is missing"),
        (
            '{ type = "categorical", choices = "abc" }',
            "choices must be a list of different values, got 'abc'",
        ),
        ('{ type = "categorical", choices = [] }', "at least one choice, got none"),
        ('{ type = "categorical", choices = ["a", "a"] }', "must differ"),
        ('{ type = "categorical", choices = ["a"], init = "a" }', "unknown key 'init'"),
        ('{ type = "categorical", choices = ["a", ["b"]] }', "must be hashable"),
        ('{ type = "categorical", choices = [1979-05-27, "b"] }', "text, finite numbers"),
        ('{ type = "categorical", choices = [nan, 1] }', "NaN is equal to nothing"),
        (r'{ type = "categorical", choices = ["a\u0000", "b"] }', "null character"),
        ('{ type = "catgorical", choices = [] }', "did you mean 'categorical'"),
    ],
)
def test_what_is_wrong_in_a_study_file_is_named(tmp_path: Path, variable: str, words: str) -> None:
    with pytest.raises(SettingsError, match=rf"\[space\] kind.*{words}"):
        StudyFile.read(written(tmp_path, variable))


def test_a_command_gets_text_as_it_is(tmp_path: Path) -> None:
    command = Command(("sim", "--kind={kind}", "--on={on}", "--n={n}"), tmp_path)
    filled = command.filled({"kind": "a b", "on": True, "n": None}, trial=0)
    assert filled == ["sim", "--kind=a b", "--on=true", "--n=null"]


def test_from_a_file_to_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command, as users do: run, show, export, report, ask."""
    file = tmp_path / "study.toml"
    file.write_text(
        "[study]\nbudget = 8\nseed = 1\nworkers = 1\n[space]\n"
        "kind = { type = 'categorical', choices = ['rbf', 'po<ly', 3] }\n"
        "x = { type = 'float', low = -1, high = 1 }\n[objective]\n"
        """command = ["awk", "-v", "x={x}", "-v", "kind={kind}", 'BEGIN { print x^2 + (kind != "rbf") }']\n"""
    )

    def said(*words: str) -> str:
        assert main([words[0], str(file), *words[1:]]) == 0
        return capsys.readouterr().out

    said("run")
    assert 'kind = "rbf"' in said("show")
    header, *rows = said("export", "--csv").splitlines()
    assert header.startswith("trial,generation,kind,x")
    assert {row.split(",")[2] for row in rows} == {"rbf", "po<ly", "3"}
    said("report", "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "one of rbf, po&lt;ly, 3" in page
    assert "po<ly" not in page
    assert json.loads(said("ask", "--json"))[0]["params"]["kind"] in ("rbf", "po<ly", 3)


def test_the_report_names_choices() -> None:
    assert domain(Categorical([None, True, 2.5, "a"])) == "one of none, true, 2.5, a"
