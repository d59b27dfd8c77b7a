"""Golden runs: the points and values of searches as they were recorded.

So a change of the code cannot change a search unnoticed. The paper's strategies stay as they are for ever.
Each file holds the runs of one strategy: on four spaces, with two seeds each, 400 evaluations.

    python -m tests.golden [STRATEGY ...]

records anew: only in the commit that changes a search on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus import STRATEGIES, Bool, Float, Int, Optimizer, Ordinal, Space

FOLDER = Path(__file__).parent
SEEDS = (1, 2)
EVALUATIONS = 400

Outcome = tuple[float, float]  # value and violation


def mixed(x: NDArray[np.float64]) -> Outcome:
    """A rotated stiff valley whose continuous variables depend on the integers."""
    valley = 100 * (x[0] - x[1] + 0.1 * x[3]) ** 2 + (x[1] - 1) ** 2 + (math.log10(x[2]) + 2) ** 2
    return valley + (x[3] - 7) ** 2 + abs(x[4] - 0.5) + (1 - x[5]), 0.0


def discrete(x: NDArray[np.float64]) -> Outcome:
    """Steps and a kink: many equal values."""
    return float(np.abs(x[:2] - [4.0, 17.0]).sum() // 2 + (x[2] != 10.0) + (x[3:] == 0.0).sum()), 0.0


def continuous(x: NDArray[np.float64]) -> Outcome:
    """Rosenbrock's valley, with an optimum on a bound."""
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum() + abs(x[3])), 0.0


def constrained(x: NDArray[np.float64]) -> Outcome:
    """The optimum lies on a constraint, next to a region without values."""
    if x[0] + x[2] < -3:
        return math.nan, 0.0
    return x[0] ** 2 + (x[1] - 1) ** 2 + 0.1 * x[2] + x[3], max(0.0, 2 - x[0] - x[2]) + max(0.0, x[1] - 3)


class Case(NamedTuple):
    """A space and what is minimised over it."""

    space: Space
    fun: Callable[[NDArray[np.float64]], Outcome]


CASES = {
    "mixed": Case(
        Space(
            [
                *(Float(-5, 5), Float(), Float(1e-4, 1e2, log=True)),
                *(Int(0, 20), Ordinal([0.1, 0.5, 3.0]), Bool()),
            ]
        ),
        mixed,
    ),
    "discrete": Case(
        Space([Int(-3, 12), Int(1, 500, log=True), Ordinal([0.0, 1.0, 10.0, 11.0]), Bool(), Bool()]), discrete
    ),
    "continuous": Case(Space([Float(-5, 10), Float(-2, 2), Float(), Float(0, None)]), continuous),
    "constrained": Case(Space([Float(-5, 5), Float(-5, 5), Int(-4, 6), Bool()]), constrained),
}


class Evaluated(NamedTuple):
    """What one evaluation was."""

    x: NDArray[np.float64]
    value: float
    violation: float


def search(case: Case, optimizer: Optimizer, evaluations: int = EVALUATIONS) -> Iterator[Evaluated]:
    """Whole batches, restarts where the run has ended, until there are so many evaluations."""
    while True:
        if optimizer.stop is not None:
            optimizer.restart()
        candidates = optimizer.ask()
        told = [case.fun(c.params) for c in candidates]
        for candidate, (value, violation) in zip(candidates, told, strict=True):
            yield Evaluated(np.asarray(candidate.params), value, violation)
            evaluations -= 1
            if not evaluations:
                return
        optimizer.tell(candidates, [value for value, _ in told], [violation for _, violation in told])


def recorded(strategy: str) -> dict[str, NDArray[Any]]:
    """The runs of a strategy as rows of coordinates, value and violation, by space and seed."""
    rows = {}
    for name, case in CASES.items():
        for seed in SEEDS:
            run = search(case, Optimizer(case.space, strategy=strategy, seed=seed))
            rows[f"{name}-{seed}"] = np.array([[*e.x, e.value, e.violation] for e in run])
    return rows


def file_of(strategy: str) -> Path:
    """Where the runs of a strategy are."""
    return FOLDER / f"{strategy}.npz"


def main(names: list[str]) -> None:
    """Record anew."""
    for strategy in names or STRATEGIES:
        np.savez_compressed(file_of(strategy), **recorded(strategy))  # type: ignore[arg-type]  # a flag is another argument
        print(file_of(strategy))
