"""Objectives that meet with accidents, and what is compared afterwards: for tests of executors."""

from __future__ import annotations

import os
import random
import signal
import time
import uuid
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from saltus import Result, Study

from ..objectives import SPACE, bowl

ROOT = Path(__file__).parents[2]
BUDGET = 120


# Ray is to listen on loopback alone, let nobody else in, and write nothing into the home directory
RAY_ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": uuid.uuid4().hex * 2,
    "RAY_USAGE_STATS_ENABLED": "0",
}


def essence(result: Result) -> Any:
    assert result.x is not None
    history = result.history
    columns = [history.evaluations, history.best, history.value, history.population]
    about = result.fun, result.nfev, result.nit, result.restarts, result.failures, result.stop
    return result.x.tolist(), about, [repr(column.tolist()) for column in columns]  # in which NaN equals NaN


def counted(p: Any, folder: Path) -> int:
    """How often an objective was called in all processes, this call included; who was called is in a file."""
    with open(folder / "calls", "ab", buffering=0) as file:
        file.write(b"%8d\n" % os.getpid())
        return file.tell() // 9


def callers(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "calls").read_text().split()]


def dies_once(p: Any, folder: Path) -> float:
    """The process that has the 40th call is killed, in the middle of it."""
    if counted(p, folder) == 40:
        (folder / "died").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return bowl(p)


def noisy(p: Any, folder: Path) -> float:
    counted(p, folder)
    return random.random()


def deadly(p: Any) -> float:
    """Kills its process at every fifth k."""
    if p["k"] % 5 == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(p)


def undisturbed(tmp_path: Path, budget: int = BUDGET) -> Study:
    study = Study.create(tmp_path / "here.db", SPACE, seed=3)
    study.optimize(bowl, budget=budget)
    return study


def trials(study: Study) -> list[Any]:
    return [(t.id, t.params, t.value, t.status, t.repeats) for t in study.trials()]


def assert_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def check_the_accident(folder: Path) -> None:
    """A worker was killed, others went on, and the evaluation that it had was done again."""
    who = callers(folder)
    assert int((folder / "died").read_text()) in who[:40]
    assert not set(who[80:]) <= {int((folder / "died").read_text())}
    assert len(set(who)) > 1
    assert len(who) > BUDGET


def check_a_study_that_loses_a_worker(study: Study, executor: Executor, tmp_path: Path) -> None:
    """It is the study that was left in peace."""
    there = study.optimize(partial(dies_once, folder=tmp_path), budget=BUDGET, executor=executor)
    assert (tmp_path / "died").exists()
    here = undisturbed(tmp_path)
    assert trials(study) == trials(here)
    assert essence(there) == essence(here.optimize(bowl, budget=BUDGET))
