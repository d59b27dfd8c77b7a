"""How the pictures of the gallery look, and where they go."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

BEFORE, AFTER, GREY = "#b0573a", "#00796b", "#8a8f94"
plt.rcParams |= {
    "figure.dpi": 110,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def panels(columns: int = 2, rows: int = 1, height: float = 2.9, **options: Any) -> tuple[Figure, Any]:
    """A figure as wide as a page, and its axes."""
    return plt.subplots(rows, columns, figsize=(7.4, height * rows), **options)


def save(figure: Figure, script: str, name: str = "picture.png") -> None:
    """Write a picture into the folder that the command line names, or beside the script."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(script).parent
    figure.savefig(folder / name, metadata={"Software": None})
    plt.close(figure)


def best_so_far(values: list[float]) -> list[float]:
    """The smallest value up to each evaluation; not-a-number until there is one."""
    best, line = float("nan"), []
    for value in values:
        best = value if value == value and not value >= best else best
        line.append(best)
    return line
