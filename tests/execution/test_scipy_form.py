"""SciPy's arguments and constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.sparse import csr_array

from saltus import Float, ObjectiveError, Space, minimize
from saltus.execution.scipy_form import TOLERANCE, known_rules, rules_of

# what SciPy takes is more than its types say
Bounds: Any = optimize.Bounds
LinearConstraint: Any = optimize.LinearConstraint
NonlinearConstraint: Any = optimize.NonlinearConstraint
POINT = np.array([1.0, 2.0])


def total(x: Any) -> float:
    return float(x[0] + x[1])


def shifted(x: Any, by: float, times: float) -> float:
    return times * float((x[0] - by) ** 2 + (x[1] - by) ** 2)


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        (NonlinearConstraint(total, -np.inf, 2), {"constraint 0": 1.0}),
        (NonlinearConstraint(total, 4, np.inf), {"constraint 0": 1.0}),
        (NonlinearConstraint(total, 1, 5), {"constraint 0 low": -2.0, "constraint 0 high": -2.0}),
        (
            NonlinearConstraint(total, 2, 2),
            {"constraint 0 low": -1 - TOLERANCE, "constraint 0 high": 1 - TOLERANCE},
        ),
        (LinearConstraint([[1, 1], [1, -1]], ub=[2, 3]), {"constraint 0[0]": 1.0, "constraint 0[1]": -4.0}),
        (LinearConstraint([1, 2], 0, np.inf), {"constraint 0": -5.0}),
        (LinearConstraint(csr_array([[1, 2]]), 0, np.inf), {"constraint 0": -5.0}),
        ({"type": "ineq", "fun": total}, {"constraint 0": -3.0}),
        (
            [{"type": "eq", "fun": shifted, "args": (1, 2)}, NonlinearConstraint(total, -np.inf, 3)],
            {"constraint 0 low": -2 - TOLERANCE, "constraint 0 high": 2 - TOLERANCE, "constraint 1": 0.0},
        ),
        ([], {}),
        (None, {}),
    ],
)
def test_every_form(constraints: Any, expected: dict[str, float]) -> None:
    found = dict(pair for rule in rules_of(constraints) for pair in rule(POINT))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (3, "must be a NonlinearConstraint or a LinearConstraint of scipy.optimize, got 3"),
        ([total], "constraint 0 must be a NonlinearConstraint"),
        ("x0 <= 1", "got 'x0 <= 1'.*text goes into Space"),
        (LinearConstraint([math.nan, 1], 0, 1), "A must hold numbers"),
        ({"type": "less", "fun": total}, "a dict has type 'ineq' or 'eq' and a function fun"),
        (Bounds([0, 0], [1, 1]), "bounds go into bounds="),
        (NonlinearConstraint(total, 2, 1), "lb must not be above ub"),
        (NonlinearConstraint(total, math.nan, 1), "both numbers"),
    ],
)
def test_what_is_none(constraints: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        rules_of(constraints)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (NonlinearConstraint(total, [0, 0, 0], 9), "1 components, and its limits 3"),
        (
            NonlinearConstraint(lambda x: [[1, 2]], 0, 9),
            r"must be a number or a 1-D array, got shape \(1, 2\)",
        ),
        (NonlinearConstraint(lambda x: None, 0, 9), "must be a number or a 1-D array, got None"),
    ],
)
def test_what_does_not_fit_the_point(constraint: Any, words: str) -> None:
    (rule,) = rules_of(constraint)
    with pytest.raises((TypeError, ValueError), match=words):
        list(rule(POINT))


def test_a_linear_one_needs_variables_in_a_row() -> None:
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    with pytest.raises(TypeError, match=r"needs variables in a row.*where="):
        minimize(lambda p: p["a"], space, constraints=LinearConstraint([1, 1], 0, 1))
    for how in ({"bounds": [(0, 1)] * 3}, {"space": Space([Float(0, 1)] * 3)}):
        for ends in ((-np.inf, 1), (1, 1)):
            with pytest.raises(ValueError, match="constraint 0 has 2 columns, and there are 3 variables"):
                minimize(total, constraints=LinearConstraint([1, 1], *ends), **how)


def test_two_constraints_of_one_name() -> None:
    with pytest.raises(ObjectiveError, match="two constraints have the name 'constraint 0'"):
        minimize(
            lambda x: (0.0, {"constraint 0": x[0]}),
            bounds=[(0, 1)] * 2,
            constraints=NonlinearConstraint(total, -np.inf, 1),
        )


def test_an_optimum_under_constraints() -> None:
    result = minimize(
        shifted,
        bounds=[(-5, 5), (-5, 5)],
        args=(3.0, 2.0),
        constraints=[LinearConstraint([1, 1], ub=2), NonlinearConstraint(lambda x: x[0] - x[1], 1, 1)],
        x0=[0, 0],
        budget=70,
        seed=1,
    )
    assert result.violation == 0
    assert result.x == pytest.approx([1.5, 0.5], abs=1e-3)
    assert result.fun == pytest.approx(2 * (1.5**2 + 2.5**2), rel=1e-3)
    assert set(result.constraints) == {"constraint 0 low", "constraint 0 high"}  # the other one is known


def test_linear_inequalities_are_known() -> None:
    given = [LinearConstraint([[1, 0, -2], [0, 1, 0]], [1, 3], [np.inf, 3]), NonlinearConstraint(total, 0, 1)]
    rules, others = known_rules(given)
    assert rules == ["1.0*x0 + -2.0*x2 >= 1.0"]
    assert [type(other).__name__ for other in others] == ["LinearConstraint", "NonlinearConstraint"]
    assert others[0].A.tolist() == [[0, 1, 0]]

    def fun(x: Any) -> float:
        assert x[0] + x[1] <= 2
        return -total(x)

    result = minimize(fun, bounds=[(0, 5)] * 2, constraints=LinearConstraint([1, 1], ub=2), budget=40, seed=1)
    assert result.fun == pytest.approx(-2, abs=1e-6)
    assert not result.constraints


def test_the_objective_may_have_constraints_of_its_own() -> None:
    result = minimize(
        lambda x: (float(x[0]), [0.5 - x[0]]),
        bounds=[(-5, 5)],
        constraints=NonlinearConstraint(lambda x: x[0], 1, np.inf),
        budget=60,
        seed=1,
    )
    assert result.x == pytest.approx([1.0], abs=1e-3)
    assert set(result.constraints) == {"0", "constraint 0"}


def test_arguments_travel_to_workers_too() -> None:
    how: dict[str, Any] = {"bounds": [(-5, 5)] * 2, "args": (1.5, 2), "budget": 30, "seed": 1, "batch": 2}
    assert minimize(shifted, workers=2, **how).fun == minimize(shifted, **how).fun


def test_one_argument_need_not_be_a_tuple() -> None:
    result = minimize(lambda x, a: (x[0] - a) ** 2, bounds=[(-5, 5)], args=2.5, budget=50, seed=1)
    assert result.x == pytest.approx([2.5], abs=1e-3)


def test_the_start_is_where_it_begins() -> None:
    seen: list[Any] = []

    def fun(x: Any) -> float:
        seen.append(x)
        return 0.0

    minimize(fun, bounds=[(-5, 5), (0, 9)], x0=[-4, 8], budget=5, seed=1)
    assert seen[0] == pytest.approx([-4, 8])
    with pytest.raises(TypeError, match="x0 is another name for mean"):
        minimize(total, bounds=[(0, 1)] * 2, x0=[0, 0], mean=[0, 0])
    with pytest.raises(ValueError, match=r"mean of variable 1 must lie|mean of variable 1: init must lie"):
        minimize(total, bounds=[(0, 1)] * 2, x0=[0, 7])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("method", "minimize has no argument 'method': strategy= chooses one"),
        ("jac", "derivatives are not used"),
        ("tol", "target= is a value to stop at"),
        ("options", "budget=, target=, population="),
        ("maxiter", "budget= is the number of evaluations"),
        ("n_trials", "budget= is the number of evaluations"),
        ("n_jobs", "workers= is how many"),
        ("bugdet", "no argument 'bugdet'; did you mean 'budget'|did you mean"),
    ],
)
def test_what_there_is_instead(name: str, words: str) -> None:
    unknown: dict[str, Any] = {name: 1}
    with pytest.raises(TypeError, match=words):
        minimize(total, Space([Float(0, 1)]), **unknown)
