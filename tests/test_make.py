"""What `make` promises before it has installed anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RULES = [ROOT / "Makefile", *sorted(ROOT.glob("release/*.mk"))]
TARGETS = [
    name for path in RULES for name in re.findall(r"^([a-z-]+):", path.read_text("utf-8"), re.MULTILINE)
]


def make(*words: str, path: str) -> str:
    """What make prints, with these folders on the search path and nobody's home."""
    program = shutil.which("make")
    assert program is not None
    environment = {"PATH": path, "HOME": "/nonexistent"}
    done = subprocess.run(
        [program, "--no-print-directory", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_alone_says_what_there_is() -> None:
    listed = re.findall(r"^  make ([a-z-]+) +\S", make(path=os.defpath), re.MULTILINE)
    assert listed == [name for name in TARGETS if name != "help"]
    assert listed[0] == "demo"


@pytest.mark.parametrize("uv", [False, True])
def test_the_demo_has_a_small_environment_of_its_own(uv: bool, tmp_path: Path) -> None:
    for tool in ("sh", "awk"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    if uv:
        (tmp_path / "uv").write_text("#!/bin/sh\n")
        (tmp_path / "uv").chmod(0o755)
    plan = make("--dry-run", "--always-make", "demo", path=str(tmp_path))
    assert ("uv pip install" in plan, "-m pip install" in plan) == (uv, not uv)
    assert ".venv-demo" in plan
    assert "[cli]" in plan
    assert "[dev]" not in plan
    assert "saltus run examples/lens/study.toml" in plan
