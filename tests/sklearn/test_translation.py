from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from saltus import Bool, Categorical, Float, Int, Ordinal
from saltus.sklearn.translation import TAIL, Column, Translation
from saltus.space.variables import Variable


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


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ([{"a": [1]}, {"b": [2]}], TypeError, "must be a dict .* search each of several dicts by itself"),
        (3, TypeError, "must be a dict of lists, distributions and variables by name, got 3"),
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
