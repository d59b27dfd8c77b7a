"""Records of trials: CSV files to which each finished trial is appended at once.

A trial is named by a key (such as function, dimension, method and seed), and whoever asks for it again gets
the record. So a run that was stopped goes on where it was, and tables that share trials share the work.
"""

from __future__ import annotations

import csv
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from types import FrameType
from typing import Any, Generic, NamedTuple, Protocol, TextIO, TypeVar

from experiments.harness import Trial, one_thread_each, progress

K = TypeVar("K")
R = TypeVar("R")


@dataclass(frozen=True)
class Book(Generic[K, R]):
    """How trials of one kind are written: a header, and rows from and to key and outcome."""

    header: list[str]
    row: Callable[[K, R], list[Any]]
    parse: Callable[[list[str]], tuple[K, R]]  # a ValueError means: not such a row

    def read(self, path: Path) -> dict[K, R]:
        """Every trial in the file; a line that a crash has cut off does not count."""
        if not path.exists():
            return {}
        record = {}
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        for number, row in enumerate(csv.reader(lines), 1):
            if row == self.header:
                continue
            try:
                key, outcome = self.parse(row)
            except ValueError:
                raise SystemExit(
                    f"{path}, line {number}: expected {','.join(self.header)}, got {','.join(row)!r}; "
                    "remove the line, or the file to begin anew"
                ) from None
            record[key] = outcome
        return record

    def complete(self, keys: list[K], run: Callable[[K], R], path: Path, jobs: int) -> None:
        """Run those of these trials that are not in the file."""
        record = self.read(path)
        missing = [key for key in keys if key not in record]
        if missing:
            self.run(missing, run, path, jobs, len(keys))

    def run(self, missing: list[K], run: Callable[[K], R], path: Path, jobs: int, total: int) -> None:
        """Run these trials, and append each to the file when it is done."""
        path.parent.mkdir(parents=True, exist_ok=True)
        one_thread_each()
        # Ctrl-C reaches all processes of a terminal: the workers end at once and silently; kill ends them
        # below
        pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
        stopped: list[int] = []

        def stop(number: int, frame: FrameType | None) -> None:
            stopped.append(number)  # an exception can get lost, if it comes in a callback of the pool
            raise KeyboardInterrupt

        previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        bar = progress(total, total - len(missing))
        broken = []
        with bar, _appending(path, self.header) as file:
            rows = csv.writer(file, lineterminator="\n")
            try:
                futures = {pool.submit(run, key): key for key in missing}
                for future in as_completed(futures):
                    key = futures.pop(future)
                    bar.update()
                    if (error := future.exception()) is not None:
                        if stopped:
                            raise KeyboardInterrupt
                        broken.append(f"{key}: {error!r}")
                    else:
                        rows.writerow(self.row(key, future.result()))
            except KeyboardInterrupt:
                for worker in active_children():
                    worker.terminate()
                print(f"\nStopped; finished trials are in {path}. The same command goes on.", file=sys.stderr)
                raise SystemExit(130) from None
            finally:
                pool.shutdown(cancel_futures=True)
                for number, handler in previous.items():
                    signal.signal(number, handler)
        if broken:
            raise SystemExit("these trials broke, the others are kept:\n" + "\n".join(broken))


class Lengthy(Protocol):
    """The outcome of a run that could have been longer."""

    @property
    def budget(self) -> int:
        """How long it was."""


L = TypeVar("L", bound=Lengthy)


def longest(book: Book[tuple[K, int], L], path: Path) -> dict[K, L]:
    """The longest run of each kind in a file of runs with budgets."""
    record: dict[K, L] = {}
    for (key, _), run in book.read(path).items():
        if key not in record or run.budget > record[key].budget:
            record[key] = run
    return record


def lengthen(
    book: Book[tuple[K, int], L],
    keys: list[K],
    budget: int,
    run: Callable[[tuple[K, int]], L],
    path: Path,
    jobs: int,
) -> None:
    """Run those of these that are not in the file, or not with so large a budget."""
    record = longest(book, path)
    missing = [(key, budget) for key in keys if key not in record or record[key].budget < budget]
    if missing:
        book.run(missing, run, path, jobs, len(keys))


def _appending(path: Path, header: list[str]) -> TextIO:
    """The file, ready for whole lines: with a header, and without a line that a crash has cut off."""
    file = path.open("a+", encoding="utf-8", newline="", buffering=1)
    file.seek(0)
    text = file.read()
    file.truncate(len(text[: text.rfind("\n") + 1].encode()))
    if not text:
        file.write(",".join(header) + "\n")
    return file


class Cell(NamedTuple):
    """Trials of the paper's experiment that differ in their seed alone."""

    function: str
    N: int
    method: str
    population: int


Record = dict[Cell, dict[int, Trial]]  # by seed
HEADER = ["function", "N", "method", "population", "seed", "success", "evaluations", "best"]


def _row(key: tuple[Cell, int], trial: Trial) -> list[Any]:
    cell, seed = key
    return [*cell, seed, int(trial.success), trial.evaluations, f"{trial.best:.4g}"]


def _parse(row: list[str]) -> tuple[tuple[Cell, int], Trial]:
    function, N, method, population, seed, success, evaluations, best = row
    cell = Cell(function, int(N), method, int(population))
    return (cell, int(seed)), Trial(bool(int(success)), int(evaluations), float(best))


_TRIALS = Book(HEADER, _row, _parse)


@dataclass(frozen=True)
class _OfCell:
    """run(cell, seed) as a function of the key; a class, since it is sent to other processes."""

    run: Callable[[Cell, int], Trial]

    def __call__(self, key: tuple[Cell, int]) -> Trial:
        return self.run(*key)


def read(path: Path) -> Record:
    """Every trial of the paper's experiment in the file."""
    record: Record = {}
    for (cell, seed), trial in _TRIALS.read(path).items():
        record.setdefault(cell, {})[seed] = trial
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
        _TRIALS.run(missing, _OfCell(run), path, jobs, len(cells) * trials)
        record = read(path)
    return {cell: {seed: record[cell][seed] for seed in range(trials)} for cell in cells}
