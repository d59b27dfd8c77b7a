"""What a study costs: python -m experiments.studies scale|busy [--evaluations 100000] [--dimension 10]

scale: overhead of an evaluation, memory and opening time as the record grows, with an objective that costs
nothing. busy: the share of time that workers work, on a command that sleeps.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from saltus import Float, Int, Result, Space, Study


def bowl(p: dict[str, Any]) -> float:
    """Costs nothing; rough, so that the search goes on."""
    x = np.fromiter(p.values(), dtype=float)
    return float(np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x / 7))))


def space(dimension: int) -> Space:
    """Half floats, half integers."""
    return Space({f"x{i}": Int(-20, 20) if i % 2 else Float(-20.0, 20.0) for i in range(dimension)})


def scale(evaluations: int, dimension: int) -> None:
    """Print a table: one row for each tenth of the evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.db"
        study = Study.create(path, space(dimension), seed=1, noisy=True)
        last = [time.perf_counter(), 0]
        print("| evaluations | ms each | memory, MiB | file, MiB | opening, ms |")
        print("|---|---|---|---|---|")

        def watch(result: Result) -> None:
            if result.nfev - last[1] >= evaluations / 10:
                now = time.perf_counter()
                each = (now - last[0]) / (result.nfev - last[1]) * 1e3
                opening = opening_time(path)
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                size = path.stat().st_size / 2**20
                print(
                    f"| {result.nfev} | {each:.2f} | {memory:.0f} | {size:.0f} | {opening:.0f} |", flush=True
                )
                last[:] = [time.perf_counter(), result.nfev]

        study.optimize(bowl, budget=evaluations, callback=watch)
        for command in ("show", "export --csv", "report"):
            tick = time.perf_counter()
            words = [sys.executable, "-m", "saltus", *command.split(), str(path)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            print(f"saltus {command}: {time.perf_counter() - tick:.1f} s")


def opening_time(path: Path) -> float:
    """Milliseconds to open a record and restore its optimizer."""
    tick = time.perf_counter()
    study = Study.open(path)
    with study._reading() as record:
        study._optimizer(record)
    return (time.perf_counter() - tick) * 1e3


BUSY = """
[study]
budget = {budget}
seed = 1
[space]
{space}
[objective]
command = ["sh", "-c", "sleep {seconds}; echo $1", "sleep", "{{x0}}"]
"""


def busy(workers: int, seconds: float, budget: int, dimensions: list[int]) -> None:
    """Print a table: one row for each dimension."""
    print(f"| dimension | population | busy, {workers} workers, {seconds:g} s each |")
    print("|---|---|---|")
    for dimension in dimensions:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "study.toml"
            lines = [f'x{i} = {{ type = "float", low = -1, high = 1 }}' for i in range(dimension)]
            file.write_text(BUSY.format(budget=budget, seconds=seconds, space="\n".join(lines)))
            words = [sys.executable, "-m", "saltus", "run", str(file), "--workers", str(workers)]
            subprocess.run(words, check=True, capture_output=True)
            study = Study.open(file.with_suffix(".db"))
            print(f"| {dimension} | {study.head.population} | {busy_share(study, workers):.1%} |", flush=True)


def busy_share(study: Study, workers: int) -> float:
    """Seconds of evaluations in a study, relative to what its workers had from the first to the last."""
    spans = [
        (t.started, t.seconds) for t in study.trials() if t.started is not None and t.seconds is not None
    ]
    first, last = min(s for s, _ in spans), max(s + d for s, d in spans)
    return sum(d for _, d in spans) / (workers * (last - first))


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("scale", "busy"))
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--budget", type=int, default=120)
    options = parser.parse_args()
    if options.what == "scale":
        scale(options.evaluations, options.dimension)
    else:
        busy(options.workers, options.seconds, options.budget, [2, 3, 5, 6, 10, 20])


if __name__ == "__main__":
    main()
