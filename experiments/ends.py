"""How often is an integer optimum found that lies next to the end of its range?

python -m experiments.ends [--trials 20] [--jobs 2]

Three integers, the sum of distances to an optimum `offset` values below the top, 3000 evaluations. The paper's
encoding makes outer plateaus endless: beyond the end all points are alike, and a Gaussian that has drifted
there is not told to come back or to shrink.
"""

from __future__ import annotations

import argparse

import numpy as np

from experiments.harness import in_parallel, markdown, publish
from saltus import Float, Int, Space, minimize
from saltus.variables import Variable

OFFSETS = (0, 1, 10)
VARIABLES: dict[str, tuple[Variable, int]] = {
    "Int(0, 20)": (Int(0, 20), 20),
    "Int(0, 100)": (Int(0, 100), 100),
    "Int(0, 1000)": (Int(0, 1000), 1000),
    "Int(1, 10000, log=True)": (Int(1, 10000, log=True), 10000),
    "Float(-0.5, 1000.5), rounded": (Float(-0.5, 1000.5), 1000),
}


def trial(name: str, offset: int, seed: int) -> bool:
    """Whether one search finds the optimum."""
    variable, top = VARIABLES[name]
    optimum = top - offset
    result = minimize(
        lambda x: float(np.abs(np.rint(x) - optimum).sum()), Space([variable] * 3), target=0.5, seed=seed
    )
    return result.success


def main() -> None:
    """Run all cells and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    cells = [(name, offset) for name in VARIABLES for offset in OFFSETS]
    tasks = [(*cell, seed) for cell in cells for seed in range(arguments.trials)]
    found = iter(in_parallel(trial, tasks, arguments.jobs))
    count = {cell: sum(next(found) for _ in range(arguments.trials)) for cell in cells}
    rows = [[name, *(f"{count[name, o]}/{arguments.trials}" for o in OFFSETS)] for name in VARIABLES]
    publish("ends", markdown(["variable", *(f"{o} below the top" for o in OFFSETS)], rows))


if __name__ == "__main__":
    main()
