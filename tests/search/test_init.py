"""Which search has which name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus.search import SEARCHES, STRATEGIES
from saltus.search.restarts import Saltus
from saltus.search.settings import Settings
from saltus.search.single_run import Single
from saltus.strategy import STRATEGIES as SINGLE

from .playing import domain_of

DOMAIN = domain_of(Space([Float()] * 9 + [Int(0, 9)]))
M = np.array([0.5] * 4 + [-0.5] * 5 + [4.0])


def test_every_strategy_has_a_search() -> None:
    assert list(SEARCHES) == list(STRATEGIES)


def test_a_search_begins_from_the_mean_with_what_it_was_given() -> None:
    domain = replace(DOMAIN, settings=Settings("saltus-es", 8, 0.02, without=frozenset(["scan"])))
    search = SEARCHES["saltus-es"](domain, M)
    assert isinstance(search, Saltus)
    assert search.domain is search.phase.domain is domain
    assert search.population == 8
    assert search.phase.where()[0].tolist() == M.tolist()


@pytest.mark.parametrize("name", SINGLE)
def test_a_system_of_the_paper_begins_likewise(name: str) -> None:
    for exact in (False, True):
        domain = replace(DOMAIN, settings=Settings(name, 8, 0.02, exact))
        search = SEARCHES[name](domain, M)
        assert isinstance(search, Single)
        assert search.domain is search.phase.domain is domain
        assert search.population == 8
        assert search.phase.where()[0].tolist() == M.tolist()
        assert search.phase.gaussian.integers.alpha == 0.02
        assert search.phase.gaussian.integers.treatment is SINGLE[name].treatment
        constants = cast(Any, search.phase.gaussian).constants
        if not name.startswith("cr-fm-nes"):  # which has no eigenbasis
            assert (constants.refresh == 1) == exact  # else not in every generation
