"""A record of trials: a CSV file to which each finished trial is appended at once.

A trial is named by its function, dimension, method, population and seed, and whoever asks for it again gets
the record. So a run that was stopped goes on where it was, and tables that share trials share the work.
"""

from __future__ import annotations

import csv
import os
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tqdm.auto import tqdm

from experiments.harness import Trial, one_thread_each

HEADER = ["function", "N", "method", "population", "seed", "success", "evaluations", "best"]


class Cell(NamedTuple):
    """Trials that differ in their seed alone."""

    function: str
    N: int
    method: str
    population: int


Record = dict[Cell, dict[int, Trial]]  # by seed


def read(path: Path) -> Record:
    """Every trial in the file; the rest of a line that was cut off by a crash is removed from it."""
    record: Record = {}
    if not path.exists():
        return record
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        os.truncate(path, len(whole.encode()))
    for number, row in enumerate(csv.reader(whole.splitlines()), 1):
        if row == HEADER:
            continue
        try:
            function, N, method, population, seed, success, evaluations, best = row
            cell = Cell(function, int(N), method, int(population))
            trial = Trial(bool(int(success)), int(evaluations), float(best))
            record.setdefault(cell, {})[int(seed)] = trial
        except ValueError:
            raise SystemExit(
                f"{path}, line {number}: expected {','.join(HEADER)}, got {','.join(row)!r}; "
                "remove the line, or the file to begin anew"
            ) from None
    return record


def complete(
    cells: Iterable[Cell], trials: int, run: Callable[[Cell, int], Trial], path: Path, jobs: int
) -> Record:
    """The record of seeds 0 ... trials - 1 of these cells; what is missing is run now."""
    cells = list(dict.fromkeys(cells))
    record = read(path)
    # all cells of a seed before the next seed: the time left can be told, and a part is a fair sample
    missing = [(cell, seed) for seed in range(trials) for cell in cells if seed not in record.get(cell, {})]
    if missing:
        _run(missing, len(cells), trials, run, path, jobs, record)
    return {cell: {seed: record[cell][seed] for seed in range(trials)} for cell in cells}


def _run(
    missing: list[tuple[Cell, int]],
    cells: int,
    trials: int,
    run: Callable[[Cell, int], Trial],
    path: Path,
    jobs: int,
    record: Record,
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    one_thread_each()
    total = cells * trials
    # Ctrl-C reaches all processes of a terminal: the workers end at once and silently
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
    bar = tqdm(total=total, initial=total - len(missing), unit="trial", desc=f"{cells} cells x {trials}")
    with bar, path.open("a", newline="", buffering=1) as file:
        rows = csv.writer(file, lineterminator="\n")
        if not file.tell():
            rows.writerow(HEADER)
        try:
            futures = {pool.submit(run, *task): task for task in missing}
            for future in as_completed(futures):
                cell, seed = futures.pop(future)
                trial = future.result()
                rows.writerow([*cell, seed, int(trial.success), trial.evaluations, f"{trial.best:.4g}"])
                record.setdefault(cell, {})[seed] = trial
                bar.update()
        except KeyboardInterrupt:
            print(f"\nStopped; finished trials are in {path}. The same command goes on.", file=sys.stderr)
            raise SystemExit(130) from None
        finally:
            pool.shutdown(cancel_futures=True)
