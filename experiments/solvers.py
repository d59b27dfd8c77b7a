"""Whole solvers, with restarts, as their users would run them: ours and the peers', on any bounded space.

`solver(problem, rng)` evaluates until the problem has had enough of it and raises `Enough`. All see the same
function and box, without any tuning; where a peer asks for a first step, it gets a fifth of each range.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any

import cma
import numpy as np
from cmaes import CatCMAwM, CMAwM
from scipy.optimize import Bounds, differential_evolution

from saltus import Optimizer, Outcome, Space
from saltus._typing import FloatArray
from saltus.order import Failure
from saltus.space.variable import Variable

FIRST_STEP = 0.2  # of each range
TAKES_NOISE = "noisy" in signature(Optimizer).parameters
AT_A_TIME = " at a time"  # "saltus, 4 at a time": for so many workers


class Enough(Exception):
    """The budget is spent, or the last target reached."""


class Task:
    """A problem as solvers see it: bounded variables and a value, lower is better.

    Solvers without grids see the places of discrete values, 0, 1, 2, ..., from `low` to `high`.
    """

    noisy = False  # whether the same point has many values

    def __init__(self, space: Space) -> None:
        """Take a space without names."""
        self.space = space
        self.N = len(space)
        self.whole = np.array([v.discrete for v in space.variables])
        self.grids = [_values(v) if v.discrete else [] for v in space.variables]
        self.low = np.array([0.0 if v.discrete else v.range()[0] for v in space.variables])
        self.high = np.array(
            [len(g) - 1.0 if g else v.range()[1] for v, g in zip(space.variables, self.grids, strict=True)]
        )
        self.evaluations_left: int | None = None  # for solvers that have to be told before
        self.limits = 0  # how many constraints `examine` gives
        # what the solver would recommend now, if it has something better than the best point that it has seen
        self.recommendation: Callable[[], FloatArray | None] | None = None
        self._as_they_are = all(grid == list(range(len(grid))) for grid in self.grids)

    def examine(self, x: FloatArray) -> tuple[float, list[float]]:
        """Value and constraints of a point, above 0 violated; for tasks that have some. NaN: failed."""
        raise NotImplementedError

    def measure(self, x: FloatArray) -> tuple[float, float]:
        """Value and violation of a point; raises Enough when there is nothing left to do."""
        raise NotImplementedError

    def penalised(self, places: FloatArray) -> float:
        """One number for solvers without constraints: what is violated is worse than all that is not."""
        x = places if self._as_they_are else self.decode(places)
        value, violation = self.measure(x)
        return 1e12 * (1.0 + violation) if violation > 0 else value

    def decode(self, places: FloatArray) -> FloatArray:
        """The variables, from places on their grids."""
        x = np.array(places, dtype=float)
        for i in np.flatnonzero(self.whole):
            x[i] = self.grids[i][round(x[i])]
        return x


def _values(variable: Variable) -> list[float]:
    grid = variable.grid()
    if isinstance(grid, tuple):
        first, step, count = grid
        return [first + step * k for k in range(count)]
    return [float(v) for v in grid]


def saltus(name: str) -> Callable[[Task, np.random.Generator], None]:
    """One of our strategies, also "saltus, 4 at a time", "saltus without scan"; constraints by name."""
    whole, _, left_out = name.partition(" without ")
    strategy, _, number = whole.removesuffix(AT_A_TIME).partition(", ")
    options: dict[str, Any] = {"batch": int(number or 1), "without": [left_out] if left_out else []}

    def solve(task: Task, rng: np.random.Generator) -> None:
        more: dict[str, Any] = {"noisy": True} if task.noisy and TAKES_NOISE else {}
        optimizer = Optimizer(task.space, strategy=strategy, seed=rng, auto_restart=True, **options, **more)
        task.recommendation = partial(_recommended, optimizer)
        while True:  # until the task has had enough, and raises
            candidates = optimizer.ask()
            if task.limits:
                outcomes = [_outcome(*task.examine(c.params)) for c in candidates]
                optimizer.tell(candidates, outcomes)
            else:
                optimizer.tell(candidates, [task.measure(c.params)[0] for c in candidates])

    return solve


def _recommended(optimizer: Optimizer) -> FloatArray | None:
    """What an optimizer recommends, if it does."""
    found = getattr(optimizer, "recommended", None)
    return None if found is None else np.asarray(getattr(found, "params", found), dtype=float)


def _outcome(value: float, constraints: list[float]) -> Outcome:
    failed = not math.isfinite(value)
    return Outcome(
        value, {f"g{i}": g for i, g in enumerate(constraints, 1)}, Failure.VALUE if failed else None
    )


def cma_options(
    task: Task, low: FloatArray, high: FloatArray, stds: FloatArray, population: int, rng: np.random.Generator
) -> dict[str, Any]:
    """What pycma is told of a task: its integers, bounds, first standard deviations and a seed."""
    return {
        "integer_variables": np.flatnonzero(task.whole).tolist(),
        "CMA_stds": stds.tolist(),
        "bounds": [low.tolist(), high.tolist()],
        "popsize": population,
        "seed": int(rng.integers(1, 2**31)),
        "verbose": -9,
    }


def rounded(task: Task, points: Any) -> FloatArray:
    """One point, or one row each, as they are evaluated: integers whole, all within the bounds."""
    x = np.array(points, dtype=float)
    x[..., task.whole] = np.round(x[..., task.whole])
    return np.asarray(np.minimum(np.maximum(x, task.low), task.high))


class Favourite:
    """What pycma recommends: `xfavorite` of the run whose last generation had the lowest median.

    So the mean of a run that has only just begun does not replace what a finished one has found.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self._best: tuple[float, FloatArray] | None = None
        self._now: tuple[float, Any] | None = None

    def told(self, method: Any, values: Any) -> None:
        """A run has been told the values of a generation."""
        if self._now is not None and self._now[1] is not method:
            self._best = self._found()
        self._now = float(np.median(values)), method

    def _found(self) -> tuple[float, FloatArray] | None:
        if self._now is None or (self._best is not None and self._best[0] <= self._now[0]):
            return self._best
        return self._now[0], self._now[1].result.xfavorite

    def __call__(self) -> FloatArray | None:
        """The point, or None before the first generation."""
        found = self._found()
        return None if found is None else found[1]


