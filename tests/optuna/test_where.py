"""Known constraints in the sampler: no trial breaks one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState

from saltus import Float, Int, Space
from saltus.optuna import SaltusSampler
from saltus.optuna.translation import Translation

SPACE: dict[str, BaseDistribution] = {
    "a": FloatDistribution(0, 8),
    "b": FloatDistribution(0, 8),
    "k": IntDistribution(1, 9),
}
TEXT = ["2*a + b <= 10", "k >= a"]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def holds(p: Any) -> bool:
    return bool(2 * p["a"] + p["b"] <= 10 and p["k"] >= p["a"])


def objective(trial: optuna.Trial) -> float:
    p = {"a": trial.suggest_float("a", 0, 8), "b": trial.suggest_float("b", 0, 8)}
    p["k"] = trial.suggest_int("k", 1, 9)
    assert holds(p), p
    return float((p["a"] - 4) ** 2 + (p["b"] - 6) ** 2 + p["k"])


@pytest.mark.parametrize("where", [TEXT, holds])
@pytest.mark.parametrize("search_space", [None, SPACE])
@pytest.mark.parametrize("startup", [0, 4])
def test_no_trial_breaks_a_rule(where: Any, search_space: Any, startup: int) -> None:
    how: dict[str, Any] = {"seed": 1, "where": where, "n_startup_trials": startup, "strategy": "saltus-es"}
    study = optuna.create_study(sampler=SaltusSampler(search_space=search_space, **how))
    study.optimize(objective, n_trials=40)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert len(complete) >= 34  # without a space, a first trial may find no value that is allowed
    assert study.best_value < 20  # the best of all is 6


def test_a_rule_of_the_space() -> None:
    space = Space({"a": Float(0, 8), "b": Float(0, 8), "k": Int(1, 9)}, where=TEXT)
    study = optuna.create_study(sampler=SaltusSampler(seed=1, search_space=space))
    study.optimize(objective, n_trials=20)
    assert study.best_value < 6.5


@pytest.mark.parametrize(
    ("distribution", "allowed"),
    [
        (IntDistribution(10, 50, step=10), [10, 20, 30]),
        (IntDistribution(1, 64, log=True), [1, 2, 34]),
        (FloatDistribution(0, 60, step=7.5), [0.0, 7.5, 30.0]),
        (CategoricalDistribution([64, 8, 30, 16]), [8, 16, 30]),
    ],
)
def test_text_is_about_the_values_that_the_objective_has(
    distribution: BaseDistribution, allowed: list[float]
) -> None:
    translation = Translation({"n": distribution, "x": FloatDistribution(0, 1)}, None, ["n - x <= 35"])
    where, space = translation.space.where, translation.space

    def is_allowed(value: Any) -> bool:
        inside = translation.inward({"n": value, "x": 0.0})
        assert inside is not None
        rows: Callable[[Any], list[Any]] = lambda numbers: [inside]  # noqa: E731
        return bool(where.excess(np.array([space.numbers(inside)]), rows)[0] == 0.0)

    assert all(is_allowed(value) for value in allowed)
    top = distribution.choices[0] if isinstance(distribution, CategoricalDistribution) else distribution.high  # type: ignore[attr-defined]
    assert not is_allowed(top)


def test_who_comes_back_goes_on_with_the_rules() -> None:
    def study_of(n: int) -> optuna.Study:
        study = optuna.create_study(sampler=SaltusSampler(seed=1, where=TEXT, search_space=SPACE))
        study.optimize(objective, n_trials=n)
        return study

    whole, parts = study_of(12), study_of(6)
    parts.sampler = SaltusSampler(seed=9, where=TEXT, search_space=SPACE)
    parts.optimize(objective, n_trials=6)
    assert [t.params for t in parts.trials] == [t.params for t in whole.trials]


def test_what_is_wrong_is_said_before_the_first_trial() -> None:
    with pytest.raises(ValueError, match="aa"):
        SaltusSampler(search_space=SPACE, where="aa <= b")
    with pytest.raises(TypeError, match="text such as"):
        SaltusSampler(where=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no number"):
        SaltusSampler(
            search_space=SPACE | {"c": CategoricalDistribution(["u", "v", "w"])}, where="c + a <= 3"
        )


def test_where_nothing_is_allowed_at_random_an_error_says_so() -> None:
    sampler = SaltusSampler(search_space=SPACE, where="a + b <= 0.0001", n_startup_trials=3)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ValueError, match="n_startup_trials=0"):
        study.ask(SPACE)
