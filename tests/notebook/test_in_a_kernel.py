"""Notebooks, executed by a kernel as Jupyter would."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from saltus import Study

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "notebook" / "beam.ipynb"


def executed(notebook: Any, folder: Path, allow_errors: bool = False) -> list[Any]:
    """The outputs of each code cell."""
    client = NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        allow_errors=allow_errors,
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_the_example_is_kept_without_outputs() -> None:
    notebook = nbformat.read(EXAMPLE, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


@pytest.mark.machines
def test_the_example(tmp_path: Path) -> None:
    """Its objective is of a cell and runs in two workers: the same search as in one process."""
    notebook = nbformat.read(EXAMPLE, as_version=4)
    outputs = executed(notebook, tmp_path)
    (space, result, shown, frame, report) = [o[0].data["text/html"] for o in outputs if o]
    study = Study.open(tmp_path / "beam.db")
    summary, best = study.summary(), study.best
    assert best is not None
    assert best.feasible
    assert (summary.evaluations, [s.workers for s in summary.sessions]) == (18, [2, 2])
    assert summary.failures == {}
    assert "one of steel, aluminium, titanium" in space
    assert "Best value" in result
    assert f"beam: best value {best.value:.6g}" in shown
    assert best.params["material"] in frame
    assert report.startswith('<iframe title="Report of beam" srcdoc=')
    here: dict[str, Any] = {}
    definition = next(c.source for c in notebook.cells if c.source.startswith("MATERIALS"))
    exec(definition, here)
    again = Study.create(tmp_path / "here.db", study.space, seed=1, batch=2)
    assert again.optimize(here["cost"], budget=18).fun == best.value


SETTING = """
import sys, threading, warnings
from saltus import Float, Space, minimize
space, how = Space({"x": Float(-5, 5)}), {"strategy": "saltus-es", "budget": 12, "seed": 1}
log, gate = open("log.txt", "w"), threading.Lock()

def cost(p):
    return (p["x"] - 1) ** 2

def careless(p):
    print(p, file=log)
    return cost(p)
"""
CELLS = [
    SETTING,
    "minimize(careless, space, workers=2, **how)",
    "minimize(lambda p: gate.acquire() and cost(p), space, workers=2, **how)",
    "minimize(lambda p: cost(p), space, workers=2, **how).fun == minimize(cost, space, **how).fun",
    "sys.modules['cloudpickle'] = None\nminimize(cost, space, workers=2, **how)",
    # the bar of a notebook, and one of text without a warning where there can be none
    "minimize(cost, space, progress=True, **how).nfev",
    """sys.modules['ipywidgets'] = None
with warnings.catch_warnings(action="error"):
    minimize(cost, space, progress=True, **how)""",
]
SENT = "cannot be sent to worker processes"
INSTEAD = (
    "which cannot leave the process that made it; make what it needs inside the function instead, or "
    "leave out workers and timeout"
)
MISSING = (
    "without cloudpickle (it was defined in a notebook or at a prompt, and worker processes import modules "
    "alone): pip install cloudpickle, or define it with def at the top level of a module, a .py file, and "
    "import it"
)


@pytest.mark.machines
def test_what_cannot_work_is_said_in_one_sentence(tmp_path: Path) -> None:
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    outputs = executed(notebook, tmp_path, allow_errors=True)
    found = [(i, o) for i, some in enumerate(outputs) for o in some if o.output_type == "error"]
    assert {(i, o.ename, o.evalue) for i, o in found} == {
        (1, "TypeError", f"the objective 'careless' {SENT}: it uses 'log' (a TextIOWrapper), {INSTEAD}"),
        (2, "TypeError", f"the objective '<lambda>' {SENT}: it uses 'gate' (a lock), {INSTEAD}"),
        (4, "TypeError", f"the objective 'cost' {SENT} {MISSING}"),
    }
    assert [o.data["text/plain"] for o in outputs[3]] == ["True"]
    assert any("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in outputs[5])
    assert "12/12" in "".join(o.text for o in outputs[6] if o.output_type == "stream")
