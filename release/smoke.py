"""Does an installed Saltus work? Run by the Python that has it, from a folder that is not the repository:

    python smoke.py 0.2.0

It needs nothing but Saltus and its dependencies, writes into a temporary folder, and ends with exit code 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import saltus
from saltus import Bool, Categorical, Float, Int, Optimizer, Space, minimize

PROGRAM = """
import json, sys
p = json.load(sys.stdin)
print((p["x"] - 1) ** 2 + (p["k"] - 3) ** 2)
"""
STUDY = """
[study]
seed = 1
budget = 40
workers = 2

[space]
x = { type = "float", low = -5, high = 5 }
k = { type = "int", low = 0, high = 9 }

[objective]
command = COMMAND
"""
SPACE = Space({"x": Float(-5, 5), "k": Int(0, 9), "on": Bool(), "kind": Categorical(["a", "b", "c"])})


def cost(p: dict[str, Any]) -> float:
    """Zero at x = 1, k = 3, on, b."""
    return float((p["x"] - 1) ** 2 + (p["k"] - 3) ** 2 + (not p["on"]) + (p["kind"] != "b"))


def installed(wanted: str) -> None:
    """The version that was wanted, from this environment and not from a source tree."""
    assert saltus.__version__ == version("saltus") == wanted, (saltus.__version__, version("saltus"), wanted)
    home = Path(saltus.__file__).resolve().parent
    assert home.is_relative_to(Path(sysconfig.get_paths()["purelib"]).resolve()), home
    assert (home / "py.typed").is_file()
    assert (home / "study" / "schema.sql").is_file()


def minimizes() -> None:
    """A search in this process, and the same in two worker processes."""
    result = minimize(cost, SPACE, budget=40, batch=2, seed=1)
    assert result.fun < 1, result
    assert minimize(cost, SPACE, budget=40, workers=2, seed=1).fun == result.fun


def goes_on() -> None:
    """An optimizer that is saved as JSON and restored asks for the same points."""
    one = Optimizer(SPACE, seed=1)
    for _ in range(3):
        for candidate in one.ask():
            one.tell(candidate, cost(candidate.params))
    other = Optimizer.restore(json.loads(json.dumps(one.state())))
    assert [c.params for c in one.ask()] == [c.params for c in other.ask()]


def studies(folder: Path) -> None:
    """A study of a command, by the command `saltus`: run, shown, reported, exported."""
    program = folder / "simulator.py"
    program.write_text(PROGRAM, encoding="utf-8")
    study = folder / "study.toml"
    command = json.dumps([sys.executable, str(program)])
    study.write_text(STUDY.replace("COMMAND", command), encoding="utf-8")
    scripts = Path(sysconfig.get_path("scripts"))

    def run(*words: str) -> str:
        done = subprocess.run(
            [str(scripts / "saltus"), *words], capture_output=True, encoding="utf-8", cwd=folder, check=False
        )
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    assert run("--version").strip() == f"saltus {saltus.__version__}"
    run("init", "new.toml")
    run("run", "study.toml")
    assert json.loads(run("show", "study.toml", "--json"))["evaluations"] == 40
    run("report", "study.toml")
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "study" in page


def main() -> None:
    """All of it."""
    installed(sys.argv[1])
    minimizes()
    goes_on()
    with tempfile.TemporaryDirectory(prefix="saltus-smoke-") as folder:
        studies(Path(folder))
    print(f"saltus {saltus.__version__} works on Python {sys.version.split()[0]}, {sys.platform}")


if __name__ == "__main__":  # workers load this file again
    main()
