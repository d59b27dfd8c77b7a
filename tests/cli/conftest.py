"""A study file for tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command_line import STUDY


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path
