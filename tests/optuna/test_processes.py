"""Four processes on one study, in real databases; one of them is killed."""

from __future__ import annotations

import heapq
import math
import time

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from experiments.optuna_processes import (
    NAME,
    STORAGES,
    TARGET,
    objective,
    place_for,
    sampler,
    storage_at,
    together,
)
from experiments.postgresql import NoServer

from .chains import chain, told

TRIALS = 1200


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.machines
@pytest.mark.parametrize("storage", STORAGES)
def test_four_processes_search_together_and_one_dies(storage: str) -> None:
    place = place_for(storage)
    try:
        url = place.__enter__()
    except NoServer as reason:
        pytest.skip(str(reason))
    try:
        study = together(url, 1, trials=TRIALS, until_target=False)
        trials = study.get_trials(deepcopy=False)
        complete = {t.number for t in trials if t.state == TrialState.COMPLETE}
        assert TRIALS - 1 <= len(complete) < TRIALS + 4
        assert len(trials) - len(complete) <= 1  # the trial of the process that died
        # it begins at 1e5; how many trials the target takes depends on which process is first
        assert study.best_value < 10
        assert complete <= told_along_the_chain(url)  # no result was thrown away
    finally:
        place.__exit__(None, None, None)


def told_along_the_chain(url: str) -> set[int]:
    """Trials that were told in the chain of batches, as who comes new to the study sees it."""
    study = optuna.load_study(study_name=NAME, storage=storage_at(url), sampler=sampler(5))
    study.optimize(objective, n_trials=50)  # another batch begins
    assert len(chain(study)) > 50
    return told(study)


@pytest.mark.slow
def test_four_need_hardly_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With samplers in place of processes, and a clock of our own: so there is time for many seeds."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    needed = {count: np.mean([simulated(count, seed) for seed in range(30)]) for count in (1, 4)}
    assert needed[4] <= 1.15 * needed[1], needed


def simulated(count: int, seed: int) -> int:
    """Trials until the target, with so many samplers that know of each other by the storage alone."""
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(storage=storage, study_name=NAME)
    studies = [
        optuna.load_study(storage=storage, study_name=NAME, sampler=sampler(seed)) for _ in range(count)
    ]
    rng = np.random.default_rng(seed)
    running: list[tuple[float, int, int, optuna.Trial, float]] = []

    def begin(i: int, now: float) -> None:
        trial = studies[i].ask()
        end = now + math.exp(0.5 * rng.normal())
        heapq.heappush(running, (end, trial.number, i, trial, objective(trial)))

    for i in range(count):
        begin(i, 0.0)
    ended = 0
    while True:
        now, _, i, trial, value = heapq.heappop(running)
        studies[i].tell(trial, value)
        ended += 1
        if value <= TARGET:
            return ended
        begin(i, now)
