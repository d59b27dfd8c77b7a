"""Which way of keeping bounds costs the fewest evaluations, wherever the optimum is?

python -m experiments.bounds [--trials 20] [--dims 4 20] [--jobs 2]

Each way maps the whole real line onto [0, 1]; the strategy itself is unbounded. `fold` is what Saltus does
(with parabolas as wide as 10% of the range; 3% and 30% beside it). Quadratic functions with random axes
(condition 10^3) in the unit box; the optimum is *inside*, or beyond the box in half (*face*) or all
(*corner*) of the coordinates, or exactly on the bound with no slope there (*edge*), or the quadratic is
*rotated* with its centre anywhere around the box. Evaluations until the best value is reached within 1e-8;
at most 4000 for each dimension.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import lsq_linear

from experiments.harness import Trial, cells_of, markdown, options, publish, summary
from saltus import Float, Optimizer, Space
from saltus._typing import FloatArray
from saltus.space import fold as library

Objective = Callable[[FloatArray], FloatArray]


def folded(share: float) -> Callable[[FloatArray], FloatArray]:
    """The library's fold with another width."""

    def fold(x: FloatArray) -> FloatArray:
        library.SHARE_OF_RANGE = share
        return library.Fold(np.zeros(x.shape[1]), np.ones(x.shape[1]), np.ones(x.shape[1]))(x)

    return fold


WAYS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "fold 10%": folded(0.1),
    "fold 3%": folded(0.03),
    "fold 30%": folded(0.3),
    "cosine": lambda x: 0.5 - 0.5 * np.cos(np.pi * x),
    "reflect": lambda x: 1.0 - np.abs(np.mod(x, 2.0) - 1.0),
    "clip": lambda x: np.clip(x, 0.0, 1.0),
}
PLACES = ("inside", "face", "corner", "edge", "rotated")


def problem(place: str, N: int, rng: np.random.Generator) -> Objective:
    """A quadratic over the unit box, minus its best value there."""
    axes = 10 ** rng.uniform(0, 1.5, N)
    inside, even = rng.uniform(0.1, 0.9, N), np.arange(N) % 2 == 0
    beyond, on = rng.choice([-0.3, 1.3], N), rng.choice([0.0, 1.0], N)
    if place == "rotated":
        root = np.sqrt(10 ** np.linspace(0, 3, N))[:, None] * np.linalg.qr(rng.standard_normal((N, N)))[0].T
        centre = rng.uniform(-0.5, 1.5, N)
        best = lsq_linear(root, root @ centre, (0, 1), tol=1e-15, max_iter=10000).x
    else:
        root = np.diag(axes)
        centre = {
            "inside": inside,
            "face": np.where(even, inside, beyond),
            "corner": beyond,
            "edge": np.where(even, inside, on),
        }[place]
        best = np.clip(centre, 0, 1)
    least = ((root @ (best - centre)) ** 2).sum()
    return lambda x: np.asarray((((x - centre) @ root.T) ** 2).sum(1) - least)


def trial(way: str, place: str, N: int, seed: int) -> Trial:
    """One run."""
    fun = problem(place, N, np.random.default_rng([seed, N]))
    optimizer = Optimizer(Space([Float(init=0.5, scale=0.15)] * N), strategy="dx-nes-ici", seed=seed)
    while optimizer.evaluations < 4000 * N:
        candidates = optimizer.ask()
        values = fun(WAYS[way](np.array([c.params for c in candidates])))
        optimizer.tell(candidates, values)
        if values.min() < 1e-8:
            return Trial(True, optimizer.evaluations)
    return Trial(False, optimizer.evaluations)


def main() -> None:
    """Run all cells and print them."""
    arguments = options(__doc__, trials=20, dims=[4, 20])
    cells = [(way, place, N) for N in arguments.dims for place in PLACES for way in WAYS]
    cell = {c: summary(trials) for c, trials in cells_of(trial, cells, arguments).items()}
    rows = [
        [str(N), place, *(str(cell[way, place, N]) for way in WAYS)]
        for N in arguments.dims
        for place in PLACES
    ]
    publish("bounds", markdown(["N", "optimum", *WAYS], rows))


if __name__ == "__main__":
    main()
