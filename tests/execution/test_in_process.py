"""Evaluations in this process."""

from __future__ import annotations

from typing import Any

import pytest

from saltus.execution.in_process import InProcess
from saltus.result import Candidate


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
