"""`saltus enqueue` and `saltus import`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from saltus import Space, Study
from saltus.cli import main
from saltus.study.settings import StudyFile

LAB = """
[study]
seed = 1
[space]
x = { type = "float", low = -5, high = 5 }
k = { type = "int", low = 0, high = 9 }
on = { type = "bool" }
value = { type = "ordinal", values = [0.5, 1, 4] }
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(LAB)
    return path


def exported(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["export", str(path), "--csv"]) == 0
    return capsys.readouterr().out


def test_points_of_the_command_line_are_handed_out_first(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["enqueue", str(lab), "x=-1.5", "on=true"]) == 0
    assert main(["enqueue", str(lab), '{"k": 3}', '{"k": 4, "value": 4}']) == 0
    assert capsys.readouterr().out == "1 point put in line\n2 points put in line\n"
    assert main(["show", str(lab)]) == 0
    assert "in line: 3 points" in capsys.readouterr().out
    assert main(["ask", str(lab), "--json"]) == 0
    first, second, third = (row["params"] for row in json.loads(capsys.readouterr().out))
    assert (first["x"], first["on"], second["k"], third["value"]) == (-1.5, True, 3, 4)
    assert main(["ask", str(lab)]) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["k=10"], "'k' must lie in"),
        (["q=1"], "'q' is no variable"),
        (["x"], "must be NAME=VALUE"),
        (["x=1", "x=2"], "each name once"),
        (["{"], "must be a JSON object"),
        (['{"x": 1}', "[]"], "must be a JSON object"),
        (["x=abc"], "got 'abc'"),
    ],
)
def test_wrong_points_are_refused(
    lab: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["enqueue", str(lab), *words]) == 2
    assert said in capsys.readouterr().err


def test_points_of_the_study_file_are_evaluated_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(LAB + "[[point]]\nx = 1.5\nk = 3\n[[point]]\nk = 4\n")
    for _ in range(2):
        main(["ask", str(path)])
    path.write_text(LAB + "[[point]]\nx = 1.5\nk = 3\n[[point]]\nk = 4\n[[point]]\nk = 5\n")
    study = Study.open(path.with_suffix(".db"))
    for trial in study.summary().unfinished:
        study.tell(trial.id, 1.0)
    main(["ask", str(path), "-n", "2"])
    points = [t.params for t in study.trials()]
    assert [p["k"] for p in points[:3]] == [3, 4, 5]
    assert points[0]["x"] == 1.5
    assert sum(p["x"] == 1.5 for p in points) == 1
    capsys.readouterr()


