"""Who tunes: our strategies, Optuna's samplers, SMAC; each as an endless stream of values."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.tuning_problems import Problem
from saltus import Categorical, Float, Int, Optimizer, Space
from saltus.search.settings import MANY_PHASES
from saltus.space import Variable
from saltus.space.conditions import Within

SLOW = {"GPSampler": 50, "SMAC": 50}  # evaluations of what needs seconds for a point

Score = Callable[[Mapping[str, Any]], float]


def values_of(method: str, problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """An endless stream of values."""
    if method == "SMAC":
        return smac(problem, score, seed)
    if method in MANY_PHASES:
        return ours(method, problem, score, seed)
    return by_optuna(method, problem, score, seed)


def ours(strategy: str, problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """One of our strategies."""
    optimizer = Optimizer(problem.space, strategy=strategy, seed=seed, auto_restart=True)
    while True:
        candidates = optimizer.ask()
        values = []
        for candidate in candidates:
            values.append(score(candidate.params))
            yield values[-1]
        optimizer.tell(candidates, values)


def by_optuna(method: str, problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """One of Optuna's samplers, each as its documentation advises.

    TPE models all variables together, by branches where there are conditions; "TPE, default" each by itself.
    GPSampler models what every trial has, so it is asked for all variables, whether they are active or not.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    variables = _named(problem.space)
    branches = any(v.when for v in variables.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        makers: dict[str, Callable[[], Any]] = {
            "TPE": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=branches),
            "TPE, default": lambda: optuna.samplers.TPESampler(seed=seed),
            "random": lambda: optuna.samplers.RandomSampler(seed=seed),
            "GPSampler": lambda: optuna.samplers.GPSampler(seed=seed, deterministic_objective=True),
        }
        study = optuna.create_study(sampler=makers[method]())
        while True:
            trial = study.ask()
            params: dict[str, Any] = {}
            for name, v in variables.items():
                active = _active(v, params)
                if active or method == "GPSampler":
                    value = _suggested(trial, name, v)
                    params |= {name: value} if active else {}
            value = score(params)
            study.tell(trial, value)
            yield value


def _named(space: Space) -> dict[str, Variable]:
    """The variables by name; those that a condition needs come before it in all problems."""
    return dict(zip(space.names or (), space.variables, strict=True))


def _active(variable: Variable, params: Mapping[str, Any]) -> bool:
    """Whether its condition holds."""
    wanted = variable.when or {}
    return all(name in params and _accepts(wanted[name], params[name]) for name in wanted)


def _accepts(wanted: Any, value: Any) -> bool:
    """Whether a condition wants this value."""
    if isinstance(wanted, Within):
        low = -np.inf if wanted.at_least is None else wanted.at_least
        high = np.inf if wanted.at_most is None else wanted.at_most
        return bool(low <= value <= high)
    return value in wanted


def _suggested(trial: Any, name: str, v: Variable) -> Any:
    if isinstance(v, Float):
        return trial.suggest_float(name, v.low, v.high, log=v.log)
    if isinstance(v, Int):
        return trial.suggest_int(name, v.low, v.high, log=v.log)
    return trial.suggest_categorical(name, _choices(v))


def _choices(v: Variable) -> list[Any]:
    return list(v.choices) if isinstance(v, Categorical) else [False, True]


def smac(problem: Problem, score: Score, seed: int) -> Iterator[float]:
    """SMAC 3's facade for the optimisation of hyperparameters."""
    import ConfigSpace as cs
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    logging.disable(logging.CRITICAL)
    variables = _named(problem.space)
    space = cs.ConfigurationSpace(seed=seed)
    parts: dict[str, Any] = {}
    for name, v in variables.items():
        if isinstance(v, Float):
            parts[name] = cs.Float(name, (v.low, v.high), log=v.log)
        elif isinstance(v, Int):
            parts[name] = cs.Integer(name, (v.low, v.high), log=v.log)
        else:
            parts[name] = cs.Categorical(name, [str(choice) for choice in _choices(v)])
        space.add(parts[name])
    for name, v in variables.items():
        for other, wanted in (v.when or {}).items():
            above = variables[other]
            values = range(above.low, above.high + 1) if isinstance(above, Int) else _choices(above)
            kept = [x if isinstance(above, Int) else str(x) for x in values if _accepts(wanted, x)]
            space.add(cs.InCondition(parts[name], parts[other], kept))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, deterministic=True, n_trials=SLOW["SMAC"] + 1, seed=seed, output_directory=Path(folder)
        )
        method = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False
        )
        while True:
            asked = method.ask()
            given = dict(asked.config)
            value = score({name: _back(v, given[name]) for name, v in variables.items() if name in given})
            method.tell(asked, TrialValue(cost=value))
            yield value


def _back(v: Variable, given: Any) -> Any:
    """A value as the problem takes it."""
    if isinstance(v, Float | Int):
        return given.item() if isinstance(given, np.generic) else given
    return {str(choice): choice for choice in _choices(v)}[str(given)]
