"""Models of scikit-learn to tune, on data sets that ship with it: what users of a tuner bring.

Floats on log scales, integers and switches, 4 to 9 of them; an evaluation is a cross-validation in three
folds and takes some 50 ms. The same parameters always give the same score, and every score is kept in a file,
so that a point that was evaluated once costs nothing again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from saltus import Bool, Float, Int, Space

POINTS = Path("out/tuning-points.csv")
DIGITS_ROWS = 400  # of the digits, for time


class Problem(NamedTuple):
    """A space, and the score of a point in it: less is better."""

    space: Space
    score: Callable[[Mapping[str, Any]], float]


@cache
def _data(name: str) -> Any:
    from sklearn import datasets  # here: it takes a second

    inputs, targets = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (inputs[:DIGITS_ROWS], targets[:DIGITS_ROWS]) if name == "digits" else (inputs, targets)


def cross_validated(model: Any, data: str, scoring: str) -> float:
    """The mean score of a model in three folds of a data set that ships with scikit-learn."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from threadpoolctl import threadpool_limits

    kind = KFold if scoring == "r2" else StratifiedKFold
    folds = kind(3, shuffle=True, random_state=0)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # what has not converged after so many rounds is scored as it is
        return float(cross_val_score(model, *_data(data), cv=folds, scoring=scoring).mean())


def _scaled(switch: bool) -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler() if switch else "passthrough"


def _svm(p: Mapping[str, Any]) -> float:
    """Principal components and a support vector machine on digits: the share of errors."""
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    reduction = PCA(p["components"], whiten=p["whiten"], random_state=0)
    machine = SVC(C=p["C"], gamma=p["gamma"], max_iter=20_000)
    return 1.0 - cross_validated(make_pipeline(_scaled(p["scale"]), reduction, machine), "digits", "accuracy")


def _svr(p: Mapping[str, Any]) -> float:
    """Support vector regression on the diabetes data: the share of the variance that is not explained."""
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVR

    machine = SVR(C=p["C"], gamma=p["gamma"], epsilon=p["epsilon"], max_iter=20_000)
    return 1.0 - cross_validated(make_pipeline(_scaled(p["scale"]), machine), "diabetes", "r2")


def _net(p: Mapping[str, Any]) -> float:
    """An elastic net on polynomials of the diabetes data: the share of the variance that is not explained."""
    from sklearn.linear_model import ElasticNet
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    features = PolynomialFeatures(p["degree"], interaction_only=p["interactions_only"], include_bias=False)
    net = ElasticNet(alpha=p["alpha"], l1_ratio=p["l1_ratio"], max_iter=p["rounds"], random_state=0)
    model = make_pipeline(_scaled(p["scale"]), features, StandardScaler(), net)
    return 1.0 - cross_validated(model, "diabetes", "r2")


def _boosting(p: Mapping[str, Any]) -> float:
    """Gradient boosting on the diabetes data: the share of the variance that is not explained."""
    from sklearn.ensemble import GradientBoostingRegressor

    settings = dict(p)
    loss = "huber" if settings.pop("robust") else "squared_error"
    model = GradientBoostingRegressor(random_state=0, loss=loss, **settings)
    return 1.0 - cross_validated(model, "diabetes", "r2")


def _forest(p: Mapping[str, Any]) -> float:
    """Extremely random trees on the breast cancer data: the logarithmic loss."""
    from sklearn.ensemble import ExtraTreesClassifier

    settings = dict(p)
    weight = "balanced" if settings.pop("balanced") else None
    model = ExtraTreesClassifier(random_state=0, class_weight=weight, **settings)
    return -cross_validated(model, "breast_cancer", "neg_log_loss")


