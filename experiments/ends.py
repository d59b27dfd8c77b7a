"""How often is an integer optimum found that lies next to the end of its range?

python -m experiments.ends [--trials 20] [--jobs 2]

Three integers, the sum of distances to an optimum 0, 1 or 10 values below the top, 3000 evaluations. The
paper's encoding makes outer plateaus endless: beyond the end all points are alike. Among equals, Saltus ranks
those first that are less far beyond the end; "by order" is without this rule.
"""

from __future__ import annotations

import numpy as np

from experiments.harness import cells_of, markdown, options, publish
from saltus import Float, Int, Space, minimize
from saltus.space.variable import Variable
from saltus.strategy import Integers

OFFSETS = (0, 1, 10)
VARIABLES: dict[str, tuple[Variable, int]] = {
    "Int(0, 20)": (Int(0, 20), 20),
    "Int(0, 100)": (Int(0, 100), 100),
    "Int(0, 1000)": (Int(0, 1000), 1000),
    "Int(0, 10**6)": (Int(0, 10**6), 10**6),
    "Int(1, 10000, log=True)": (Int(1, 10000, log=True), 10000),
    "Float(-0.5, 1000.5), rounded": (Float(-0.5, 1000.5), 1000),
}
RULES = {"by order": lambda self, x: np.zeros(len(x)), "by overshoot": Integers.overshoot}


def trial(name: str, offset: int, rule: str, seed: int) -> bool:
    """Whether one search finds the optimum."""
    Integers.overshoot = RULES[rule]  # type: ignore[method-assign]  # in this process only
    variable, top = VARIABLES[name]
    optimum = top - offset
    result = minimize(
        lambda x: float(np.abs(np.rint(x) - optimum).sum()),
        Space([variable] * 3),
        strategy="dx-nes-ici",
        target=0.5,
        seed=seed,
    )
    return result.success


def main() -> None:
    """Run all cells and print them."""
    arguments = options(__doc__, trials=20)
    cells = [(name, offset, rule) for name in VARIABLES for offset in OFFSETS for rule in RULES]
    count = {c: sum(found) for c, found in cells_of(trial, cells, arguments).items()}
    rows = [
        [name, rule, *(f"{count[name, offset, rule]}/{arguments.trials}" for offset in OFFSETS)]
        for name in VARIABLES
        for rule in RULES
    ]
    publish("ends", markdown(["variable", "equals rank", *(f"{o} below the top" for o in OFFSETS)], rows))


if __name__ == "__main__":
    main()
