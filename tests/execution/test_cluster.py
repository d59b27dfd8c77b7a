"""A cluster that comes and goes, as a fake one: what it loses is submitted again, but not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from saltus import Candidate, Float, Int, NotCountedError, Space, Stop, Study, WorkerError
from saltus.execution import cluster as module
from saltus.execution.addresses import check_address, cluster_at
from saltus.execution.cluster import DISCONNECTIONS, LostError, OnCluster, run_there
from saltus.execution.driver import Limits
from saltus.execution.evaluation import Answer, MachineError, evaluate
from saltus.order import Outcome

SPACE = Space({"x": Float(-5, 5), "k": Int(0, 20)})


class KilledWorker(Exception):
    """As Dask calls it."""


class Fake:
    """A cluster in threads, of which a test says what it loses."""

    resubmissions = 2
    name = "the fake cluster"

    def __init__(self, spoil: Callable[[int], Exception | None] = lambda number: None, away: int = 0) -> None:
        self.spoil, self.away = spoil, away
        self.connections = self.submitted = 0
        self.ended = False
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(3)

    def connect(self, seconds: float) -> Executor:
        self.connections += 1
        if self.connections > 1 and self.away:
            self.away -= 1
            raise OSError("no route")
        cluster = self

        class Here(Executor):
            def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
                with cluster.lock:
                    cluster.submitted += 1
                    wrong = cluster.spoil(cluster.submitted)
                return cluster.pool.submit(partial(_spoilt, wrong) if wrong else partial(fn, *args))

        return Here()

    def slots(self) -> int:
        return 3

    def end(self) -> None:
        self.ended = True
        self.pool.shutdown()


def _spoilt(error: Exception) -> None:
    raise error


def bowl(candidate: Candidate) -> Answer:
    return Answer(evaluate(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, candidate.params))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)


@contextmanager
def study_on(
    tmp_path: Path, fake: Fake, patience: float = 60.0, task: module.Task = bowl
) -> Iterator[tuple[Study, Callable[[int], Any], list[str]]]:
    study = Study.create(tmp_path / "study.db", SPACE, seed=1, asynchronous=True, strategy="saltus-es")
    said: list[str] = []

    def run(budget: int) -> Any:
        there = OnCluster(task, fake, patience=patience, say=said.append)
        return study.run(closing(there), "python bowl", Limits(budget), workers=3)

    yield study, run, said


def test_a_study_there_is_like_one_here(tmp_path: Path) -> None:
    fake = Fake()
    with study_on(tmp_path, fake) as (study, run, said):
        result = run(30)
    assert (result.nfev, result.failures, result.stop, said) == (30, 0, Stop.BUDGET, [])
    assert fake.submitted == 30
    assert fake.ended
    assert all(t.seconds is not None and t.status == "done" for t in study.trials())


def test_what_is_lost_with_its_worker_is_submitted_again(tmp_path: Path) -> None:
    fake = Fake(lambda number: KilledWorker("w1") if number in (4, 9, 10) else None)
    with study_on(tmp_path, fake) as (_, run, said):
        result = run(20)
    assert (result.nfev, result.failures) == (20, 0)
    assert fake.submitted == 23
    assert len(said) == 3
    assert "was lost with its worker; it is submitted again (1 of at most 2 times)" in said[0]


def test_one_that_kills_its_workers_every_time_has_failed(tmp_path: Path) -> None:
    def spoil(number: int) -> Exception | None:
        return KilledWorker("w1") if number <= 3 else None

    with study_on(tmp_path, Fake(spoil)) as (study, _, said):
        there = OnCluster(bowl, Fake(spoil), say=said.append)
        result = study.run(closing(there), "python bowl", Limits(1), workers=1)
    assert (result.nfev, result.failures) == (1, 1)
    (trial,) = list(study.trials())[:1]
    assert trial.failure is not None
    assert (trial.failure.name, trial.reason) == ("DIED", "its workers died, 3 times (KilledWorker)")


def test_a_cluster_that_is_away_for_a_while_is_waited_for(tmp_path: Path) -> None:
    fake = Fake(lambda number: LostError("gone") if number == 7 else None, away=3)
    with study_on(tmp_path, fake) as (study, run, said):
        result = run(25)
    assert (result.nfev, result.failures) == (25, 0)
    assert fake.connections == 5  # the first, three in vain, and one that worked
    assert said[0] == (
        "the fake cluster is gone; trying to reach it for 60 s, then what it had is submitted again"
    )
    assert said[1].startswith("the fake cluster is back; submitting")
    params = [str(t.params) for t in study.trials() if t.status == "done"]
    assert len(set(params)) == len(params) == 25


def test_one_that_stays_away_ends_the_run_which_goes_on_later(tmp_path: Path) -> None:
    fake = Fake(lambda number: LostError("gone") if number > 6 else None, away=10**6)
    gone = r"the fake cluster does not answer \(OSError: no route\)"
    with study_on(tmp_path, fake, 0.05) as (study, run, _), pytest.raises(WorkerError, match=gone):
        run(25)
    done = study.summary().evaluations
    assert 3 <= done <= 6
    before = [t.params for t in study.trials()]
    result = study.run(closing(OnCluster(bowl, Fake())), "python bowl", Limits(25), workers=3)
    assert result.nfev == 25
    assert [t.params for t in study.trials()][: len(before)] == before


def test_a_cluster_that_is_lost_again_and_again_is_given_up(tmp_path: Path) -> None:
    fake, lost = (
        Fake(lambda number: LostError("gone")),
        f"lost {DISCONNECTIONS + 1} times with the fake cluster",
    )
    with study_on(tmp_path, fake) as (_, run, said), pytest.raises(WorkerError, match=lost):
        run(25)
    assert len(said) >= DISCONNECTIONS


def test_what_no_machine_can_do_ends_the_run(tmp_path: Path) -> None:
    """A program that is not there says nothing about the point."""

    def broken(candidate: Candidate) -> Answer:
        raise MachineError("the program './sim' is gone, on node7")

    with (
        study_on(tmp_path, Fake(), task=broken) as (study, run, _),
        pytest.raises(WorkerError, match=r"the fake cluster cannot evaluate: the program './sim' is gone"),
    ):
        run(25)
    assert study.summary().evaluations == 0


def test_who_is_not_there_at_all_is_said_at_once() -> None:
    class Nobody(Fake):
        def connect(self, seconds: float) -> Executor:
            raise OSError("refused")

    with pytest.raises(WorkerError, match=r"does not answer \(OSError: refused\); tried for 0.05 s"):
        OnCluster(bowl, Nobody(), patience=0.05)


def test_a_first_connection_that_takes_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SOON", 0.01)
    told = threading.Event()
    said: list[str] = []

    class Slow(Fake):
        def connect(self, seconds: float) -> Executor:
            assert told.wait(60)
            return super().connect(seconds)

    def say(line: str) -> None:
        said.append(line)
        told.set()

    OnCluster(bowl, Slow(), patience=30, say=say).close()
    assert said == ["waiting for the fake cluster, which does not answer yet; for 30 s in all"]


def test_what_has_not_begun_is_taken_back() -> None:
    """The first ones, as many as there are slots, may have begun: those are waited for."""
    begin = threading.Event()

    def slow(candidate: Candidate) -> Answer:
        begin.wait(60)
        return Answer(Outcome(1.0))

    with closing(OnCluster(slow, Fake())) as there:
        jobs = [there.submit(Candidate(i, {"x": 0.0, "k": 1}), None) for i in range(5)]
        assert [job.cancel() for job in jobs] == [False, False, False, True, True]
        begin.set()
        assert [job.result().outcome.value for job in jobs[:3]] == [1.0, 1.0, 1.0]


def test_retries_and_errors_travel() -> None:
    calls: list[int] = []

    def moody(candidate: Candidate) -> Answer:
        calls.append(candidate.id)
        candidate.params["x"] = 99.0  # its own copy
        if len(calls) < 3:
            raise NotCountedError("no licence") if len(calls) == 1 else OSError("disk")
        return Answer(Outcome(candidate.params["x"]))

    candidate = Candidate(4, {"x": 1.0})
    assert run_there(moody, 0, False, candidate, "").withheld
    failed = run_there(moody, 0, False, candidate, "")
    assert failed.failure_reason == "OSError: disk"
    calls.clear()
    assert run_there(moody, 5, False, candidate, "").attempts == 3
    assert candidate.params == {"x": 1.0}


@pytest.mark.parametrize("text", ["dask://node1:8786", "tls://node1:8786", "ray", "ray://n:10001", "slurm"])
def test_addresses(text: str) -> None:
    check_address(text)
    assert cluster_at(text).name


@pytest.mark.parametrize("text", ["", "dask", "dask://node1", "kubernetes", "http://node1:80", "ray://node"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be one of dask://HOST:PORT, ray://HOST:PORT, ray .*, got"):
        check_address(text)


def test_time_is_not_wasted(tmp_path: Path) -> None:
    """While the cluster is away, what is asked waits, and nothing ends."""
    fake = Fake(lambda number: LostError("gone") if number == 2 else None, away=5)
    begun = time.monotonic()
    with study_on(tmp_path, fake) as (_, run, _):
        assert run(5).nfev == 5
    assert time.monotonic() - begun < 60
