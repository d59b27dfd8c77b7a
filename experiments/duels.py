"""Runs that are judged by one value after so many evaluations: of two the lower one wins, equal ones half.

The values are the best feasible ones of bbob-constrained, and those of bbob-noisy that a method recommends.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import markdown
from experiments.noise import KINDS, MULTIMODAL, SEVERE, kind
from experiments.record import Book, longest
from experiments.small_peers import solver
from experiments.solvers import Enough
from experiments.suites import CONSTRAINED, NOISY, SUITES, Key, problem, wanted
from experiments.tasks import BUDGETS, ConstrainedTask, NoisyTask

OBJECTIVES = ("sphere", "ellipsoid", "linear slope", "rotated ellipsoid", "discus", "bent cigar",
              "different powers", "Rastrigin", "rotated Rastrigin")  # of bbob-constrained  # fmt: skip


class Run(NamedTuple):
    """The budget, in evaluations for each variable, seconds, and the values at `BUDGETS`."""

    budget: int
    seconds: float
    values: tuple[float, ...]


def _row(keyed: tuple[Key, int], run: Run) -> list[Any]:
    return [*keyed[0], run.budget, f"{run.seconds:.2f}", " ".join(map(repr, run.values))]


def _parse(row: list[str]) -> tuple[tuple[Key, int], Run]:
    method, *numbers, budget, seconds, values = row
    D, function, instance, seed = map(int, numbers)
    run = Run(int(budget), float(seconds), tuple(map(float, values.split())))
    return (Key(method, D, function, instance, seed), run.budget), run


BOOK: Book[Any, Run] = Book(
    ["method", "D", "function", "instance", "seed", "budget", "seconds", "values"], _row, _parse
)


def run_one(keyed: tuple[Key, int], suite: str) -> Run:
    """One run, to the end of its budget."""
    key, budget = keyed
    numbers = [key.D, key.function, key.instance, key.seed]
    task: ConstrainedTask | NoisyTask
    if suite == NOISY:
        # methods meet the same noise in the same order
        noise = np.random.default_rng([*numbers, 1])
        task = NoisyTask(key.D, key.function, key.instance, budget * key.D, noise)
    else:
        task = ConstrainedTask(problem(key.D, key.function, key.instance, suite), budget * key.D)
    start = time.perf_counter()
    with suppress(Enough):
        solver(key.method)(task, np.random.default_rng(numbers))
    return Run(budget, time.perf_counter() - start, task.values())


def read(path: Path) -> dict[Key, Run]:
    """The longest run of each kind in the file."""
    return longest(BOOK, path)


def ahead(own: float, other: float) -> float:
    """1 if the first of two values is lower, one half if they are equal, else 0."""
    return 0.5 if own == other else float(own < other)


class Share(NamedTuple):
    """Of some problems those in which one method is ahead of another, and how many problems there are."""

    share: float
    problems: int

    def __str__(self) -> str:
        """Two digits, and which they are a share of."""
        return f"{self.share:.2f} ({self.problems})" if self.problems else ""


def duel(record: dict[Key, Run], keys: list[Key], other: str, place: int) -> Share:
    """Runs of one method against the same of another, after `BUDGETS[place]`."""
    won = []
    for key in keys:
        own, peer = record.get(key), record.get(key._replace(method=other))
        if own is not None and peer is not None and min(len(own.values), len(peer.values)) > place:
            won.append(ahead(own.values[place], peer.values[place]))
    return Share(float(np.mean(won)) if won else math.nan, len(won))


def table(record: dict[Key, Run], o: argparse.Namespace, D: int, suite: str) -> str:
    """Shares of problems won by the first of the methods against each other one, and what each has found."""
    first, *others = o.methods
    keys = [key for key in wanted(o, [first]) if key.D == D]
    places = [i for i, b in enumerate(BUDGETS) if b <= o.budget]
    rows = [
        [f"{first} ahead of {other}", *(str(duel(record, keys, other, i)) for i in places), ""]
        for other in others
    ]
    label, show = FOUND[SUITES[suite].measure]
    for method in o.methods:
        runs = [record[k] for key in keys if (k := key._replace(method=method)) in record]
        if not runs:
            continue
        cells = []
        for i in places:
            values = [run.values[i] for run in runs if len(run.values) > i]
            cells.append(show(values) if values else "")
        spent = sum(run.seconds for run in runs) / sum(run.budget * D for run in runs)
        rows.append([f"{label}: {method}", *cells, f"{1e3 * spent:.1f}"])
    header = [f"D = {D}", *(f"{BUDGETS[i]} D" for i in places), "ms per evaluation"]
    return markdown(header, rows)


def _feasible(values: list[float]) -> str:
    return f"{np.mean(np.isfinite(values)):.2f}"


def _median(values: list[float]) -> str:
    return f"{np.median(values):.2g}"


FOUND: dict[str, tuple[str, Callable[[list[float]], str]]] = {
    "feasible": ("something feasible", _feasible),
    "noise-free": ("above the optimum, median", _median),
}


def groups(suite: str) -> dict[str, set[int]]:
    """Functions of a suite that belong together, by what they have in common."""
    functions = SUITES[suite].functions
    if suite == CONSTRAINED:
        kinds = {name: {6 * i + j + 1 for j in range(6)} for i, name in enumerate(OBJECTIVES)}
        return kinds | {
            f"constraints: the {j + 1}. number": {6 * i + j + 1 for i in range(9)} for j in range(6)
        }
    kinds = {f"{name} noise": {f for f in functions if kind(f) == name} for name in KINDS}
    return kinds | {
        "moderate noise": {f for f in functions if f < SEVERE},
        "severe noise": {f for f in functions if SEVERE <= f < MULTIMODAL},
        "severe noise, many optima": {f for f in functions if f >= MULTIMODAL},
    }


def functions(record: dict[Key, Run], o: argparse.Namespace, suite: str) -> str:
    """The same for each group of functions, at one budget."""
    first, *others = o.methods
    place = BUDGETS.index(o.at)
    rows = []
    for label, members in groups(suite).items():
        row = [label]
        for D in o.dims:
            keys = [key for key in wanted(o, [first]) if key.D == D and key.function in members]
            row += [str(duel(record, keys, other, place)) for other in others]
        rows.append(row)
    return markdown([f"at {o.at} D", *(f"{m}, D = {D}" for D in o.dims for m in others)], rows)
