"""A record of trials: a CSV file to which each finished trial is appended at once.

A trial is named by its function, dimension, method, population and seed, and whoever asks for it again gets
the record. So a run that was stopped goes on where it was, and tables that share trials share the work.
"""

from __future__ import annotations

import csv
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import NamedTuple, TextIO

from experiments.harness import Trial, one_thread_each, progress

HEADER = ["function", "N", "method", "population", "seed", "success", "evaluations", "best"]


class Cell(NamedTuple):
    """Trials that differ in their seed alone."""

    function: str
    N: int
    method: str
    population: int


Record = dict[Cell, dict[int, Trial]]  # by seed


def read(path: Path) -> Record:
    """Every trial in the file; a line that a crash has cut off does not count."""
    record: Record = {}
    if not path.exists():
        return record
    lines = path.read_text(errors="replace").split("\n")[:-1]
    for number, row in enumerate(csv.reader(lines), 1):
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
    # Ctrl-C reaches all processes of a terminal: the workers end at once and silently; kill ends them below
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    total = cells * trials
    bar = progress(total, total - len(missing), f"{cells} cells x {trials}")
    broken = []
    with bar, _appending(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        try:
            futures = {pool.submit(run, *task): task for task in missing}
            for future in as_completed(futures):
                cell, seed = futures.pop(future)
                bar.update()
                if (error := future.exception()) is not None:
                    broken.append(f"{cell}, seed {seed}: {error!r}")
                    continue
                trial = future.result()
                best = f"{trial.best:.4g}"
                rows.writerow([*cell, seed, int(trial.success), trial.evaluations, best])
                record.setdefault(cell, {})[seed] = trial._replace(best=float(best))  # as it will be read
        except KeyboardInterrupt:
            for worker in active_children():
                worker.terminate()
            print(f"\nStopped; finished trials are in {path}. The same command goes on.", file=sys.stderr)
            raise SystemExit(130) from None
        finally:
            pool.shutdown(cancel_futures=True)
            signal.signal(signal.SIGTERM, previous)
    if broken:
        raise SystemExit("these trials broke, the others are kept:\n" + "\n".join(broken))


def _appending(path: Path) -> TextIO:
    """The file, ready for whole lines: with a header, and without a line that a crash has cut off."""
    file = path.open("a+", newline="", buffering=1)
    file.seek(0)
    text = file.read()
    file.truncate(len(text[: text.rfind("\n") + 1].encode()))
    if not text:
        file.write(",".join(HEADER) + "\n")
    return file
