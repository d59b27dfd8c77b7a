"""Points as scikit-learn evaluates them: on the same folds all the time, failures among them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import FitFailedWarning

Results = dict[str, Any]  # as `cv_results_`
_NOT_FINITE = "One or more of the (test|train) scores are non-finite"


class SameFolds:
    """A splitter that splits once, and gives the same folds whenever it is asked.

    One that shuffles would give others each time, and points would be compared on different data.
    """

    def __init__(self, splitter: Any) -> None:
        """Take a splitter of scikit-learn, or what behaves as one."""
        self._splitter = splitter
        self._folds: list[Any] | None = None

    def split(self, *data: Any, **params: Any) -> list[Any]:
        """The folds of these data, which are the same at each call."""
        if self._folds is None:
            self._folds = list(self._splitter.split(*data, **params))
        return self._folds


class Evaluation:
    """Scores of points by `evaluate_candidates` of a search, which gives all results so far."""

    def __init__(
        self, evaluate_candidates: Callable[..., Results], cv: Any, refit: Any, error_score: Any
    ) -> None:
        """Take the settings of the search that matter here."""
        self._evaluate = evaluate_candidates
        self._cv = SameFolds(cv) if hasattr(cv, "split") and not isinstance(cv, str) else None
        self._refit = refit
        self._error_score = error_score
        self._results: Results | None = None
        self._failed: list[dict[str, Any]] = []  # of batches in which no fit has succeeded
        self._error: ValueError | None = None  # the first of them

    def scores(self, points: list[dict[str, Any]]) -> list[float]:
        """The mean score of each point over the folds; `error_score` stands for a fit that has failed."""
        try:
            with warnings.catch_warnings():  # it would be said again with every batch: `finish` says it once
                warnings.filterwarnings("ignore", _NOT_FINITE, UserWarning)
                results = self._results = self._evaluate(points, cv=self._cv)
        except ValueError as error:
            # a call of which all fits fail is an error for scikit-learn, and forgotten; here it may have been
            # for one bad point of many
            if isinstance(self._error_score, str) or not str(error).lstrip().startswith("All the "):
                raise
            self._error = self._error or error
            self._failed += points
            return [float(self._error_score)] * len(points)
        return [float(score) for score in results[self._metric(results)][-len(points) :]]

    def _metric(self, results: Results) -> str:
        for metric in (f"mean_test_{self._refit}", "mean_test_score"):
            if metric in results:
                return metric
        names = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
        raise ValueError(
            f"with several metrics refit must name the one to search for, got refit={self._refit!r}; "
            f"the metrics are {', '.join(map(repr, names))}"
        )

    def finish(self) -> None:
        """Put what has failed into the results, too, and warn of it; if there is nothing else, raise it."""
        if self._results is None:
            raise self._error or RuntimeError("nothing was evaluated")
        if self._error is not None:
            warnings.warn(
                f"{len(self._failed)} points failed on all folds; their score is {self._error_score}. "
                f"error_score='raise' shows where. The first failure:\n{self._error}",
                FitFailedWarning,
                stacklevel=2,
            )
            append(self._results, self._failed, float(self._error_score))
        scores = self._results[self._metric(self._results)]
        if not np.isfinite(scores).all():
            warnings.warn(f"One or more of the test scores are non-finite: {scores}", stacklevel=2)


def append(results: Results, points: list[dict[str, Any]], score: float) -> None:
    """Append points that have failed, with this score, to results in the form of `cv_results_`, in place.

    >>> results = {"params": [{"C": 1}], "param_C": np.ma.array([1]), "mean_test_score": np.array([0.5]),
    ...            "rank_test_score": np.array([1], dtype=np.int32), "mean_fit_time": np.array([0.1])}
    >>> append(results, [{"C": 2}], math.nan)
    >>> results["params"], results["param_C"].tolist(), results["rank_test_score"].tolist()
    ([{'C': 1}, {'C': 2}], [1, 2], [1, 2])
    """
    for name in dict.fromkeys(name for point in points for name in point):  # some only such points have
        results.setdefault(f"param_{name}", _nothing(len(results["params"])))
    results["params"] = [*results["params"], *points]
    for key, column in results.items():
        if key.startswith("param_"):
            values = [point.get(key.removeprefix("param_"), np.ma.masked) for point in points]
            more = _masked(values, column.dtype)
            results[key] = np.ma.concatenate([column, more])  # type: ignore[no-untyped-call]  # NumPy's
        elif not key.startswith(("params", "rank_")):
            std = key.startswith("std_") and math.isfinite(score)
            value = math.nan if key.endswith("_time") else 0.0 if std else score
            results[key] = np.append(column, [value] * len(points))
    for key in [key for key in results if key.startswith("rank_")]:
        means = results[key.replace("rank_", "mean_", 1)]
        results[key] = rankdata(-np.nan_to_num(means, nan=-math.inf), method="min").astype(np.int32)


def _masked(values: list[Any], dtype: np.dtype[Any]) -> Any:
    """A column of parameters: of this type if they are of it, else of objects."""
    given = [value for value in values if value is not np.ma.masked]
    alike = dtype.kind != "O" and all(np.asarray(value).dtype == dtype for value in given)
    column = np.ma.empty(len(values), dtype=dtype if alike else object)
    for i, value in enumerate(values):  # one by one: a tuple is a value, too
        column[i] = value
    return column


def _nothing(count: int) -> Any:
    """A column of parameters that no point has."""
    return np.ma.array(np.empty(count, dtype=object), mask=True)
