"""`saltus init`: a study file to start from."""

from __future__ import annotations

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
