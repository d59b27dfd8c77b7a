"""What known points and past data are worth, and that bad ones do no harm.

python -m experiments.known run [--seeds 10] [--jobs 1]
python -m experiments.known show

Five functions of 5 variables, each with its optimum at ten random places: 50 problems, the default strategy.
They are no quadratics: of those the default finds the bottom within 5 D evaluations, and nothing is left to
be saved. A good point is near the optimum (0.3 away in each variable, of a range of 10), a middling one the
median of 20 random points, a bad one the worst of them. Past data are 10 D random points. Six searches of
each: of points the median counts, of data all of them. Intervals are of 90%.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import RESULTS, markdown, publish
from experiments.record import Book
from saltus import Float, Int, Optimizer, Space
from saltus._typing import FloatArray

D = 5
FUNCTIONS = ("edges", "sector", "Rastrigin", "Rosenbrock", "mixed")
STARTS = ("none", "good", "middling", "bad", "data")
SHORT, HALF, LONG = 20 * D, 50 * D, 100 * D  # evaluations: of points; of data until the target, and in all
REPEATS = 6
FLOOR = 1e-8  # precision that is enough
DRAWS = 1000  # of the bootstrap
FILE = RESULTS / "known.csv"
SCALES = 10.0 ** np.linspace(0, 3, D)


class Key(NamedTuple):
    """A run."""

    function: str
    start: str
    seed: int  # where the optimum is
    repeat: int = 0  # how often it was searched before


class Ran(NamedTuple):
    """The best of what was known before, and the best value after each evaluation."""

    known: float
    trail: list[float]


def _row(key: Key, ran: Ran) -> list[Any]:
    better = [i for i, v in enumerate(ran.trail) if i == 0 or v < ran.trail[i - 1]]
    steps = " ".join(f"{i}:{ran.trail[i]:.6g}" for i in better)
    return [*key, f"{ran.known:.6g}", len(ran.trail), steps]


def _parse(row: list[str]) -> tuple[Key, Ran]:
    function, start, seed, repeat, known, count, steps = row
    trail = np.full(int(count), np.inf)
    for step in steps.split():
        place, value = step.split(":")
        trail[int(place) :] = float(value)
    return Key(function, start, int(seed), int(repeat)), Ran(float(known), trail.tolist())


BOOK = Book(["function", "start", "seed", "repeat", "known", "evaluations", "steps"], _row, _parse)


class Problem(NamedTuple):
    """A function with its optimum at a random place, and points that somebody may know."""

    space: Space
    fun: Callable[[FloatArray], float]
    points: dict[str, list[FloatArray]]


def problem(function: str, seed: int) -> Problem:
    """One of the 50.

    >>> problem("mixed", 0).space.dimension
    5
    """
    rng = np.random.default_rng([FUNCTIONS.index(function), seed])
    whole = 2 if function == "mixed" else 0
    space = Space([Float(-5, 5)] * (D - whole) + [Int(-5, 5)] * whole)
    optimum, Q = rng.uniform(-4, 4, D), np.linalg.qr(rng.normal(size=(D, D)))[0]

    def snapped(x: FloatArray) -> FloatArray:
        x = np.clip(x, -5, 5)
        x[D - whole :] = np.round(x[D - whole :])
        return x

    optimum = snapped(optimum)

    def fun(x: FloatArray) -> float:
        return value(function, np.asarray(x) - optimum, Q)

    good = snapped(optimum + 0.3 * rng.normal(size=D))
    tried = sorted((snapped(rng.uniform(-5, 5, D)) for _ in range(20)), key=fun)
    data = [snapped(rng.uniform(-5, 5, D)) for _ in range(10 * D)]
    return Problem(
        space, fun, {"none": [], "good": [good], "middling": [tried[10]], "bad": [tried[-1]], "data": data}
    )


def value(function: str, z: FloatArray, Q: FloatArray) -> float:
    """Of a point, relative to the optimum, where it is 0."""
    if function == "edges":
        return float(np.sqrt(SCALES) @ np.abs(Q @ z))
    if function == "sector":
        y = Q @ z
        return float((SCALES @ np.where(y > 0, 10 * y, y) ** 2) ** 0.9)
    if function == "Rastrigin":
        return float((z * z + 10 * (1 - np.cos(2 * np.pi * z))).sum())
    if function == "Rosenbrock":
        y = z + 1
        return float((100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2).sum())
    return float(np.array([1, 10, 100, 10, 100]) @ np.abs(z) ** 1.5)


def run_one(key: Key) -> Ran:
    """A search of the default strategy."""
    space, fun, points = problem(key.function, key.seed)
    optimizer, known = Optimizer(space, seed=1000 * key.repeat + key.seed), points[key.start]
    values: list[float] = []
    if key.start == "data":
        optimizer.add(known, [fun(x) for x in known])
    else:
        optimizer.enqueue(*known)
    while len(values) < (LONG if key.start in ("none", "data") else SHORT):
        candidates = optimizer.ask()
        told = [fun(c.params) for c in candidates]
        optimizer.tell(candidates, told)
        values += told
    best = np.minimum.accumulate(np.maximum(values, FLOOR))
    return Ran(min((fun(x) for x in known), default=np.inf), best.tolist())


def points_table(record: dict[Key, Ran], seeds: int) -> str:
    """Known points: that none is lost, and what they are worth."""
    problems = [(f, seed) for f in FUNCTIONS for seed in range(seeds)]

    def reached(start: str, count: int) -> FloatArray:
        runs = [[record[Key(f, start, s, r)].trail[count - 1] for r in range(REPEATS)] for f, s in problems]
        return np.asarray(np.median(np.log10(runs), axis=1))

    rows, rng = [], np.random.default_rng(0)
    for start in ("good", "middling", "bad"):
        runs = [record[Key(f, start, s, r)] for f, s in problems for r in range(REPEATS)]
        kept = sum(ran.trail[-1] <= max(ran.known, FLOOR) for ran in runs)
        cells = [start, f"{kept} of {len(runs)}"]
        for count in (10 * D, SHORT):
            gains = reached("none", count) - reached(start, count)
            drawn = np.median(rng.choice(gains, (DRAWS, len(gains))), axis=1)
            low, high = np.quantile(drawn, (0.05, 0.95))
            cells.append(f"{10 ** np.median(gains):.2f} ({10**low:.2f} to {10**high:.2f})")
        rows.append(cells)
    return markdown(["point", "not worse than it", "gain after 10 D", "gain after 20 D"], rows)


def data_table(record: dict[Key, Ran], seeds: int) -> str:
    """Past data: evaluations until what 50 D evaluations reach without it, in all, and by function."""
    counts, targets = {}, {}
    for function in FUNCTIONS:
        none, data = (
            [record[Key(function, start, i, r)].trail for i in range(seeds) for r in range(REPEATS)]
            for start in ("none", "data")
        )
        target = float(np.median([trail[HALF - 1] for trail in none]))
        targets[function] = f"{target:.3g}"
        counts[function] = np.array([[until(trail, target) for trail in each] for each in (none, data)])
    counts["all five"], targets["all five"] = np.hstack(list(counts.values())), ""
    rows, rng = [], np.random.default_rng(0)
    for function, both in counts.items():
        without, took = (float(np.median(each)) for each in both)
        drawn = [np.median(rng.choice(each, (DRAWS, len(each))), axis=1) for each in both]
        with np.errstate(invalid="ignore"):
            low, high = np.nanquantile(drawn[0] - drawn[1], (0.05, 0.95)) / D
        fewer = f"{(without - took) / D:.0f} D ({low:.0f} to {high:.0f})"
        rows.append([function, targets[function], f"{without / D:.0f} D", f"{took / D:.0f} D", fewer])
    return markdown(["function", "target", "without data", "with 10 D random points", "fewer"], rows)


def until(trail: list[float], target: float) -> float:
    """How many evaluations it took; infinity if it was never reached.

    >>> until([5.0, 3.0, 1.0], 3.0)
    2.0
    """
    reached = np.flatnonzero(np.array(trail) <= target)
    return float(reached[0] + 1) if len(reached) else np.inf


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", type=Path, default=FILE)
    o = parser.parse_args()
    if o.what == "run":
        keys = [
            Key(f, start, seed, repeat)
            for seed in range(o.seeds)
            for start in STARTS
            for repeat in range(REPEATS)
            for f in FUNCTIONS
        ]
        BOOK.complete(keys, run_one, o.file, o.jobs)
    else:
        record = BOOK.read(o.file)
        publish("known-points", points_table(record, o.seeds), "known")
        publish("known-data", data_table(record, o.seeds), "known")


if __name__ == "__main__":
    main()
