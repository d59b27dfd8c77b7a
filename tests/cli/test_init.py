"""`saltus init`: a study file to start from."""

from __future__ import annotations

from pathlib import Path

from .command_line import saltus


def test_init_then_run_says_what_is_missing(tmp_path: Path) -> None:
    assert saltus("init", cwd=tmp_path).returncode == 0
    done = saltus("run", "study.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no program './simulate'" in done.stderr
