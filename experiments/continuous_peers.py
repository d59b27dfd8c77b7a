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
from scipy.optimize import NonlinearConstraint, minimize

from experiments.solvers import FIRST_STEP, Favourite, Task, cma_options, pycma_with, rounded
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


def with_noise_handler(task: Task, rng: np.random.Generator) -> None:
    """Pycma with its `NoiseHandler`, up to 30 evaluations for a point; stopped, with twice the population."""
    population = 4 + int(3 * np.log(task.N))
    task.recommendation = favourite = Favourite()

    def value(x: Any) -> float:
        return task.penalised(rounded(task, x))

    for start in starts(task, rng):
        options = cma_options(task, task.low, task.high, task.high - task.low, population, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = cma.CMAEvolutionStrategy(start, FIRST_STEP, options)
            handler = cma.NoiseHandler(task.N, maxevals=[1, 1, 30])
            while not method.stop():
                asked, values = method.ask_and_eval(value, evaluations=handler.evaluations)
                method.tell(asked, values)
                favourite.told(method, values)
                method.sigma *= handler(asked, values, value, method.ask)
                method.countevals += handler.evaluations_just_done
        population *= 2


def augmented_lagrangian(task: Task, rng: np.random.Generator) -> None:
    """Pycma with its augmented Lagrangian, `fmin_con2`."""
    for start in starts(task, rng):
        options = {
            "bounds": [task.low.tolist(), task.high.tolist()],
            "seed": int(rng.integers(1, 2**31)),
            "verbose": -9,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cma.fmin_con2(
                lambda x: task.examine(x)[0],
                start.tolist(),
                FIRST_STEP * float((task.high - task.low).mean()),
                constraints=lambda x: task.examine(x)[1],
                options=options,
            )


def cobyqa(task: Task, rng: np.random.Generator) -> None:
    """SciPy's COBYQA, whose models of objective and constraints are quadratics."""
    constraints = []
    if task.limits:
        constraints.append(NonlinearConstraint(lambda x: task.examine(x)[1], -np.inf, 0.0))
    options: Any = {} if task.evaluations_left is None else {"maxfev": task.evaluations_left + 1}

    def value(x: FloatArray) -> float:
        return task.examine(x)[0] if task.limits else task.penalised(rounded(task, x))

    for start in starts(task, rng):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            minimize(
                value,
                start,
                method="COBYQA",
                bounds=list(zip(task.low.tolist(), task.high.tolist(), strict=True)),
                constraints=constraints,
                options=options,
            )


def _restricted(sampler: Any) -> Solver:
    """Pycma with a restricted Gaussian, with doubling restarts."""
    return pycma_with(sampler.extend_cma_options())


CONTINUOUS_PEERS: dict[str, Solver] = {
    "pycma-BIPOP": bipop,
    "pycma-noise": with_noise_handler,
    "pycma-AL": augmented_lagrangian,
    "COBYQA": cobyqa,
    "pycma-sep": pycma_with({"CMA_diagonal": True}),
    "pycma-VD": _restricted(GaussVDSampler),
    "pycma-VkD": _restricted(GaussVkDSampler),
}
