"""SaltusSearchCV with real estimators."""

from __future__ import annotations

import math
import pickle
from typing import Any, Self

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from saltus import STRATEGIES, Float, Int
from saltus.sklearn import SaltusSearchCV

X, y = load_iris(return_X_y=True)
SVM = {"C": loguniform(1e-3, 1e3), "kernel": ["rbf", "sigmoid"]}


def search_of(estimator: Any, distributions: Any, **settings: Any) -> SaltusSearchCV:
    return SaltusSearchCV(estimator, distributions, **({"n_iter": 6, "cv": 3, "random_state": 1} | settings))


def test_a_search_is_a_fitted_estimator() -> None:
    search = search_of(SVC(), SVM).fit(X, y)
    results = search.cv_results_
    assert len(results["params"]) == len(results["mean_test_score"]) == 6
    assert len({tuple(params.values()) for params in results["params"]}) == 6
    assert search.best_score_ == results["mean_test_score"].max() > 0.9
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_estimator_.get_params()["C"] == search.best_params_["C"]
    assert search.n_features_in_ == 4
    assert search.classes_.tolist() == [0, 1, 2]
    assert search.score(X, y) == np.mean(search.predict(X) == y)
    assert "mean_train_score" not in results


def test_it_finds_more_than_its_first_points() -> None:
    """The score is best at one place, and the search must come near it."""

    def closeness(estimator: Any, X: Any, y: Any) -> float:
        return -abs(math.log10(estimator.alpha) - 1.7) - float(estimator.solver != "cholesky")

    distributions = {"alpha": loguniform(1e-4, 1e4), "solver": ["svd", "lsqr", "cholesky"]}
    search = search_of(Ridge(), distributions, n_iter=30, scoring=closeness).fit(X, y)
    assert search.best_params_["solver"] == "cholesky"
    assert search.best_score_ > -0.05


