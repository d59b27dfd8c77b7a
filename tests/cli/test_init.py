"""`saltus init` and `saltus migrate`: what a study starts from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from saltus.cli import main


def test_init_then_run_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert main(["run", "study.toml"]) == 2
    assert "there is no program './simulate'" in capsys.readouterr().err


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
