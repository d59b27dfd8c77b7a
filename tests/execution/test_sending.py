"""Objectives, points and exceptions on their way to another process."""

import functools
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltus import Float, Int, Space, minimize
from saltus.execution.sending import packed

from .. import objectives

LOCK = threading.Lock()


@pytest.fixture
def at_a_prompt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The main module is no file; what the fixture is given is in it."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.delattr(main, "__file__", raising=False)

    def define(fun: Callable[..., Any]) -> Callable[..., Any]:
        fun.__module__, fun.__qualname__ = "__main__", fun.__name__
        monkeypatch.setattr(main, fun.__name__, fun, raising=False)
        return fun

    return define


def double(x: float) -> float:
    return 2 * x


def test_what_can_be_imported_goes_by_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert packed(objectives.constrained) == pickle.dumps(objectives.constrained)


def test_a_function_of_a_script_goes_by_pickle(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_a_prompt: Callable[..., Any]
) -> None:
    """A worker runs the script again, so it has the function."""
    (tmp_path / "script.py").touch()
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "script.py"), raising=False)
    at_a_prompt(double)
    assert packed(double) == pickle.dumps(double)


def test_lambdas_closures_and_functions_of_a_prompt_go_by_their_code(
    at_a_prompt: Callable[..., Any],
) -> None:
    shift = 3.0
    assert pickle.loads(packed(lambda x: x + shift))(1.0) == 4.0
    fun = at_a_prompt(double)
    assert pickle.loads(pickle.dumps(fun)) is fun  # where it is known, by its name
    there = pickle.loads(packed(fun))
    assert there is not fun
    assert there(1.5) == 3.0


def test_without_cloudpickle_a_sentence_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, at_a_prompt: Callable[..., Any]
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError) as caught:
        packed(at_a_prompt(double), "the objective 'double'")
    assert str(caught.value) == (
        "the objective 'double' cannot be sent to worker processes without cloudpickle (it was defined in a "
        "notebook or at a prompt, and worker processes import modules alone): pip install cloudpickle, or "
        "define it with def at the top level of a module, a .py file, and import it"
    )
    with pytest.raises(TypeError, match=r"without cloudpickle \(.*local.*\): pip install cloudpickle"):
        minimize(lambda p: 1.0, Space({"k": Int(0, 9)}), budget=10, workers=2)


class Simulator:
    def __init__(self) -> None:
        self.gate = threading.Lock()

    def __call__(self, p: Any) -> float:
        return 0.0

    def cost(self, p: Any) -> float:
        return 0.0


def holding(file: Any) -> list[Any]:
    """Objectives that use what cannot be sent, and what a message calls it."""

    def through_another(p: Any) -> float:
        return inner(p)

    def inner(p: Any) -> float:
        return float(sum(file.write("") for _ in range(2)))

    def with_a_lock(p: Any) -> float:
        with LOCK:
            return 0.0

    with_a_lock.__module__ = "__main__"  # as in a notebook
    return [
        (inner, "'file' (a TextIOWrapper)"),
        (through_another, "'file' (a TextIOWrapper)"),
        (with_a_lock, "'LOCK' (a lock)"),
        (lambda p, f=file: 0.0, "a TextIOWrapper"),
        (functools.partial(max, file), "a TextIOWrapper"),
        (Simulator(), "'gate' (a lock)"),
        (Simulator().cost, "'gate' (a lock)"),
        (functools.partial(max, {"log": [file]}), "a TextIOWrapper"),
    ]


@pytest.mark.parametrize("which", range(8))
def test_what_cannot_be_sent_is_named(which: int, tmp_path: Path) -> None:
    with open(tmp_path / "log", "w", encoding="utf-8") as file:
        objective, what = holding(file)[which]
        expected = re.escape(
            f"cannot be sent to worker processes: it uses {what}, which cannot leave the process that made it"
            "; make what it needs inside the function instead, or leave out workers and timeout"
        )
        with pytest.raises(TypeError, match=expected) as caught:
            packed(objective)
    assert caught.value.__suppress_context__  # one sentence, not a chain of tracebacks


def test_where_nothing_can_be_named_the_reason_is_said() -> None:
    with pytest.raises(TypeError, match="worker processes: cannot pickle 'generator' object; make what"):
        packed((i for i in range(3)).__next__)


# a session whose functions are in no module: exceptions of a class of its own come back, a global is used
SESSION = """
from saltus import Float, Int, Space, minimize
class BadMesh(Exception): pass

best = 7
def cost(p):
    if p["k"] > 19: raise BadMesh(p["k"])
    return (p["x"] - 1) ** 2 + (p["k"] - best) ** 2

space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
points, how = [{"x": 0, "k": 20}], {"strategy": "saltus-es", "budget": 30, "seed": 1}
result = minimize(cost, space, **how, workers=2, on_error="infeasible", points=points)
print("found", result.fun, result.failures, isinstance(result.error, BadMesh))
"""


@pytest.mark.machines
@pytest.mark.parametrize("way", ["-c", "-", "-i"])
def test_functions_of_a_session(way: str, tmp_path: Path) -> None:
    """`python -c`, a script that comes by a pipe, and a prompt: the same as without workers."""
    arguments = [sys.executable, way, *([SESSION] if way == "-c" else [])]
    said = subprocess.run(arguments, input=SESSION, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    space = Space({"x": Float(-5, 5), "k": Int(0, 20)})

    def cost(p: Any) -> float:
        return float("nan") if p["k"] > 19 else (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2

    here = minimize(cost, space, strategy="saltus-es", budget=30, seed=1, points=[{"x": 0, "k": 20}])
    assert f"found {here.fun} {here.failures} True" in said.stdout, said.stderr