def _perceptron(p: Mapping[str, Any]) -> float:
    """A network of two layers on the wine data: the logarithmic loss."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    model = MLPClassifier(
        (p["first"], p["second"]),
        activation="tanh" if p["tanh"] else "relu",
        alpha=p["alpha"],
        learning_rate_init=p["rate"],
        batch_size=p["batch"],
        beta_1=1 - p["forgetting"],
        max_iter=p["epochs"],
        random_state=0,
    )
    return -cross_validated(make_pipeline(_scaled(p["scale"]), model), "wine", "neg_log_loss")


PROBLEMS: dict[str, Problem] = {
    "SVM, digits": Problem(
        Space(
            {
                "C": Float(1e-3, 1e3, log=True),
                "gamma": Float(1e-6, 10, log=True),
                "components": Int(2, 60),
                "whiten": Bool(),
                "scale": Bool(),
            }
        ),
        _svm,
    ),
    "SVR, diabetes": Problem(
        Space(
            {
                "C": Float(1e-2, 1e4, log=True),
                "gamma": Float(1e-4, 1e2, log=True),
                "epsilon": Float(1e-2, 1e2, log=True),
                "scale": Bool(),
            }
        ),
        _svr,
    ),
    "elastic net, diabetes": Problem(
        Space(
            {
                "alpha": Float(1e-3, 1e2, log=True),
                "l1_ratio": Float(0, 1),
                "rounds": Int(5, 200, log=True),
                "degree": Int(1, 3),
                "interactions_only": Bool(),
                "scale": Bool(),
            }
        ),
        _net,
    ),
    "boosting, diabetes": Problem(
        Space(
            {
                "learning_rate": Float(0.01, 1, log=True),
                "n_estimators": Int(5, 40, log=True),
                "max_depth": Int(1, 6),
                "min_samples_leaf": Int(1, 50, log=True),
                "subsample": Float(0.2, 1),
                "max_features": Float(0.1, 1),
                "robust": Bool(),
            }
        ),
        _boosting,
    ),
    "forest, breast cancer": Problem(
        Space(
            {
                "n_estimators": Int(3, 24),
                "max_depth": Int(1, 16),
                "min_samples_leaf": Int(1, 30, log=True),
                "max_features": Float(0.05, 1),
                "ccp_alpha": Float(1e-6, 1e-1, log=True),
                "bootstrap": Bool(),
                "balanced": Bool(),
            }
        ),
        _forest,
    ),
    "perceptron, wine": Problem(
        Space(
            {
                "first": Int(2, 32, log=True),
                "second": Int(2, 32, log=True),
                "alpha": Float(1e-6, 10, log=True),
                "rate": Float(1e-4, 1, log=True),
                "forgetting": Float(1e-2, 1, log=True),
                "batch": Int(8, 64, log=True),
                "epochs": Int(2, 20),
                "tanh": Bool(),
                "scale": Bool(),
            }
        ),
        _perceptron,
    ),
}


class Scores:
    """Scores that were computed once, in a file that only grows."""

    def __init__(self, path: Path, version: str) -> None:
        """Scores of other versions of scikit-learn do not count."""
        self.path, self.version = path, version
        self.known: dict[str, float] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
                value, _, point = line.partition("\t")
                self.known[point] = float(value)

    def of(self, name: str, problem: Problem, params: Mapping[str, Any]) -> float:
        """The score of a point of the problem with this name, computed if it is new."""
        ordered = {key: params[key] for key in problem.space.names or () if key in params}
        said = ordered.values() if len(ordered) == len(problem.space) else [ordered]
        return self.kept([name, *said], lambda: problem.score(ordered))

    def kept(self, what: list[Any], compute: Callable[[], float]) -> float:
        """The score of what is named like this, computed if it is new."""
        point = json.dumps([self.version, *what])
        if point not in self.known:
            self.known[point] = float(compute())
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(f"{self.known[point]!r}\t{point}\n")
        return self.known[point]


@cache
def scores(path: Path = POINTS) -> Scores:
    """The file of this process."""
    import sklearn

    return Scores(path, sklearn.__version__)
