"""What `import saltus` offers, and what it loads for that."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import saltus

OTHERS = ("optuna", "sklearn", "ray", "distributed", "matplotlib", "tqdm", "pandas")
# half a second and more each, all but NumPy: whoever needs one imports it where it is used
SCIPY = ("scipy", "scipy.special", "scipy.optimize", "scipy.linalg", "scipy.stats")
PROCESSES = ("multiprocessing", "subprocess", "socket", "saltus.execution.worker_process")
DATABASE = ("sqlite3", "saltus.study")
# what a script says first: what must not be loaded then
NOT_LOADED = {
    "import saltus": ("numpy", "saltus.search", *SCIPY, *PROCESSES, *DATABASE, *OTHERS),
    "from saltus import Float, Optimizer, Space": (
        "saltus.execution",
        *SCIPY,
        *PROCESSES,
        *DATABASE,
        *OTHERS,
    ),
    "from saltus import Float, Space, minimize": (*SCIPY, *PROCESSES, *DATABASE, *OTHERS),
    "import saltus.execution.worker_process, saltus.execution.choose": (  # what a worker process loads
        *("saltus.search", "saltus.strategy", "saltus.model", *SCIPY, *DATABASE, *OTHERS),
    ),
    "from saltus import Study": ("scipy.special", "scipy.stats", *OTHERS),
    "import saltus.cli": ("scipy.special", "scipy.stats", *OTHERS),
}


def loaded(statement: str) -> set[str]:
    """The modules of a new process after a statement."""
    code = f"{statement}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("statement", NOT_LOADED)
def test_what_is_not_loaded_before_it_is_used(statement: str) -> None:
    assert sorted(loaded(statement) & set(NOT_LOADED[statement])) == []


def test_every_name_is_there_when_it_is_asked_for() -> None:
    for name in saltus.__all__:
        assert getattr(saltus, name) is not None
    assert set(saltus.__all__) <= set(dir(saltus))
    with pytest.raises(AttributeError, match="no attribute 'minimise'"):
        saltus.minimise  # type: ignore[attr-defined]  # noqa: B018


def test_minimize_is_the_function_and_rooms_are_there_whatever_was_loaded_before() -> None:
    rooms = "import saltus; saltus.space.variables.Float, saltus.search.STRATEGIES, saltus.study.Study"
    rooms += "; saltus.plot.convergence, saltus.problems.gear_train"  # as docs/minimize.md writes them
    function = "import saltus.cli; assert saltus.minimize.__name__ == 'minimize'"
    subprocess.run([sys.executable, "-c", f"{rooms}; {function}"], check=True)


def test_a_checker_sees_the_names_where_python_finds_them() -> None:
    tree = ast.parse(Path(saltus.__file__).read_text(encoding="utf-8"))
    (seen,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    names = {
        statement.module: tuple(alias.name for alias in statement.names)
        for statement in seen.body
        if isinstance(statement, ast.ImportFrom) and statement.module  # and not a whole module
    }
    assert names == saltus._HOME
    assert {"__version__", *(name for some in names.values() for name in some)} == set(saltus.__all__)
