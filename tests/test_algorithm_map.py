"""docs/algorithm.md maps every line of Algorithm 1 to functions: they exist, and no line is missing."""

from __future__ import annotations

import importlib
import inspect
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import saltus.strategy
from saltus.space.lattice import Lattice

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "algorithm.md").read_text()
ROWS = re.findall(r"^\| (\d+) \|[^|]*\| ([^|]*) \|$", TEXT, re.MULTILINE)
# a name with a dot, of a module of strategy/ or of a class
DOTTED = re.compile(r"`((?:[a-z]\w*|[A-Z]\w*)(?:\.\w+)+)(?:\([^`]*\))?`")
LINES = range(1, 39)
TAGGED = ("dxnesic", "leap")


def module(name: str) -> ModuleType:
    return importlib.import_module(f"saltus.strategy.{name}")


def named(dotted: str) -> Any:
    """What a name on the page means: of a module of strategy/, of a class there, or of a lattice."""
    first, *rest = dotted.split(".")
    thing: Any = Lattice if first == "Lattice" else getattr(saltus.strategy, first, None)
    if thing is None:
        thing = module(first)
    for part in rest:
        thing = getattr(thing, part)
    return thing


def tags(name: str) -> set[int]:
    """The lines of Algorithm 1 that the comments of a module name."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(module(name))).readline):
        if token.type == tokenize.COMMENT:
            for first, last in re.findall(r"\bl\. (\d+)(?:-(\d+))?", token.string):
                found |= set(range(int(first), int(last or first) + 1))
    return found


def test_every_line_is_in_the_table_once_and_in_order() -> None:
    assert [int(line) for line, _ in ROWS] == list(LINES)


@pytest.mark.parametrize(("line", "where"), ROWS, ids=[f"l. {line}" for line, _ in ROWS])
def test_the_functions_of_a_line_exist(line: str, where: str) -> None:
    names = DOTTED.findall(where)
    assert names, f"line {line} names no function"
    for name in names:
        assert callable(named(name)), name
        assert named(name).__module__.startswith(("saltus.strategy.", "saltus.space.lattice")), name


@pytest.mark.parametrize("name", TAGGED)
def test_a_tag_in_the_code_is_a_line_that_the_table_gives_to_that_file(name: str) -> None:
    given = defaultdict(set)
    for line, where in ROWS:
        for dotted in DOTTED.findall(where):
            given[named(dotted).__module__].add(int(line))
    assert tags(name)
    assert tags(name) <= given[f"saltus.strategy.{name}"]


def test_every_line_that_computes_something_is_tagged_in_the_code() -> None:
    elsewhere, ends = {2, 6, 37, 38}, {3, 7, 25}  # the loop and Encoding_f; for and end without anything else
    assert tags("dxnesic") | tags("leap") | elsewhere | ends == set(LINES)


def test_the_other_names_on_the_page_exist() -> None:
    known = vars(saltus.strategy).keys() | {"Lattice", "linalg", "integers", "ranking"}
    known -= {"cmaes"}  # also the name of somebody else's package
    names = [name for name in DOTTED.findall(TEXT) if name.partition(".")[0] in known]
    assert {"Lattice.close", "Integers.alpha", "linalg.expm1_factors"} <= set(names)
    for name in names:
        named(name)
    for field in re.findall(r"`State\.(\w+)", TEXT):
        assert hasattr(saltus.strategy.dxnesic.State, field), field
