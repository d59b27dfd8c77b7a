"""The command `saltus`, as a user types it: how it is used, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from saltus.cli import main, parser

from .command_line import ROOT


def test_from_nothing_to_a_report(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(study)]) == 0
    out = capsys.readouterr()
    assert "evaluations: 40 in" in out.out
    assert "k = 4" in out.out
    assert "40/40" not in out.out  # progress is no output
    assert "The budget of evaluations was used up." in out.err
    assert main(["show", str(study)]) == 0
    text = capsys.readouterr().out
    assert "x the command ended with exit code 5" in text
    assert "| bad k" in text
    assert main(["report", str(study)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == study.with_suffix(".html")
    assert "bowl" in page.read_text(encoding="utf-8")
    assert sorted(p.suffix for p in study.parent.iterdir()) == [".db", ".html", ".toml"]


def test_a_study_that_is_not_named_is_study_toml(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    assert study.name == "study.toml"
    for words in (["run", "--budget", "9", "-q"], ["show"], ["export", "--csv"], ["report"]):
        assert main(words) == 0, words
    assert "study.html" in capsys.readouterr().out
    study.rename("other.toml")
    assert main(["run"]) == 2
    assert "`saltus init study.toml` writes one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "nowhere.toml"], 2, "there is no such file; `saltus init nowhere.toml`"),
        (["run", "study.toml", "--budget", "0"], 2, "--budget must be a positive whole number, got 0"),
        (["run", "study.toml", "--workers", "-3"], 2, "--workers must be"),
        (["show", "study.toml"], 3, "there is no record yet; `saltus run study.toml` makes one"),
        (["show", "lab.toml"], 3, "`saltus ask lab.toml` makes one"),
        (["show", "."], 2, "this is a folder"),
        (["run", "study.toml", "--db", "."], 2, "this is a folder"),
        (["show", "nowhere.db"], 3, "there is no record"),
        (["report", "study.toml"], 3, "there is no record yet"),
        (["export", "study.toml", "--csv"], 3, "there is no record yet"),
        (["show", "text.db"], 3, "not an SQLite file"),
        (["run", "study.toml", "--db", "text.db"], 3, "not an SQLite file"),
        (["run", "study.toml", "--db", "no/where.db"], 3, "cannot write in its folder: No such file"),
        (["run", "text.db"], 2, "not valid TOML"),
        (["ask", "nowhere.db"], 3, "there is no record"),
        (["tell", "study.toml", "3", "1.5"], 3, "there is no record yet"),
        (["init", "study.toml"], 2, "it exists already"),
        (["show", "a" * 300 + ".db"], 3, "File name too long"),
        (["init", "no/study.toml"], 2, "cannot be written"),
    ],
)
def test_errors_are_one_line_without_a_traceback(
    study: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(study.parent)
    Path("lab.toml").write_text('[space]\nx = { type = "bool" }\n', encoding="utf-8")
    Path("text.db").write_text(
        "this is no database, but long enough to look like something else " * 9, encoding="utf-8"
    )
    before = {p: p.read_bytes() for p in study.parent.iterdir()}
    assert main(words) == code
    out = capsys.readouterr()
    assert said in out.err
    assert out.err.splitlines()[-1].startswith("saltus: ")
    assert "Traceback" not in out.err
    assert {p: p.read_bytes() for p in study.parent.iterdir()} == before


def test_wrong_usage_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["export", "x"])
    assert caught.value.code == 2
    assert "one of the arguments --csv --json is required" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("rnu", "there is no command 'rnu'; did you mean 'run'?"),
        ("lens.toml", "there is no command 'lens.toml'; did you mean `saltus run lens.toml`?"),
        ("xyz", "there is no command 'xyz'; there are init, check, run, show"),
    ],
)
def test_a_command_that_there_is_not(word: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word, "x"]) == 2
    assert capsys.readouterr().err.startswith(f"saltus: {said}")


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert "A first study:  saltus init study.toml" in out.err


def test_help_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    commands = ["run", "show", "report", "export", "ask", "tell", "init", "completion"]
    for words in ([], *([name] for name in commands)):
        with pytest.raises(SystemExit) as caught:
            main([*words, "--help"])
        assert caught.value.code == 0
        text = capsys.readouterr().out
        assert "usage: saltus" in text
        assert len(text) > 150
    assert "exit codes:" in parser().format_help()


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "report" in script
    if shell == "bash":
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_error(study: Path) -> None:
    assert main(["run", str(study), "--budget", "4"]) == 0
    words = f"{sys.executable} -m saltus export {study} --csv | head -n 1"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("trial,")
    assert done.stderr == ""
