"""Proposals and their results."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from saltus import Float, Int, Space, order
from saltus.search.proposal import FOREIGN, LONE, Domain, Late, Proposals, Results
from saltus.search.settings import Settings

from .playing import domain_of


def test_violations_and_failures_come_last() -> None:
    batch = Proposals(np.zeros((4, 1)), np.zeros((4, 0)))
    told = Results(batch, np.array([1.0, 0.0, np.nan, 5.0]), np.array([0.5, 0.2, 0.0, 0.0]))
    assert [told.key(i) for i in range(4)] == [(0.5, 1.0), (0.2, 0.0), (math.inf, math.inf), (0.0, 5.0)]
    assert told.first() == 3
    assert not told.clean
    assert Results(batch, np.array([np.nan, np.inf, 3.0, 3.0]), None).first() == 2


DOMAIN = domain_of(Space([Float(-4, 6), Float(), Int(0, 9), Int(-3, 3)]))


def test_keys_are_those_of_the_comparison() -> None:
    values, violations = np.array([1.0, math.inf, 2.0, math.nan]), np.array([0.0, 0.5, math.nan, 0.0])
    results = Results(Proposals(np.zeros((4, 1)), np.zeros((4, 0))), values, violations)
    for i in range(4):
        expected = order.key(values[i], violations[i])
        assert results.key(i) == expected
        assert results.point(i).key == expected
    assert results.best().key == (0.0, 1.0)
    assert results.part(slice(1, 3)).first() == 0


def test_parts_and_what_is_known() -> None:
    points = Proposals(np.arange(10.0).reshape(5, 2), np.arange(5.0)[:, None])
    results = Results(points, np.arange(5.0), None, known=np.array([True, False, True, False, False]))
    assert (results.told, results.complete) == (2, False)
    known = results.known_part()
    assert known.points.plateaus[:, 0].tolist() == known.values.tolist() == [0.0, 2.0]
    assert (known.told, known.complete, known.clean) == (2, True, True)
    assert results._replace(known=None).known_part().told == 5
    assert not results._replace(violations=np.zeros(5)).clean
    assert results.part(np.array([4, 1])).values.tolist() == [4.0, 1.0]
    assert results._replace(known=np.full(5, True)).complete


def test_pairs_lone_points_and_foreign_ones_are_arranged() -> None:
    """Sides of pairs, then their other sides in the same order, then the rest; by the present batch first."""
    own = Results(Proposals(np.arange(4.0)[:, None], np.empty((4, 0))), np.arange(4.0), None)
    late = Results(Proposals(np.arange(10.0, 14.0)[:, None], np.empty((4, 0))), np.arange(10.0, 14.0), None)
    late = late._replace(violations=np.array([0.0, 0.5, 0.0, 0.0]))
    pairs = np.array([7, LONE, 5, 7, 5, FOREIGN, LONE, FOREIGN])
    results = own._replace(known=np.full(4, True), late=Late(late, pairs, np.random.default_rng(1)))
    everything, origins = results.arranged()
    assert everything.values.tolist() == [2.0, 0.0, 10.0, 3.0, 1.0, 12.0, 11.0, 13.0]
    assert origins == (2, 1, 2)
    assert everything.violations is not None
    assert everything.violations.tolist() == [0.0] * 6 + [0.5, 0.0]
    assert results.told == 8
    assert own.arranged()[1] == (0, 4, 0)


def test_a_domain_makes_points_of_both_kinds_of_coordinates() -> None:
    assert (DOMAIN.N, DOMAIN.n_continuous, DOMAIN.lattice.size) == (4, 2, 2)
    np.testing.assert_allclose(DOMAIN.span, DOMAIN.high - DOMAIN.low)
    x, plateaus = DOMAIN.proposals(np.array([[0.5, -0.5]]), np.array([[0.0, 6.0], [9.0, 3.0]]))
    np.testing.assert_allclose(x, [[0.5, -0.5, 0.0, 3.0], [0.5, -0.5, 9.0, 0.0]])
    assert plateaus.tolist() == [[0.0, 6.0], [9.0, 3.0]]
    many, same = DOMAIN.proposals(np.zeros((3, 2)), np.array([[1.0, 1.0]]))
    assert (len(many), same.tolist()) == (3, [[1.0, 1.0]] * 3)


def test_unknown_integers_get_the_values_of_their_plateaus() -> None:
    blank = Proposals(np.array([[0.5, 1.5, np.nan, np.nan], [0.0, 0.0, 4.2, np.nan]]), np.full((2, 2), 4.0))
    x, plateaus = DOMAIN.with_values(blank)
    np.testing.assert_allclose(x, [[0.5, 1.5, 4.0, 1.0], [0.0, 0.0, 4.2, 1.0]])
    assert np.isnan(blank.x).sum() == 3  # what was given is as it was
    whole = Proposals(x, plateaus)
    assert DOMAIN.with_values(whole) is whole


def test_nowhere_is_worse_than_anything() -> None:
    nowhere = DOMAIN.nowhere()
    assert (nowhere.x.shape, nowhere.plateaus.shape) == ((4,), (2,))
    assert nowhere.key == order.WORST > order.key(1e308, 1e308)


def test_the_first_pair_of_all_has_the_number_0_and_late_lone_points_are_not_the_own() -> None:
    own = Results(Proposals(np.arange(2.0)[:, None], np.empty((2, 0))), np.arange(2.0), None)
    late = Results(Proposals(np.arange(10.0, 13.0)[:, None], np.empty((3, 0))), np.arange(10.0, 13.0), None)
    pairs = np.array([0, LONE, LONE, 0, FOREIGN])
    everything, origins = own._replace(late=Late(late, pairs, np.random.default_rng(1))).arranged()
    assert everything.values.tolist() == [0.0, 11.0, 1.0, 10.0, 12.0]
    assert origins == (1, 1, 1)


def test_a_domain_is_told_by_its_coordinates_and_settings_and_not_by_its_memory() -> None:
    same = Domain(
        DOMAIN.N, DOMAIN.n_continuous, DOMAIN.lattice, DOMAIN.low, DOMAIN.high, Settings(*DOMAIN.settings)
    )
    assert same == DOMAIN
    assert same.memory is not DOMAIN.memory
    assert (len(same.memory), same.memory.x.shape) == (0, (0, 0))
    assert "memory" not in repr(same)
    assert replace(DOMAIN, settings=DOMAIN.settings._replace(exact=True)) != DOMAIN
    with pytest.raises(TypeError):
        Domain(  # type: ignore[call-arg]  # settings have no default
            DOMAIN.N, DOMAIN.n_continuous, DOMAIN.lattice, DOMAIN.low, DOMAIN.high
        )
