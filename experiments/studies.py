"""What a study costs: python -m experiments.studies scale|wide|busy [--evaluations 100000] [--dimension 10]

scale: overhead of an evaluation, memory and opening time as the record grows, with an objective that costs
nothing. wide: the same in up to 1000 variables, and with a strategy that has a matrix. busy: the share of
time that workers work, on a command that sleeps.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import markdown, publish
from saltus import Float, Int, Result, Space, Study


def bowl(p: dict[str, Any]) -> float:
    """Costs nothing; rough, so that the search goes on."""
    x = np.fromiter(p.values(), dtype=float)
    return float(np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x / 7))))


def space(dimension: int) -> Space:
    """Half floats, half integers."""
    return Space({f"x{i}": Int(-20, 20) if i % 2 else Float(-20.0, 20.0) for i in range(dimension)})


def scale(evaluations: int, dimension: int) -> None:
    """A table: one row for each tenth of the evaluations."""
    head = ["evaluations", "ms each", "memory, MiB", "population", "file, MiB", "opening, ms"]
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.db"
        study = Study.create(path, space(dimension), strategy="saltus-es", seed=1, noisy=True)
        last = [time.perf_counter(), 0]

        def watch(result: Result) -> None:
            done = result.nfev - last[1]
            if done >= evaluations / 10 or result.nfev >= evaluations:
                each = (time.perf_counter() - last[0]) / done * 1e3
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                opening, population = opening_time(path)
                size = path.stat().st_size / 2**20
                rows.append(
                    [
                        f"{result.nfev}",
                        f"{each:.2f}",
                        f"{memory:.0f}",
                        f"{population}",
                        f"{size:.0f}",
                        f"{opening:.0f}",
                    ]
                )
                print(rows[-1], flush=True)
                last[:] = [time.perf_counter(), result.nfev]

        study.optimize(bowl, budget=evaluations, callback=watch)
        lines = []
        for command in ("show", "export --csv", "report"):
            tick = time.perf_counter()
            words = [sys.executable, "-m", "saltus", *command.split(), str(path)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            lines.append(f"`saltus {command}` at the end: {time.perf_counter() - tick:.1f} s.")
    publish("study-scale", f"{markdown(head, rows)}\n\n{' '.join(lines)}", "studies")


def wide(evaluations: int, cases: list[tuple[str, int]]) -> None:
    """A table: one row for each case. Reopened just before the longest state would be written again."""
    head = ["strategy", "variables", "ms each", "KiB written each", "state, MiB", "reopening, s"]
    rows: list[list[str]] = []
    for strategy, dimension in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "wide.db"
            study = Study.create(path, space(dimension), strategy=strategy, seed=1, noisy=True)
            before, seconds, opening = written(), 0.0, 0.0
            for budget in (evaluations, evaluations * 11 // 10):
                if seconds:
                    opening = cpu_seconds(partial(opening_time, path))
                seconds += cpu_seconds(partial(study.optimize, bowl, budget=budget))
            each, size = seconds / budget * 1e3, (written() - before) / budget / 1024
            with study._reading() as record:
                state = len(record.state()[1]) / 2**20
            figures = [f"{each:.1f}", f"{size:.0f}", f"{state:.2f}", f"{opening:.2f}"]
            rows.append([f"`{strategy}`", f"{dimension}", *figures])
            print(rows[-1], flush=True)
    publish("study-wide", markdown(head, rows), "studies")


def cpu_seconds(what: Callable[[], object]) -> float:
    """What one processor needs for it."""
    tick = time.process_time()
    what()
    return time.process_time() - tick


def written() -> int:
    """Bytes that this process has written so far, to whatever file."""
    lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


def opening_time(path: Path) -> tuple[float, int]:
    """Milliseconds to open a record and restore its optimizer; and the optimizer's population."""
    tick = time.perf_counter()
    study = Study.open(path)
    with study._reading() as record:
        optimizer, _ = study._optimizer(record)
    return (time.perf_counter() - tick) * 1e3, optimizer.population


BUSY = """
[study]
budget = {budget}
strategy = "saltus-es"
seed = 1
[space]
{space}
[objective]
command = ["sh", "-c", "sleep {seconds}; echo $@ | awk -f {folder}/bowl.awk", "bowl", {values}]
"""


BOWL = "{ for (i = 1; i <= NF; i++) sum += ($i - 0.3) ^ 2; print sum }\n"


def busy(workers: int, seconds: float, budget: int, dimensions: list[int]) -> None:
    """A table: one row for each dimension."""
    rows = []
    for dimension in dimensions:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "study.toml"
            lines = [f'x{i} = {{ type = "float", low = -1, high = 1 }}' for i in range(dimension)]
            values = ", ".join(f'"{{x{i}}}"' for i in range(dimension))
            options = {"budget": budget, "seconds": seconds, "folder": folder, "values": values}
            file.write_text(BUSY.format(space="\n".join(lines), **options))
            (Path(folder) / "bowl.awk").write_text(BOWL)
            words = [sys.executable, "-m", "saltus", "run", str(file), "--workers", str(workers)]
            subprocess.run(words, check=True, capture_output=True)
            study = Study.open(file.with_suffix(".db"))
            rows.append([f"{dimension}", f"{study.head.population}", f"{busy_share(study, workers):.1%}"])
    table = markdown(["variables", "population", f"busy, {workers} workers, {seconds:g} s"], rows)
    publish(f"study-busy-{budget}", table, "studies")


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
    parser.add_argument("what", choices=("scale", "wide", "busy"))
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--budget", type=int, default=120)
    options = parser.parse_args()
    if options.what == "scale":
        scale(options.evaluations, options.dimension)
    elif options.what == "wide":
        cases = [("saltus-es", dimension) for dimension in (10, 100, 300, 1000)]
        wide(min(options.evaluations, 2100), [*cases, ("dx-nes-ici", 300), ("dx-nes-ici", 1000)])
    else:
        busy(options.workers, options.seconds, options.budget, [2, 3, 5, 6, 10, 20])


if __name__ == "__main__":
    main()
