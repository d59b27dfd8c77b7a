"""Objectives with branches: what their trials show, and the search in it."""

from __future__ import annotations

import itertools
import math
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
from optuna.trial import FrozenTrial, create_trial

from saltus import Bool, Categorical, Float, Int, Ordinal, Space, at_least
from saltus.optuna import SaltusSampler
from saltus.optuna.branches import Branches, Evidence
from saltus.optuna.translation import Translation
from saltus.space.conditions import Within

RANGES: dict[str, BaseDistribution] = {
    "kernel": CategoricalDistribution(["rbf", "poly", "linear"]),
    "gamma": FloatDistribution(0, 1),
    "degree": IntDistribution(2, 5),
    "layers": IntDistribution(1, 4),
    "second": FloatDistribution(0, 1),
}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def trial(**params: Any) -> FrozenTrial:
    return create_trial(params=params, distributions={name: RANGES[name] for name in params}, value=1.0)


def shown(*trials: FrozenTrial) -> Branches:
    """What trials show, in whatever order they come."""
    found = []
    for order in itertools.islice(itertools.permutations(trials), 24):
        evidence = Evidence()
        for each in order:
            evidence.add(each)
            evidence.branches()
        found.append(evidence.branches())
    assert all(each == found[0] for each in found)
    return found[0]


class TestEvidence:
    def test_what_all_trials_have_has_no_condition(self) -> None:
        branches = shown(trial(kernel="rbf", gamma=0.1), trial(kernel="poly", gamma=0.2))
        assert branches == Branches({name: RANGES[name] for name in ("gamma", "kernel")}, {})

    def test_some_values_of_a_categorical_parameter(self) -> None:
        branches = shown(
            trial(kernel="rbf", gamma=0.1), trial(kernel="linear"), trial(kernel="poly", gamma=0.2, degree=2)
        )
        assert branches.conditions == {"degree": {"kernel": ("poly",)}, "gamma": {"kernel": ("rbf", "poly")}}

    def test_a_threshold_of_an_integer(self) -> None:
        one, three = trial(layers=1), trial(layers=3, second=0.5)
        assert shown(one, three).conditions == {"second": {"layers": Within(at_least=3)}}
        four = shown(one, three, trial(layers=2, second=0.5))
        assert four.conditions == {"second": {"layers": Within(at_least=2)}}
        below = shown(trial(layers=1, second=0.1), trial(layers=2))
        assert below.conditions == {"second": {"layers": Within(at_most=1)}}

    def test_branches_within_branches(self) -> None:
        branches = shown(
            trial(kernel="rbf"),
            trial(kernel="poly", layers=1),
            trial(kernel="poly", layers=2, second=0.5),
        )
        assert branches.conditions == {
            "layers": {"kernel": ("poly",)},
            "second": {"layers": Within(at_least=2)},
        }
        assert branches.active("second", {"kernel": "poly", "layers": 3})
        assert not branches.active("second", {"kernel": "rbf", "layers": 3})

    def test_what_no_other_parameter_explains_is_left_out(self) -> None:
        branches = shown(trial(kernel="rbf", gamma=0.1), trial(kernel="rbf"), trial(kernel="poly", gamma=0.1))
        assert branches == Branches({"kernel": RANGES["kernel"]}, {})

    def test_what_has_two_distributions_is_left_out(self) -> None:
        other = create_trial(params={"gamma": 3.0}, distributions={"gamma": FloatDistribution(0, 9)}, value=1)
        assert shown(trial(gamma=0.5), other) == Branches({}, {})

    def test_evidence_to_the_contrary_is_believed(self) -> None:
        first = [trial(kernel="rbf", layers=1), trial(kernel="poly", layers=2, second=0.1)]
        assert shown(*first).conditions == {"second": {"kernel": ("poly",)}}
        more = shown(*first, trial(kernel="rbf", layers=3, second=0.1))
        assert more.conditions == {"second": {"layers": Within(at_least=2)}}


def model(trial: optuna.Trial) -> float:
    """Three models, of which one has parameters of its own that matter, and one has layers."""
    rate = trial.suggest_float("rate", 1e-4, 1, log=True)
    loss = abs(math.log10(rate / 0.01))
    match trial.suggest_categorical("model", ["linear", "tree", "net"]):
        case "tree":
            loss += abs(trial.suggest_int("depth", 1, 10) - 6) / 6
        case "net":
            layers = trial.suggest_int("layers", 1, 3)
            loss += 0.3 * abs(layers - 2) + sum(
                abs(trial.suggest_float(f"w{i}", 0, 1) - 0.3) for i in range(layers)
            )
        case _:
            loss += 0.8
    return loss


