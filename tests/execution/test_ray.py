"""Evaluations in Ray tasks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiments.clusters import account, prepared, started
from saltus import Study, WorkerError, minimize
from saltus.execution.ray import RayExecutor

from ..objectives import SPACE, bowl, kills_its_process
from .accidents import (
    BUDGET,
    RAY_ENVIRONMENT,
    ROOT,
    assert_gone,
    check_a_study_that_loses_a_worker,
    check_the_accident,
    deadly,
    dies_once,
    essence,
)


def test_ray_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="pip install ray"):
        RayExecutor()


# Ray


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in RAY_ENVIRONMENT.items():  # some are read when Ray is imported
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)  # for the objectives
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        left = ray.get([ray.remote(lambda: os.getpid()).remote() for _ in range(4)])
        yield ray
        ray.shutdown()
        assert_gone(left)


@pytest.mark.machines
def test_ray_loses_a_worker(ray: Any, tmp_path: Path) -> None:
    fun = partial(dies_once, folder=tmp_path)
    there = minimize(fun, SPACE, budget=BUDGET, seed=3, executor=RayExecutor(num_cpus=1))
    check_the_accident(tmp_path)
    assert essence(there) == essence(minimize(bowl, SPACE, budget=BUDGET, seed=3))


@pytest.mark.machines
def test_a_study_on_ray_loses_a_worker(ray: Any, study: Study, tmp_path: Path) -> None:
    check_a_study_that_loses_a_worker(study, RayExecutor(), tmp_path)


@pytest.mark.machines
def test_a_point_that_kills_every_ray_worker_has_failed(ray: Any, study: Study) -> None:
    executor = RayExecutor(max_retries=0)
    result = study.optimize(deadly, budget=30, executor=executor)
    assert result.nfev == 30
    assert result.failures > 0
    reasons = {t.reason for t in study.trials() if t.status == "failed"}
    assert reasons == {"the worker died (WorkerCrashedError)"}
    with pytest.raises(WorkerError, match=r"the worker died \(WorkerCrashedError\)"):
        minimize(kills_its_process, SPACE, budget=4, seed=1, executor=executor)


@pytest.mark.machines
def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In processes of its own: `--on ray` starts Ray on this machine, and ends it."""
    for name, value in RAY_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    file = prepared(tmp_path, "ray", 12, workers=2)
    running = started(file)
    try:
        assert running.wait(180) == 0, (tmp_path / "run.log").read_text()
    finally:
        running.kill()
        running.wait()
    found = account(file)
    assert (found.on_record, found.different, found.invented, found.logged) == (12, 12, 0, 12)
