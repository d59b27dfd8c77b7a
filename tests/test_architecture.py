"""Imports point one way: the import graph of src/saltus, from its syntax trees, beside the plan of the rooms.

An arrow is an import that runs when a module is loaded: imports inside functions and under TYPE_CHECKING are
noted as deferred and are no arrows, but a few are forbidden wherever they stand. Whoever imports
`saltus.space.lattice` also loads `saltus/space/__init__.py`: that is an arrow too, except within the room.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "saltus"

# From the ground up; the rooms of one floor may use each other, but never in a circle.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("_typing",),
    ("_version",),
    ("_checks", "_serialize"),
    ("order",),
    ("space", "model"),
    ("strategy",),
    ("search",),
    ("result", "optimizer"),
    ("execution",),
    ("_minimize",),
    ("problems", "plot"),
    ("study",),
    ("report",),
    ("watch", "notebook"),
    ("openmdao", "optuna", "sklearn"),
    ("cli",),
    ("__init__",),
    ("__main__",),
)
FLOOR = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}
# what the search is made of knows nothing of how and where a point is evaluated, not even in a function
NEVER = dict.fromkeys(("space", "model", "strategy", "search"), ("execution", "study"))
# the oracles and the peers are for tests and comparisons
FOREIGN = ("dxnesici", "cmaes", "cma")
MOST_FILES_AT_THE_TOP = 12


class Arrow(NamedTuple):
    """An import: where it stands, what it names, and whether it runs when the module is loaded."""

    file: str  # relative to the package
    line: int
    source: str  # dotted, without the package's own name: "search.polish", "space.__init__"
    target: str
    deferred: bool

    def __str__(self) -> str:
        """For messages: file, line and arrow."""
        return f"{self.file}:{self.line}: {self.source} -> {self.target}"


def modules(package: Path) -> dict[str, Path]:
    """All modules of a package by dotted name, its own name left out."""
    return {
        ".".join(path.relative_to(package).with_suffix("").parts): path
        for path in sorted(package.rglob("*.py"))
    }


def room_of(module: str) -> str:
    """The folder at the top of the package, or the file there."""
    return module.split(".", 1)[0]


def arrows(package: Path) -> list[Arrow]:
    """Every import of a module of the package by another of its modules."""
    known = modules(package)
    found = []
    for name, path in known.items():
        file = path.relative_to(package).as_posix()
        for line, dotted, deferred in imports(path.read_text(), name):
            if dotted[0] != package.name:
                continue
            target = resolve(dotted[1:], known)
            if target != name:
                found.append(Arrow(file, line, name, target, deferred))
            entrance = f"{room_of(target)}.__init__"
            if entrance in known and target != entrance and room_of(target) != room_of(name):
                found.append(Arrow(file, line, name, entrance, deferred))
    return list(dict.fromkeys(found))


def resolve(parts: tuple[str, ...], known: dict[str, Path]) -> str:
    """The module that a dotted name means: the longest part of it that is a module or a package."""
    for n in range(len(parts), 0, -1):
        for candidate in (".".join(parts[:n]), ".".join((*parts[:n], "__init__"))):
            if candidate in known:
                return candidate
    return "__init__"


@cache  # most modules are looked at by many tests
def imports(
    text: str, name: str = "", package: str = "saltus"
) -> tuple[tuple[int, tuple[str, ...], bool], ...]:
    """Line, absolute dotted name, and whether it is deferred, of every import of a module with this text."""
    here = (package, *name.split("."))[:-1]

    def visit(node: ast.AST, deferred: bool) -> Iterator[tuple[int, tuple[str, ...], bool]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split(".")), deferred
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else ()
            origin = above + tuple((node.module or "").split(".") if node.module else ())
            for alias in node.names:
                yield alias.lineno, (*origin, alias.name), deferred
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for statement in node.body:
                yield from visit(statement, True)
            for other in node.orelse:
                yield from visit(other, deferred)
        else:
            later = deferred or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for child in ast.iter_child_nodes(node):
                yield from visit(child, later)

    return tuple(visit(ast.parse(text), False))


def upward(found: list[Arrow]) -> list[str]:
    """Arrows that point to a higher floor."""
    return [
        f"{a} points up, from floor {FLOOR[room_of(a.source)]} to floor {FLOOR[room_of(a.target)]}"
        for a in found
        if not a.deferred
        and room_of(a.source) in FLOOR
        and room_of(a.target) in FLOOR
        and FLOOR[room_of(a.target)] > FLOOR[room_of(a.source)]
    ]


def forbidden(found: list[Arrow]) -> list[str]:
    """Imports that may stand nowhere, deferred or not."""
    return [
        f"{a}: {room_of(a.source)} may not know {room_of(a.target)}, nor in a function or an annotation"
        for a in found
        if room_of(a.target) in NEVER.get(room_of(a.source), ())
    ]


def cycles(found: list[Arrow]) -> list[str]:
    """One shortest circle for each set of modules that load each other."""
    out: dict[str, list[Arrow]] = defaultdict(list)
    for arrow in found:
        if not arrow.deferred:
            out[arrow.source].append(arrow)
    said: set[frozenset[str]] = set()
    messages = []
    for start in sorted(out):
        circle = shortest_way_back(start, out)
        members = frozenset(a.source for a in circle)
        if circle and members not in said:
            said.add(members)
            messages.append("a circle: " + "; ".join(map(str, circle)))
    return messages


def shortest_way_back(start: str, out: dict[str, list[Arrow]]) -> list[Arrow]:
    """Breadth first from a module to itself; empty if there is no way."""
    came: dict[str, Arrow] = {}
    frontier = [start]
    while frontier and start not in came:
        ahead = []
        for module in frontier:
            for arrow in out.get(module, ()):
                if arrow.target not in came:
                    came[arrow.target] = arrow
                    ahead.append(arrow.target)
        frontier = ahead
    if start not in came:
        return []
    way = [came[start]]
    while way[-1].source != start:
        way.append(came[way[-1].source])
    return way[::-1]


def homeless(package: Path) -> list[str]:
    """Files whose room has no floor."""
    return [
        f"{path.relative_to(package).as_posix()}:1: {room_of(name)!r} has no floor in the plan"
        for name, path in modules(package).items()
        if room_of(name) not in FLOOR
    ]


def foreign(package: Path) -> list[str]:
    """Imports of the oracles and the peers."""
    return [
        f"{path.relative_to(package).as_posix()}:{line}: {name} -> {dotted[0]}"
        for name, path in modules(package).items()
        for line, dotted, _ in imports(path.read_text(), name)
        if dotted[0] in FOREIGN
    ]


def say(problems: list[str]) -> None:
    """Fail with all of them, one to a line."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture(scope="module")
