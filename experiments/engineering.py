"""Engineering problems with a known best value: evaluations until within 0.1% of it, and how often.

    python -m experiments.engineering run [--trials 25] [--methods saltus-es pycma ...] [--jobs 2]
    python -m experiments.engineering show      the table of what has been run

Each trial has 20,000 evaluations, Optuna's TPE 1000 (it needs minutes for more). Finished trials are kept in
experiments/results/engineering.csv, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import math
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import RESULTS, Trial, markdown, publish, summary
from experiments.record import Book
from experiments.solvers import Enough, Task, by_name
from saltus import Space
from saltus._typing import FloatArray
from saltus.problems import ENGINEERING, Problem

WITHIN = 1e-3
BUDGET = 20_000
BUDGETS = {"TPE": 1000}
METHODS = ["saltus-es", "dx-nes-ici", "pycma", "CatCMAwM", "DE", "TPE"]
PROBLEMS = {make().name: make() for make in ENGINEERING}
FILE = RESULTS / "engineering.csv"


class Key(NamedTuple):
    """One trial."""

    problem: str
    method: str
    seed: int


def _row(key: Key, trial: Trial) -> list[Any]:
    return [*key, int(trial.success), trial.evaluations, f"{trial.best:.8g}"]


def _parse(row: list[str]) -> tuple[Key, Trial]:
    problem, method, seed, success, evaluations, best = row
    return Key(problem, method, int(seed)), Trial(bool(int(success)), int(evaluations), float(best))


BOOK = Book(["problem", "method", "seed", "success", "evaluations", "best"], _row, _parse)


class Design(Task):
    """An engineering problem that ends when it is solved, or when the budget is spent."""

    def __init__(self, problem: Problem, budget: int) -> None:
        """Solvers see the variables in a row."""
        super().__init__(Space(list(problem.space.variables)))
        self.problem = problem
        self.budget = budget
        self.target = problem.best * (1 + WITHIN)
        self.evaluations = 0
        self.best = math.inf

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """The value, and all that is violated added up."""
        if self.evaluations >= self.budget:
            raise Enough
        self.evaluations += 1
        outcome = self.problem.fun(dict(zip(self.problem.space.names or (), x, strict=True)))
        value, constraints = outcome if isinstance(outcome, tuple) else (outcome, [])
        violation = sum(max(g, 0.0) for g in constraints)
        if violation == 0:
            self.best = min(self.best, value)
            if value <= self.target:
                raise Enough
        return float(value), violation


def run_one(key: Key) -> Trial:
    """One trial."""
    task = Design(PROBLEMS[key.problem], BUDGETS.get(key.method, BUDGET))
    with suppress(Enough):
        by_name(key.method)(task, np.random.default_rng(key.seed))
    return Trial(task.best <= task.target, task.evaluations, task.best)


def table(record: dict[Key, Trial], methods: list[str], trials: int) -> str:
    """Evaluations for each success, failures included, and successes if not all."""
    rows = []
    for name in PROBLEMS:
        row = [name]
        for method in methods:
            some = [record[key] for seed in range(trials) if (key := Key(name, method, seed)) in record]
            s = summary(some)
            shares = "" if s.successes == s.trials else f" ({s.successes}/{s.trials})"
            row.append(f"{s.per_success:,.0f}{shares}" if s.successes else f"– (0/{s.trials})")
        rows.append(row)
    return markdown(["evaluations per success", *methods], rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=["saltus", *METHODS], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", type=Path, default=FILE)
    o = parser.parse_args()
    keys = [Key(p, m, seed) for seed in range(o.trials) for m in o.methods for p in PROBLEMS]
    record = BOOK.read(o.file)
    missing = [key for key in keys if key not in record]
    if missing and o.what == "run":
        BOOK.run(missing, run_one, o.file, o.jobs, len(keys))
        record = BOOK.read(o.file)
    publish("engineering", table(record, o.methods, o.trials))


if __name__ == "__main__":
    main()
