"""Tuning of six models of scikit-learn within 20, 50 and 100 evaluations: mean ranks, ours and the peers.

    python -m experiments.tuning run [--seeds 20] [--methods saltus TPE random ...] [--jobs 1]
    python -m experiments.tuning show           the tables of what has been run

GPSampler and SMAC, whose points cost seconds, have 50 evaluations and 10 seeds. All run in the environment of
`experiments.small`, since SMAC wants a scikit-learn of its own and other versions give other scores. Finished
runs are kept in experiments/results/tuning.csv, and all scores in out/tuning-points.csv: a run that was
stopped goes on, and a point that was evaluated costs nothing again.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from experiments.guests import guests_run
from experiments.harness import RESULTS, markdown, publish
from experiments.record import Book
from experiments.steps import Run, best_within, fields, interval, parsed
from experiments.tuning_problems import PROBLEMS, Problem, scores
from saltus import Float, Int, Optimizer
from saltus.search.settings import MANY_PHASES

MARKS = (20, 50, 100)
SLOW = {"GPSampler": 50, "SMAC": 50}  # evaluations of what needs seconds for a point
SLOW_SEEDS = 10
METHODS = ["saltus", "TPE", "random", "GPSampler", "SMAC"]
FILE = RESULTS / "tuning.csv"

Score = Callable[[Mapping[str, Any]], float]


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


def ours(strategy: str, problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """One of our strategies: value after value."""
    optimizer = Optimizer(problem.space, strategy=strategy, seed=seed, auto_restart=True)
    while True:
        candidates = optimizer.ask()
        values = []
        for candidate in candidates:
            values.append(score(candidate.params))
            yield values[-1]
        optimizer.tell(candidates, values)


def by_optuna(method: str, problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """One of Optuna's samplers; TPE models all variables together, "TPE, default" each by itself."""
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space: dict[str, BaseDistribution] = {}
    for name, v in zip(problem.space.names or (), problem.space.variables, strict=True):
        if isinstance(v, Float):
            assert v.low is not None
            assert v.high is not None
            space[name] = FloatDistribution(v.low, v.high, log=v.log)
        elif isinstance(v, Int):
            space[name] = IntDistribution(v.low, v.high, log=v.log)
        else:
            space[name] = CategoricalDistribution([False, True])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        makers: dict[str, Callable[[], Any]] = {
            "TPE": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True),
            "TPE, default": lambda: optuna.samplers.TPESampler(seed=seed),
            "random": lambda: optuna.samplers.RandomSampler(seed=seed),
            "GPSampler": lambda: optuna.samplers.GPSampler(seed=seed, deterministic_objective=True),
        }
        sampler = makers[method]()
        study = optuna.create_study(sampler=sampler)
        while True:
            trial = study.ask(space)
            value = score(trial.params)
            study.tell(trial, value)
            yield value


def smac(problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """SMAC 3's facade for the optimisation of hyperparameters."""
    import ConfigSpace as cs
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    logging.disable(logging.CRITICAL)
    space = cs.ConfigurationSpace(seed=seed)
    for name, v in zip(problem.space.names or (), problem.space.variables, strict=True):
        if isinstance(v, Float):
            space.add(cs.Float(name, (v.low, v.high), log=v.log))
        elif isinstance(v, Int):
            space.add(cs.Integer(name, (v.low, v.high), log=v.log))
        else:
            space.add(cs.Categorical(name, ["no", "yes"]))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, deterministic=True, n_trials=SLOW["SMAC"] + 1, seed=seed, output_directory=Path(folder)
        )
        method = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False
        )
        while True:
            asked = method.ask()
            switches = {"no": False, "yes": True}
            params = {
                k: switches[v] if isinstance(v, str) else _plain(v) for k, v in dict(asked.config).items()
            }
            value = score(params)
            method.tell(asked, TrialValue(cost=value))
            yield value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def values_of(method: str, problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """An endless stream of values."""
    if method == "SMAC":
        return smac(problem, score, seed)
    if method in MANY_PHASES:
        return ours(method, problem, score, seed)
    return by_optuna(method, problem, score, seed)


def budget(method: str) -> int:
    """Evaluations of a run."""
    return SLOW.get(method, MARKS[-1])


def run_one(key: Key) -> Run:
    """One run."""
    known, evaluating = scores(), 0.0

    def score(params: Mapping[str, Any]) -> float:
        nonlocal evaluating
        begun = time.process_time()
        value = known.of(key.problem, params)
        evaluating += time.process_time() - begun
        return value

    start = time.process_time()
    stream = values_of(key.method, PROBLEMS[key.problem], score, key.seed)
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


def rank_table(record: dict[Key, Run], methods: list[str], seeds: int, marks: list[int]) -> str:
    """Mean ranks with their 95% intervals, over the problems and seeds that all of these methods have run."""
    keys = [
        (problem, seed)
        for problem in PROBLEMS
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


def value_table(record: dict[Key, Run], methods: list[str], seeds: int, mark: int) -> str:
    """The median of the best score by problem, with its interval."""
    rows = []
    for name in PROBLEMS:
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


def tables(record: dict[Key, Run], methods: list[str], seeds: int) -> str:
    """Ranks among those that have run everything, ranks among all, and scores."""
    quick = [method for method in methods if method not in SLOW]
    parts = [rank_table(record, quick, seeds, list(MARKS))]
    slow = [m for m in methods if m in SLOW and any(key.method == m for key in record)]
    if slow:
        parts.append(rank_table(record, [*quick, *slow], SLOW_SEEDS, [20, 50]))
    parts += [value_table(record, [*quick, *slow], seeds, mark) for mark in (50, 100)]
    return "\n\n".join(part for part in parts if part)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "run" and not o.here:
        words = ["--seeds", str(o.seeds), "--jobs", str(o.jobs), "--file", str(o.file)]
        guests_run("tuning", o.methods, words, besides=("SMAC",))  # for its scikit-learn
    elif o.what == "run":
        keys = [
            Key(problem, method, seed)
            for seed in range(o.seeds)
            for method in o.methods
            for problem in PROBLEMS
            if method not in SLOW or seed < SLOW_SEEDS
        ]
        BOOK.complete(keys, run_one, o.file, o.jobs)
    else:
        text = tables(BOOK.read(o.file), o.methods, o.seeds)
        if o.file == FILE:
            publish("tuning", text)
        else:
            print(text)


if __name__ == "__main__":
    main()
