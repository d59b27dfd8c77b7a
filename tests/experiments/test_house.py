"""The script that measures the house."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.house import Walk, lines_of_code, listing, size

ROOT = Path(__file__).resolve().parents[2]
TEXT = '''"""A module
of two lines."""

# a comment
import math  # another


def f(x):
    """A docstring."""
    return """not a

docstring""" + str(
        x
    )


class C:
    """Only this."""
'''


def test_lines_without_docstrings_comments_and_blank_lines() -> None:
    assert lines_of_code(TEXT) == 8  # import, def, return, the string's two others, x, the bracket, class
    assert lines_of_code("") == 0


def test_size(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "inner" / "b.py").write_text("x = 1\n")
    assert size(tmp_path) == (2, 9)


def test_switches_of_file(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    for file, text in {"a.py": "def f(g): g(); g()", "b.py": "def g(): h(); h()\ndef h(): pass"}.items():
        exec(compile(text, str(tmp_path / file), "exec"), names)
    with Walk(tmp_path) as seen:
        exec("f(g)", names)
    assert [call.function for call in seen.calls] == ["f", "g", "h", "h", "g", "h", "h"]
    assert seen.switches == 2  # into a.py, into b.py: what returns does not count
    assert listing(seen) == "a.py: f 1\n\nb.py: g 2, h 4\n\ntypes: "


@pytest.mark.machines
def test_the_table() -> None:
    command = [sys.executable, "-m", "experiments.house", "--src", str(ROOT / "src"), "--runs", "1", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    figures = dict(re.findall(r"^\| ([a-z ]+) \| ([\d,.]+) \|$", done.stdout, re.MULTILINE))
    assert int(figures["lines of code"].replace(",", "")) == size(ROOT / "src" / "saltus")[1]
    assert 20 < int(figures["functions on the way of a generation"]) < 1000
    assert 0 < float(figures["switches of one more evaluation"]) < float(figures["switches of file"])
    assert "minimize.py: minimize 1" in done.stdout
