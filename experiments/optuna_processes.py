"""Four processes on one study of Optuna, of which one is killed: python -m experiments.optuna_processes

For each storage (PostgreSQL, SQLite, a journal file) and seed: how many trials until the target, with one
process and with four. One of the four is killed with SIGKILL after KILLED_AFTER trials, in the middle of a
trial. `--work URL TRIALS SEED` is one of the processes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.trial import TrialState
from sqlalchemy.pool import NullPool

from experiments.harness import markdown, publish
from experiments.postgresql import postgresql
from saltus.optuna import SaltusSampler

STORAGES = ("PostgreSQL", "SQLite", "journal file")
NAME = "shared"
TARGET = 1e-8
BUDGET = 2000
PROCESSES, KILLED_AFTER = 4, 150
HALF = 5  # floats, and as many integers
SPACE: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(-5, 5) for i in range(HALF)}
SPACE |= {f"k{i}": IntDistribution(-10, 10) for i in range(HALF)}


def storage_at(url: str, *, keep_connections: bool = False) -> BaseStorage:
    """A storage by its address; connections are faster kept, but then nobody closes them."""
    if url.startswith("journal:"):
        from optuna.storages.journal import JournalFileBackend

        return JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    engine: dict[str, Any] = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    if not keep_connections:
        engine["poolclass"] = NullPool
    return RDBStorage(url, engine_kwargs=engine)


@contextmanager
def place_for(storage: str) -> Iterator[str]:
    """The address of an empty storage; files are in memory, or the disk would be all that is measured."""
    if storage == "PostgreSQL":
        with postgresql() as url:
            yield url
        return
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="saltus-", dir=memory if memory.is_dir() else None))
    try:
        yield f"sqlite:///{folder}/study.db" if storage == "SQLite" else f"journal:{folder}/study.log"
    finally:
        shutil.rmtree(folder)


def objective(trial: optuna.Trial) -> float:
    """An ellipsoid whose optimum is not in the middle, and evaluations that take different times."""
    x = np.array([trial.suggest_float(f"x{i}", -5, 5) for i in range(HALF)])
    k = np.array([trial.suggest_int(f"k{i}", -10, 10) for i in range(HALF)])
    weights = 10.0 ** np.arange(HALF)
    time.sleep(0.002 * np.random.default_rng(trial.number).exponential())
    return float(weights @ (x - 1.3) ** 2 + weights @ (k - 3.0) ** 2)


def sampler(seed: int) -> SaltusSampler:
    """The same for all processes."""
    return SaltusSampler(strategy="saltus-es", seed=seed, search_space=SPACE)


def first_good(study: optuna.Study) -> int | None:
    """How many trials it took to reach the target."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return min((t.number + 1 for t in trials if t.value is not None and t.value <= TARGET), default=None)


def work(url: str, trials: int, seed: int, until_target: bool) -> None:
    """What each process does."""

    def enough(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.number + 1 >= trials or (until_target and first_good(study) is not None):
            study.stop()

    storage = storage_at(url, keep_connections=True)
    study = optuna.load_study(study_name=NAME, storage=storage, sampler=sampler(seed))
    study.optimize(objective, callbacks=[enough])


def together(url: str, seed: int, *, trials: int = BUDGET, until_target: bool = True) -> optuna.Study:
    """The study after four processes have worked on it, of which three are left."""
    study = optuna.create_study(study_name=NAME, storage=storage_at(url))
    command = [sys.executable, "-m", "experiments.optuna_processes", "--work", url, str(trials), str(seed)]
    if until_target:
        command.append("--until-target")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    workers = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(PROCESSES)]
    try:
        while len(study.get_trials(deepcopy=False)) < KILLED_AFTER:
            time.sleep(0.02)
            if any(worker.poll() for worker in workers):
                break
        workers[0].send_signal(signal.SIGKILL)
        for worker in workers[1:]:
            _, errors = worker.communicate(timeout=900)
            if worker.returncode:
                raise RuntimeError(f"a worker ended with {worker.returncode}: {errors.decode()}")
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    return study


def alone(seed: int) -> int:
    """Trials that one process needs; where it keeps them makes no difference."""
    study = optuna.create_study(sampler=sampler(seed))
    while (found := first_good(study)) is None:
        study.optimize(objective, n_trials=20)
    return found


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--work", nargs=3, metavar=("URL", "TRIALS", "SEED"))
    parser.add_argument("--until-target", action="store_true")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if arguments.work:
        url, trials, seed = arguments.work
        work(url, int(trials), int(seed), arguments.until_target)
        return
    seeds = range(1, arguments.seeds + 1)
    single = np.array([alone(seed) for seed in seeds])
    rows = [["one process", _mean(single), "", ""]]
    for storage in STORAGES:
        needed, times = [], []
        for seed in seeds:
            with place_for(storage) as url:
                start = time.monotonic()
                study = together(url, seed)
                times.append(time.monotonic() - start)
                needed.append(first_good(study) or BUDGET)
            print(
                f"{storage}, seed {seed}: {needed[-1]} trials, {times[-1]:.0f} s", file=sys.stderr, flush=True
            )
        four = np.array(needed)
        rows.append(
            [f"four, {storage}", _mean(four), f"{four.mean() / single.mean():.2f}", f"{np.mean(times):.0f} s"]
        )
    head = ["processes", "trials to target", "relative", "time of a run"]
    publish("optuna-processes", markdown(head, rows), "optuna_processes")


def _mean(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    return f"{values.mean():.0f} ± {values.std(ddof=1) / np.sqrt(len(values)):.0f}"


if __name__ == "__main__":
    main()
