from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from saltus import Bool, Categorical, Float, Int, Ordinal, at_least
from saltus.sklearn.translation import DICT, TAIL, Column, Translation
from saltus.space.variable import Variable


def column(given: Any) -> Column:
    return Translation({"p": given}).columns["p"]


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        (stats.uniform(2, 3), Float(2, 5)),
        (stats.uniform, Float(0, 1)),
        (stats.loguniform(1e-3, 1e3), Float(1e-3, 1e3, log=True)),
        (stats.reciprocal(1e-3, 1e3), Float(1e-3, 1e3, log=True)),
        (stats.randint(1, 10), Int(1, 9)),
        (stats.binom(10, 0.5), Int(0, 10)),
        (stats.geom(0.5), Int(1, 10)),  # up to its quantile
        (stats.norm(), Float(TAIL, 1 - TAIL)),
        (stats.loguniform(1, 10, loc=3), Float(TAIL, 1 - TAIL)),  # shifted, it is another distribution
        (stats.rv_discrete(values=([1, 5, 9], [0.2, 0.3, 0.5])), Ordinal([1, 5, 9])),
        (["a", None], Categorical([0, 1])),
        (np.logspace(0, 2, 3), Categorical([0, 1, 2])),
        (range(3), Categorical([0, 1, 2])),
        *(
            (own, own)
            for own in (Float(), Int(1, 64, log=True), Bool(), Ordinal([1, 4]), Categorical(["a", "b"]))
        ),
    ],
)
def test_what_is_understood(given: Any, variable: Variable) -> None:
    found = column(given).variable
    assert found == variable
    assert type(found) is type(variable)


def test_other_distributions_by_their_quantiles() -> None:
    outward = column(stats.norm(5, 2)).outward
    assert outward(0.5) == pytest.approx(5)
    assert outward(TAIL) == pytest.approx(5 - 2 * 3.0902, abs=1e-3)
    assert type(outward(0.3)) is float
    assert all(math.isfinite(outward(q)) for q in (TAIL, 1 - TAIL))


def test_values_of_a_list_are_the_very_ones_and_may_be_alike() -> None:
    values: list[Any] = [{"weight": 1}, [1, 2], 1, True, math.nan]  # neither hashable nor all different
    outward = column(values).outward
    assert all(outward(i) is value for i, value in enumerate(values))


def test_names_are_sorted() -> None:
    translation = Translation({"b": [1], "a": Float(0, 1)})
    assert translation.space.names == ("a", "b")
    assert list(translation.outward({"a": 0.5, "b": 0})) == ["a", "b"]


def test_a_list_of_one_dict() -> None:
    assert Translation([{"a": [1, 2]}]).space == Translation({"a": [1, 2]}).space


def test_several_dicts_are_active_each_by_itself() -> None:
    translation = Translation([{"kernel": ["linear"]}, {"kernel": ["rbf", "poly"], "gamma": Float(0, 1)}])
    assert translation.space.names == (DICT, "kernel", "gamma", "kernel (2)")
    assert [variable.when for variable in translation.space.variables] == [
        None,
        {DICT: (0,)},
        {DICT: (1,)},
        {DICT: (1,)},
    ]
    assert translation.outward({DICT: 0, "kernel": 0}) == {"kernel": "linear"}
    assert translation.outward({DICT: 1, "kernel (2)": 1, "gamma": 0.5}) == {"kernel": "poly", "gamma": 0.5}
    assert Translation([{"a": [1, 2]}, {"a": [1, 2, 3]}]).space.count_points() == 5


def test_what_several_dicts_give_in_the_same_way_is_one_variable() -> None:
    scaler = object()
    both: dict[str, Any] = {"C": stats.uniform(0, 2), "scale": [scaler, None]}
    third = {"scale": [object(), None], "C": stats.norm()}
    columns = Translation([both | {"a": [1]}, both | {"b": [1]}, third]).columns
    assert list(columns) == ["C", "a", "scale", "b", "C (2)", "scale (2)"]
    assert columns["C"].variable == Float(0, 2, when={DICT: [0, 1]})
    assert columns["scale (2)"].name == "scale"
    assert Translation([{"a": [1, 2]}, {"a": [1, 2], "b": [3]}]).columns["a"].variable.when is None
    assert list(Translation([{"a": [1]}, {"a": [True]}]).columns) == ["a", "a (2)"]


def test_conditions_ask_for_values_of_lists() -> None:
    given = {"kernel": ["rbf", "poly", "rbf"], "degree": Int(2, 5, when={"kernel": "poly"})}
    assert Translation(given).columns["degree"].variable == Int(2, 5, when={"kernel": 1})
    given["gamma"] = Categorical(["scale", "auto"], when={"kernel": ["rbf", "poly"]})
    columns = Translation([{"kernel": ["linear"]}, given]).columns
    assert columns["gamma"].variable.when == {"kernel (2)": (0, 2, 1), DICT: (1,)}
    assert columns["degree"].variable.when == {"kernel (2)": (1,), DICT: (1,)}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ([], TypeError, "or a list of such dicts, got \\[\\]"),
        ([{"a": [1]}, 3], TypeError, "or a list of such dicts, got 3"),
        ([{"a": [1]}, {}], ValueError, "at least one parameter"),
        (
            {"a": ["x", "y"], "b": Float(0, 1, when={"a": "z"})},
            ValueError,
            "'b': when: 'a' must be one of \\['x', 'y'\\], got 'z'",
        ),
        (
            {"a": ["x", "y"], "b": Float(0, 1, when={"a": at_least(1)})},
            ValueError,
            "'b': when: 'a' has no order for at_least",
        ),
        (3, TypeError, "must be a dict of lists, distributions and variables by name, .* got 3"),
        ({}, ValueError, "at least one parameter"),
        ({"C": "rbf"}, TypeError, "'C' must be a list of values, a distribution .* got 'rbf'"),
        ({"C": {1, 2}}, TypeError, "'C' must be a list"),
        ({"C": 1.0}, TypeError, "'C' must be a list"),
        ({"C": []}, ValueError, "'C': Categorical: expected at least one choice"),
        ({"C": stats.randint(0, 2**60)}, ValueError, "'C': Int: high"),
        ({"C": stats.uniform(0, -1)}, ValueError, "'C': expected a distribution with values"),
    ],
)
def test_what_is_not_understood(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Translation(given)
