"""Executors that the user brings: the same result, whatever happens to their workers."""

from __future__ import annotations

import gc
import os
import random
import re
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from loky import ProcessPoolExecutor as Loky

from saltus import Bool, Space, Stop, Study, WorkerError, minimize

from ..objectives import SPACE, bowl, fails_sometimes, kills_its_process
from .accidents import (
    BUDGET,
    RAY_ENVIRONMENT,
    ROOT,
    assert_gone,
    callers,
    check_a_study_that_loses_a_worker,
    check_the_accident,
    dies_once,
    essence,
    noisy,
    trials,
    undisturbed,
)

SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "executors.md").read_text(), re.DOTALL)


POOLS: list[Callable[[], Executor]] = [
    partial(ThreadPoolExecutor, 3),
    partial(ProcessPoolExecutor, 2, get_context("spawn")),
    partial(Loky, 2),
]


NAMES = ["threads", "processes", "loky"]


@pytest.mark.parametrize("pool", POOLS, ids=NAMES)
def test_an_executor_changes_nothing(pool: Callable[[], Executor]) -> None:
    settings: dict[str, Any] = {"budget": 30, "seed": 3, "on_error": "infeasible"}
    with pool() as executor:
        there = minimize(fails_sometimes, SPACE, executor=executor, **settings)
    assert there.failures > 0
    assert essence(there) == essence(minimize(fails_sometimes, SPACE, **settings))


@pytest.mark.parametrize("pool", POOLS[1:], ids=NAMES[1:])
def test_a_study_survives_a_pool_that_broke(
    pool: Callable[[], Executor], study: Study, tmp_path: Path
) -> None:
    fun = partial(dies_once, folder=tmp_path)
    with pool() as executor, pytest.raises(WorkerError, match="the executor is broken"):
        study.optimize(fun, budget=45, executor=executor)
    assert (tmp_path / "died").exists()
    assert 0 < sum(t.evaluated for t in study.trials()) < 40
    with pool() as executor:
        result = study.optimize(fun, budget=45, executor=executor)
    assert result.failures == 0
    assert trials(study) == trials(undisturbed(tmp_path, 45))


def test_a_broken_pool_gives_back_the_optimizer(tmp_path: Path) -> None:
    fun = partial(dies_once, folder=tmp_path)
    with POOLS[1]() as executor, pytest.raises(WorkerError, match="the executor is broken") as caught:
        minimize(fun, SPACE, budget=BUDGET, seed=3, executor=executor, on_error="infeasible")
    optimizer = caught.value.optimizer
    assert optimizer is not None
    assert optimizer.evaluations >= 20
    assert optimizer.failures == 0


@pytest.mark.parametrize("on_error", ["raise", "infeasible"])
def test_what_cannot_be_sent_is_an_error_at_once(on_error: Any) -> None:
    with POOLS[1]() as executor, pytest.raises(WorkerError, match=r"cannot evaluate: .*lambda") as caught:
        minimize(lambda p: 1.0, SPACE, budget=BUDGET, seed=3, executor=executor, on_error=on_error)
    assert caught.value.optimizer is not None
    assert caught.value.optimizer.evaluations == 0


def test_an_executor_that_is_shut_down_is_an_error() -> None:
    pool = ThreadPoolExecutor(1)
    with pytest.raises(WorkerError, match="takes no evaluation: RuntimeError: cannot schedule") as caught:
        minimize(bowl, SPACE, budget=BUDGET, seed=3, executor=pool, callback=lambda _: pool.shutdown())
    assert caught.value.optimizer is not None
    assert caught.value.optimizer.evaluations > 0


class Dropping(Executor):
    """Forgets what it takes, and is tired of it one day."""

    taken = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.taken += 1
        assert self.taken < 1000
        future: Future[Any] = Future()
        future.cancel()
        return future


def test_an_executor_that_drops_what_it_took_is_an_error() -> None:
    with pytest.raises(WorkerError, match="dropped an evaluation") as caught:
        minimize(bowl, SPACE, budget=BUDGET, seed=3, executor=Dropping(), on_error="infeasible")
    assert caught.value.optimizer is not None


def test_an_interrupt_takes_back_what_has_not_begun() -> None:
    calls = []

    def fun(p: Any) -> float:
        calls.append(p)
        if len(calls) == 1:
            raise KeyboardInterrupt
        time.sleep(0.2)
        return bowl(p)

    with ThreadPoolExecutor(1) as pool:
        result = minimize(fun, SPACE, budget=BUDGET, seed=3, population=12, executor=pool)
    assert result.stop is Stop.INTERRUPTED
    assert len(calls) <= 2


class KilledWorker(Exception):
    """Has the name of Dask's."""


