"""Does the lazily refreshed eigenbasis cost evaluations? Exact and lazy DX-NES-ICI on the paper's functions.

python -m experiments.basis [--trials 100] [--dims 20 40 80] [--jobs 2]

The paper's settings: its population sizes, mean uniform in [1, 3], sigma = 1, target 1e-10.
"""

from __future__ import annotations

import math

from experiments.harness import Trial, cells_of, markdown, options, publish, summary
from experiments.published import population
from experiments.runs import paper_trial
from saltus.problems import PAPER


def trial(function: int, N: int, exact: bool, seed: int) -> Trial:
    """One run at the paper's settings."""
    problem = PAPER[function](N)
    size = population(problem.name, N, "dx-nes-ici")
    return paper_trial(problem, size, seed=2 * seed + exact, exact=exact)


def main() -> None:
    """Run all cells and compare."""
    arguments = options(__doc__, trials=100, dims=[20, 40, 80])
    cells = [(f, N, exact) for N in arguments.dims for f in range(len(PAPER)) for exact in (True, False)]
    cell = {c: summary(trials) for c, trials in cells_of(trial, cells, arguments).items()}
    rows, ratios, widths = [], [], []
    for N in arguments.dims:
        for f, make in enumerate(PAPER):
            exact, lazy = cell[f, N, True], cell[f, N, False]
            ratios.append(lazy.mean / exact.mean - 1)
            widths.append(math.hypot(lazy.half_width, exact.half_width) / exact.mean)
            agree = "yes" if abs(ratios[-1]) <= widths[-1] else "no"
            rows.append([make(N).name, str(N), str(exact), str(lazy), f"{ratios[-1]:+.1%}", agree])
    table = markdown(["function", "N", "exact", "lazy (default)", "difference", "within 95%"], rows)
    mean, half_width = sum(ratios) / len(ratios), math.hypot(*widths) / len(ratios)
    publish("basis", f"{table}\n\nMean difference over all cells: {mean:+.1%} ± {half_width:.1%}.")


if __name__ == "__main__":
    main()