def test_several_dicts_are_searched_together() -> None:
    spaces = [
        {"kernel": ["linear"], "C": loguniform(1e-3, 1e3)},
        {"kernel": ["rbf", "poly"], "C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-6, 1e-5)},
    ]
    search = search_of(SVC(), spaces, n_iter=12).fit(X, y)
    results = search.cv_results_
    linear = np.array([params["kernel"] == "linear" for params in results["params"]])
    assert 0 < linear.sum() < 12
    assert results["param_gamma"].mask.tolist() == linear.tolist()
    assert all(
        set(p) == {"kernel", "C"} | (set() if p["kernel"] == "linear" else {"gamma"})
        for p in results["params"]
    )
    assert search.best_params_["kernel"] == "linear"  # with so small a gamma the others are next to nothing


def test_dicts_with_few_points_are_searched_to_their_end() -> None:
    spaces = [{"fit_intercept": [True]}, {"alpha": [1.0, 2.0], "solver": ["svd", "lsqr"]}]
    search = search_of(Ridge(), spaces, n_iter=50).fit(X, y)
    assert len(search.cv_results_["params"]) == 5
    assert {len(params) for params in search.cv_results_["params"]} == {1, 2}


def test_conditions_on_values_of_a_list() -> None:
    distributions = {"kernel": ["rbf", "poly"], "degree": Int(2, 5, when={"kernel": "poly"})}
    results = search_of(SVC(), distributions, n_iter=5).fit(X, y).cv_results_
    assert all(("degree" in params) == (params["kernel"] == "poly") for params in results["params"])
    assert len(results["params"]) == 5  # there are no more


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
def test_a_seed_and_a_batch_define_the_search(strategy: str) -> None:
    assert strategy in STRATEGIES

    def scores(**settings: Any) -> list[Any]:
        search = search_of(
            GaussianNB(), {"var_smoothing": loguniform(1e-9, 1)}, strategy=strategy, **settings
        )
        params: list[Any] = search.fit(X, y).cv_results_["params"]
        return params

    alone = scores()
    with parallel_config("threading"):
        assert scores(n_jobs=2) == alone
    assert scores(random_state=np.random.RandomState(1)) == alone
    assert scores(random_state=2) != alone
    assert len(scores(random_state=None)) == 6
    assert len(scores(batch=4)) == 6


def test_a_batch_is_evaluated_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    search_of(GaussianNB(), {"var_smoothing": loguniform(1e-9, 1)}, n_iter=8, batch=4, verbose=1).fit(X, y)
    assert "Fitting 3 folds for each of 4 candidates" in capsys.readouterr().out


@pytest.mark.parametrize("strategy", ["saltus", "dx-nes-ici"])
def test_a_small_space_is_searched_to_its_end_and_no_point_twice(strategy: str) -> None:
    distributions = {"alpha": [1, 2, 3, 4, 5], "fit_intercept": [True, False]}
    search = search_of(Ridge(), distributions, n_iter=50, strategy=strategy).fit(X, y)
    points = [tuple(params.values()) for params in search.cv_results_["params"]]
    assert sorted(points) == [(a, b) for a in (1, 2, 3, 4, 5) for b in (False, True)]


def test_estimators_as_values_are_cloned() -> None:
    scalers = [StandardScaler(), MinMaxScaler(), "passthrough"]
    pipeline = Pipeline([("scale", None), ("svc", SVC())])
    search = search_of(pipeline, {"scale": scalers, "svc__C": loguniform(0.1, 10)}, n_iter=8).fit(X, y)
    used = search.cv_results_["params"]
    assert {type(params["scale"]) for params in used} == {StandardScaler, MinMaxScaler, str}
    assert not any(hasattr(scaler, "n_features_in_") for scaler in scalers)
    assert (
        search.best_estimator_["scale"] is not search.best_params_["scale"]
        or search.best_params_["scale"] == "passthrough"
    )


class Recorder(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Notes which rows each fit has seen; the first column of the data is their number."""

    seen: list[frozenset[int]] = []  # noqa: RUF012  # of all clones

    def __init__(self, p: float = 0.0) -> None:
        self.p = p

    def fit(self, X: Any, y: Any) -> Self:
        assert not hasattr(self, "rows_")  # a clone each time
        self.rows_ = frozenset(X[:, 0].astype(int).tolist())
        self.classes_ = np.unique(y)
        self.seen.append(self.rows_)
        return self

    def predict(self, X: Any) -> Any:
        rows = set(X[:, 0].astype(int).tolist())
        assert not rows & self.rows_ or len(self.rows_) == 12  # tested on what it was not fitted on
        return np.zeros(len(X), dtype=int)


def test_nothing_leaks_between_folds_and_the_folds_stay_the_same() -> None:
    data, labels = np.arange(12.0)[:, None], np.arange(12) % 2
    Recorder.seen.clear()
    given = Recorder()
    search = search_of(given, {"p": Float(0, 1)}, n_iter=8, cv=KFold(3, shuffle=True)).fit(data, labels)
    *fits, last = Recorder.seen
    assert len(fits) == 24
    assert len(set(fits)) == 3  # the same folds for each of the eight points, though the splitter shuffles
    assert all(len(rows) == 8 for rows in fits)
    assert last == search.best_estimator_.rows_ == frozenset(range(12))
    assert not hasattr(given, "rows_")


def test_inside_a_pipeline_and_inside_another_cross_validation() -> None:
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = search_of(pipeline, {"svc__C": loguniform(1e-2, 1e2), "svc__gamma": uniform(0.01, 1)}, n_iter=4)
    assert cross_val_score(search, X, y, cv=3).min() > 0.8
    with pytest.raises(NotFittedError):
        search.predict(X)  # its clones were fitted


def test_clone_parameters_and_pickle() -> None:
    search = search_of(SVC(), SVM, strategy="saltus-es", batch=2)
    copy = clone(search).set_params(estimator__gamma="auto", n_iter=3)
    assert (copy.strategy, copy.batch, copy.estimator.gamma, search.estimator.gamma) == (
        "saltus-es",
        2,
        "auto",
        "scale",
    )
    fitted = pickle.loads(pickle.dumps(copy.fit(X, y)))
    np.testing.assert_array_equal(fitted.predict(X), copy.predict(X))
    assert len(fitted.cv_results_["params"]) == 3


def test_several_metrics() -> None:
    search = search_of(SVC(), SVM, scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_f1_macro"].max()
    assert search.cv_results_["rank_test_f1_macro"][search.best_index_] == 1


def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    return {"good": estimator.score(X, y), "bad": -estimator.score(X, y)}


@pytest.mark.parametrize("refit", [False, lambda results: 0])
@pytest.mark.parametrize("scoring", [["accuracy", "f1_macro"], both])
def test_several_metrics_without_the_one_to_search_for(scoring: Any, refit: Any) -> None:
    with pytest.raises(
        ValueError, match=r"refit must name the one to search for, got refit=.*; the metrics are '"
    ):
        search_of(SVC(), SVM, scoring=scoring, refit=refit).fit(X, y)


def test_one_metric_with_and_without_refit() -> None:
    search = search_of(SVC(), SVM, refit=False).fit(X, y)
    assert search.best_score_ > 0.9
    assert not hasattr(search, "best_estimator_")
    first = search_of(SVC(), SVM, refit=lambda results: 0).fit(X, y)
    assert first.best_params_ == first.cv_results_["params"][0]
    assert search_of(SVC(), SVM, scoring=both, refit="bad").fit(X, y).best_score_ < 0


def test_points_that_fail_do_not_end_the_search() -> None:
    kernels = ["rbf", "linear", "no", "such", "kernel", "is", "known"]
    with pytest.warns(Warning) as caught:  # noqa: PT030  # of several kinds
        search = search_of(SVC(), {"kernel": kernels}, n_iter=7, return_train_score=True).fit(X, y)
    said = [str(warning.message) for warning in caught]
    assert sum("failed on all folds; their score is nan" in words for words in said) == 1
    assert sum("test scores are non-finite" in words for words in said) == 1
    results = search.cv_results_
    assert {len(column) for column in results.values()} == {7}
    assert sorted(results["param_kernel"]) == sorted(kernels)
    failed = np.array([kernel not in ("rbf", "linear") for kernel in results["param_kernel"]])
    for score in ("mean_test_score", "split2_test_score", "mean_train_score"):
        assert np.array_equal(np.isnan(results[score]), failed)
    assert set(results["rank_test_score"][failed].tolist()) == {3}
    assert search.best_params_["kernel"] in ("rbf", "linear")
    assert search.best_score_ == np.nanmax(results["mean_test_score"])


def test_failures_may_be_raised() -> None:
    with pytest.raises(ValueError, match="'C' parameter of SVC must be a float"):
        search_of(SVC(), {"C": Float(-2, -1)}, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match=r"All the \d+ fits failed"):
        search_of(SVC(), {"C": Float(-2, -1)}).fit(X, y)


def test_groups_and_weights_are_passed_on() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = search_of(
            estimator, {"alpha": loguniform(0.1, 10)}, cv=ShuffleSplit(2, random_state=0), n_iter=2
        )
        weights = np.where(y == 0, 1.0, 0.0)
        search.fit(X, y.astype(float), sample_weight=weights)
        assert abs(search.predict(X[y == 2])).max() < 1e-6  # it has learnt of zeros alone


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_iter": 0}, "n_iter must be a positive whole number, got 0"),
        ({"batch": 0}, "batch must be"),
        ({"strategy": "saltos"}, "did you mean 'saltus'"),
        ({"param_distributions": {"C": [1.0]}}, "nothing to optimise"),
        ({"param_distributions": {"D": randint(1, 4)}}, "Invalid parameter 'D'"),
        ({"param_distributions": {"C": Int(1, 4), "kernel": []}}, "'kernel'"),
    ],
)
def test_wrong_settings_are_said_at_fit(settings: dict[str, Any], words: str) -> None:
    search = search_of(SVC(), SVM).set_params(**settings)
    with pytest.raises(ValueError, match=words):
        search.fit(X, y)
