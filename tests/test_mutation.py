"""The runner of mutants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.mutation.__main__ import LISTED, listed, report
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.running import Functions, Reach, exchanges

TEXT = '''"""A docstring: no mutant."""

from typing import Any, TypeVar

__all__ = ["f"]
__all__ += ["C"]
Alias = dict[str, Any]
T = TypeVar("T")
LIMIT = 3


class C:
    @property
    def p(self) -> bool:
        return 1 < LIMIT


def f(x: int = 2) -> int:
    if x < 0:
        raise ValueError("a message: no mutant")
    return x + 1
'''


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mutant]:
    for module in ("tests.mutation.mutants", "tests.mutation.running"):
        monkeypatch.setattr(f"{module}.SOURCE", tmp_path)
    (tmp_path / "m.py").write_text(TEXT)
    return mutants_of(tmp_path / "m.py")


def test_the_changes_of_a_file(found: list[Mutant]) -> None:
    assert {(m.scope, m.change) for m in found} >= {
        ("", "`LIMIT = 3` -> `LIMIT = 4`"),
        ("C.p", "`return 1 < LIMIT` -> `return 1 <= LIMIT`"),
        ("f", "`if x < 0:` -> `if x <= 0:`"),
        ("f", "`return x + 1` -> `return x - 1`"),
    }
    assert not any(
        "no mutant" in m.change or "Alias" in m.change or "__all__" in m.change or "TypeVar" in m.change
        for m in found
    )
    assert len({m.id for m in found}) == len(found)
    assert {m.change: m.lines for m in found}["`return x + 1` -> `return x - 1`"] == range(21, 22)


def test_the_code_of_a_function_is_exchanged(found: list[Mutant], tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(TEXT, str(tmp_path / "m.py"), "exec"), names)
    p, f = names["C"].p.fget, names["f"]
    functions: Functions = {
        (str(tmp_path / "m.py"), g.__qualname__, g.__code__.co_firstlineno): [g] for g in (p, f)
    }
    by_change = {m.change: m for m in found}
    ((function, code),) = exchanges(by_change["`return x + 1` -> `return x - 1`"], functions) or []
    assert function is f
    function.__code__ = code
    assert f(5) == 4
    ((function, _),) = exchanges(by_change["`return 1 < LIMIT` -> `return 1 <= LIMIT`"], functions) or []
    assert function is p
    assert exchanges(by_change["`LIMIT = 3` -> `LIMIT = 4`"], functions) is None
    default = "`def f(x: int = 2) -> int:` -> `def f(x: int = 3) -> int:`"
    assert exchanges(by_change[default], functions) is None


def test_which_tests_reach_it(found: list[Mutant]) -> None:
    by_change = {m.change: m for m in found}
    reach = Reach({"m.py": {9: [""], 19: ["a", "b"], 21: ["a", "gone"]}}, {"a": 1.0, "b": 2.0})
    assert reach.tests(by_change["`return x + 1` -> `return x - 1`"]) == ["a"]
    assert reach.tests(by_change["`LIMIT = 3` -> `LIMIT = 4`"]) == ["a", "b"]
    assert reach.at_import(by_change["`LIMIT = 3` -> `LIMIT = 4`"])
    with_its_own = reach._replace(seconds={"tests/test_m.py::c": 1.0, "tests/test_n.py::d": 1.0})
    assert with_its_own.tests(by_change["`LIMIT = 3` -> `LIMIT = 4`"]) == ["tests/test_m.py::c"]
    package = by_change["`LIMIT = 3` -> `LIMIT = 4`"]._replace(file="p/__init__.py")
    with_its_own = Reach(
        {"p/__init__.py": {9: [""]}}, {"tests/p/test_init.py::c": 1.0, "tests/test_m.py::d": 1.0}
    )
    assert with_its_own.tests(package) == ["tests/p/test_init.py::c"]


def test_survivors_are_compared_with_the_list(
    found: list[Mutant], capsys: pytest.CaptureFixture[str]
) -> None:
    known = listed(
        "## m.py\n###\n- `LIMIT = 3` -> `LIMIT = 4`: because\n### f\n- `gone` -> `lost`: why not\n"
    )
    fates = {m.id: "survived" if "LIMIT = 4" in m.change else "killed" for m in found}
    assert report(found, fates, known) == 0
    assert "does not survive any more: m.py f `gone` -> `lost`" in capsys.readouterr().out
    fates[next(m.id for m in found if m.change == "`return x + 1` -> `return x - 1`")] = "survived"
    assert report(found, fates, known) == 1
    assert "## m.py\n### f\n- `return x + 1` -> `return x - 1`: ?" in capsys.readouterr().out


def test_every_line_of_the_list_is_read() -> None:
    text = LISTED.read_text()
    assert len(listed(text)) == sum(line.startswith("- ") for line in text.splitlines())
