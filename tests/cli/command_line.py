"""The command `saltus` as a process, and studies for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

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


PYTHON = """
[study]
budget = 6
seed = 1
workers = 2
[space]
x = { type = "float", low = -5, high = 5 }
[objective]
python = "model:cost"
"""
