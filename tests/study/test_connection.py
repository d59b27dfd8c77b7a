"""Files of records that cannot be opened as usual."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from saltus import Study
from saltus.study import RecordError
from saltus.study.database import Database

from ..objectives import bowl
from .studies import made


@contextmanager
def somebody_else() -> Iterator[None]:
    """Permissions count: root may write anywhere."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_killed_record_can_be_shown_from_a_folder_that_is_read_only(tmp_path: Path) -> None:
    """The newest part of it is in the log, which SQLite alone cannot read there."""
    study = made(tmp_path)
    study.optimize(bowl, budget=5)
    with closing(Database(study.path, write=True)) as opened, tempfile.TemporaryDirectory() as name:
        trial = next(opened.trials())
        opened.put([replace(trial, reason="only in the log")])
        folder = Path(name)
        for ending in ("", "-wal"):  # as a kill leaves them
            shutil.copyfile(f"{study.path}{ending}", folder / f"study.db{ending}")
        assert (folder / "study.db-wal").stat().st_size
        folder.chmod(0o555)
        for file in folder.iterdir():
            file.chmod(0o444)
        with somebody_else():
            shown = Study.open(folder / "study.db")
            assert next(shown.trials()).reason == "only in the log"
            assert shown.summary().evaluations == 5
            with pytest.raises(RecordError, match="cannot write in its folder"):
                shown.optimize(bowl, budget=9)
        folder.chmod(0o755)
        assert sorted(file.name for file in folder.iterdir()) == ["study.db", "study.db-wal"]
