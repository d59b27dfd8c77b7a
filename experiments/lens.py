"""The lens of `examples/lens`, the smallest spot after 100, 300 and 1500 evaluations: ours and the peers.

    python -m experiments.lens run [--seeds 25] [--methods saltus pycma ...] [--jobs 2]
    python -m experiments.lens show             the table of what has been run

14 variables, 5 constraints. Everybody gets the box alone, none the example's start. GPSampler and SMAC, whose
points cost seconds, have 100 evaluations and 10 seeds. Finished trials are kept in
experiments/results/lens.csv, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import math
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.guests import guests_run
from experiments.harness import RESULTS, markdown, publish
from experiments.lens_rays import LIMITS, merit, space
from experiments.record import Book
from experiments.small_peers import WANTS, solver
from experiments.solvers import Enough, Task
from experiments.steps import Run, best_within, fields, interval, parsed
from saltus import Space
from saltus._typing import FloatArray

MARKS = (100, 300, 1500)
SLOW = {"GPSampler": 100, "SMAC": 100}  # evaluations of what needs seconds for a point
SLOW_SEEDS = 10
FEW = {"NOMAD": 300}
SOFT = ", soft"
PRICE = 1000.0  # micrometres for each unit of violation, of the soft penalty
FAILED = 100.0  # violation of a lens through which a ray does not get, for peers without constraints
METHODS = [
    *("saltus", "saltus-es", "dx-nes-ici", "dx-nes-ic+leap", "dx-nes-ic", "cma-es-margin"),
    *("pycma", "CatCMAwM", "DE", "lq-CMA-ES, soft", "BiteOpt, soft", "NOMAD", "TPE", "GPSampler", "SMAC"),
]
FILE = RESULTS / "lens.csv"


class Key(NamedTuple):
    """One trial."""

    method: str
    seed: int


def _row(key: Key, run: Run) -> list[Any]:
    return [*key, *fields(run)]


def _parse(row: list[str]) -> tuple[Key, Run]:
    method, seed, *rest = row
    return Key(method, int(seed)), parsed(*rest)


BOOK = Book(["method", "seed", "evaluations", "seconds", "steps"], _row, _parse)


class LensTask(Task):
    """The lens, until the budget is spent."""

    def __init__(self, budget: int, soft: bool = False) -> None:
        """Solvers see the variables in a row; those without constraints, a hard or a soft penalty."""
        named = space()
        super().__init__(Space(list(named.variables)))
        self.names = named.names or ()
        self.budget = self.evaluations_left = budget
        self.soft = soft
        self.limits = LIMITS
        self.evaluations = 0
        self.steps: list[tuple[int, float]] = []

    def examine(self, x: FloatArray) -> tuple[float, list[float]]:
        """The spot and the constraints."""
        if self.evaluations >= self.budget:
            raise Enough
        self.evaluations += 1
        self.evaluations_left = self.budget - self.evaluations
        value, constraints = merit(dict(zip(self.names, x.tolist(), strict=True)))
        least = self.steps[-1][1] if self.steps else math.inf
        if value < least and max(constraints) <= 0:
            self.steps.append((self.evaluations, value))
        return value, constraints

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """The spot, and all that is violated added up."""
        value, constraints = self.examine(x)
        if math.isnan(value):
            return value, FAILED
        return value, sum(max(g, 0.0) for g in constraints)

    def penalised(self, places: FloatArray) -> float:
        """One number for solvers without constraints."""
        if not self.soft:
            return super().penalised(places)
        value, violation = self.measure(self.decode(places))
        return PRICE * violation + (0.0 if math.isnan(value) else value)


def budget(method: str) -> int:
    """Evaluations of a trial."""
    return {**SLOW, **FEW}.get(method, MARKS[-1])


def run_one(key: Key) -> Run:
    """One trial."""
    method = key.method.removesuffix(SOFT)
    task = LensTask(budget(method), soft=method != key.method)
    start = time.process_time()
    with suppress(Enough):
        solver(method)(task, np.random.default_rng(key.seed))
    return Run(task.evaluations, time.process_time() - start, tuple(task.steps))


def table(record: dict[Key, Run], methods: list[str], seeds: int) -> str:
    """The median of the smallest spot at each mark, with its interval."""
    rows = []
    for method in methods:
        runs = [record[key] for seed in range(seeds) if (key := Key(method, seed)) in record]
        if not runs:
            continue
        cells = []
        for mark in MARKS:
            if mark > budget(method):
                cells.append("")
                continue
            middle, low, high = interval([best_within(run, mark) for run in runs])
            cells.append(f"{_shown(middle)} ({_shown(low)}–{_shown(high)})")
        rows.append([method, str(len(runs)), *cells])
    header = ["spot, µm", "seeds", *(f"{mark} evaluations" for mark in MARKS)]
    return markdown(header, rows)


def _shown(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else "none"


def complete(o: argparse.Namespace) -> None:
    """Run what is missing; in the environment of the peers, if it is theirs."""
    guests = [m for m in o.methods if m.removesuffix(SOFT) in WANTS and not o.here]
    own = [m for m in o.methods if m not in guests]
    keys = [Key(m, seed) for seed in range(o.seeds) for m in own if m not in SLOW or seed < SLOW_SEEDS]
    BOOK.complete(keys, run_one, o.file, o.jobs)
    if guests:
        guests_run("lens", guests, ["--seeds", str(o.seeds), "--jobs", str(o.jobs), "--file", str(o.file)])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "run":
        complete(o)
    text = table(BOOK.read(o.file), o.methods, o.seeds)
    if o.what == "show" and o.file == FILE:
        publish("lens", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
