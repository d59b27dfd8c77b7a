"""Designs the truss, and draws it before and after."""

from __future__ import annotations

import numpy as np

from examples.drawing import AFTER, BEFORE, panels, save
from examples.truss.truss import BARS, NODES, SPACE, solve, weight
from saltus import minimize


def main() -> None:
    """Design, print, draw."""
    first = {f"bar{i}": 19.9 for i in range(10)}
    result = minimize(weight, SPACE, points=[first], budget=300, batch=4, seed=1)
    print(result)
    figure, axes = panels()
    for ax, params, colour, title in (
        (axes[0], first, BEFORE, "ten equal bars"),
        (axes[1], result.params, AFTER, f"after {result.nfev} evaluations"),
    ):
        areas = np.array([params[f"bar{i}"] for i in range(10)])
        moved, _ = solve(areas)
        value, limits = weight(params)
        print(f"{title}: {value:.0f} lb, sag {2 * (1 + limits['sag']):.3f} of 2 inches")
        places = NODES + 20 * moved
        for area, (a, b) in zip(areas, BARS, strict=True):
            ax.plot(*places[[a, b]].T, color=colour, linewidth=area / 4 + 0.3, solid_capstyle="round")
        ax.plot([0, 0], [-30, 390], color="black", linewidth=3)
        for node in (1, 3):
            ax.annotate("", places[node] - [0, 90], places[node], arrowprops={"arrowstyle": "->"})
        ax.set(title=f"{title}: {value:.0f} lb", aspect="equal")
        ax.axis("off")
    save(figure, __file__)


if __name__ == "__main__":
    main()
