from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold

from saltus.sklearn.evaluation import Evaluation, Results, SameFolds, append

ALL_FAILED = "\nAll the 2 fits failed.\nIt is very likely that your model is misconfigured."


def test_a_splitter_that_shuffles_splits_once() -> None:
    folds = SameFolds(KFold(3, shuffle=True))
    X = np.arange(30)
    first = folds.split(X, None, groups=None)
    assert len(first) == 3
    for (train, test), (train_again, test_again) in zip(
        first, folds.split(X, None, groups=None), strict=True
    ):
        np.testing.assert_array_equal(train, train_again)
        np.testing.assert_array_equal(test, test_again)


class Fake:
    """`evaluate_candidates` of a search: the score of C is C, and a negative one fails."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, points: list[dict[str, Any]], cv: Any = None) -> Results:
        given = [float(point["C"]) for point in points]
        if all(value < 0 for value in given):
            raise ValueError(ALL_FAILED)
        self.values += [math.nan if value < 0 else value for value in given]
        means = np.array(self.values)
        if np.isnan(means).any():
            warnings.warn(f"One or more of the test scores are non-finite: {means}", stacklevel=1)
        self.results: Results = {
            "params": [{"C": value} for value in self.values],
            "param_C": np.ma.array(self.values),
            "mean_fit_time": np.ones(len(means)),
            "split0_test_score": means,
            "mean_test_score": means,
            "std_test_score": np.zeros(len(means)),
            "rank_test_score": np.ones(len(means), dtype=np.int32),
        }
        return self.results


def test_scores_of_the_last_batch() -> None:
    evaluation = Evaluation(Fake(), None, True, math.nan)
    assert evaluation.scores([{"C": 1}]) == [1.0]
    assert evaluation.scores([{"C": 3}, {"C": 2}]) == [3.0, 2.0]
    evaluation.finish()


def test_points_that_fail_on_all_folds_are_in_the_results() -> None:
    fake = Fake()
    evaluation = Evaluation(fake, None, True, math.nan)
    assert np.isnan(evaluation.scores([{"C": -1.0}])).all()
    assert evaluation.scores([{"C": 3}, {"C": 2}]) == [3.0, 2.0]
    assert np.isnan(evaluation.scores([{"C": -2.0}])).all()
    with (
        pytest.warns(FitFailedWarning, match=r"2 points failed on all folds(.|\n)*All the 2 fits"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        evaluation.finish()
    results = fake.results
    assert results["params"] == [{"C": 3.0}, {"C": 2.0}, {"C": -1.0}, {"C": -2.0}]
    assert results["param_C"].tolist() == [3, 2, -1, -2]
    assert results["rank_test_score"].tolist() == [1, 2, 3, 3]
    for key in ("mean_fit_time", "split0_test_score", "mean_test_score", "std_test_score"):
        assert np.isnan(results[key]).tolist() == [False, False, True, True]


def test_an_error_score_that_is_a_number_counts() -> None:
    fake = Fake()
    evaluation = Evaluation(fake, None, True, 2.5)
    assert evaluation.scores([{"C": -1}]) == [2.5]
    assert evaluation.scores([{"C": 3}, {"C": 2}]) == [3.0, 2.0]
    with pytest.warns(FitFailedWarning, match=r"their score is 2\.5"):
        evaluation.finish()
    assert fake.results["mean_test_score"].tolist() == [3, 2, 2.5]
    assert fake.results["std_test_score"].tolist() == [0, 0, 0]
    assert fake.results["rank_test_score"].tolist() == [1, 3, 2]


def test_where_all_have_failed_the_error_is_raised() -> None:
    evaluation = Evaluation(Fake(), None, True, math.nan)
    evaluation.scores([{"C": -1}])
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        evaluation.finish()


def test_other_errors_are_raised_at_once() -> None:
    def evaluate(points: list[dict[str, Any]], cv: Any = None) -> Results:
        raise ValueError("Invalid parameter 'D'")

    with pytest.raises(ValueError, match="Invalid parameter"):
        Evaluation(evaluate, None, True, math.nan).scores([{"D": 1}])
    with pytest.raises(ValueError, match="All the 2"):
        Evaluation(Fake(), None, True, "raise").scores([{"C": -1}])


def test_that_some_are_not_finite_is_said_once() -> None:
    evaluation = Evaluation(Fake(), None, True, math.nan)
    for value in (1, 2, 3):
        evaluation.scores([{"C": value}, {"C": -1}])  # a warning would be an error
    with pytest.warns(UserWarning, match="non-finite") as caught:
        evaluation.finish()
    assert len(caught) == 1


def test_parameters_of_other_kinds_among_the_failed() -> None:
    results: Results = {"params": [{"C": 1}], "param_C": np.ma.array([1])}
    append(results, [{"C": (1, 2)}, {"C": None}], math.nan)
    assert results["param_C"].tolist() == [1, (1, 2), None]


def test_parameters_that_a_failed_point_has_not_or_has_alone() -> None:
    results: Results = {"params": [{"C": 1}], "param_C": np.ma.array([1])}
    append(results, [{"C": 2, "gamma": 0.5}, {"gamma": 0.1}], math.nan)
    assert results["param_C"].tolist() == [1, 2, None]
    assert results["param_C"].dtype.kind == "i"
    assert results["param_gamma"].tolist() == [None, 0.5, 0.1]
    assert results["param_gamma"].mask.tolist() == [True, False, False]
