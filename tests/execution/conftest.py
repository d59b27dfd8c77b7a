"""A study for tests of executors."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus import Study

from ..objectives import SPACE


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study.create(tmp_path / "there.db", SPACE, seed=3)
