"""What `patience` saves, and what it costs.

python -m experiments.patience run [--seeds 5] [--jobs 1]
python -m experiments.patience show

Eight problems, the default strategy, 100 evaluations for each of D variables. Where a patience of 10 D, 20 D
and 50 D would have ended a search follows from its history, so each search is run once. What is lost is
counted in shares of what the whole search has gained since the first ten evaluations from its first feasible
value on.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import RESULTS, markdown, publish
from experiments.known import problem
from experiments.record import Book
from saltus import minimize
from saltus.execution.patience import FIRST, Patience
from saltus.problems import ENGINEERING

FUNCTIONS = ("Rastrigin", "Rosenbrock")
DESIGNS = {made().name: made for made in ENGINEERING}
PATIENCES = (10, 20, 50)  # for each variable
BUDGET = 100  # for each variable
FILE = RESULTS / "patience.csv"


class Key(NamedTuple):
    """A search."""

    problem: str
    seed: int


class Ran(NamedTuple):
    """How many variables and evaluations there were, and evaluations and best value after each generation."""

    dimension: int
    evaluations: int
    steps: list[tuple[int, float]]


def run_one(key: Key) -> Ran:
    """A search with all its budget."""
    if key.problem in FUNCTIONS:
        space, fun, _ = problem(key.problem, key.seed)
    else:
        design = DESIGNS[key.problem]()
        space, fun = design.space, design.fun
    result = minimize(fun, space, budget=BUDGET * space.dimension, seed=key.seed)
    rows = list(
        zip(result.history.evaluations.astype(int).tolist(), result.history.best.tolist(), strict=True)
    )
    return Ran(space.dimension, result.nfev, [row for row in rows if not math.isnan(row[1])])


def ended(ran: Ran, patience: int) -> tuple[int, float]:
    """After how many evaluations this patience ends a search, and its best value then."""
    rule = Patience(patience)
    for evaluations, best in ran.steps:
        rule.told(evaluations, best)
        if rule.over:
            return evaluations, best
    return ran.evaluations, ran.steps[-1][1]


def lost(ran: Ran, best: float) -> float:
    """What is missing, as a share of all that was gained."""
    start, end = ran.steps[0][0], ran.steps[-1][1]
    level = min(value for evaluations, value in ran.steps if evaluations <= start + FIRST - 1)
    return (best - end) / (level - end) if level > end else 0.0


def table(record: dict[Key, Ran]) -> str:
    """A row for each problem: for each patience the evaluations of the whole budget, and what was lost."""
    rows = []
    for name in dict.fromkeys(key.problem for key in record):
        runs = [ran for key, ran in record.items() if key.problem == name]
        cells = [name, str(runs[0].dimension)]
        for each in PATIENCES:
            ends = [ended(ran, each * ran.dimension) for ran in runs]
            paid = np.median([n / ran.evaluations for (n, _), ran in zip(ends, runs, strict=True)])
            losses = [lost(ran, best) for (_, best), ran in zip(ends, runs, strict=True)]
            cells.append(f"{paid:.0%}, {np.median(losses):.2%} ({max(losses):.2%})")
        rows.append(cells)
    return markdown(["problem", "D", *(f"patience {each} D" for each in PATIENCES)], rows)


def _row(key: Key, ran: Ran) -> list[Any]:
    steps = " ".join(f"{n}:{best!r}" for n, best in ran.steps)
    return [*key, ran.dimension, ran.evaluations, steps]


def _parse(row: list[str]) -> tuple[Key, Ran]:
    name, seed, dimension, evaluations, steps = row
    pairs = [(int(n), float(best)) for n, best in (step.split(":") for step in steps.split())]
    return Key(name, int(seed)), Ran(int(dimension), int(evaluations), pairs)


BOOK = Book(["problem", "seed", "dimension", "evaluations", "steps"], _row, _parse)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", type=Path, default=FILE)
    o = parser.parse_args()
    if o.what == "run":
        keys = [Key(name, seed) for seed in range(o.seeds) for name in (*DESIGNS, *FUNCTIONS)]
        BOOK.complete(keys, run_one, o.file, o.jobs)
    else:
        publish("patience", table(BOOK.read(o.file)))


if __name__ == "__main__":
    main()
