"""Four processes on one study, in real databases; one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from tests.optuna.servers import postgresql
from tests.optuna.worker import NAME, first_good, objective, sampler, storage_at

TRIALS = 2000
SEEDS = range(8)


@pytest.fixture(params=["postgresql", "sqlite", "journal"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    memory = Path("/dev/shm")  # many small writes, forced to the disk, would be all that is measured
    folder = memory / f"saltus-{os.getpid()}" if memory.is_dir() else tmp_path
    if request.param == "postgresql":
        with postgresql() as address:
            yield address
        return
    folder.mkdir(exist_ok=True)
    file = folder / f"study.{request.param}"
    try:
        yield f"sqlite:///{file}" if request.param == "sqlite" else f"journal:{file}"
    finally:
        for left in folder.glob("study.*"):
            left.unlink()


def alone(seed: int) -> int:
    """Trials that one process needs."""
    study = optuna.create_study(sampler=sampler(seed))
    while (found := first_good(study)) is None:
        study.optimize(objective, n_trials=20)
    return found


@pytest.mark.machines
def test_four_processes_search_together_and_one_dies(url: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(study_name=NAME, storage=storage_at(url))
    command = [sys.executable, "-m", "tests.optuna.worker", url, str(TRIALS), "1"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    workers = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(4)]
    try:
        while len(study.get_trials(deepcopy=False)) < 150:
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.05)
        workers[0].send_signal(signal.SIGKILL)
        for worker in workers[1:]:
            _, errors = worker.communicate(timeout=400)
            assert worker.returncode == 0, errors.decode()
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    trials = study.get_trials(deepcopy=False)
    complete = {t.number for t in trials if t.state == TrialState.COMPLETE}
    assert TRIALS <= len(complete) < TRIALS + 4
    assert len(trials) - len(complete) <= 1  # the trial of the process that died

    told, batches = told_along_the_chain(url)
    assert complete == told  # no result was thrown away
    print(f"{len(batches)} batches, target after {first_good(study)}")


def told_along_the_chain(url: str) -> tuple[set[int], list[int]]:
    """Trials that were told in the chain of batches, as who comes new to the study sees it."""
    study = optuna.load_study(study_name=NAME, storage=storage_at(url), sampler=sampler(5))
    trial = study.ask()
    trial.suggest_float("x0", -5, 5)
    sampled: Any = study.sampler
    (view,) = sampled._views.values()
    chain = view.chain
    told = set(chain._told).union(*(chain._links[batch].told for batch in chain._path))
    return told, chain._path
