"""Settings of a search: which strategies there are, and what each of them takes."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any

import numpy as np
import pytest

from saltus.search.settings import (
    DEFAULT_STRATEGY,
    OPTIONAL,
    OPTIONAL_WITH_A_MODEL,
    STRATEGIES,
    Settings,
    mirrored,
)
from saltus.strategy import STRATEGIES as SINGLE
from saltus.strategy import default_population


def test_the_default_comes_first_then_it_without_a_model_then_the_systems_of_the_paper() -> None:
    assert list(STRATEGIES) == ["saltus", "saltus-es", *SINGLE]
    assert DEFAULT_STRATEGY == "saltus"


def test_what_was_not_asked_for_is_the_default() -> None:
    for N in (1, 5, 40):
        for strategy in STRATEGIES:
            settings = Settings.checked(N, strategy)
            assert settings == Settings(strategy, default_population(N), None, False, frozenset(), 1)
            assert Settings(strategy, default_population(N)) == settings


def test_settings_are_plain_data() -> None:
    settings = Settings.checked(5, "saltus", np.int64(12), np.float64(0.1), True, ["scan"], np.int64(3))
    assert settings == Settings("saltus", 12, 0.1, True, frozenset(["scan"]), 3)
    assert [type(part) for part in settings] == [str, int, float, bool, frozenset, int, NoneType]


def test_populations_are_even_where_candidates_come_in_pairs() -> None:
    even = {name for name in STRATEGIES if mirrored(name)}
    assert even == {name for name in STRATEGIES if not name.startswith("cma-es")}
    assert Settings.checked(5, "cma-es", 7).population == 7


@pytest.mark.parametrize(
    ("strategy", "population", "words"),
    [
        ("saltus", 7, "must be even and at least 4, got 7; try 8$"),
        ("saltus-es", 9, "must be even and at least 4, got 9; try 10$"),
        ("saltus-es", 2, "must be even and at least 4, got 2; try 4$"),
        ("dx-nes-ici", 3, "must be even and at least 4, got 3; try 4$"),
        ("cma-es", 3, "must be at least 4, got 3; try 4$"),
        ("saltus-es", 8.0, "must be even and at least 4, got 8.0; try a whole number$"),
        ("cma-es", True, "must be at least 4, got True; try a whole number$"),
    ],
)
def test_a_population_that_does_not_fit_is_refused_with_one_that_does(
    strategy: str, population: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=f"population {words}"):
        Settings.checked(5, strategy, population)
    for least in (4, 6):
        assert Settings.checked(5, strategy, least).population == least


@pytest.mark.parametrize("margin", [0, 0.0, 0.5, -0.1, 1, math.nan, "0.1"])
def test_a_margin_is_a_probability_below_one_half(margin: Any) -> None:
    with pytest.raises(ValueError, match=r"margin must be a probability between 0 and 0\.5, got "):
        Settings.checked(5, "saltus-es", margin=margin)
    assert Settings.checked(5, "saltus-es", margin=0.499).margin == 0.499


@pytest.mark.parametrize("of", [mirrored, lambda name: Settings.checked(5, name)])
def test_a_strategy_that_does_not_exist_is_refused_with_those_that_do(of: Any) -> None:
    with pytest.raises(
        ValueError,
        match=r"must be one of saltus, saltus-es, dx-nes-ici, .*got 'dx-nes-icy'.*mean 'dx-nes-ic'",
    ):
        of("dx-nes-icy")
    with pytest.raises(ValueError, match="must be one of"):
        of(["saltus-es"])


def without(parts: Any, strategy: str) -> frozenset[str]:
    return Settings.checked(5, strategy, without=parts).without


def test_parts_of_the_default_can_be_left_out() -> None:
    assert without([], "dx-nes-ici") == frozenset()
    assert without("scan", "saltus-es") == {"scan"}
    assert without(["scan", "deep", "scan"], "saltus-es") == {"scan", "deep"}
    assert without(OPTIONAL, "saltus-es") == set(OPTIONAL)
    assert without(OPTIONAL_WITH_A_MODEL, "saltus") == set(OPTIONAL_WITH_A_MODEL)
    with pytest.raises(ValueError, match=r"without takes 'scaling', 'newton', .*; got 'model'$"):
        without("model", "saltus-es")
    with pytest.raises(ValueError, match=r"without takes 'scaling', 'newton', .*; got 'skan'.*'scan'"):
        without(["deep", "skan"], "saltus-es")
    with pytest.raises(ValueError, match=r"without takes nothing of 'dx-nes-ici'; got 'scan'$"):
        without("scan", "dx-nes-ici")


def test_what_can_be_left_out_has_these_names() -> None:
    """They are in the documents, and in records of studies."""
    assert " / ".join(OPTIONAL) == (
        "scaling / newton / deep / sweep / neighbours / pairs / scan / local runs / global runs"
    )
    assert " / ".join(OPTIONAL_WITH_A_MODEL[: -len(OPTIONAL)]) == (
        "model / asking / limits / evolution / valley / lattice / asking in runs / asking in sweeps / "
        "quadratic kernel / warping / region / quadratic steps / short descent"
    )
