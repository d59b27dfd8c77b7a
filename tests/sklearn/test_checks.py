"""Scikit-learn's own checks of estimators, as it applies them to its searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from saltus.sklearn import SaltusSearchCV

if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6):
    pytest.skip("before scikit-learn 1.6 no check may be expected to fail", allow_module_level=True)

# two of the instances with which scikit-learn checks RandomizedSearchCV, and what it expects to fail there
CHECKED = [
    SaltusSearchCV(estimator, distributions, cv=2, error_score="raise", random_state=0)
    for estimator, distributions in (
        (Ridge(), {"alpha": [0.1, 1.0]}),
        (Pipeline([("pca", PCA()), ("logistic", LogisticRegression())]), {"logistic__C": [0.1, 1.0]}),
    )
]
EXPECTED = {
    "check_supervised_y_2d": "DataConversionWarning not caught",
    "check_requires_y_none": "Doesn't fail gracefully",
}


@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: EXPECTED)  # type: ignore[untyped-decorator]
def test_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as there
        check(estimator)
