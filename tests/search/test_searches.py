"""Which search has which name, and what can be left out of it."""

from __future__ import annotations

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus.search import STRATEGIES, begin, checked_without, mirrored
from saltus.search.restarts import OPTIONAL, Saltus
from saltus.search.single_run import Single
from saltus.strategy import STRATEGIES as SINGLE

from .playing import domain_of

DOMAIN = domain_of(Space([Float(), Float(), Int(0, 9)]))
M = np.array([0.5, -0.5, 4.0])


def test_the_default_comes_first_and_the_systems_of_the_paper_follow() -> None:
    assert list(STRATEGIES) == ["saltus", *SINGLE]


def test_a_search_begins_from_the_mean_with_what_it_was_given() -> None:
    search = begin("saltus", DOMAIN, 8, 0.02, M, without=frozenset(["scan"]))
    assert isinstance(search, Saltus)
    assert (search.domain, search.population, search.margin, search.exact) == (DOMAIN, 8, 0.02, False)
    assert search.without == {"scan"}
    assert search.where()[0].tolist() == M.tolist()
    assert begin("saltus", DOMAIN, 8, None, M, True).exact  # type: ignore[attr-defined]
    assert begin("saltus", DOMAIN, 8, None, M).without == frozenset()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SINGLE)
def test_a_system_of_the_paper_begins_likewise(name: str) -> None:
    for exact in (False, True):
        search = begin(name, DOMAIN, 8, 0.02, M, exact)
        assert isinstance(search, Single)
        assert (search.domain, search.population) == (DOMAIN, 8)
        assert search.where()[0].tolist() == M.tolist()
        assert search.run.gaussian.integers.alpha == 0.02
        assert search.run.gaussian.integers.treatment is SINGLE[name].treatment
        assert search._exact == exact
    assert not begin(name, DOMAIN, 8, 0.02, M)._exact  # type: ignore[attr-defined]


def test_populations_are_even_where_candidates_come_in_pairs() -> None:
    even = {name for name in STRATEGIES if mirrored(name)}
    assert even == {name for name in STRATEGIES if not name.startswith("cma-es")}


def test_a_strategy_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(
        ValueError, match=r"must be one of saltus, dx-nes-ici, .*got 'dx-nes-icy'.*mean 'dx-nes-ic'"
    ):
        mirrored("dx-nes-icy")
    with pytest.raises(ValueError, match="must be one of"):
        mirrored(["saltus"])  # type: ignore[arg-type]


def test_parts_of_the_default_can_be_left_out() -> None:
    assert checked_without([], "dx-nes-ici") == frozenset()
    assert checked_without("scan", "saltus") == {"scan"}
    assert checked_without(["scan", "deep", "scan"], "saltus") == {"scan", "deep"}
    assert checked_without(OPTIONAL, "saltus") == set(OPTIONAL)
    with pytest.raises(ValueError, match=r"without takes 'scaling', 'newton', .*; got 'skan'.*'scan'"):
        checked_without(["deep", "skan"], "saltus")
    with pytest.raises(ValueError, match=r"without takes nothing of 'dx-nes-ici'; got 'scan'$"):
        checked_without("scan", "dx-nes-ici")
