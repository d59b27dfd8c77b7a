"""The recipes of docs/architecture.md, followed word by word in a copy of the source."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import arrows, cycles, forbidden, homeless, upward

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()
BLOCK = re.compile(r"```(python|diff)\n(.*?)```", re.DOTALL)
HEADER = re.compile(r"# (src/saltus/\S+\.py)(, at the end)?\n")
RECIPES = {
    section.partition("\n")[0]: BLOCK.findall(section)
    for section in TEXT.partition("\n## Recipes\n")[2].split("\n### ")[1:]
}


def follow(blocks: list[tuple[str, str]], folder: Path) -> str:
    """Do what the blocks say to files below the folder; what is left is to be run, in one namespace."""
    script = []
    for kind, block in blocks:
        header = HEADER.match(block)
        if kind == "diff":
            change(block, folder)
        elif header is None:
            script.append(block)
        else:
            path, body = folder / header[1], block[header.end() :]
            assert path.exists() == bool(header[2]), f"{header[1]}: a new file, or the end of one?"
            path.write_text(path.read_text() + body if header[2] else body)
    return "\n".join(script)


def change(diff: str, folder: Path) -> None:
    """Make the changes of a diff: what each part of it takes away must be there, once."""
    first, *hunks = diff.split("@@\n")
    path = folder / first.strip().removeprefix("--- ")
    for hunk in hunks:
        lines = hunk.splitlines()
        old, new = (
            "\n".join(line[1:] for line in lines if not line.startswith(sign)) + "\n" for sign in "+-"
        )
        text = path.read_text()
        found = len(re.findall(rf"(?=\n{re.escape(old)})", text))
        assert found == 1, f"{path.name}: found {found} times, and should be there once:\n{old}"
        path.write_text(text.replace(f"\n{old}", f"\n{new}"))


def test_the_table_of_rooms_names_every_file() -> None:
    rooms = dict(re.findall(r"^\| `(\w+)/` \|[^|]*\| ([^|]*) \|$", TEXT, re.MULTILINE))
    package = ROOT / "src" / "saltus"
    assert rooms.keys() == {path.parent.name for path in package.glob("*/__init__.py")}
    for room, files in rooms.items():
        there = {path.stem for path in (package / room).glob("*.py")}
        assert set(re.findall(r"`(\w+)`", files)) | {"__init__"} == there, room


def test_protocols_are_where_the_table_says() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `(\w+/\w+\.py)` \|", TEXT, re.MULTILINE)
    names = {name: file for row, file in rows for name in re.findall(r"\w+", row)}
    assert names.keys() == {"Core", "Treatment", "Phase", "Search", "Evaluator", "Job", "Worker", "Log"}
    for name, file in names.items():
        assert f"\nclass {name}(" in (ROOT / "src" / "saltus" / file).read_text(), name


def test_there_is_a_recipe_for_each_kind_of_extension() -> None:
    assert list(RECIPES) == [
        "A core",
        "A treatment of integers",
        "A phase",
        "A kind of variable",
        "An evaluator",
    ]


@pytest.mark.machines
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_holds(name: str, tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(
        ROOT / "src", source, ignore=shutil.ignore_patterns("*.egg-info")
    )  # with what is compiled
    script = follow(RECIPES[name], tmp_path)
    assert "assert " in script
    (tmp_path / "recipe.py").write_text(f"import sys\nsys.path.insert(0, {str(source)!r})\n{script}")
    run = subprocess.run(
        [sys.executable, "-W", "error", "recipe.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    package = source / "saltus"
    found = arrows(package)
    assert [*cycles(found), *upward(found), *forbidden(found), *homeless(package)] == []


def test_a_change_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import math\nx = 1\nx = 1\n")
    with pytest.raises(AssertionError, match=r"a\.py: found 2 times"):
        change("--- a.py\n@@\n-x = 1\n+x = 2\n", tmp_path)
    with pytest.raises(AssertionError, match=r"a\.py: found 0 times"):
        change("--- a.py\n@@\n-y = 1\n", tmp_path)
