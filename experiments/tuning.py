"""Tuning of models of scikit-learn within 20, 50 and 100 evaluations: mean ranks, ours and the peers.

    python -m experiments.tuning run [--of numbers] [--seeds 20] [--methods saltus TPE random ...] [--jobs 1]
    python -m experiments.tuning show [--of numbers]           the tables of what has been run

There are six problems of `numbers` and switches, and four of `choices`, with categories and conditions.
GPSampler and SMAC, whose points cost seconds, have 50 evaluations and 10 seeds. All run in the environment of
`experiments.small`, since SMAC wants a scikit-learn of its own and other versions give other scores. Finished
runs are kept in experiments/results/tuning.csv, and all scores in out/tuning-points.csv: a run that was
stopped goes on, and a point that was evaluated costs nothing again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from experiments.guests import guests_run
from experiments.harness import RESULTS, markdown, publish
from experiments.record import Book
from experiments.steps import Run, best_within, fields, interval, parsed
from experiments.tuning_choices import CHOICES
from experiments.tuning_methods import SLOW, values_of
from experiments.tuning_problems import PROBLEMS, Problem, scores

SETS: dict[str, dict[str, Problem]] = {"numbers": PROBLEMS, "choices": CHOICES}
MARKS = (20, 50, 100)
SLOW_SEEDS = 10
METHODS = ["saltus", "TPE", "random", "GPSampler", "SMAC"]
FILE = RESULTS / "tuning.csv"


class Key(NamedTuple):
    """One run."""

    problem: str
    method: str
    seed: int


def _row(key: Key, run: Run) -> list[Any]:
    return [*key, *fields(run)]


def _parse(row: list[str]) -> tuple[Key, Run]:
    problem, method, seed, *rest = row
    return Key(problem, method, int(seed)), parsed(*rest)


BOOK = Book(["problem", "method", "seed", "evaluations", "seconds", "steps"], _row, _parse)


def budget(method: str) -> int:
    """Evaluations of a run."""
    return SLOW.get(method, MARKS[-1])


def run_one(key: Key) -> Run:
    """One run."""
    known, evaluating = scores(), 0.0
    (problem,) = (problems[key.problem] for problems in SETS.values() if key.problem in problems)

    def score(params: Mapping[str, Any]) -> float:
        nonlocal evaluating
        begun = time.process_time()
        value = known.of(key.problem, problem, params)
        evaluating += time.process_time() - begun
        return value

    start = time.process_time()
    stream = values_of(key.method, problem, score, key.seed)
    values = list(islice(stream, budget(key.method)))
    steps = [
        (at, value)
        for at, value in enumerate(values, 1)
        if value < min(values[: at - 1], default=float("inf"))
    ]
    return Run(len(values), time.process_time() - start - evaluating, tuple(steps))


def ranks(record: dict[Key, Run], methods: list[str], keys: list[tuple[str, int]], mark: int) -> Any:
    """A row for each problem and seed: the place of each method among them, equals sharing theirs."""
    best = [
        [best_within(record[Key(problem, method, seed)], mark) for method in methods]
        for problem, seed in keys
    ]
    return rankdata(np.round(best, 10), axis=1)


Names = Collection[str]  # of problems


def rank_table(
    record: dict[Key, Run], problems: Names, methods: list[str], seeds: int, marks: list[int]
) -> str:
    """Mean ranks with their 95% intervals, over the problems and seeds that all of these methods have run."""
    keys = [
        (problem, seed)
        for problem in problems
        for seed in range(seeds)
        if all(Key(problem, method, seed) in record for method in methods)
    ]
    if not keys:
        return ""
    rows: list[list[str]] = [[method] for method in methods]
    for mark in marks:
        table = ranks(record, methods, keys, mark)
        half = 1.96 * table.std(axis=0, ddof=len(table) > 1) / np.sqrt(len(table))
        for row, mean, width in zip(rows, table.mean(axis=0), half, strict=True):
            row.append(f"{mean:.2f} ± {width:.2f}")
    header = [f"mean rank of {len(methods)}, {len(keys)} runs", *(f"{mark} evaluations" for mark in marks)]
    return markdown(header, rows)


def value_table(record: dict[Key, Run], problems: Names, methods: list[str], seeds: int, mark: int) -> str:
    """The median of the best score by problem, with its interval."""
    rows = []
    for name in problems:
        row = [name]
        for method in methods:
            runs = [record[key] for seed in range(seeds) if (key := Key(name, method, seed)) in record]
            if not runs or mark > budget(method):
                row.append("")
                continue
            middle, low, high = interval([best_within(run, mark) for run in runs])
            row.append(f"{middle:.4f} ({low:.4f}–{high:.4f})")
        rows.append(row)
    return markdown([f"best of {mark} evaluations", *methods], rows)


def tables(record: dict[Key, Run], problems: Names, methods: list[str], seeds: int) -> str:
    """Ranks among those that have run everything, ranks among all, and scores."""
    quick = [method for method in methods if method not in SLOW]
    parts = [rank_table(record, problems, quick, seeds, list(MARKS))]
    slow = [
        m for m in methods if m in SLOW and any(key.method == m and key.problem in problems for key in record)
    ]
    if slow:
        parts.append(rank_table(record, problems, [*quick, *slow], SLOW_SEEDS, [20, 50]))
    parts += [value_table(record, problems, [*quick, *slow], seeds, mark) for mark in (50, 100)]
    return "\n\n".join(part for part in parts if part)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--of", choices=SETS, default="numbers", help="which problems")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "run" and not o.here:
        words = ["--of", o.of, "--seeds", str(o.seeds), "--jobs", str(o.jobs), "--file", str(o.file)]
        guests_run("tuning", o.methods, words, besides=("SMAC",))  # for its scikit-learn
    elif o.what == "run":
        keys = [
            Key(problem, method, seed)
            for seed in range(o.seeds)
            for method in o.methods
            for problem in SETS[o.of]
            if method not in SLOW or seed < SLOW_SEEDS
        ]
        BOOK.complete(keys, run_one, o.file, o.jobs)
    else:
        text = tables(BOOK.read(o.file), SETS[o.of], o.methods, o.seeds)
        if o.file == FILE:
            publish("tuning" if o.of == "numbers" else f"tuning-{o.of}", text, "tuning")
        else:
            print(text)


if __name__ == "__main__":
    main()
