"""Runs as the steps by which they got better: in records, and at any number of evaluations."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.stats import binom

Steps = tuple[tuple[int, float], ...]  # an evaluation that was better than all before, and its value


class Run(NamedTuple):
    """How many evaluations, how many seconds of a processor, and what got better when."""

    evaluations: int
    seconds: float
    steps: Steps


def fields(run: Run) -> list[str]:
    """The last columns of a record.

    >>> fields(Run(20, 0.5, ((1, 2.0), (7, 0.25))))
    ['20', '0.50', '1:2 7:0.25']
    """
    steps = " ".join(f"{at}:{value:.10g}" for at, value in run.steps)
    return [str(run.evaluations), f"{run.seconds:.2f}", steps]


def parsed(evaluations: str, seconds: str, steps: str) -> Run:
    """The run of these columns.

    >>> parsed("20", "0.50", "1:2 7:0.25")
    Run(evaluations=20, seconds=0.5, steps=((1, 2.0), (7, 0.25)))
    """
    pairs = [step.split(":") for step in steps.split()]
    return Run(int(evaluations), float(seconds), tuple((int(at), float(value)) for at, value in pairs))


def best_within(run: Run, evaluations: int) -> float:
    """The best value within so many evaluations; infinite if there is none."""
    return min((value for at, value in run.steps if at <= evaluations), default=math.inf)


def interval(values: list[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """The median, and the interval of order statistics that covers it with at least this confidence.

    >>> interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    (5.5, 2.0, 9.0)
    """
    ordered = sorted(values)
    count = len(ordered)
    beyond = 0  # how many may be cut off on each side
    while 2 * binom.cdf(beyond, count, 0.5) <= 1 - confidence:
        beyond += 1
    first = max(beyond - 1, 0)
    middle = ordered[count // 2] if count % 2 else (ordered[count // 2 - 1] + ordered[count // 2]) / 2
    return middle, ordered[first], ordered[count - 1 - first]
