"""Peers for continuous variables, each behind the same few lines: `solver(task, rng)` until it is enough.

They are set up as their authors would; where one asks for a first step, it gets a fifth of each range. All
begin in the middle of the box, and again at a random point when they stop.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import cma
import numpy as np
from cma.restricted_gaussian_sampler import GaussVDSampler, GaussVkDSampler

from experiments.solvers import FIRST_STEP, Task, cma_options, pycma_with, rounded
from saltus._typing import FloatArray

Solver = Callable[[Task, np.random.Generator], None]
RESTARTS = 10**6  # of pycma: until the task has had enough


def starts(task: Task, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The middle of the box, then random points."""
    yield (task.low + task.high) / 2
    while True:
        yield rng.uniform(task.low, task.high)


def bipop(task: Task, rng: np.random.Generator) -> None:
    """Pycma's own restarts with a growing and a small population by turns."""
    population = 4 + int(3 * np.log(task.N))
    options = cma_options(task, task.low, task.high, task.high - task.low, population, rng)
    places = starts(task, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cma.fmin2(
            None,
            lambda: next(places),
            FIRST_STEP,
            options | {"verb_log": 0},
            parallel_objective=lambda asked: [task.penalised(x) for x in rounded(task, asked)],
            restarts=RESTARTS,
            bipop=True,
        )


def _restricted(sampler: Any) -> Solver:
    """Pycma with a restricted Gaussian, with doubling restarts."""
    return pycma_with(sampler.extend_cma_options())


CONTINUOUS_PEERS: dict[str, Solver] = {
    "pycma-BIPOP": bipop,
    "pycma-sep": pycma_with({"CMA_diagonal": True}),
    "pycma-VD": _restricted(GaussVDSampler),
    "pycma-VkD": _restricted(GaussVkDSampler),
}
