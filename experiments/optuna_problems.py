"""Problems of the comparison through Optuna: the paper's functions in a box, and two models to tune.

The models are cross-validated on data sets that come with scikit-learn; the same parameters always give the
same score.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from saltus.problems import PAPER
from saltus.space.variables import Int

N = 20
TARGET = 1e-10
FUNCTIONS = {make(2).name: make for make in PAPER}
RANGE = 10.0  # floats lie within -10 and 10, as the integers do
FARTHEST = 8  # of an optimum from the middle, in each variable


class Problem(NamedTuple):
    """What is to be minimised, over which parameters, and which value is enough."""

    space: dict[str, BaseDistribution]
    value: Callable[[Mapping[str, Any]], float]
    target: float


def function(name: str, seed: int) -> Problem:
    """One of the paper's functions, its optimum moved to a random place.

    In the paper the optimum is 0, here the middle of the box: where CMA-ES and we begin.
    """
    problem = FUNCTIONS[name](N)
    half = N // 2
    rng = np.random.default_rng([seed, N])
    last = problem.space.variables[-1]
    assert isinstance(last, Int)
    low, high = last.low, last.high
    switches = high - low == 1  # their optimum is at an end anyway
    optimum = np.zeros(N)
    optimum[:half] = rng.uniform(-FARTHEST, FARTHEST, half)
    if not switches:
        optimum[half:] = rng.integers(-FARTHEST, FARTHEST, half, endpoint=True)
    names = [f"x{i:02d}" for i in range(N)]
    space: dict[str, BaseDistribution] = {
        name: FloatDistribution(-RANGE, RANGE) if i < half else IntDistribution(low, high)
        for i, name in enumerate(names)
    }

    def value(params: Mapping[str, Any]) -> float:
        return float(problem.fun(np.array([params[name] for name in names], dtype=float) - optimum))

    return Problem(space, value, TARGET)


BOOSTING: dict[str, BaseDistribution] = {
    "learning_rate": FloatDistribution(0.01, 1, log=True),
    "max_iter": IntDistribution(10, 60),
    "max_leaf_nodes": IntDistribution(2, 64, log=True),
    "min_samples_leaf": IntDistribution(1, 50),
    "l2_regularization": FloatDistribution(1e-6, 100, log=True),
    "max_features": FloatDistribution(0.1, 1),
    "robust": CategoricalDistribution((False, True)),
}
SVM: dict[str, BaseDistribution] = {
    "scaler": CategoricalDistribution(("none", "minmax", "standard", "quantile")),
    "components": IntDistribution(4, 60),
    "whiten": CategoricalDistribution((False, True)),
    "kernel": CategoricalDistribution(("poly", "rbf", "sigmoid")),
    "C": FloatDistribution(1e-3, 1e3, log=True),
    "gamma": FloatDistribution(1e-5, 10, log=True),
    "degree": IntDistribution(2, 5),
    "coef0": FloatDistribution(0, 1),
    "balanced": CategoricalDistribution((False, True)),
}
ROWS = 900  # of the digits: half of them, for time


@cache
def _diabetes() -> Any:
    from sklearn.datasets import load_diabetes  # here: it takes a second

    return load_diabetes(return_X_y=True)


@cache
def _digits() -> Any:
    from sklearn.datasets import load_digits

    inputs, targets = load_digits(return_X_y=True)
    return inputs[:ROWS], targets[:ROWS]


def _cross_validated(model: Any, data: Any, scoring: str) -> float:
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from threadpoolctl import threadpool_limits

    kind = KFold if scoring == "r2" else StratifiedKFold
    folds = kind(3, shuffle=True, random_state=0)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # quantiles of few rows
        return float(cross_val_score(model, *data, cv=folds, scoring=scoring).mean())


def _boosting(params: Mapping[str, Any]) -> float:
    """Gradient boosting on the diabetes data: the share of the variance that is not explained."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    settings = dict(params)
    loss = "absolute_error" if settings.pop("robust") else "squared_error"
    model = HistGradientBoostingRegressor(random_state=0, loss=loss, **settings)
    return 1.0 - _cross_validated(model, _diabetes(), "r2")


def _svm(params: Mapping[str, Any]) -> float:
    """Scaling, principal components and a support vector machine on digits: the share of errors."""
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        MinMaxScaler,
        QuantileTransformer,
        StandardScaler,
    )
    from sklearn.svm import SVC

    scalers = {
        "none": "passthrough",
        "minmax": MinMaxScaler(),
        "standard": StandardScaler(),
        "quantile": QuantileTransformer(n_quantiles=100, random_state=0),
    }
    machine = SVC(
        kernel=params["kernel"],
        C=params["C"],
        gamma=params["gamma"],
        degree=params["degree"],
        coef0=params["coef0"],
        class_weight="balanced" if params["balanced"] else None,
        max_iter=20_000,  # unscaled data with a steep kernel would take minutes
    )
    reduction = PCA(params["components"], whiten=params["whiten"], random_state=0)
    model = make_pipeline(scalers[params["scaler"]], reduction, machine)
    return 1.0 - _cross_validated(model, _digits(), "accuracy")


TUNING = {
    "boosting, diabetes: 1 - R²": (BOOSTING, _boosting),
    "SVM pipeline, digits: errors": (SVM, _svm),
}


def problem_of(name: str, seed: int) -> Problem:
    """A problem by name."""
    if name in FUNCTIONS:
        return function(name, seed)
    space, value = TUNING[name]
    return Problem(space, value, -np.inf)
