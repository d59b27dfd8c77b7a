"""The command `saltus` as a process, and studies for it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from saltus.study import RecordError, Study

ROOT = Path(__file__).parents[2]
STUDY = """
[study]
name = "bowl"
budget = 40
seed = 1
workers = 2

[space]
x = { type = "float", low = -5, high = 5 }
k = { type = "int", low = 0, high = 9 }

[objective]
command = ["awk", "-v", "x={x}", "-v", "k={k}", '''BEGIN {
    if (k == 2) { print "bad k" > "/dev/stderr"; exit 5 }
    printf "%.17g", (x - 1)^2 + (k - 4)^2
}''']
"""


def saltus(*words: str | Path, cwd: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "saltus", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, **options)


def wait_for_running(process: subprocess.Popen[Any], study: Path, count: int = 1) -> None:
    """Until the process has so many evaluations of its study under way, by the record."""
    deadline = time.monotonic() + 60
    while running(study.with_suffix(".db")) < count:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


def running(record: Path) -> int:
    """How many evaluations are under way."""
    try:
        return sum(t.status == "running" for t in Study.open(record).summary().unfinished)
    except RecordError:
        return 0  # not there, or just being made


PYTHON = """
[study]
budget = 3
seed = 1
workers = 1
[space]
x = { type = "float", low = -5, high = 5 }
[objective]
python = "model:cost"
"""