def pycma_with(more: dict[str, Any]) -> Callable[[Task, np.random.Generator], None]:
    """Pycma with `integer_variables`, bounds and these options; stopped, again with twice the population."""

    def solve(task: Task, rng: np.random.Generator) -> None:
        edge = np.where(task.whole, 0.5 - 1e-9, 0.0)
        low, high = task.low - edge, task.high + edge
        population = 4 + int(3 * np.log(task.N))
        mean = (low + high) / 2
        task.recommendation = favourite = Favourite()
        while True:
            options = cma_options(task, low, high, high - low, population, rng) | more
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                method = cma.CMAEvolutionStrategy(mean, FIRST_STEP, options)
                while not method.stop():
                    asked = method.ask()
                    values = [task.penalised(x) for x in rounded(task, asked)]
                    method.tell(asked, values)
                    favourite.told(method, values)
            population *= 2
            mean = rng.uniform(low, high)

    return solve


pycma = pycma_with({})


def catcmawm(task: Task, rng: np.random.Generator) -> None:
    """CatCMA with Margin of the package cmaes; when it stops, again with twice the population."""
    whole = np.flatnonzero(task.whole)
    real = np.flatnonzero(~task.whole)
    population = 4 + int(3 * np.log(task.N))
    x_space = [[task.low[i], task.high[i]] for i in real]
    z_space = [task.grids[i] for i in whole]
    places = [{value: place for place, value in enumerate(grid)} for grid in z_space]
    mean = None
    while True:
        method = CatCMAwM(
            x_space=x_space or None,
            z_space=z_space or None,
            mean=mean,
            population_size=population,
            seed=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            while not method.should_stop():
                told = []
                for _ in range(population):
                    asked = method.ask()
                    x = np.empty(task.N)
                    if real.size:
                        x[real] = asked.x
                    if whole.size:
                        x[whole] = [places[j][z] for j, z in enumerate(asked.z)]
                    told.append((asked, task.penalised(x)))
                try:
                    method.tell(told)
                except (np.linalg.LinAlgError, ValueError, AssertionError):
                    break  # its matrices have degenerated
        population *= 2
        mean = np.concatenate((rng.uniform(task.low[real], task.high[real]), _anywhere(z_space, rng)))


def _anywhere(z_space: list[list[float]], rng: np.random.Generator) -> FloatArray:
    return np.array([rng.uniform(values[0], values[-1]) for values in z_space])


def cmawm(task: Task, rng: np.random.Generator) -> None:
    """CMA-ES with Margin of the package cmaes, in units of the ranges; restarts as above. Even grids only."""
    scale = np.where(task.whole, task.high - task.low + 1, task.high - task.low)
    bounds = np.column_stack((np.zeros(task.N), (task.high - task.low) / scale))
    steps = np.where(task.whole, 1 / scale, 0.0)
    population = 4 + int(3 * np.log(task.N))
    mean = bounds.mean(axis=1)
    while True:
        method = CMAwM(
            mean=mean,
            sigma=FIRST_STEP,
            bounds=bounds,
            steps=steps,
            seed=int(rng.integers(2**31)),
            population_size=population,
        )
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            while not method.should_stop():
                told = []
                for _ in range(population):
                    evaluated, own = method.ask()
                    x = task.low + evaluated * scale
                    x[task.whole] = np.round(x[task.whole])
                    told.append((own, task.penalised(np.minimum(np.maximum(x, task.low), task.high))))
                method.tell(told)
        population *= 2
        mean = rng.uniform(bounds[:, 0], bounds[:, 1])


def differential(task: Task, rng: np.random.Generator) -> None:
    """SciPy's differential_evolution with `integrality`; when it has converged, again from new points."""
    bounds = Bounds(task.low, task.high)
    while True:
        with warnings.catch_warnings(), suppress(StopIteration):
            warnings.simplefilter("ignore")
            differential_evolution(
                task.penalised, bounds, integrality=task.whole, maxiter=10**6, rng=rng, tol=1e-10, atol=1e-10
            )


def tpe(task: Task, rng: np.random.Generator) -> None:
    """Optuna's TPE, with constraints as it takes them."""
    import optuna  # here, since it takes a second

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        x = np.array(
            [
                trial.suggest_int(str(i), 0, int(task.high[i]))
                if task.whole[i]
                else trial.suggest_float(str(i), task.low[i], task.high[i])
                for i in range(task.N)
            ]
        )
        value, violation = task.measure(task.decode(x))
        trial.set_constraint("violation", violation)
        return value

    sampler = optuna.samplers.TPESampler(seed=int(rng.integers(2**31)))
    optuna.create_study(sampler=sampler).optimize(objective)


PEERS = {"pycma": pycma, "CatCMAwM": catcmawm, "CMAwM": cmawm, "DE": differential}
MORE_PEERS = {**PEERS, "TPE": tpe}
