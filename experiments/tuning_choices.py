"""Models of scikit-learn to tune whose parameters are choices, and depend on choices: categories, conditions.

Which kernel, and its degree only if it is polynomial; which of several models, each with parameters of its
own; how many layers, and the size of each; which features before which regression. An evaluation is a
cross-validation in three folds, as of `experiments.tuning_problems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.tuning_problems import Problem, cross_validated
from saltus import Categorical, Float, Int, Space
from saltus.space import at_least

_SCALES = ("standard", "range", "none")
_HOPELESS = 36.0  # the logarithmic loss of who is always sure, and wrong


def _scaled(how: str) -> Any:
    from sklearn.preprocessing import MinMaxScaler, StandardScaler  # here: it takes a second

    return {"standard": StandardScaler(), "range": MinMaxScaler(), "none": "passthrough"}[how]


def _machine(p: Mapping[str, Any]) -> float:
    """A support vector machine on the breast cancer data: 1 - the area under the curve."""
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    own = {name: p[name] for name in ("kernel", "C", "gamma", "degree", "coef0") if name in p}
    model = make_pipeline(_scaled(p["scale"]), SVC(**own, max_iter=20_000))
    return 1.0 - cross_validated(model, "breast_cancer", "roc_auc")


def _classifier(p: Mapping[str, Any]) -> float:
    """One of three models on digits: 1 - the area under the curves of all digits."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    model: Any
    if p["model"] == "logistic":
        model = LogisticRegression(C=p["C"], max_iter=50)
    elif p["model"] == "neighbours":
        model = KNeighborsClassifier(p["neighbours"], weights=p["weights"], p=p["power"])
    else:
        model = RandomForestClassifier(
            p["trees"], max_depth=p["depth"], max_features=p["features"], random_state=0
        )
    return 1.0 - cross_validated(make_pipeline(_scaled(p["scale"]), model), "digits", "roc_auc_ovr")


def _network(p: Mapping[str, Any]) -> float:
    """A network of one to three layers on the wine data: the logarithmic loss."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    layers = tuple(p[name] for name in ("first", "second", "third") if name in p)
    solver = {"momentum": p["momentum"]} if p["solver"] == "sgd" else {"beta_1": 1 - p["forgetting"]}
    model = MLPClassifier(
        layers,
        activation=p["activation"],
        solver=p["solver"],
        alpha=p["alpha"],
        learning_rate_init=p["rate"],
        batch_size=16,
        max_iter=15,
        random_state=0,
        **solver,
    )
    try:
        return -cross_validated(make_pipeline(_scaled(p["scale"]), model), "wine", "neg_log_loss")
    except ValueError:  # weights have grown beyond all numbers
        return _HOPELESS


def _regression(p: Mapping[str, Any]) -> float:
    """Features and a regression on the diabetes data: the share of the variance that is not explained."""
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Lasso, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

    features: Any = "passthrough"
    if p["features"] == "polynomials":
        features = PolynomialFeatures(2, interaction_only=p["squares"] == "no", include_bias=False)
    elif p["features"] == "splines":
        features = SplineTransformer(p["knots"], degree=2, include_bias=False)
    model: Any
    if p["model"] == "ridge":
        model = Ridge(p["alpha"])
    elif p["model"] == "lasso":
        model = Lasso(p["alpha"], max_iter=200)
    elif p["model"] == "kernel ridge":
        model = KernelRidge(alpha=p["alpha"], kernel=p["kernel"], gamma=p.get("gamma"))
    else:
        model = GradientBoostingRegressor(
            n_estimators=p["trees"], learning_rate=p["rate"], max_depth=2, random_state=0
        )
    return 1.0 - cross_validated(make_pipeline(features, StandardScaler(), model), "diabetes", "r2")


CHOICES: dict[str, Problem] = {
    "kernels, breast cancer": Problem(
        Space(
            {
                "scale": Categorical(_SCALES),
                "kernel": Categorical(["linear", "poly", "rbf", "sigmoid"]),
                "C": Float(1e-3, 1e3, log=True),
                "gamma": Float(1e-5, 10, log=True, when={"kernel": ["poly", "rbf", "sigmoid"]}),
                "degree": Int(2, 5, when={"kernel": "poly"}),
                "coef0": Float(-1, 1, when={"kernel": ["poly", "sigmoid"]}),
            }
        ),
        _machine,
    ),
    "models, digits": Problem(
        Space(
            {
                "scale": Categorical(_SCALES),
                "model": Categorical(["logistic", "neighbours", "forest"]),
                "C": Float(1e-4, 1e3, log=True, when={"model": "logistic"}),
                "neighbours": Int(1, 50, log=True, when={"model": "neighbours"}),
                "weights": Categorical(["uniform", "distance"], when={"model": "neighbours"}),
                "power": Float(1, 4, when={"model": "neighbours"}),
                "trees": Int(5, 40, when={"model": "forest"}),
                "depth": Int(2, 16, when={"model": "forest"}),
                "features": Float(0.02, 0.5, log=True, when={"model": "forest"}),
            }
        ),
        _classifier,
    ),
    "layers, wine": Problem(
        Space(
            {
                "scale": Categorical(_SCALES),
                "layers": Int(1, 3),
                "first": Int(2, 32, log=True),
                "second": Int(2, 32, log=True, when={"layers": at_least(2)}),
                "third": Int(2, 32, log=True, when={"layers": at_least(3)}),
                "activation": Categorical(["relu", "tanh", "logistic"]),
                "alpha": Float(1e-6, 10, log=True),
                "rate": Float(1e-4, 1, log=True),
                "solver": Categorical(["adam", "sgd"]),
                "forgetting": Float(1e-2, 1, log=True, when={"solver": "adam"}),
                "momentum": Float(0, 0.99, when={"solver": "sgd"}),
            }
        ),
        _network,
    ),
    "features, diabetes": Problem(
        Space(
            {
                "features": Categorical(["as they are", "polynomials", "splines"]),
                "squares": Categorical(["no", "yes"], when={"features": "polynomials"}),
                "knots": Int(3, 12, when={"features": "splines"}),
                "model": Categorical(["ridge", "lasso", "kernel ridge", "boosting"]),
                "alpha": Float(1e-4, 1e3, log=True, when={"model": ["ridge", "lasso", "kernel ridge"]}),
                "kernel": Categorical(["linear", "rbf", "laplacian"], when={"model": "kernel ridge"}),
                "gamma": Float(1e-5, 1, log=True, when={"kernel": ["rbf", "laplacian"]}),
                "trees": Int(5, 60, log=True, when={"model": "boosting"}),
                "rate": Float(0.01, 1, log=True, when={"model": "boosting"}),
            }
        ),
        _regression,
    ),
}
