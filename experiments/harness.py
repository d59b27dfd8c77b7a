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

T = TypeVar("T")
RESULTS = Path(__file__).resolve().parent / "results"


class Trial(NamedTuple):
    """One run: whether it reached the target, after how many evaluations, and its best value."""

    success: bool
    evaluations: int
    best: float = math.nan


class Summary(NamedTuple):
    """Many runs of the same kind; evaluations of the successful ones."""

    trials: int
    successes: int
    mean: float
    half_width: float  # of the 95% confidence interval of the mean
    iqr: float  # interquartile range
    per_success: float  # evaluations of all runs, failures included, for each success

    def __str__(self) -> str:
        """Mean evaluations with its interval; successes if not all."""
        if not self.successes:
            return f"0/{self.trials}"
        text = f"{self.mean:.0f}"
        if self.successes > 1:
            text += f" ± {self.half_width:.0f}"
        return text if self.successes == self.trials else f"{text} ({self.successes}/{self.trials})"


def summary(trials: Iterable[Trial]) -> Summary:
    """The summary of some trials."""
    trials = list(trials)
    spent = np.array([t.evaluations for t in trials if t.success], dtype=float)
    n = len(spent)
    if n == 0:
        return Summary(len(trials), 0, math.nan, math.nan, math.nan, math.inf)
    half_width = 1.96 * float(spent.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    low, high = np.percentile(spent, [25, 75])
    per_success = sum(t.evaluations for t in trials) / n
    return Summary(len(trials), n, float(spent.mean()), half_width, float(high - low), per_success)


def one_thread_each() -> None:
    """One BLAS thread for each process that is started from now on."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def progress(total: int, done: int = 0, label: str = "") -> tqdm[Any]:
    """A bar of trials with the time left; in a log, a word every half minute."""
    pace = 0.1 if sys.stderr.isatty() else 30.0
    return tqdm(total=total, initial=done, unit="trial", desc=label, mininterval=pace)


def in_parallel(fun: Callable[..., T], tasks: list[tuple[Any, ...]], jobs: int) -> list[T]:
    """fun(*task) of every task, in order, with a progress bar."""
    one_thread_each()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = [pool.submit(fun, *task) for task in tasks]
        with progress(len(tasks)) as bar:
            results = []
            for future in futures:
                results.append(future.result())
                bar.update()
            return results


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


def made_by(command: str) -> str:
    """The line that says by which command a result was made, when and with which versions."""
    versions = f"saltus {saltus.__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
    return f"`{command}`, {datetime.now(UTC).date()}, {versions}"


def command_line(module: str) -> str:
    """The command that is running."""
    return " ".join(["python -m", f"experiments.{module}", *sys.argv[1:]])


def publish(name: str, text: str, module: str | None = None) -> None:
    """Print a result, and keep it in experiments/results/ with what made it."""
    (RESULTS / f"{name}.md").write_text(f"{made_by(command_line(module or name))}\n\n{text}\n")
    print(text)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
