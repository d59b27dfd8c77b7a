"""What objectives may return, and how failures are told apart."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from saltus.execution.evaluation import EvaluationError, Run, checked_outcome, evaluate
from saltus.order import Failure, Outcome


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        (None, {}),
        ([], {}),
        ({}, {}),
        ([-1, 0.5], {"0": -1.0, "1": 0.5}),
        (np.array([-1, 0.5]), {"0": -1.0, "1": 0.5}),
        ((c for c in (1, 2)), {"0": 1.0, "1": 2.0}),
        ({"stress": -1, "mass": np.float32(0.5)}, {"stress": -1.0, "mass": 0.5}),
    ],
)
def test_constraints_in_every_form_have_names(constraints: Any, expected: dict[str, float]) -> None:
    outcome = evaluate(lambda p: (3, constraints), {})
    assert outcome == Outcome(3.0, expected)
    assert list(outcome.constraints) == list(expected)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "the objective's value must be a real number, got None; does the objective return something?"),
        ("3", "the objective's value must be a real number, got '3'"),
        ((1, 2, 3), r"must return a number or \(number, constraints\), got a tuple of 3"),
        ((1, ["a"]), "a constraint must be a real number, got 'a'"),
        ((1, "abc"), "a constraint must be a real number, got 'a'"),
        ((1, {"mass": None}), "constraint 'mass' must be a real number, got None"),
        ((1, 0.5), r'a dict by name or a list, got 0.5; write value, {"stress": 0.5} or value, \[0.5\] if'),
        ((1, np.array(0.5)), "constraints must be a dict by name or a list"),
        ((1, True), "constraints must be a dict by name or a list"),
        ((1, {3: 1.0}), "the name of a constraint must be text, got 3"),
    ],
)
def test_anything_else_is_a_clear_error(returned: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        evaluate(lambda p: returned, {})


@pytest.mark.parametrize(
    ("value", "constraints", "failure", "reason"),
    [
        (1.0, {"a": -math.inf}, None, None),
        (math.nan, None, Failure.VALUE, "the value is NaN"),
        (-math.inf, {"a": -1.0}, Failure.VALUE, "the value is infinite"),
        (math.nan, {"a": 0.5}, None, None),  # violated, and ranked by how much
        (1.0, {"a": 0.5, "b": math.nan}, Failure.CONSTRAINT, "a constraint is NaN"),
        (1.0, {"a": math.inf}, Failure.CONSTRAINT, "a constraint is infinite"),
        (math.nan, {"a": math.inf}, Failure.CONSTRAINT, "a constraint is infinite"),
    ],
)
def test_what_is_not_finite_has_a_kind(value: float, constraints: Any, failure: Any, reason: Any) -> None:
    run = Run(checked_outcome(value, constraints))
    assert run.outcome.failure is failure
    assert run.failure_reason == reason
    if failure is None:
        assert run.result is run.outcome
    else:
        assert math.isnan(run.result.value)
        assert (run.result.constraints, run.result.violation) == ({}, 0.0)
        assert run.result.failure is failure


def test_an_exception_has_a_kind() -> None:
    run = Run.failed(ValueError("mesh"))
    assert (run.outcome.failure, run.failure_reason) == (Failure.EXCEPTION, "ValueError: mesh")
    error = EvaluationError("timeout after 2 s", 3, "slow", Failure.TIMEOUT)
    run = Run.failed(pickle.loads(pickle.dumps(error)))
    assert (run.outcome.failure, run.failure_reason) == (Failure.TIMEOUT, "timeout after 2 s")
    assert (run.exit_code, run.stderr) == (3, "slow")
