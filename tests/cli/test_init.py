"""`saltus init` and `saltus migrate`: what a study starts from."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from saltus.cli import main
from saltus.cli.examples import INSTALLED, SOURCE, examples


def test_init_then_run_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert main(["run", "study.toml"]) == 2
    assert "there is no program './simulate'" in capsys.readouterr().err


def test_questions_on_a_terminal(tmp_path: Path) -> None:
    answers = ["my study", "radius float 0.1 10", "shells int 1 12", "", "c"]
    answers += ["awk 'BEGIN { print {radius} + {shells} }'", "", "20"]
    host, guest = pty.openpty()
    command = [sys.executable, "-m", "saltus", "init", str(tmp_path / "study.toml")]
    with subprocess.Popen(command, stdin=guest, stdout=guest, stderr=guest) as process:
        os.close(guest)
        os.write(host, "".join(f"{answer}\n" for answer in answers).encode())
        shown = b""
        try:
            while chunk := os.read(host, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
    os.close(host)
    assert process.returncode == 0, shown.decode()
    assert b"Evaluate one point: saltus check" in shown
    assert main(["check", str(tmp_path / "study.toml")]) == 0


def test_no_answer_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(question: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", nothing)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True, raising=False)
    assert main(["init", str(tmp_path / "study.toml")]) == 2
    assert not [*tmp_path.iterdir()]
    assert main(["init", "--template", str(tmp_path / "study.toml")]) == 0


def test_interrupted_questions_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(question: str) -> str:
        print("Name of the study: ^C", end="")
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True, raising=False)
    assert main(["init", str(tmp_path / "study.toml")]) == 130
    assert capsys.readouterr().out.endswith("^C\n")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("name", "beside"), [("lens", "lens.awk"), ("vessel", "vessel.py")])
def test_an_example_can_be_checked_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, beside: str
) -> None:
    study = tmp_path / "mine.toml"
    assert main(["init", "--example", name, str(study)]) == 0
    assert (tmp_path / beside).exists()
    assert main(["check", str(study)]) == 0
    assert "it gave " in capsys.readouterr().out
    study.unlink()
    assert main(["init", "--example", name, str(study)]) == 2  # nothing is written over
    assert f"{beside}: it exists already" in capsys.readouterr().err
    assert not study.exists()


def test_every_example_is_installed_too() -> None:
    """As pyproject.toml says, by name: what is missing there is not in a wheel."""
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    told = project["tool"]["setuptools"]["data-files"]
    root = SOURCE.parent
    assert {
        f"{INSTALLED}{name}": sorted(path.relative_to(root).as_posix() for path in paths)
        for name, paths in examples().items()
    } == {folder: sorted(paths) for folder, paths in told.items()}


def test_an_example_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--example", "lense", str(tmp_path / "study.toml")]) == 2
    said = "must be one of heat_sink, lens, pressure_vessel, scikit_learn, got 'lense'; did you mean 'lens'?"
    assert said in capsys.readouterr().err


def test_a_record_of_an_older_saltus_is_taken_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    shutil.copy(Path(__file__).parents[1] / "study" / "record-0.1.db", old)
    assert main(["show", str(old)]) == 3
    assert f"saltus migrate {old} NEW.db" in capsys.readouterr().err
    assert main(["migrate", str(old), str(new)]) == 0
    assert "42 trials taken over" in capsys.readouterr().out
    assert main(["show", str(new)]) == 0
    assert "40 in 6 generations" in capsys.readouterr().out
    assert main(["migrate", str(old), str(new)]) == 3
