"""What the experiments share: trials in parallel, one BLAS thread each, and a summary of a cell."""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from tqdm.auto import tqdm

import saltus
from saltus import Stop
from saltus.problems import Problem

T = TypeVar("T")
RESULTS = Path(__file__).parent / "results"


class Trial(NamedTuple):
    """One run: whether it reached the target, and after how many evaluations."""

    success: bool
    evaluations: int


class Cell(NamedTuple):
    """Many runs of the same kind; evaluations of the successful ones."""

    trials: int
    successes: int
    mean: float
    half_width: float  # of the 95% confidence interval of the mean

    def __str__(self) -> str:
        """Mean evaluations with its interval; successes if not all."""
        if not self.successes:
            return f"0/{self.trials}"
        text = f"{self.mean:.0f} ± {self.half_width:.0f}"
        return text if self.successes == self.trials else f"{text} ({self.successes}/{self.trials})"


def summary(trials: Iterable[Trial]) -> Cell:
    """The cell of some trials."""
    trials = list(trials)
    spent = [t.evaluations for t in trials if t.success]
    n = len(spent)
    mean = sum(spent) / n if n else math.nan
    variance = sum((s - mean) ** 2 for s in spent) / (n - 1) if n > 1 else math.nan
    return Cell(len(trials), n, mean, 1.96 * math.sqrt(variance / n) if n > 1 else math.nan)


def paper_trial(problem: Problem, population: int, *, seed: int, **options: Any) -> Trial:
    """One run of the paper's experiment: its first mean, sigma = 1, target 1e-10, budget N * 10^4."""
    rng = np.random.default_rng(seed)
    optimizer = saltus.Optimizer(
        problem.space, population=population, mean=problem.start(rng), sigma=1.0, seed=rng, **options
    )
    while optimizer.evaluations < problem.space.dimension * 10**4 and optimizer.stop is not Stop.CONDITION:
        candidates = optimizer.ask()
        values = problem.fun(np.array([c.params for c in candidates])).tolist()
        optimizer.tell(candidates, values)
        if min(values) < 1e-10:
            return Trial(True, optimizer.evaluations)
    return Trial(False, optimizer.evaluations)


def in_parallel(fun: Callable[..., T], tasks: list[tuple[Any, ...]], jobs: int) -> list[T]:
    """fun(*task) of every task, in order, with a progress bar."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for the processes that are started now
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = [pool.submit(fun, *task) for task in tasks]
        return [f.result() for f in tqdm(futures, unit="trial", leave=False)]


def options(doc: str | None, trials: int, dims: list[int] | None = None) -> argparse.Namespace:
    """The command line that the experiments share."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=trials)
    if dims is not None:
        parser.add_argument("--dims", type=int, nargs="+", default=dims)
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def cells_of(
    trial: Callable[..., T], cells: list[tuple[Any, ...]], arguments: argparse.Namespace
) -> dict[tuple[Any, ...], list[T]]:
    """For each cell, trial(*cell, seed) for all seeds."""
    tasks = [(*cell, seed) for cell in cells for seed in range(arguments.trials)]
    results = iter(in_parallel(trial, tasks, arguments.jobs))
    return {cell: [next(results) for _ in range(arguments.trials)] for cell in cells}


def publish(name: str, text: str) -> None:
    """Print a result, and keep it in experiments/results/ with what made it."""
    made_by = " ".join(["python -m", f"experiments.{name}", *sys.argv[1:]])
    versions = f"saltus {saltus.__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
    today = datetime.now(UTC).date()
    (RESULTS / f"{name}.md").write_text(f"`{made_by}`, {today}, {versions}\n\n{text}\n")
    print(text)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
