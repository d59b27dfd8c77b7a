"""Which classifier, with which parameters? Errors in a cross-validation on breast cancer data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from saltus import Bool, Categorical, Float, Int, Space

SPACE = Space(
    {
        "model": Categorical(["SVM", "neighbours", "trees"]),
        "scale": Bool(when={"model": ["SVM", "neighbours"]}),
        "kernel": Categorical(["rbf", "poly", "linear"], when={"model": "SVM"}),
        "C": Float(1e-3, 1e3, log=True, when={"model": "SVM"}),
        "gamma": Float(1e-4, 10, log=True, when={"kernel": ["rbf", "poly"]}),
        "degree": Int(2, 4, when={"kernel": "poly"}),
        "neighbours": Int(1, 40, log=True, when={"model": "neighbours"}),
        "weights": Categorical(["uniform", "distance"], when={"model": "neighbours"}),
        "depth": Int(1, 12, when={"model": "trees"}),
        "features": Float(0.05, 1, when={"model": "trees"}),
    }
)


@cache
def _data() -> tuple[Any, Any]:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def _model(p: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if p["model"] == "trees":
        return ExtraTreesClassifier(20, max_depth=p["depth"], max_features=p["features"], random_state=0)
    if p["model"] == "SVM":
        inside = {key: p[key] for key in ("kernel", "C", "gamma", "degree") if key in p}
        model: Any = SVC(**inside, max_iter=20_000)
    else:
        model = KNeighborsClassifier(p["neighbours"], weights=p["weights"])
    return make_pipeline(StandardScaler(), model) if p["scale"] else model


def errors(p: Mapping[str, Any]) -> float:
    """The share of wrong answers in three folds, which are always the same."""
    import warnings

    from sklearn.model_selection import StratifiedKFold, cross_val_score

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an SVM without scaling may not converge: its score says so
        return float(1 - cross_val_score(_model(p), *_data(), cv=folds).mean())
