"""Peers for small budgets, each behind the same few lines: `solver(task, rng)` until the task has had enough.

They are set up as their authors would: newest version, defaults, integers declared as integers; where one
asks for a first step, it gets a fifth of each range. Some need packages that are not in `dev`: `WANTS` says
which, and `python -m experiments.small` makes an environment for them.
"""

from __future__ import annotations

import logging
import math
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.continuous_peers import CONTINUOUS_PEERS, Solver, starts
from experiments.solvers import (
    FIRST_STEP,
    MORE_PEERS,
    Enough,
    Task,
    catcmawm,
    cma_options,
    pycma,
    rounded,
    saltus,
)

WORSE = 1e99  # instead of a value, for solvers that cannot be stopped from within


def lq_cmaes(task: Task, rng: np.random.Generator) -> None:
    """Pycma with its own surrogate, a linear-quadratic model; when it stops, with twice the population."""
    import cma

    edge = np.where(task.whole, 0.5 - 1e-9, 0.0)
    low, high = task.low - edge, task.high + edge
    population, mean = 4 + int(3 * math.log(task.N)), (low + high) / 2
    while True:
        options = cma_options(task, low, high, FIRST_STEP * (high - low), population, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cma.fmin_lq_surr2(lambda x: task.penalised(rounded(task, x)), mean.tolist(), 1.0, options)
        population *= 2
        mean = rng.uniform(low, high)


class _Ended:
    """A task for solvers written in C++: nothing is raised through them, worse values come instead."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.over = False

    def __call__(self, x: Any) -> float:
        if not self.over:
            try:
                return self.task.penalised(rounded(self.task, x))
            except Enough:
                self.over = True
        return WORSE

    def examined(self, x: Any) -> list[float]:
        """The value and each constraint."""
        if not self.over:
            try:
                value, constraints = self.task.examine(self.task.decode(rounded(self.task, x)))
            except Enough:
                self.over = True
            else:
                if math.isfinite(value):
                    return [value, *constraints]
        return [WORSE] * (1 + self.task.limits)


def nomad(task: Task, rng: np.random.Generator) -> None:
    """NOMAD 4, mesh adaptive direct search, from the middle; constraints by its progressive barrier."""
    import PyNomad

    value = _Ended(task)

    def black_box(point: Any) -> int:
        x = [point.get_coord(i) for i in range(task.N)]
        found = value.examined(x) if task.limits else [value(x)]
        point.setBBO(" ".join(repr(float(number)) for number in found).encode())
        return 1

    middle = rounded(task, (task.low + task.high) / 2)
    kinds = " ".join("I" if whole else "R" for whole in task.whole)
    for seed in iter(lambda: int(rng.integers(1, 1000)), None):  # it counts up to its seed
        options = [
            "BB_OUTPUT_TYPE OBJ" + " PB" * task.limits,
            f"BB_INPUT_TYPE ( {kinds} )",
            f"MAX_BB_EVAL {2**30 if task.evaluations_left is None else task.evaluations_left + 1}",
            "DISPLAY_DEGREE 0",
            f"SEED {seed}",
            "NB_THREADS_PARALLEL_EVAL 1",
        ]
        PyNomad.optimize(black_box, middle.tolist(), task.low.tolist(), task.high.tolist(), options)
        if value.over:
            raise Enough
        middle = rounded(task, rng.uniform(task.low, task.high))


def biteopt(task: Task, rng: np.random.Generator) -> None:
    """BiteOpt of the package fcmaes; when it stops, again."""
    from fcmaes import bitecpp
    from scipy.optimize import Bounds

    edge = np.where(task.whole, 0.5 - 1e-9, 0.0)
    value = _Ended(task)
    while not value.over:
        left = 10**6 if task.evaluations_left is None else task.evaluations_left + 1
        bitecpp.minimize(
            value, Bounds(task.low - edge, task.high + edge), max_evaluations=left, rg=np.random.Generator(
                np.random.MT19937(int(rng.integers(2**31)))
            )
        )  # fmt: skip
    raise Enough


def crfmnes(task: Task, rng: np.random.Generator) -> None:
    """CR-FM-NES of the package fcmaes; when it stops, again from a random point.

    Its own population, 32, is better with many variables, that of CMA-ES with few (bbob, instance 1).
    """
    from fcmaes import crfmnescpp
    from scipy.optimize import Bounds

    value = _Ended(task)
    for start in starts(task, rng):
        left = 10**6 if task.evaluations_left is None else task.evaluations_left + 1
        crfmnescpp.minimize(
            value,
            Bounds(task.low, task.high),
            start,
            FIRST_STEP * float((task.high - task.low).mean()),
            popsize=32 if task.N >= 40 else 4 + int(3 * math.log(task.N)),
            max_evaluations=left,
            rg=np.random.Generator(np.random.MT19937(int(rng.integers(2**31)))),
        )
        if value.over:
            raise Enough


def _optuna(sampler: Callable[[int], Any]) -> Solver:
    def solve(task: Task, rng: np.random.Generator) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def objective(trial: optuna.Trial) -> float:
            x = [
                trial.suggest_int(str(i), 0, int(task.high[i]))
                if task.whole[i]
                else trial.suggest_float(str(i), task.low[i], task.high[i])
                for i in range(task.N)
            ]
            if not task.limits:
                return task.penalised(np.array(x, dtype=float))
            value, constraints = task.examine(task.decode(np.array(x, dtype=float)))
            for i, g in enumerate(constraints if math.isfinite(value) else []):  # a failed trial has none
                trial.set_constraint(f"g{i}", g)
            return value

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optuna.create_study(sampler=sampler(int(rng.integers(2**31)))).optimize(objective)

    return solve


def _tpe(seed: int) -> Any:
    import optuna

    return optuna.samplers.TPESampler(seed=seed, multivariate=True)


def _gp(seed: int) -> Any:
    import optuna

    return optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)


def smac(task: Task, rng: np.random.Generator) -> None:
    """SMAC 3's facade for the optimisation of hyperparameters: random forests."""
    from ConfigSpace import ConfigurationSpace, Float, Integer
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    logging.disable(logging.CRITICAL)
    seed = int(rng.integers(2**31))
    space = ConfigurationSpace(seed=seed)
    names = [f"v{i:03d}" for i in range(task.N)]
    for i, name in enumerate(names):
        low, high = task.low[i], task.high[i]
        whole = task.whole[i]
        space.add(Integer(name, (int(low), int(high))) if whole else Float(name, (float(low), float(high))))
    with tempfile.TemporaryDirectory() as folder:
        trials = 10**6 if task.evaluations_left is None else task.evaluations_left + 1
        scenario = Scenario(
            space, deterministic=True, n_trials=trials, seed=seed, output_directory=Path(folder)
        )
        method = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False
        )
        while True:
            asked = method.ask()
            value = task.penalised(np.array([asked.config[name] for name in names], dtype=float))
            method.tell(asked, TrialValue(cost=value))


SMALL_PEERS: dict[str, Solver] = {
    "lq-CMA-ES": lq_cmaes,
    "pycma": pycma,
    "CatCMAwM": catcmawm,
    "BiteOpt": biteopt,
    "NOMAD": nomad,
    "TPE": _optuna(_tpe),
    "GPSampler": _optuna(_gp),
    "SMAC": smac,
}


# TPE as Optuna's users have it by default, unless small budgets are measured
ALL_PEERS: dict[str, Solver] = {**SMALL_PEERS, "CR-FM-NES": crfmnes, **CONTINUOUS_PEERS, **MORE_PEERS}


def solver(name: str) -> Solver:
    """A peer, or one of our strategies by its own name."""
    return ALL_PEERS.get(name) or saltus(name)


# what is not in `dev`, by peer; the rest of the peers need nothing more
WANTS = {
    "BiteOpt": ["fcmaes==2.1.0"],
    "CR-FM-NES": ["fcmaes==2.1.0"],
    "NOMAD": ["PyNomadBBO==4.6.0"],
    "GPSampler": ["torch==2.13.0"],
    "SMAC": ["smac==2.4.0", "scikit-learn==1.6.1"],
}
