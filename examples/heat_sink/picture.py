"""Compiles the program, runs the study, and draws the heat sink and its way there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from examples.drawing import AFTER, BEFORE, GREY, best_so_far, panels, save
from saltus import Study
from saltus.cli import main as saltus

HERE = Path(__file__).parent


def main() -> None:
    """Compile, run, print, draw."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(
            shutil.copytree(HERE, f"{folder}/sink", ignore=shutil.ignore_patterns("__pycache__", "heat_sink"))
        )
        subprocess.run(["cc", "-O2", "-o", here / "heat_sink", here / "heat_sink.c", "-lm"], check=True)
        assert saltus(["run", str(here / "study.toml")]) == 0
        study = Study.open(str(here / "study.db"))
        trials, best = list(study.trials()), study.best
    assert best is not None
    values = [t.value if t.value is not None and t.feasible else float("nan") for t in trials]
    first = next(t for t in trials if t.value is not None)
    figure, (left, right) = panels(width_ratios=[1.4, 1])
    for x, params, colour in ((0, first.params, BEFORE), (80, best.params, AFTER)):
        left.bar(x + 30, 4, 60, -4, color=colour)
        thick, fins = float(params["thickness"]), int(params["fins"])
        gap = (60 - fins * thick) / (fins - 1)
        for i in range(fins):
            left.bar(x + i * (thick + gap) + thick / 2, params["height"], thick, color=colour)
    left.set(title="in section: the first one, and the one that was found", aspect="equal", yticks=[])
    left.set_xticks([30, 110], [f"{first.params['metal']}", f"{best.params['metal']}"])
    right.plot(values, ".", color=GREY, markersize=3)
    right.plot(best_so_far(values), color=AFTER)
    right.set(title="degrees above the air", xlabel="evaluation", yscale="log")
    save(figure, __file__)


if __name__ == "__main__":
    main()