def graph() -> list[Arrow]:
    return arrows(SOURCE)


def test_no_circle(graph: list[Arrow]) -> None:
    say(cycles(graph))


def test_no_arrow_points_up(graph: list[Arrow]) -> None:
    say(upward(graph))


def test_search_and_strategy_know_neither_execution_nor_study(graph: list[Arrow]) -> None:
    say(forbidden(graph))


def test_every_file_has_its_floor() -> None:
    say(homeless(SOURCE))


def test_at_most_a_dozen_files_at_the_top() -> None:
    names = sorted(path.name for path in SOURCE.glob("*.py"))
    assert len(names) <= MOST_FILES_AT_THE_TOP, f"{len(names)} files in src/saltus: {', '.join(names)}"


def test_the_library_imports_no_oracle_and_no_peer() -> None:
    say(foreign(SOURCE))


# the checker itself, on small houses


def house(folder: Path, **files: str) -> Path:
    """A package `saltus` of these files; two underscores in a name stand for a slash, `init` for __init__."""
    package = folder / "saltus"
    for name, text in {"init": "", **files}.items():
        path = package / (name.replace("__", "/").replace("init", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def problems_of(package: Path) -> list[str]:
    found = arrows(package)
    return [*cycles(found), *upward(found), *forbidden(found), *homeless(package), *foreign(package)]


def test_a_sound_house_passes(tmp_path: Path) -> None:
    package = house(
        tmp_path,
        order="from ._typing import FloatArray\n",
        _typing="import numpy\n",
        space__init="from .lattice import Lattice\n",
        space__lattice="from .._typing import FloatArray\n",
        strategy__init="from .leap import Leap\n",
        strategy__leap="import saltus.order\nfrom ..space.lattice import Lattice\n",
        optimizer="from .result import Result\nfrom . import strategy\n",
        result="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .optimizer import Optimizer\n",
        init="from .optimizer import Optimizer\n",
    )
    assert problems_of(package) == []


def test_an_upward_arrow_is_named(tmp_path: Path) -> None:
    package = house(tmp_path, order="import math\n\nfrom ._minimize import minimize\n", _minimize="")
    assert problems_of(package) == ["order.py:3: order -> _minimize points up, from floor 3 to floor 9"]


def test_the_package_itself_is_above_its_rooms(tmp_path: Path) -> None:
    (problem,) = problems_of(house(tmp_path, space__fold="from .. import Float\n"))
    assert problem.startswith("space/fold.py:1: space.fold -> __init__ points up")


def test_a_circle_is_named(tmp_path: Path) -> None:
    package = house(
        tmp_path,
        search__init="",
        search__a="from .b import B\n",
        search__b="from saltus.search.c import C\n",
        search__c="def f():\n    pass\n\nfrom . import a\n",
    )
    (problem,) = problems_of(package)
    assert problem == (
        "a circle: search/a.py:1: search.a -> search.b; search/b.py:1: search.b -> search.c; "
        "search/c.py:4: search.c -> search.a"
    )


def test_a_circle_through_the_entrance_of_a_room(tmp_path: Path) -> None:
    package = house(tmp_path, study__init="from .trial import Trial\n", study__trial="from . import Study\n")
    (problem,) = problems_of(package)
    assert "study/__init__.py:1: study.__init__ -> study.trial" in problem
    assert "study/trial.py:1: study.trial -> study.__init__" in problem


def test_deferred_imports_are_no_arrows_but_some_are_forbidden(tmp_path: Path) -> None:
    package = house(
        tmp_path,
        order="def f():\n    from ._minimize import minimize\n",
        _minimize="from .order import f\n",
        execution__driver="",
        strategy__leap="def f():\n    from ..execution.driver import Driver\n",
        search__phase="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..study import Study\n",
        study__init="",
    )
    assert [problem.split(": ", 2)[:2] for problem in problems_of(package)] == [
        ["search/phase.py:3", "search.phase -> study.__init__"],
        ["strategy/leap.py:2", "strategy.leap -> execution.driver"],
    ]


def test_strangers_are_named(tmp_path: Path) -> None:
    package = house(tmp_path, helpers="", plot="def f():\n    import cma.fitness_models\n")
    assert problems_of(package) == [
        "helpers.py:1: 'helpers' has no floor in the plan",
        "plot.py:2: plot -> cma",
    ]
