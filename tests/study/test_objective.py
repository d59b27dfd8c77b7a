"""What a study file says to evaluate."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus.study import SettingsError
from saltus.study.objective import evaluating

from .study_files import SPACE, read


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
