"""A process that works on a study: `python -m tests.optuna.worker URL TRIALS SEED`."""

from __future__ import annotations

import sys
import time

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

from saltus.optuna import SaltusSampler

NAME = "shared"
TARGET = 1e-8
SPACE: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(-5, 5) for i in range(3)}
SPACE |= {f"k{i}": IntDistribution(-10, 10) for i in range(3)}


def storage_at(url: str) -> BaseStorage:
    if url.startswith("journal:"):
        from optuna.storages.journal import JournalFileBackend

        return JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    waiting = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    return RDBStorage(url, engine_kwargs=waiting)


def objective(trial: optuna.Trial) -> float:
    """An ellipsoid whose optimum is not in the middle, and evaluations that take different times."""
    x = np.array([trial.suggest_float(f"x{i}", -5, 5) for i in range(3)])
    k = np.array([trial.suggest_int(f"k{i}", -10, 10) for i in range(3)])
    weights = 10.0 ** np.arange(3)
    time.sleep(0.002 * np.random.default_rng(trial.number).exponential())
    return float(weights @ (x - 1.3) ** 2 + weights @ (k - 3.0) ** 2)


def sampler(seed: int) -> SaltusSampler:
    return SaltusSampler(seed=seed, search_space=SPACE)


def first_good(study: optuna.Study) -> int | None:
    """How many trials it took to reach the target."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return min((t.number + 1 for t in trials if t.value is not None and t.value <= TARGET), default=None)


def work(url: str, trials: int, seed: int) -> None:
    study = optuna.load_study(study_name=NAME, storage=storage_at(url), sampler=sampler(seed))
    enough = MaxTrialsCallback(trials, states=(TrialState.COMPLETE,))
    study.optimize(objective, callbacks=[enough])


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
