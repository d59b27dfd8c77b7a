"""Engineering problems with a known best value: evaluations until within 0.1% of it, and how often.

    python -m experiments.engineering run [--trials 25] [--methods saltus pycma ...] [--jobs 2]
    python -m experiments.engineering show      the tables of what has been run

Each trial has 20,000 evaluations, Optuna's TPE and NOMAD 1000 (they need minutes for more). Finished trials
are kept in experiments/results/engineering.csv, and a run that was stopped goes on. "NAME, soft" gives a peer
without constraints of its own another penalty: the value plus ten times the best known one for each unit of
violation. BiteOpt and NOMAD run in the environment of `experiments.small`.
"""

from __future__ import annotations

import argparse
import math
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.guests import guests_run
from experiments.harness import RESULTS, Trial, markdown, publish, summary
from experiments.record import Book
from experiments.small_peers import WANTS, solver
from experiments.solvers import Enough, Task
from saltus import Space
from saltus._typing import FloatArray
from saltus.problems import ENGINEERING, Problem

WITHIN = 1e-3
BUDGET = 20_000
SMALL = 1000
BUDGETS = {"TPE": SMALL, "NOMAD": SMALL}
SOFT = ", soft"
PRICE = 10.0  # of the soft penalty, in units of the best known value
METHODS = [
    *(
        "saltus",
        "saltus-es",
        "dx-nes-ici",
        "pycma",
        "CatCMAwM",
        "DE",
        "lq-CMA-ES, soft",
        "BiteOpt, soft",
        "NOMAD",
        "TPE",
    )
]
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

    def __init__(self, problem: Problem, budget: int, soft: bool = False) -> None:
        """Solvers see the variables in a row; those without constraints, a hard or a soft penalty."""
        super().__init__(Space(list(problem.space.variables)))
        self.problem = problem
        self.budget = self.evaluations_left = budget
        self.soft = soft
        self.limits = len(self._parts(self.decode(self.low))[1])
        self.target = problem.best * (1 + WITHIN)
        self.evaluations = 0
        self.best = math.inf

    def _parts(self, x: FloatArray) -> tuple[float, list[float]]:
        outcome = self.problem.fun(dict(zip(self.problem.space.names or (), x, strict=True)))
        return outcome if isinstance(outcome, tuple) else (float(outcome), [])

    def examine(self, x: FloatArray) -> tuple[float, list[float]]:
        """The value and the constraints."""
        if self.evaluations >= self.budget:
            raise Enough
        self.evaluations += 1
        self.evaluations_left = self.budget - self.evaluations
        value, constraints = self._parts(x)
        if not any(g > 0 for g in constraints):
            self.best = min(self.best, value)
            if value <= self.target:
                raise Enough
        return float(value), constraints

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """The value, and all that is violated added up."""
        value, constraints = self.examine(x)
        return value, sum(max(g, 0.0) for g in constraints)

    def penalised(self, places: FloatArray) -> float:
        """One number for solvers without constraints."""
        if not self.soft:
            return super().penalised(places)
        value, violation = self.measure(self.decode(places))
        return value + PRICE * self.problem.best * violation


def run_one(key: Key) -> Trial:
    """One trial."""
    method = key.method.removesuffix(SOFT)
    task = Design(PROBLEMS[key.problem], BUDGETS.get(method, BUDGET), soft=method != key.method)
    with suppress(Enough):
        solver(method)(task, np.random.default_rng(key.seed))
    return Trial(task.best <= task.target, task.evaluations, task.best)


def table(record: dict[Key, Trial], methods: list[str], trials: int) -> str:
    """Evaluations for each success, failures included, and successes if not all."""
    rows = []
    for name in PROBLEMS:
        row = [name]
        for method in methods:
            some = _of(record, name, method, trials)
            s = summary(some)
            shares = "" if s.successes == s.trials else f" ({s.successes}/{s.trials})"
            row.append(f"{s.per_success:,.0f}{shares}" if s.successes else f"– (0/{s.trials})")
        rows.append(row)
    return markdown(["evaluations per success", *methods], rows)


def successes(record: dict[Key, Trial], methods: list[str], trials: int, within: int) -> str:
    """How many trials have succeeded within so many evaluations; the best of each row is bold."""
    rows = []
    for name in PROBLEMS:
        counts = []
        for method in methods:
            some = _of(record, name, method, trials)
            counts.append((sum(t.success and t.evaluations <= within for t in some), len(some)))
        most = max(count / max(total, 1) for count, total in counts)
        cells = [f"{count}/{total}" for count, total in counts]
        best = [count > 0 and count / total == most for count, total in counts]
        rows.append([name, *(f"**{c}**" if b else c for c, b in zip(cells, best, strict=True))])
    return markdown([f"successes within {within:,}", *methods], rows)


def _of(record: dict[Key, Trial], name: str, method: str, trials: int) -> list[Trial]:
    return [record[key] for seed in range(trials) if (key := Key(name, method, seed)) in record]


def complete(o: argparse.Namespace) -> None:
    """Run what is missing; in the environment of the peers, if it is theirs."""
    guests = [m for m in o.methods if m.removesuffix(SOFT) in WANTS and not o.here]
    own = [m for m in o.methods if m not in guests]
    keys = [Key(p, m, seed) for seed in range(o.trials) for m in own for p in o.problems]
    BOOK.complete(keys, run_one, o.file, o.jobs)
    if guests:
        words = ["--trials", str(o.trials), "--jobs", str(o.jobs), "--file", str(o.file)]
        guests_run("engineering", guests, [*words, "--problems", *o.problems])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "run":
        complete(o)
    record = BOOK.read(o.file)
    methods = [m for m in o.methods if any(key.method == m for key in record)]
    wide = [m for m in methods if BUDGETS.get(m, BUDGET) == BUDGET]
    tables = [table(record, methods, o.trials), successes(record, methods, o.trials, SMALL)]
    tables.append(successes(record, wide, o.trials, BUDGET))
    if o.what == "show" and o.file == FILE:
        publish("engineering", "\n\n".join(tables))
    else:
        print("\n\n".join(tables))


if __name__ == "__main__":
    main()
