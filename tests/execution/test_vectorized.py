"""Functions of many points: one call for a batch, and an outcome for each point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from saltus import Candidate, Float, Int, ObjectiveError, Space, minimize
from saltus.execution.vectorized import Vectorized, evaluate_many

SPACE = Space({"x": Float(-5, 5), "k": Int(0, 20)})
DICTS = [{"x": 1.0, "k": 2}, {"x": 2.0, "k": 3}, {"x": 3.0, "k": 4}]
ROWS = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]


@pytest.mark.parametrize(
    ("returned", "constraints"),
    [
        ([1, 2, 3], {}),
        (np.array([[1.0], [2.0], [3.0]]), {}),
        (([1, 2, 3], {"g": [4, 5, 6]}), {"g": 5.0}),
        (([1, 2, 3], np.array([[4, 0], [5, 7], [6, 0]])), {"0": 5.0, "1": 7.0}),
        ((np.array([1, 2, 3]), {"g": np.array([[4], [5], [6]]), "h": [0.5, -0.5, 1]}), {"g": 5.0, "h": -0.5}),
    ],
)
def test_each_point_has_its_own(returned: Any, constraints: dict[str, float]) -> None:
    outcomes = evaluate_many(lambda points: returned, DICTS)
    assert [outcome.value for outcome in outcomes] == [1.0, 2.0, 3.0]
    assert outcomes[1].constraints == constraints


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (1.0, "a value for each of the 3 points that it got, in a list or an array, got 1.0"),
        (None, "got None"),
        ([1, 2], r"got the shape \(2,\)"),
        (np.zeros((3, 2)), r"got the shape \(3, 2\)"),
        ([[1], [2, 3], [4]], r"got \[\[1\], \[2, 3\], \[4\]\]"),
        ((1, 2, 3), "got a tuple of 3; give values as a list or an array"),
        (["a", 2, 3], "a value must be a real number, got 'a'"),
        (
            ([1, 2, 3], [4, 5, 6]),
            r"a dict of lists by name, or a row for each of the 3 points, got the shape",
        ),
        (([1, 2, 3], {"g": [1, 2]}), "gives constraint 'g' for each of the 3 points"),
    ],
)
def test_another_shape_is_a_clear_error(returned: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        evaluate_many(lambda points: returned, DICTS)


def test_a_point_fails_alone() -> None:
    outcomes = evaluate_many(lambda points: [1.0, math.nan, math.inf], DICTS)
    assert [outcome.failure is None for outcome in outcomes] == [True, False, False]


def test_a_space_without_names_gives_an_array() -> None:
    def fun(x: Any) -> Any:
        assert isinstance(x, np.ndarray)
        assert x.shape == (2, 2)
        x += 1  # it is its own
        return x.sum(axis=1)

    assert [outcome.value for outcome in evaluate_many(fun, ROWS)] == [5.0, 9.0]
    assert ROWS[0].tolist() == [1.0, 2.0]


def test_one_call_for_all_in_line_but_those_taken_back() -> None:
    sizes = []

    def fun(points: Any) -> list[float]:
        sizes.append(len(points))
        return [p["x"] for p in points]

    evaluator = Vectorized(fun)
    begun: list[int | None] = []
    jobs = [evaluator.submit(Candidate(i, p), lambda w, _: begun.append(w)) for i, p in enumerate(DICTS)]
    assert jobs[2].cancel()
    assert not jobs[2].cancel()
    assert [job.result().outcome.value for job in jobs[:2]] == [1.0, 2.0]
    assert not jobs[0].cancel()
    assert sizes == [2]
    assert begun == [0, 0]


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es"])
def test_the_same_search_as_one_by_one(strategy: str) -> None:
    def many(points: Any) -> list[float]:
        return [(p["x"] - 1) ** 2 + (p["k"] - 7) ** 2 for p in points]

    how: dict[str, Any] = {"strategy": strategy, "budget": 90, "seed": 1, "batch": 3}
    together = minimize(many, SPACE, vectorized=True, **how)
    alone = minimize(lambda p: many([p])[0], SPACE, **how)
    assert together.params == alone.params
    assert together.nfev == alone.nfev == 90


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
def test_batches_are_as_large_as_it_says(strategy: str) -> None:
    sizes = []

    def fun(x: Any) -> Any:
        sizes.append(len(x))
        return (x**2).sum(axis=1)

    minimize(
        fun, bounds=[(-5, 5)] * 3, vectorized=True, batch=25, budget=300, seed=1, strategy=strategy, target=-1
    )
    assert sum(sizes) == 300
    assert sum(size for size in sizes if size >= 25) > 200


def test_an_exception_is_one_of_all_its_points() -> None:
    def broken(points: Any) -> Any:
        raise OSError("no such device")

    with pytest.raises(ObjectiveError, match="no such device"):
        minimize(broken, SPACE, vectorized=True, budget=20)
    result = minimize(broken, SPACE, vectorized=True, budget=20, seed=1, on_error="infeasible")
    assert result.failures == 20


@pytest.mark.parametrize(
    "how", [{"workers": 2}, {"executor": 1}, {"asynchronous": True}, {"constraints": {"type": "eq"}}]
)
def test_what_does_not_go_with_it(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a vectorized objective"):
        minimize(lambda points: points, SPACE, vectorized=True, **how)
