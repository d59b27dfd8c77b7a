"""What a study file says to evaluate."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from saltus.result import Candidate
from saltus.study import SettingsError
from saltus.study.objective import evaluating

from .study_files import SPACE, read

NOBODY = 65534


def test_programs_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    for program, words in [
        ("nowhere-to-be-found", "on the PATH; a file of the study's folder is written './name'"),
        ("./missing", f"at {tmp_path}/./missing"),
        ("./plain", "is not executable; chmod"),
    ]:
        file = read(tmp_path, SPACE + f"[objective]\ncommand=['{program}']\n")
        with pytest.raises(SettingsError, match="there is no program") as caught:
            evaluating(file, 1, tmp_path / "study.db")
        assert words in str(caught.value).replace(str(tmp_path / "missing"), f"{tmp_path}/./missing")
    with pytest.raises(SettingsError, match=r"there is no \[objective\]"):
        evaluating(read(tmp_path, SPACE), 1, tmp_path / "study.db")


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of a user who may not do everything, as whom we go on meanwhile."""
    folder = Path(tempfile.mkdtemp())
    administrator = os.geteuid() == 0
    if administrator:
        os.chown(folder, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield folder
    finally:
        if administrator:
            os.setresuid(0, 0, 0)
        shutil.rmtree(folder)


def test_read_only_folders_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is in them; and nothing that is left blocks the next session."""
    with ordinary_user() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        text = (
            SPACE
            + "[objective]\ncommand=['sh', '-c', 'mkdir -p a/b; touch a/b/c; chmod 555 a/b a; echo 1']\n"
        )
        (folder / "own").mkdir()
        file = read(folder / "own", text)
        for _ in range(2):
            with evaluating(file, 1, folder / "own" / "study.db") as evaluator:
                assert evaluator.submit(Candidate(0, {"r": 1.0}), None).result().outcome.value == 1
                (scratch,) = folder.glob("saltus-*")
                assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
                assert not list(scratch.iterdir())
                (scratch / "left").mkdir(mode=0o555)
            assert not scratch.exists()


def test_nobody_can_take_the_working_folder_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = read(tmp_path, SPACE + "[objective]\ncommand=['echo', '1']\n")
    names = set()
    for _ in range(2):
        with evaluating(file, 1, tmp_path / "study.db"):
            names |= {path.name for path in tmp_path.glob("saltus-*")}
    assert len(names) == 2