MODELS = Space(
    {
        "rate": Float(1e-4, 1, log=True),
        "model": Categorical(["linear", "tree", "net"]),
        "depth": Int(1, 10, when={"model": "tree"}),
        "layers": Int(1, 3, when={"model": "net"}),
        "w0": Float(0, 1, when={"model": "net"}),
        "w1": Float(0, 1, when={"layers": at_least(2)}),
        "w2": Float(0, 1, when={"layers": at_least(3)}),
    }
)


def made(n: int, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=SaltusSampler(seed=1, **options))
    study.optimize(model, n_trials=n)
    return study


def points(study: optuna.Study) -> list[dict[str, Any]]:
    return [each.params for each in study.trials]


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es"])
@pytest.mark.parametrize("space", [None, MODELS])
def test_who_comes_back_goes_on_where_it_was_in_all_branches(strategy: str, space: Space | None) -> None:
    whole = made(24, strategy=strategy, search_space=space)
    parts = made(8, strategy=strategy, search_space=space)
    for _ in range(2):
        parts.sampler = SaltusSampler(seed=1, strategy=strategy, search_space=space)
        parts.optimize(model, n_trials=8)
    assert points(parts) == points(whole)


def test_branches_are_searched_and_not_drawn_at_random() -> None:
    study = made(60)
    sampler: Any = study.sampler
    (view,) = sampler._views.values()
    assert view._evidence.branches().conditions.keys() >= {"depth", "layers", "w0"}
    assert study.best_value < 0.05
    late = [each for each in study.trials[-20:] if "saltus" in each.system_attrs]
    assert len(late) == 20


def test_a_space_with_conditions_is_searched_from_the_first_trial() -> None:
    study = made(50, search_space=MODELS)
    assert all("saltus" in each.system_attrs for each in study.trials)
    assert study.best_value < 0.05


def test_several_samplers_agree_in_branches() -> None:
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(storage=storage, study_name="s")
    studies = [
        optuna.load_study(storage=storage, study_name="s", sampler=SaltusSampler(seed=1)) for _ in range(3)
    ]
    for number in range(24):
        studies[number % 3].optimize(model, n_trials=1)
    alone = optuna.create_study(sampler=SaltusSampler(seed=1))
    alone.optimize(model, n_trials=24)
    assert points(studies[0]) == points(alone)


def test_a_space_for_optuna_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="must have names"):
        SaltusSampler(search_space=Space([Float(0, 1)]))
    with pytest.raises(ValueError, match="'x' needs both bounds"):
        SaltusSampler(search_space=Space({"x": Float()}))
    with pytest.raises(ValueError, match="x0 names 'y'"):
        SaltusSampler(search_space=Space({"x": Float(0, 1)}), x0={"y": 1})


def test_kinds_of_variables_are_asked_for_as_they_are() -> None:
    space = Space(
        {
            "x": Float(0, 1, step=0.25, init=0.75),
            "k": Int(1, 9, log=True),
            "on": Bool(),
            "size": Ordinal([8, 16, 64], when={"on": True}),
        }
    )

    def objective(trial: optuna.Trial) -> float:
        loss = abs(trial.suggest_float("x", 0, 1, step=0.25) - 0.5) + trial.suggest_int("k", 1, 9, log=True)
        if trial.suggest_categorical("on", [False, True]):
            return float(loss + trial.suggest_categorical("size", [8, 16, 64]) / 64 - 1)
        return float(loss)

    study = optuna.create_study(sampler=SaltusSampler(seed=1, search_space=space))
    study.optimize(objective, n_trials=40)
    assert all("saltus" in each.system_attrs for each in study.trials)
    assert study.trials[0].params["x"] == 0.75
    assert study.best_params == {"x": 0.5, "k": 1, "on": True, "size": 8}


def test_conditions_are_translated_with_the_values() -> None:
    ranges = {
        "n": IntDistribution(10, 50, step=10),
        "size": CategoricalDistribution([64, 8, 16]),
        "a": FloatDistribution(0, 1),
        "b": FloatDistribution(0, 1),
    }
    conditions = {"a": {"n": Within(at_least=30)}, "b": {"size": Within(at_most=16)}}
    translation = Translation(ranges, conditions)
    given = {"n": 30, "size": 8, "a": 0.5, "b": 0.25}
    inside = translation.inward(given)
    assert inside is not None
    assert translation.outward(inside) == given
    assert translation.inward({"n": 20, "size": 64}) == {"n": 1, "size": 2}
    assert translation.inward({"n": 30, "size": 64}) is None  # a is missing
    activity = translation.space.activity
    assert activity is not None
    names = list(translation.columns)
    numbers = translation.space.numbers({"n": 2, "size": 0, "a": 0.5, "b": 0.5})
    assert dict(zip(names, activity.active(np.array([numbers]))[0].tolist(), strict=True)) == {
        "a": True,
        "b": True,
        "n": True,
        "size": True,
    }