def test_what_is_exported_can_be_imported(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study.create(tmp_path / "old.db", _space(lab), seed=1)
    for trial in study.ask(6):
        if trial.id == 2:
            study.tell(trial.id, failed="-it broke")
        else:
            study.tell(trial.id, trial.id / 3, {"x": trial.id - 3.0, "0": -1.0, "=mass": -0.1})
    table = exported(study.path, capsys)
    (tmp_path / "table.csv").write_text(table)
    assert main(["import", str(lab), str(tmp_path / "table.csv")]) == 0
    assert capsys.readouterr().out == "6 evaluations taken over as past data\n"
    mine = exported(lab, capsys)
    cells = [[row[2:-1] for row in csv.reader(text.splitlines())] for text in (table, mine)]
    assert cells[0] == cells[1]
    new = Study.open(lab.with_suffix(".db"))
    own = [(t.params, t.value, t.constraints, t.violation, t.status) for t in new.trials()]
    assert own == [(t.params, t.value, t.constraints, t.violation, t.status) for t in study.trials()]
    assert new.summary().evaluations == 0
    assert all(t.past for t in new.trials())
    assert main(["import", str(lab), str(study.path), "--json"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out) == []
    assert "6 points on record already" in out.err
    assert main(["show", str(lab)]) == 0
    shown = capsys.readouterr().out
    assert "past data: 6 trials that were evaluated elsewhere" in shown
    assert ", past data" in shown
    assert main(["report", str(lab)]) == 0
    assert "past data" in lab.with_suffix(".html").read_text()


def test_what_is_exported_can_be_imported_with_conditions_and_any_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was not active is an empty cell; a choice may look like a number, a switch or a formula."""
    new = tmp_path / "new.toml"
    new.write_text(
        """
        [space]
        version.type = "categorical"
        version.choices = ["5", "true", "null", "1e3", "=1", " a", "a", "\\n", 2.5]
        x = { type = "float", low = 0, high = 1, when = { version = "5" } }
        side = { type = "categorical", choices = ["l", "2"], when = { version = ["true", 2.5] } }
        """
    )
    study = Study.create(tmp_path / "old.db", _space(new), seed=1)
    versions = ["5", "true", "null", "1e3", "=1", " a", "a", "\n", 2.5]
    more: dict[object, dict[str, object]] = {"5": {"x": 0.5}, "true": {"side": "2"}, 2.5: {"side": "l"}}
    points = [{"version": version, **more.get(version, {})} for version in versions]
    study.add(points, [float(i) for i in range(len(points))])
    (tmp_path / "table.csv").write_text(exported(study.path, capsys))
    assert main(["import", str(new), str(tmp_path / "table.csv")]) == 0
    assert capsys.readouterr() == ("9 evaluations taken over as past data\n", "")
    assert [t.params for t in Study.open(new.with_suffix(".db")).trials()] == points
    assert main(["enqueue", str(new), "version=true", "side=l"]) == 0
    assert main(["enqueue", str(new), "version=2.5", "side=2"]) == 0
    queued = Study.open(new.with_suffix(".db")).ask(2)
    assert [t.params for t in queued] == [
        {"version": "true", "side": "l"},
        {"version": 2.5, "side": "2"},
    ]


def test_a_choice_that_is_written_as_another_is_not_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.toml"
    file.write_text('[space]\nc = { type = "categorical", choices = [5, "5"] }\n')
    (tmp_path / "table.csv").write_text("c,value\n5,1.0\n")
    assert main(["import", str(file), str(tmp_path / "table.csv")]) == 2
    assert "line 2: '5' may be 5 or '5': rename one of these choices" in capsys.readouterr().err


def _space(lab: Path) -> Space:
    return StudyFile.read(lab).space


def test_a_table_of_anybody(lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LAB.replace("value =", "gap =")
    lab.write_text(text, encoding="utf-8")
    table = tmp_path / "table.csv"
    table.write_text(
        "\ufeffwho, cost,k,x,gap,on,heat\nAnn, 1.5,3,0.25,4,True,-1\nBob,,3,0.5,1,0,\n\nEve,nan,3,5.5,1,0,2\n"
    )
    words = ["import", str(lab), str(table)]
    assert main(words) == 2
    assert "there is no column 'value'" in capsys.readouterr().err
    assert main([*words, "--value", "cost"]) == 2
    assert "the column 'who' is no variable" in capsys.readouterr().err
    words += ["--value", "cost", "--ignore", "who", "--constraints", "heat"]
    assert main(words) == 0
    out = capsys.readouterr()
    assert "1 point outside of the space left out; the first: line 5: 'x' must lie in [-5, 5]" in out.err
    first, second = Study.open(lab.with_suffix(".db")).trials()
    assert first.params == {"x": 0.25, "k": 3, "on": True, "gap": 4}
    assert (first.value, first.constraints, second.status) == (1.5, {"heat": -1.0}, "failed")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("x,k,on,value\n", "the variable 'gap' is missing; --default gap=VALUE"),
        ("x,k,on,gap,value,x\n", "the column 'x' is there twice"),
        ("x,k,on,gap,value\n1,2,true\n", "line 2: 5 cells expected, got 3"),
        ("x,k,on,gap,value\n1,2,true,4,much\n", "line 2: value must be a number, got 'much'"),
        ("x,k,on,gap,value\n9,2,true,4,1\n", "none of its points lies in the space"),
        ("x,k,on,gap,value\n1,2,true,4,1\nhot,2,true,4,1\0\n", "line contains NUL"),
        ("", "there is no column 'value'"),
        ("x;k;on;gap;value\n0,5;2;true;4;1\n", "separated by commas, it seems that ';' does so here"),
        ("x,k,on,gap,value\n1,2,maybe,4,1\n", "line 2: 'on' must be true or false, got 'maybe'"),
    ],
)
def test_wrong_tables_are_refused_as_a_whole(
    lab: Path, tmp_path: Path, table: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.write_text(LAB.replace("value =", "gap ="), encoding="utf-8")
    (tmp_path / "table.csv").write_text(table)
    assert main(["import", str(lab), str(tmp_path / "table.csv")]) == 2
    if said != "line contains NUL":  # not in every Python
        assert said in capsys.readouterr().err
    assert list(Study.open(lab.with_suffix(".db")).trials()) == []


def test_what_has_become_conditional_is_left_out(tmp_path: Path) -> None:
    old, new, table = tmp_path / "old.toml", tmp_path / "new.toml", tmp_path / "table.csv"
    old.write_text(LAB.replace("value =", "gap ="))
    study = Study.create(old.with_suffix(".db"), _space(old), seed=1)
    study.add([{"x": 1.0, "k": k, "on": k > 1, "gap": 4} for k in range(4)], [0.0, 1.0, 2.0, 3.0])
    new.write_text(LAB.replace("value =", "gap =").replace("1, 4] }", "1, 4], when = { on = true } }"))
    table.write_text("x,k,on,gap,value\n1,0,false,4,0\n1,1,false,99,1\n1,2,true,4,2\n1,3,true,4,3\n")
    for source in (study.path, table):
        assert main(["import", str(new), str(source)]) == 0
        trials = list(Study.open(new.with_suffix(".db")).trials())
        assert [t.value for t in trials] == [0.0, 1.0, 2.0, 3.0]
        assert ["gap" in t.params for t in trials] == [False, False, True, True]
        new.with_suffix(".db").unlink()


def test_a_study_of_a_changed_space(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(LAB.replace("value =", "gap ="))
    study = Study.create(old.with_suffix(".db"), _space(old), seed=1)
    kept = [{"x": 1.0, "k": k, "on": True, "gap": g} for k in range(3) for g in (1, 4)]
    study.add([*kept, {"x": 4.5, "k": 1, "on": True, "gap": 1}], [float(i) for i in range(7)])
    changed = LAB.replace("value =", "z =").replace("high = 5", "high = 4")  # gap is gone, z is new
    new.write_text(changed)
    words = ["import", str(new), str(study.path)]
    assert main(words) == 2
    assert "the variable 'z' is missing; --default z=VALUE says what it was" in capsys.readouterr().err
    assert main([*words, "--default", "z=0.5", "--default", "k=1"]) == 2
    assert "--default k: its values are there" in capsys.readouterr().err
    assert main([*words, "--default", "zz=0.5"]) == 2
    assert main([*words, "--default", "z=0.5"]) == 0
    out = capsys.readouterr()
    assert "1 point outside of the space left out" in out.err
    trials = list(Study.open(new.with_suffix(".db")).trials())
    assert [t.value for t in trials] == [1.0, 3.0, 5.0]  # of two at the same point the last
    assert all(t.params == {"x": 1.0, "k": i, "on": True, "z": 0.5} for i, t in enumerate(trials))
    assert main(["import", str(new), str(tmp_path / "nowhere.csv")]) == 2
