"""Evaluations in Ray tasks."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiments.clusters import account, evaluations, free_port, prepared, started, wait_for
from saltus import Candidate, Study, WorkerError, minimize
from saltus.execution.cluster import OnCluster
from saltus.execution.driver import Limits
from saltus.execution.evaluation import Answer, evaluate
from saltus.execution.ray import RayCluster, RayExecutor, _LosingRayExecutor

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


class FakeClient:
    """Ray's client, as far as it matters: one thread takes what is submitted and brings the results.

    Whoever submits waits for that thread, which calls those who wait for results.
    """

    class exceptions:
        RaySystemError = type("RaySystemError", (RuntimeError,), {})

    def __init__(self, spoil: Callable[[int], Exception | None]) -> None:
        self.spoil, self.submitted = spoil, 0
        self.messages: queue.Queue[Callable[[], None]] = queue.Queue()
        threading.Thread(target=self._data, daemon=True).start()

    def _data(self) -> None:
        while True:
            message = self.messages.get()
            time.sleep(0.001)  # the way over the network
            message()

    def remote(self, call: Any) -> Any:
        client = self

        class Task:
            def options(self, **options: Any) -> Any:
                return self

            def remote(self, fn: Any, args: Any, kwargs: Any) -> Any:
                client.submitted += 1
                number, result = client.submitted, Future[Any]()

                def end() -> None:
                    error = client.spoil(number)
                    result.set_exception(error) if error else result.set_result(call(fn, args, kwargs))

                class Reference:
                    def future(self) -> Future[Any]:
                        taken = threading.Event()
                        client.messages.put(taken.set)
                        threading.Timer(0.005, client.messages.put, [end]).start()
                        if not taken.wait(5):
                            raise TimeoutError("nobody takes what is submitted")
                        return result

                return Reference()

        return Task()


def test_who_submits_and_who_brings_results_do_not_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = type("WorkerCrashedError", (Exception,), {})
    client = FakeClient(lambda number: died("it died") if number in (4, 9) else None)
    monkeypatch.setitem(sys.modules, "ray", client)

    class There(RayCluster):
        def connect(self, seconds: float) -> Executor:
            return _LosingRayExecutor(num_cpus=1)

        def slots(self) -> int:
            return 4

    def value(candidate: Candidate) -> Answer:
        return Answer(evaluate(bowl, candidate.params))

    study = Study.create(tmp_path / "study.db", SPACE, seed=1, asynchronous=True, strategy="saltus-es")
    there = OnCluster(value, There("ray://node1:10001"))
    result = study.run(closing(there), "python bowl", Limits(60), workers=4)
    assert (result.nfev, result.failures, client.submitted) == (60, 0, 62)


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


def kill_a_worker(file: Path) -> None:
    """With SIGKILL: one that has written down an evaluation lately."""
    logs = sorted((file.parent / "log").iterdir(), key=lambda log: log.stat().st_mtime)
    os.kill(int(logs[-1].stem), signal.SIGKILL)


@pytest.mark.machines
def test_a_cluster_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--on ray://...` reaches a head node by Ray's client; a worker dies, then the head node.

    With that ends its cluster: what was under way there is evaluated again on the new one.
    """
    for name, value in RAY_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    file = prepared(tmp_path, f"ray://127.0.0.1:{port}", 40, seconds="0.3", workers=2)
    running = None
    try:
        with head_node(port):
            running = started(file)
            wait_for(lambda: evaluations(file) >= 5, 180)
            kill_a_worker(file)
            wait_for(lambda: evaluations(file) >= 12, 180)
        with head_node(port):
            assert running.wait(240) == 0, (tmp_path / "run.log").read_text()
    finally:
        if running is not None:
            running.kill()
            running.wait()
    found = account(file)
    assert (found.on_record, found.different, found.invented) == (40, 40, 0)
    assert 40 <= found.logged <= 44  # what was under way, or on its way back, was evaluated again
    said = (tmp_path / "run.log").read_text()
    assert "was lost with its worker; it is submitted again (1 of at most 3 times)" in said
    assert " is back;" in said
