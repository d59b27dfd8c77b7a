"""How wide should the first Gaussian be, as a share of a variable's range?

python -m experiments.scale [--trials 20] [--dims 10 20] [--jobs 2]

The paper's functions in a box (continuous variables in [-10, 10] too) with the optimum moved to a random
place in it, and a mixed Rastrigin function, on which too small a start ends in a local optimum. Default
population, no restarts. Evaluations until 1e-10 and successes; for Rastrigin, the mean value reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.harness import Trial, cells_of, markdown, options, publish, summary
from saltus import Float, Int, Optimizer, Space
from saltus._typing import FloatArray
from saltus.problems import ellipsoid_int, n_int_tablet, reversed_ellipsoid_int
from saltus.space import variable

SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
FUNCTIONS = ("NIntTablet", "ReversedEllipsoidInt", "EllipsoidInt", "Rastrigin")


def rastrigin(x: FloatArray) -> FloatArray:
    """A bowl with a local optimum at every lattice point of distance 3."""
    return np.asarray((x**2 + 10 * (1 - np.cos(2 * np.pi * x / 3))).sum(-1))


def trial(share: float, function: str, N: int, seed: int) -> tuple[Trial, float]:
    """One run, and the best value it reached."""
    variable.DEFAULT_SHARE = share
    rng = np.random.default_rng([seed, N])
    optimum = np.concatenate((rng.uniform(-8, 8, N // 2), rng.integers(-8, 9, N // 2)))
    makers = {p(N).name: p(N).fun for p in (n_int_tablet, reversed_ellipsoid_int, ellipsoid_int)}
    fun = makers.get(function, rastrigin)
    space = Space([Float(-10, 10)] * (N // 2) + [Int(-10, 10)] * (N // 2))
    optimizer = Optimizer(space, strategy="dx-nes-ici", seed=seed)
    while optimizer.evaluations < 10**4 * N and optimizer.stop is None:
        candidates = optimizer.ask()
        optimizer.tell(candidates, fun(np.array([c.params for c in candidates]) - optimum))
        assert optimizer.best is not None
        if optimizer.best.value < 1e-10:
            return Trial(True, optimizer.evaluations), optimizer.best.value
    assert optimizer.best is not None
    return Trial(False, optimizer.evaluations), optimizer.best.value


def main() -> None:
    """Run all cells and print them."""
    arguments = options(__doc__, trials=20, dims=[10, 20])
    cells = [(share, f, N) for N in arguments.dims for f in FUNCTIONS for share in SHARES]
    text: dict[tuple[Any, ...], str] = {}
    for cell, outcomes in cells_of(trial, cells, arguments).items():
        mean = np.mean([value for _, value in outcomes])
        text[cell] = f"{mean:.1f}" if cell[1] == "Rastrigin" else str(summary(t for t, _ in outcomes))
    rows = [[f, str(N), *(text[s, f, N] for s in SHARES)] for f in FUNCTIONS for N in arguments.dims]
    publish("scale", markdown(["function", "N", *(f"{s:.0%}" for s in SHARES)], rows))


if __name__ == "__main__":
    main()