class Losing(Executor):
    """Loses every evaluation at an uneven k, and sees what it is given."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls.append(repr(args))
        future: Future[Any] = Future()
        if args[1]["k"] % 2:
            future.set_exception(KilledWorker("see the logs"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_an_evaluation_that_kills_its_workers_has_failed(study: Study) -> None:
    with pytest.raises(WorkerError, match=r"the worker died \(KilledWorker\)") as caught:
        minimize(bowl, SPACE, budget=BUDGET, seed=3, executor=Losing())
    assert caught.value.__notes__ == ["see the logs"]
    assert caught.value.optimizer is not None
    assert caught.value.optimizer.evaluations > 0  # the others of its batch are told
    result = minimize(bowl, SPACE, budget=BUDGET, seed=3, executor=Losing(), on_error="infeasible")
    assert 0 < result.failures < result.nfev == BUDGET
    study.optimize(bowl, budget=BUDGET, executor=Losing())
    failed = [t for t in study.trials() if t.status == "failed"]
    assert {(t.reason, t.stderr) for t in failed} == {("the worker died (KilledWorker)", "see the logs")}


def test_no_two_calls_look_the_same() -> None:
    executor = Losing()
    settings: dict[str, Any] = {"budget": 50, "seed": 1, "on_error": "infeasible", "noisy": True}
    minimize(lambda p: random.random(), Space({"k": Bool()}), executor=executor, **settings)
    assert len(set(executor.calls)) == 50


class Watched(ThreadPoolExecutor):
    """Sees which of its futures are still alive."""

    def __init__(self) -> None:
        super().__init__(1)
        self.futures: weakref.WeakSet[Future[Any]] = weakref.WeakSet()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(fn, *args, **kwargs)
        self.futures.add(future)
        return future


def test_nobody_keeps_a_future_that_is_done_with() -> None:
    """Else a cluster would keep every point, and evaluate old ones again when it loses a machine."""

    def fun(p: Any) -> float:
        time.sleep(0.001)  # so that it ends after its callback is there
        return bowl(p)

    kept: list[int] = []
    gc.disable()  # nothing is to depend on when it runs
    try:
        settings: dict[str, Any] = {"budget": BUDGET, "seed": 3, "population": 10}
        with Watched() as pool:
            minimize(fun, SPACE, executor=pool, callback=lambda _: kept.append(len(pool.futures)), **settings)
    finally:
        gc.enable()
    assert max(kept) <= 20


@pytest.mark.parametrize(
    "name",
    [
        "concurrent",
        "loky",
        pytest.param("dask", marks=pytest.mark.machines),
        pytest.param("ray", marks=pytest.mark.machines),
    ],
)
def test_the_guide_keeps_its_word(name: str, tmp_path: Path) -> None:
    """As a program of its own, and it prints what it would print without an executor."""
    known: dict[str, Any] = {"__name__": "guide"}
    exec(SNIPPETS[0], known)
    here = minimize(known["cost"], known["space"], budget=60, seed=1)
    (snippet,) = (s for s in SNIPPETS if re.search(rf"^ *(from|import) {name}\b", s, re.MULTILINE))
    program = tmp_path / "program.py"
    program.write_text(snippet)
    command = [sys.executable, "-W", "error", str(program)]
    environment = os.environ | RAY_ENVIRONMENT
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{here.fun} {here.params}\n"


# Dask


@contextmanager
def dask_cluster(workers: int) -> Iterator[Any]:
    distributed: Any = import_module("distributed")  # its annotations are not complete
    # without an address for it, its web server would take port 8787, or warn that another has it
    where: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **where)
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    with dask_cluster(4) as client:
        yield client
        client.wait_for_workers(4, timeout=60)
        left = list(client.run(os.getpid).values())
    assert_gone(left)


@pytest.mark.machines
def test_dask_loses_a_worker(dask: Any, tmp_path: Path) -> None:
    fun = partial(dies_once, folder=tmp_path)
    there = minimize(fun, SPACE, budget=BUDGET, seed=3, executor=dask.get_executor())
    check_the_accident(tmp_path)
    assert essence(there) == essence(minimize(bowl, SPACE, budget=BUDGET, seed=3))


@pytest.mark.machines
def test_a_study_on_dask_loses_a_worker(dask: Any, study: Study, tmp_path: Path) -> None:
    check_a_study_that_loses_a_worker(study, dask.get_executor(), tmp_path)


@pytest.mark.machines
def test_dask_evaluates_equal_points_again(dask: Any, tmp_path: Path) -> None:
    fun, space = partial(noisy, folder=tmp_path), Space({"k": Bool()})
    result = minimize(fun, space, budget=40, seed=1, executor=dask.get_executor(), noisy=True)
    assert len(callers(tmp_path)) == result.nfev == 40


@pytest.mark.machines
def test_dask_forgets_what_it_has_delivered(dask: Any, tmp_path: Path) -> None:
    """Else it would evaluate old points again when a worker dies."""
    kept = []
    gc.disable()  # nothing is to depend on when it runs
    try:
        settings: dict[str, Any] = {"budget": BUDGET, "seed": 3, "population": 10}
        minimize(
            bowl,
            SPACE,
            executor=dask.get_executor(),
            callback=lambda _: kept.append(len(dask.cluster.scheduler.tasks)),
            **settings,
        )
    finally:
        gc.enable()
    assert len(kept) >= 5
    assert max(kept) <= 20  # of 120: Dask hears a moment later


@pytest.mark.machines
def test_a_point_that_kills_every_dask_worker_has_failed(study: Study) -> None:
    from dask import config

    with config.set({"distributed.scheduler.allowed-failures": 0}), dask_cluster(2) as client:
        executor = client.get_executor()
        result = study.optimize(kills_its_process, budget=4, executor=executor)
        with pytest.raises(WorkerError, match=r"the worker died \(KilledWorker\)"):
            minimize(kills_its_process, SPACE, budget=4, seed=1, executor=executor)
    assert result.nfev == result.failures == 4
    assert {t.reason for t in study.trials()} == {"the worker died (KilledWorker)"}


@pytest.mark.machines
def test_a_dask_cluster_that_is_closed_is_an_error() -> None:
    with dask_cluster(1) as client, pytest.raises(WorkerError) as caught:
        minimize(
            bowl,
            SPACE,
            budget=BUDGET,
            seed=3,
            executor=client.get_executor(),
            callback=lambda _: client.cluster.close(),
        )
    assert caught.value.optimizer is not None
    assert caught.value.optimizer.evaluations > 0
