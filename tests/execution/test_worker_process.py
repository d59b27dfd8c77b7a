"""A worker process: what it gives back, and how it is ended and replaced."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from saltus import WorkerError
from saltus.execution.evaluation import Ended, EvaluationError
from saltus.execution.worker_process import RemoteError, WorkerProcess
from saltus.order import Failure
from saltus.result import Candidate

from .. import objectives

POINT = {"x": 1.0, "k": 7, "on": True}


def identity(fun: Any) -> Any:
    return fun


@contextmanager
def worker(fun: Callable[[Any], Any], timeout: float | None = None) -> Iterator[Callable[[int], Any]]:
    process = WorkerProcess(partial(identity, fun), timeout)
    try:
        process.ready()
        yield lambda k: process.evaluate(Candidate(0, POINT | {"k": k}), lambda pid: None)
    finally:
        process.end()


def test_an_outcome_comes_back_with_its_constraints() -> None:
    with worker(objectives.constrained) as evaluate:
        assert evaluate(9).outcome.constraints == {"0": 1.0, "1": -99.0}


def test_an_exception_comes_back_or_is_described() -> None:
    with worker(objectives.fails_sometimes) as evaluate, pytest.raises(ArithmeticError, match="k=4"):
        evaluate(4)
    with worker(objectives.fails_with_its_own_exception) as evaluate:
        with pytest.raises(RemoteError, match="bad mesh") as caught:
            evaluate(4)
        assert evaluate(7).outcome.value == 0.0
    assert caught.value.failure is Failure.EXCEPTION
    assert caught.value.stderr is not None
    assert "fails_with_its_own_exception" in caught.value.stderr


def test_one_that_died_or_took_too_long_is_replaced() -> None:
    with worker(objectives.is_killed_sometimes) as evaluate:
        with pytest.raises(WorkerError, match="was ended by SIGKILL") as died:
            evaluate(3)
        assert evaluate(7).outcome.value == 0.0
    assert (died.value.failure, died.value.exit_code) == (Failure.DIED, -9)
    again = pickle.loads(pickle.dumps(died.value))
    assert (again.reason, again.failure, again.exit_code) == (died.value.reason, Failure.DIED, -9)
    with worker(objectives.hangs_sometimes, timeout=0.5) as evaluate:
        with pytest.raises(EvaluationError, match=r"timeout after 0\.5 s") as late:
            evaluate(3)
        assert evaluate(7).outcome.value == 0.0
    assert late.value.failure is Failure.TIMEOUT


def test_a_worker_that_is_still_loading_can_be_ended() -> None:
    process = WorkerProcess(objectives.takes_long_to_load, None)
    tick = time.monotonic()
    process.end()
    assert time.monotonic() - tick < 10
    with pytest.raises(Ended):
        process.evaluate(Candidate(0, {}), lambda pid: None)
