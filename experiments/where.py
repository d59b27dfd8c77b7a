"""What known constraints cost: milliseconds of one processor for a proposal of the default.

    python -m experiments.where [--seeds 10] [--budget 100]

Five variables, about 1% of the box allowed, by text or by a function. The objective, whose optimum is not
allowed, is not counted; its rules are. The same searches without rules are run in turns with them. Every
point that is evaluated is checked.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.harness import markdown, publish
from saltus import Float, Int, Optimizer, Space

LIMIT = 5.0  # milliseconds
SAMPLES = 20_000  # points that say how much is allowed
NAMES = "abcde"
FLOATS = {name: Float(-1, 1) for name in NAMES}
MIXED = {name: Float(-1, 1) for name in "abc"} | {name: Int(-10, 10) for name in "de"}
clock = time.process_time


def of_array(x: Any) -> bool:
    """A ball, of an array."""
    return bool(((x - 0.4) ** 2).sum() <= 0.57**2)


def of_dict(p: Any) -> bool:
    """The same of a dict."""
    return bool(sum((x - 0.4) ** 2 for x in p.values()) <= 0.57**2)


def of_mixed(p: Any) -> bool:
    """The same with integers."""
    near = (p["a"] - 0.4) ** 2 + (p["b"] - 0.4) ** 2 + (p["c"] - 0.4) ** 2
    return bool(near + (p["d"] / 10 - 0.4) ** 2 + (p["e"] / 10 - 0.4) ** 2 <= 0.57**2)


def by_text(p: Any) -> bool:
    """What the text says."""
    return bool(sum(p.values()) <= -2.83)


class Case(NamedTuple):
    """Variables, their rule, and a function that says the same."""

    variables: Any
    where: Any
    allowed: Callable[[Any], bool]


CASES = {
    "text": Case(FLOATS, " + ".join(NAMES) + " <= -2.83", by_text),
    "function of an array": Case([Float(-1, 1)] * 5, of_array, of_array),
    "function of a dict": Case(FLOATS, of_dict, of_dict),
    "function of a dict, two integers": Case(MIXED, of_mixed, of_mixed),
}


class Cost(NamedTuple):
    """Of one search: milliseconds for each evaluation, calls of the function for each, and what was wrong."""

    times: list[float]
    calls: float
    wrong: int


def value(params: Any) -> float:
    """A valley with waves."""
    x = np.array(list(params.values()) if isinstance(params, dict) else params, dtype=float)
    x = np.where(np.abs(x) > 1, x / 10, x)
    return float(((x - 0.7) ** 2 * np.arange(1, len(x) + 1)).sum() + 0.1 * np.sin(9 * x).sum())


def search(case: Case, ruled: bool, seed: int, budget: int) -> Cost:
    """One search, ask by ask."""
    calls, wrong = 0, 0
    times: list[float] = []

    def counted(params: Any) -> bool:
        nonlocal calls
        calls += 1
        return bool(case.where(params))

    rule = counted if callable(case.where) else case.where
    optimizer = Optimizer(Space(case.variables, where=rule if ruled else None), seed=seed)
    calls = 0  # it looks for a start once
    while optimizer.evaluations < budget:
        start = clock()
        candidates = optimizer.ask()
        spent = clock() - start
        wrong += sum(not case.allowed(c.params) for c in candidates)
        values = [value(c.params) for c in candidates]
        start = clock()
        optimizer.tell(candidates, values)
        spent += clock() - start
        times += [1e3 * spent / len(candidates)] * len(candidates)
    return Cost(times, calls / len(times), wrong if ruled else 0)


def share(case: Case) -> float:
    """How much of the box is allowed."""
    rng = np.random.default_rng(0)
    named = isinstance(case.variables, dict)
    variables = case.variables.values() if named else case.variables
    columns = [
        rng.integers(v.low, v.high + 1, SAMPLES) if v.discrete else rng.uniform(v.low, v.high, SAMPLES)
        for v in variables
    ]
    rows = np.column_stack(columns)
    points: Any = [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()] if named else rows
    return sum(map(case.allowed, points)) / SAMPLES


def table(seeds: int, budget: int) -> str:
    """A row for each kind of rule."""
    rows = []
    for name, case in CASES.items():
        search(case, True, 0, 20)  # imports
        both: dict[bool, list[Cost]] = {True: [], False: []}
        for seed in range(seeds):
            for ruled, found in both.items():
                found.append(search(case, ruled, seed, budget))
        times, without = ([t for cost in both[ruled] for t in cost.times] for ruled in (True, False))
        mean, late = statistics.fmean(times), sorted(times)[int(0.95 * len(times))]
        wrong = sum(cost.wrong for cost in both[True])
        calls = statistics.fmean(cost.calls for cost in both[True])
        cells = [f"{mean:.1f}", f"{statistics.median(times):.1f}", f"{late:.1f}"]
        cells += [f"{statistics.fmean(without):.1f}", f"{calls:.0f}", f"{wrong} of {len(times)}"]
        rows.append([name, f"{share(case):.1%}", *cells, "yes" if mean < LIMIT else "no"])
    header = ["rule", "allowed", "ms, mean", "median", "95%", "mean without rules", "calls", "not allowed"]
    return markdown([*header, f"mean below {LIMIT:g} ms"], rows)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    o = parser.parse_args()
    with threadpool_limits(1):
        text = table(o.seeds, o.budget)
    publish("where", text, f"where --seeds {o.seeds} --budget {o.budget}")


if __name__ == "__main__":
    main()
