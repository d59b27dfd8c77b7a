"""What the model of the objective costs, in seconds of one processor, with one BLAS thread.

    python -m experiments.model_cost [candidate] [run] [beyond]      all parts by default

candidate   milliseconds for a point that the model chooses, when it is made of as many points as it may be
run         seconds in phases that ask the model, in a whole run of 10,000 evaluations for each variable
beyond      microseconds for a generation that is beyond the model's range, with and without a model

The objective is not counted. The problems are bbob-mixint's, instance 1.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from experiments.harness import markdown, publish
from experiments.suites import problem
from experiments.tasks import CocoTask
from saltus import Optimizer
from saltus.model import MOST_POINTS
from saltus.search import model_run
from saltus.search.asking import LONGEST
from saltus.strategy import default_population

PARTS = ["candidate", "run", "beyond"]
LIMITS = {10: 10.0, 20: 20.0}  # milliseconds for a candidate, by D
RUN_LIMIT = 30.0  # seconds
FUNCTIONS = (1, 8, 15, 21)  # separable, a valley, and many minima with and without a structure
INSTANCE = 1
MEASURED = 100  # candidates
GENERATIONS = 200
clock = time.process_time


class Step(NamedTuple):
    """One ask and tell: the phase that proposed, how many points, how many were known, and seconds."""

    phase: str
    points: int
    known: int
    seconds: float


def steps(D: int, function: int, strategy: str, seed: int = 0) -> Iterator[Step]:
    """A search, ask by ask; the seconds are ours alone."""
    task = CocoTask(problem(D, function, INSTANCE), -1e30, 10**9)
    optimizer = Optimizer(task.space, strategy=strategy, seed=seed, auto_restart=True)
    while True:
        known = optimizer.evaluations
        start = clock()
        candidates = optimizer.ask()
        spent = clock() - start
        phase = type(optimizer._search.phase).__name__
        values = [task.measure(c.params)[0] for c in candidates]
        start = clock()
        optimizer.tell(candidates, values)
        yield Step(phase, len(candidates), known, spent + clock() - start)


def candidate(D: int, function: int, count: int = MEASURED, least: int = MOST_POINTS) -> list[float]:
    """Seconds for each of so many points of a model run that is kept going until the model is large."""
    usual, model_run.LEAST = model_run.LEAST, 10**6
    smallest, model_run.SMALLEST_SIDE = model_run.SMALLEST_SIDE, 0.0
    found: list[float] = []
    try:
        for step in steps(D, function, "saltus"):
            if step.known >= least and step.phase == "ModelRun":
                found += [step.seconds / step.points] * step.points
            if len(found) >= count:
                return found
    finally:
        model_run.LEAST, model_run.SMALLEST_SIDE = usual, smallest
    raise AssertionError("a search does not end")


def whole_run(D: int, function: int, per_variable: int = 10_000) -> tuple[float, float, int]:
    """Seconds in phases that ask the model and in all, and evaluations of those phases."""
    asked = total = 0.0
    evaluations = 0
    for step in steps(D, function, "saltus"):
        total += step.seconds
        if step.phase in ("ModelRun", "Asking"):
            asked += step.seconds
            evaluations += step.points
        if step.known + step.points >= per_variable * D:
            break
    return asked, total, evaluations


def beyond(D: int, function: int, strategy: str, count: int = GENERATIONS) -> float:
    """Seconds for a generation of a mixed run, the median, after more evaluations than the model looks at.

    Only generations of the default size count: others cost more, and the two searches have different ones.
    """
    found: list[float] = []
    usual = default_population(D)
    for step in steps(D, function, strategy):
        if step.known >= (LONGEST + 1) * D and step.phase == "MixedRun" and step.points == usual:
            found.append(step.seconds)
        if len(found) == count:
            break
    return statistics.median(found)


def candidate_table(dims: list[int], functions: tuple[int, ...], count: int = MEASURED) -> str:
    """Mean, median and the slowest twentieth."""
    rows = []
    for D in dims:
        for function in functions:
            found = sorted(1e3 * s for s in candidate(D, function, count))
            late = found[int(0.95 * len(found))]
            mean = statistics.fmean(found)
            cells = [f"{mean:.1f}", f"{statistics.median(found):.1f}", f"{late:.1f}"]
            rows.append([str(D), f"f{function}", *cells, f"{LIMITS[D]:g}: {_met(mean <= LIMITS[D])}"])
    header = [f"D, {MOST_POINTS} points", "function", "ms, mean", "median", "95%", "limit"]
    return markdown(header, rows)


def run_table(D: int, functions: tuple[int, ...], per_variable: int = 10_000) -> str:
    """A row for each function."""
    rows = []
    for function in functions:
        asked, total, evaluations = whole_run(D, function, per_variable)
        limit = f"{RUN_LIMIT:g}: {_met(asked <= RUN_LIMIT)}"
        rows.append([f"f{function}", f"{asked:.1f}", f"{evaluations}", f"{total:.1f}", limit])
    header = [f"{per_variable:,} D at D = {D}", "s with the model", "evaluations there", "s in all", "limit"]
    return markdown(header, rows)


def beyond_table(dims: list[int], function: int, count: int = GENERATIONS) -> str:
    """With and without the model; they take turns, and the least of three counts."""
    rows = []
    for D in dims:
        times: dict[str, list[float]] = {"saltus": [], "saltus-es": []}
        for _ in range(3):
            for strategy, found in times.items():
                found.append(1e6 * beyond(D, function, strategy, count))
        own, without = min(times["saltus"]), min(times["saltus-es"])
        rows.append([str(D), f"{own:.0f}", f"{without:.0f}", f"{own / without:.2f}"])
    return markdown(["D", "µs a generation, saltus", "saltus-es", "times"], rows)


def _met(reached: bool) -> str:
    return "yes" if reached else "no"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    o = parser.parse_args()
    if unknown := set(o.parts) - set(PARTS):
        parser.error(f"expected {', '.join(PARTS)}, got {', '.join(unknown)}")
    made: dict[str, Callable[[], str]] = {
        "candidate": lambda: candidate_table([10, 20], FUNCTIONS),
        "run": lambda: run_table(10, FUNCTIONS),
        "beyond": lambda: beyond_table([20, 80], 1),
    }
    for part in o.parts or PARTS:
        with threadpool_limits(1):
            text = made[part]()
        publish(f"model-cost-{part}", text, "model_cost")
        print(flush=True)


if __name__ == "__main__":
    main()
