"""What `patience` saves, and what it costs.

python -m experiments.patience run [--seeds 5] [--jobs 1]
python -m experiments.patience show
python -m experiments.patience expected

Eight problems, the default strategy, 100 evaluations for each of D variables. Where a patience of 10 D, 20 D
and 50 D would have ended a search follows from its history, so each search is run once. What is lost is
counted in shares of what the whole search has gained since the first ten evaluations from its first feasible
value on.

`expected` asks what a rule of another kind could be made of: after 10 D, 20 D and 50 D evaluations, the gain
that the next one may be expected to bring at the best of many points, by the error bars of
`Optimizer.predict`, times the chance that its constraints hold. It is a share of what was gained until then,
beside what came after. One seed, a minute; it prints its table.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from experiments.harness import RESULTS, markdown, publish
from experiments.known import problem
from experiments.record import Book
from saltus import Optimizer, Space, minimize
from saltus._typing import FloatArray, Params
from saltus.execution.evaluation import evaluate
from saltus.execution.patience import FIRST, Patience
from saltus.problems import ENGINEERING
from saltus.search import Memory
from saltus.search.learnt import DEVIATIONS
from saltus.space import Encoding
from saltus.space.unit import UnitCube

FUNCTIONS = ("Rastrigin", "Rosenbrock")
DESIGNS = {made().name: made for made in ENGINEERING}
PATIENCES = (10, 20, 50)  # for each variable
BUDGET = 100  # for each variable
POINTS = 500  # anywhere, and around the best
FILE = RESULTS / "patience.csv"


class Key(NamedTuple):
    """A search."""

    problem: str
    seed: int


class Ran(NamedTuple):
    """How many variables and evaluations there were, and evaluations and best value after each generation."""

    dimension: int
    evaluations: int
    steps: list[tuple[int, float]]


def of(name: str, seed: int) -> tuple[Space, Callable[..., Any]]:
    """A problem by its name."""
    if name in FUNCTIONS:
        space, fun, _ = problem(name, seed)
        return space, fun
    design = DESIGNS[name]()
    return design.space, design.fun


def run_one(key: Key) -> Ran:
    """A search with all its budget."""
    space, fun = of(key.problem, key.seed)
    result = minimize(fun, space, budget=BUDGET * space.dimension, seed=key.seed)
    rows = list(
        zip(result.history.evaluations.astype(int).tolist(), result.history.best.tolist(), strict=True)
    )
    return Ran(space.dimension, result.nfev, [row for row in rows if not math.isnan(row[1])])


def ended(ran: Ran, patience: int) -> tuple[int, float]:
    """After how many evaluations this patience ends a search, and its best value then."""
    rule = Patience(patience)
    for evaluations, best in ran.steps:
        rule.told(evaluations, best)
        if rule.over:
            return evaluations, best
    return ran.evaluations, ran.steps[-1][1]


def lost(ran: Ran, best: float) -> float:
    """What is missing, as a share of all that was gained."""
    start, end = ran.steps[0][0], ran.steps[-1][1]
    level = min(value for evaluations, value in ran.steps if evaluations <= start + FIRST - 1)
    return (best - end) / (level - end) if level > end else 0.0


def points_around(space: Space, best: FloatArray, rng: np.random.Generator) -> list[Params]:
    """Points anywhere, and as many around the best one: some of its variables changed, much or little."""
    encoding = Encoding(space)
    cube = UnitCube(encoding)
    centre = cube.of_numbers(best[None])[0]
    anywhere = rng.random((POINTS, cube.N))
    steps = 10 ** rng.uniform(-2.5, -0.3, (POINTS, 1)) * rng.standard_normal((POINTS, cube.N))
    steps *= rng.random(steps.shape) < 0.5
    u = cube.snapped(np.concatenate((anywhere, centre + steps)))
    u = u[(np.abs(u - centre) > 1e-9).any(axis=1)]
    return [encoding.params_of(x) for x in cube.numbers(u)[0]]


def expected_gain(optimizer: Optimizer, rng: np.random.Generator) -> float:
    """What one more evaluation may be expected to gain, at the best of many points."""
    best, memory = optimizer.best, optimizer.memory
    if best is None or best.violation:
        return math.nan
    points = points_around(optimizer.space, best.x, rng)
    value, low, _ = np.array(optimizer.predict(points)).T
    sd = np.maximum((value - low) / DEVIATIONS, 1e-300)
    z = (best.value - value) / sd
    gain = sd * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    for name in memory.constraint_names:
        amounts = memory.constraint(name)
        told = np.isfinite(amounts)
        if np.ptp(amounts[told]) > 0:
            own = Memory(len(optimizer.space.variables))
            own.extend(memory.ids[told].tolist(), memory.x[told], amounts[told], None)
            middle, low, high = np.array(optimizer.learnt(own).predict(points)).T
            gain *= ndtr(-middle / np.maximum((high - low) / (2 * DEVIATIONS), 1e-300))
    return float(gain.max())


def expected(seed: int = 0) -> str:
    """For each problem what is expected after some evaluations, and what came: shares of what was gained."""
    rows = []
    for name in (*DESIGNS, *FUNCTIONS):
        space, fun = of(name, seed)
        rng, D = np.random.default_rng(seed), space.dimension
        optimizer = Optimizer(space, seed=seed)
        found: list[tuple[int, float]] = []
        gains: list[tuple[float, float]] = []
        while optimizer.evaluations < BUDGET * D:
            candidates = optimizer.ask()
            told = [evaluate(fun, candidate.params) for candidate in candidates]
            optimizer.tell(candidates, told)
            best = optimizer.best
            if best is not None and not best.violation:
                found.append((optimizer.evaluations, best.value))
            if len(gains) < len(PATIENCES) and optimizer.evaluations >= PATIENCES[len(gains)] * D:
                gains.append((expected_gain(optimizer, rng), found[-1][1] if found else math.nan))
        end = found[-1][1]
        level = min(value for evaluations, value in found if evaluations <= found[0][0] + FIRST - 1)
        cells = [f"{gain / (level - now):.1%}, {(now - end) / (level - now):.1%}" for gain, now in gains]
        rows.append([name, str(D), *cells])
    return markdown(["problem", "D", *(f"after {each} D" for each in PATIENCES)], rows)


def table(record: dict[Key, Ran]) -> str:
    """A row for each problem: for each patience the evaluations of the whole budget, and what was lost."""
    rows = []
    for name in dict.fromkeys(key.problem for key in record):
        runs = [ran for key, ran in record.items() if key.problem == name]
        cells = [name, str(runs[0].dimension)]
        for each in PATIENCES:
            ends = [ended(ran, each * ran.dimension) for ran in runs]
            paid = np.median([n / ran.evaluations for (n, _), ran in zip(ends, runs, strict=True)])
            losses = [lost(ran, best) for (_, best), ran in zip(ends, runs, strict=True)]
            cells.append(f"{paid:.0%}, {np.median(losses):.2%} ({max(losses):.2%})")
        rows.append(cells)
    return markdown(["problem", "D", *(f"patience {each} D" for each in PATIENCES)], rows)


def _row(key: Key, ran: Ran) -> list[Any]:
    steps = " ".join(f"{n}:{best!r}" for n, best in ran.steps)
    return [*key, ran.dimension, ran.evaluations, steps]


def _parse(row: list[str]) -> tuple[Key, Ran]:
    name, seed, dimension, evaluations, steps = row
    pairs = [(int(n), float(best)) for n, best in (step.split(":") for step in steps.split())]
    return Key(name, int(seed)), Ran(int(dimension), int(evaluations), pairs)


BOOK = Book(["problem", "seed", "dimension", "evaluations", "steps"], _row, _parse)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show", "expected"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", type=Path, default=FILE)
    o = parser.parse_args()
    if o.what == "run":
        keys = [Key(name, seed) for seed in range(o.seeds) for name in (*DESIGNS, *FUNCTIONS)]
        BOOK.complete(keys, run_one, o.file, o.jobs)
    elif o.what == "expected":
        print(expected())
    else:
        publish("patience", table(BOOK.read(o.file)))


if __name__ == "__main__":
    main()
