"""`saltus check`: one evaluation and all that can be checked, without a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from saltus.cli import main
from saltus.cli.check import findings

from .command_line import PYTHON, STUDY

ONE_FLOAT = "[study]\nbudget = 9\nworkers = 1\n[space]\nx = { type = 'float', low = 0, high = 1 }\n"


def checked(study: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    before = sorted(os.listdir(study.parent))
    code = main(["check", str(study), *more])
    assert sorted(os.listdir(study.parent)) == before  # nothing is left
    return code, capsys.readouterr().out


def test_a_study_that_is_right(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = checked(study, capsys)
    assert code == 0
    first, record, now, gave, last = said.splitlines()
    assert first == (
        f"      ok: {study}: 2 variables (1 float, 1 integer); minimize, 40 evaluations at most, 2 workers"
    )
    assert record == f"      ok: the record {study.with_suffix('.db')} can be written"
    assert now == "     now: one evaluation, at x=0, k=4"
    assert gave.startswith("      ok: it gave 1 in ")
    assert last == f"  run it: saltus run {study}"


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("seed = 1", "sede = 1", 2, "unknown key 'sede'; did you mean 'seed'?"),
        ("high = 9", "high = -9", 2, "[space] k: "),
        ('"awk"', '"no-such-program"', 2, "there is no program 'no-such-program' on the PATH"),
        ("k == 2", "1", 1, "the evaluation failed: the command ended with exit code 5\n          | bad k"),
        ("%.17g", "hello %.17g", 1, "the evaluation failed: the last line is no number: 'hello 1'"),
        ("%.17g", '{\\"not_counted\\": \\"no licence\\"}', 1, "it says that it is not to count: no licence"),
        ("seed = 1", 'seed = 1\nwhere = ["x + k <= -20"]', 2, "[study] "),
        ("workers = 2", "workers = 0", 2, "workers must be a positive whole number"),
    ],
)
def test_a_problem_is_a_sentence_and_an_exit_code(
    study: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: int, said: str
) -> None:
    study.write_text(STUDY.replace(old, new), encoding="utf-8")
    ended, out = checked(study, capsys)
    assert said in out
    assert "problem: " in out
    assert ended == code
    assert "run it" not in out


def test_python_functions_and_constraints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, model = tmp_path / "study.toml", tmp_path / "model.py"
    study.write_text(PYTHON)
    (tmp_path / "__pycache__").mkdir()
    model.write_text("def cost(p): return p['x'] ** 2, {'stress': p['x'] - 1, 'mass': 0.5}")
    code, said = checked(study, capsys)
    assert code == 0
    assert "2 constraints: stress = -1 (holds), mass = 0.5 (violated)" in said
    model.write_text("def cost(p): return p['x'] ** 2, [p['x'] - 1]  # by number")
    assert "note: constraints have no names" in checked(study, capsys)[1]
    model.write_text("def cost(p): raise ValueError('the mesh is broken')  # always")
    code, said = checked(study, capsys)
    assert code == 1
    assert "problem: the evaluation failed: ValueError: the mesh is broken" in said
    model.write_text("def cots(p): return 1  # misspelt")
    code, said = checked(study, capsys)
    assert code == 2
    assert "did you mean 'cots'?" in said


@pytest.mark.parametrize("written", ["model.py", "./model.py"])
def test_a_file_of_the_study_is_not_where_the_command_runs(tmp_path: Path, written: str) -> None:
    study = tmp_path / "study.toml"
    (tmp_path / "model.py").write_text("print(1)", encoding="utf-8")
    study.write_text(f"{ONE_FLOAT}[objective]\ncommand = ['python3', '{written}', '{{x}}']", encoding="utf-8")
    said = [finding.sentence for finding in findings(study)]
    note = f"{written} lies beside the study, and the command runs elsewhere: {{study_dir}}/model.py"
    assert note in said
    study.write_text(study.read_text().replace(written, "{study_dir}/model.py"), encoding="utf-8")
    assert [finding.kind for finding in findings(study)] == ["ok", "ok", "now", "ok"]
    study.write_text(study.read_text().replace("{study_dir}/model.py", "#" * 5000), encoding="utf-8")
    assert "problem" in [finding.kind for finding in findings(study)]  # no name of a file is as long


def test_what_may_be_a_mistake(study: Path) -> None:
    text = STUDY.replace("low = -5, high = 5", "low = 1e-4, high = 5").replace('"-v", "k={k}", ', "")
    study.write_text(text, encoding="utf-8")
    notes = [f.sentence for f in findings(study) if f.kind == "note"]
    assert notes[0] == "x spans 5 orders of magnitude: log = true may be meant"
    assert notes[1].startswith("k: not in the command")
    study.write_text(STUDY.replace("low = -5, high = 5", "init = 0, scale = 1"), encoding="utf-8")
    assert any("x has no bounds" in f.sentence for f in findings(study))


def test_points_of_the_file_come_first(study: Path) -> None:
    study.write_text(STUDY + "\n[[point]]\nx = 2.5\nk = 3\n", encoding="utf-8")
    assert "one evaluation, at x=2.5, k=3" in [f.sentence for f in findings(study)]


def test_a_record_that_is_there(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "-q", "--budget", "6"])
    capsys.readouterr()
    assert "fits: `saltus run` goes on after 6 evaluations" in checked(study, capsys)[1]
    limited = r'printf "{\"value\": 1, \"constraints\": {\"mass\": 0}}"'
    study.write_text(
        STUDY.replace('printf "%.17g"', f"{limited}; y =").replace("y =,", "y ="), encoding="utf-8"
    )
    assert "the constraints on record are none, and now mass" in checked(study, capsys)[1]
    study.write_text(STUDY.replace("high = 9", "high = 19"), encoding="utf-8")
    code, said = checked(study, capsys)
    assert code == 2
    assert "[space] has changed since the record" in said


def test_a_folder_that_cannot_be_written(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = checked(study, capsys, "--db", "/proc/study.db")
    assert code == 3
    assert "problem: /proc/study.db: no record can be written there" in said
    assert "it gave 1 in" in said  # the rest is checked nevertheless


def test_by_hand(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY[: STUDY.index("[objective]")], encoding="utf-8")
    code, said = checked(study, capsys)
    assert code == 0
    assert " by hand: there is no [objective]" in said
    assert said.splitlines()[-1] == f"  points: saltus ask {study}"
    assert "saltus run" not in said


def test_what_follows_has_the_same_record(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = study.parent / "the other.db"
    code, said = checked(study, capsys, "--db", str(other))
    assert code == 0
    assert said.splitlines()[-1] == f"  run it: saltus run {study} --db '{other}'"
