"""Gradient boosting on a data set that scikit-learn ships: how good are these hyperparameters?

As a program, it compares settings: `python boosting.py` measures scikit-learn's defaults, and
`python boosting.py '{"learning_rate": 0.05, "max_leaf_nodes": 4}'` the given ones, also on data held out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

SEED = 0  # of the splits and of the model: the same hyperparameters always give the same score


def _require_scikit_learn() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError("This example needs scikit-learn: pip install scikit-learn") from error


@cache
def _data() -> tuple[Any, Any, Any, Any]:
    """The diabetes data: inputs to tune on (70 %), inputs held out (30 %), and the targets of both."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    return tuple(train_test_split(*load_diabetes(return_X_y=True), test_size=0.3, random_state=SEED))


def _model(params: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    settings = dict(params)
    if settings.pop("robust", False):
        settings["loss"] = "absolute_error"
    return HistGradientBoostingRegressor(random_state=SEED, **settings)


def score(params: Mapping[str, Any]) -> float:
    """The share of the variance that is explained (R²), mean of five folds: the higher the better."""
    _require_scikit_learn()
    from sklearn.model_selection import KFold, cross_val_score
    from threadpoolctl import threadpool_limits

    inputs, _, targets, _ = _data()
    folds = KFold(5, shuffle=True, random_state=SEED)
    with threadpool_limits(1):  # the study already keeps every core busy
        return float(cross_val_score(_model(params), inputs, targets, cv=folds, scoring="r2").mean())


def held_out(params: Mapping[str, Any]) -> float:
    """R² on the data that no search has seen."""
    _require_scikit_learn()
    inputs, unseen, targets, truth = _data()
    return float(_model(params).fit(inputs, targets).score(unseen, truth))


def main() -> None:
    """Score the hyperparameters given as JSON, or the defaults."""
    params = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    print(f"R2 cross-validated {score(params):.4f}, on held-out data {held_out(params):.4f}")


if __name__ == "__main__":
    main()
