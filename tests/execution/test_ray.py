"""Evaluations in Ray tasks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiments.clusters import account, evaluations, free_port, prepared, started, wait_for
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


def twelve_evaluations(on: str, folder: Path) -> None:
    """`saltus run --on ...` of a study in a folder: all on record, each evaluated once."""
    file = prepared(folder, on, 12, workers=2)
    running = started(file)
    try:
        assert running.wait(180) == 0, (folder / "run.log").read_text()
    finally:
        running.kill()
        running.wait()
    found = account(file)
    assert (found.on_record, found.different, found.invented, found.logged) == (12, 12, 0, 12)


@pytest.mark.machines
def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In processes of its own: `--on ray` starts Ray on this machine, and ends it."""
    for name, value in RAY_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    twelve_evaluations("ray", tmp_path)


by_address = pytest.mark.skipif(
    "SALTUS_RAY_CLIENT" not in os.environ,
    reason="Ray's own client does not reach a head node on every machine: SALTUS_RAY_CLIENT=1 tries it",
)


@contextmanager
def head_node(port: int) -> Iterator[None]:
    """A head node in a session of its own, whose clients come to this port; all of it ends at the end."""
    ray = shutil.which("ray", path=str(Path(sys.executable).parent))
    if ray is None:
        pytest.skip("needs the command of Ray: pip install 'ray[client]'")
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as folder:  # for sockets: a short name
        command = [ray, "start", "--head", "--block", "--num-cpus=2", "--node-ip-address=127.0.0.1"]
        command += [f"--port={free_port()}", f"--ray-client-server-port={port}", "--include-dashboard=false"]
        said = Path(folder, "said")
        with said.open("wb") as log:
            head = subprocess.Popen(
                [*command, f"--temp-dir={folder}"], stdout=log, stderr=log, start_new_session=True
            )
        try:
            wait_for(lambda: "Ray runtime started" in said.read_text("utf-8") or head.poll() is not None, 120)
            assert head.poll() is None, said.read_text("utf-8")
            yield
        finally:
            head.send_signal(signal.SIGTERM)  # it ends what it has started
            with suppress(subprocess.TimeoutExpired):
                head.wait(30)
            with suppress(ProcessLookupError):
                os.killpg(head.pid, signal.SIGKILL)
            head.wait()


@by_address
@pytest.mark.machines
def test_a_cluster_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--on ray://...` reaches a head node that is running, by Ray's client."""
    for name, value in RAY_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    with head_node(port):
        twelve_evaluations(f"ray://127.0.0.1:{port}", tmp_path)


@by_address
@pytest.mark.machines
def test_a_head_node_that_ends_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it ends its cluster: what was under way there is evaluated again on the new one."""
    for name, value in RAY_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    file = prepared(tmp_path, f"ray://127.0.0.1:{port}", 40, seconds="0.5", workers=2)
    running = None
    try:
        with head_node(port):
            running = started(file)
            wait_for(lambda: evaluations(file) >= 5, 180)
        with head_node(port):
            assert running.wait(240) == 0, (tmp_path / "run.log").read_text()
    finally:
        if running is not None:
            running.kill()
            running.wait()
    found = account(file)
    assert (found.on_record, found.different, found.invented) == (40, 40, 0)
    assert 40 <= found.logged <= 44  # what was under way, or on its way back, was evaluated again
    assert " is back;" in (tmp_path / "run.log").read_text()
