"""Study files for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from saltus.study.settings import StudyFile

SPACE = '[space]\nr = { type = "float", low = 0.1, high = 10, log = true }\n'


def read(folder: Path, text: str) -> StudyFile:
    path = folder / "study.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return StudyFile.read(path)
