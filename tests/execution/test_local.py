"""Evaluations in this process, and a pool that hands candidates to free workers (here: no processes)."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from contextlib import closing
from typing import Any

import pytest

from saltus.execution.evaluation import Answer, Ended, EvaluationError, MachineError, checked_outcome
from saltus.execution.evaluator import Started
from saltus.execution.local import InProcess, WorkerPool
from saltus.order import Failure
from saltus.result import Candidate


class Scripted:
    """A worker that plays what it is given, one exception or value for each attempt, and waits if told so."""

    def __init__(self, *script: Exception | float, wait: bool = False) -> None:
        self.script, self.ended, self.begun = list(script), threading.Event(), threading.Event()
        self.wait = wait

    def evaluate(self, candidate: Candidate, begun: Started) -> Answer:
        if begun is not None:
            begun(4711)
        self.begun.set()
        if self.wait:
            self.ended.wait(30)
            raise Ended
        played = self.script.pop(0)
        if isinstance(played, Exception):
            raise played
        return Answer(checked_outcome(played), 0, "said")

    def end(self) -> None:
        self.ended.set()


def test_what_a_worker_gives_is_in_the_run() -> None:
    seen: list[tuple[int | None, int | None]] = []
    with closing(WorkerPool([Scripted(3.0)])) as pool:
        run = pool.submit(Candidate(0, {}), lambda worker, pid: seen.append((worker, pid))).result()
    assert seen == [(0, 4711)]
    assert (run.outcome.value, run.exit_code, run.stderr, run.worker, run.attempts) == (3.0, 0, "said", 0, 1)
    assert (run.error, run.failure_reason) == (None, None)
    assert run.seconds >= 0


def test_attempts_end_with_the_first_that_succeeds() -> None:
    late = EvaluationError("timeout after 1 s", stderr="slow", failure=Failure.TIMEOUT)
    with closing(WorkerPool([Scripted(OSError("a"), 2.0, late, late)], retries=1)) as pool:
        first, second = (pool.submit(Candidate(i, {}), lambda *_: None).result() for i in range(2))
    assert (first.outcome.value, first.attempts) == (2.0, 2)
    assert (second.outcome.failure, second.failure_reason, second.stderr) == (
        Failure.TIMEOUT,
        "timeout after 1 s",
        "slow",
    )
    assert second.error is late


def test_after_finish_there_is_no_second_attempt() -> None:
    with closing(WorkerPool([Scripted(OSError("a"), 2.0)], retries=1)) as pool:
        pool.finish()
        with pytest.raises(Ended):
            pool.submit(Candidate(0, {}), lambda *_: None).result()


def test_a_failure_of_the_machine_is_raised() -> None:
    with (
        closing(WorkerPool([Scripted(MachineError("no room"))], retries=9)) as pool,
        pytest.raises(MachineError, match="no room"),
    ):
        pool.submit(Candidate(0, {}), lambda *_: None).result()


def test_closing_ends_what_runs_and_takes_back_the_rest() -> None:
    worker = Scripted(wait=True)
    with closing(WorkerPool([worker])) as pool:
        running, waiting = (pool.submit(Candidate(i, {}), lambda *_: None) for i in range(2))
        assert worker.begun.wait(30)
    with pytest.raises(Ended):
        running.result()
    with pytest.raises(CancelledError):
        waiting.result()


def test_it_is_evaluated_once_when_its_result_is_wanted() -> None:
    calls: list[Any] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(p)
        return float(p["x"] * 2)

    begun: list[Any] = []
    candidate = Candidate(0, {"x": 3})
    job = InProcess(fun).submit(candidate, lambda *who: begun.append(who))
    assert (calls, begun) == ([], [])
    assert job.result().outcome.value == 6.0
    assert job.result() is job.result()
    assert begun == [(0, None)]
    assert len(calls) == 1
    assert calls[0] is not candidate.params  # it may write into what it gets


def test_to_end_it_is_to_interrupt_it() -> None:
    evaluator = InProcess(lambda p: evaluator.end())
    evaluator.end()  # nothing runs
    with pytest.raises(KeyboardInterrupt):
        evaluator.submit(Candidate(0, {}), lambda *_: None).result()
