"""The order of a generation."""

from __future__ import annotations

import numpy as np

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, cmaes, dxnesic, rank
from saltus.strategy.rounding import Round

from .cores import NO_INTEGERS


def test_infeasible_candidates_come_last_by_distance() -> None:
    c = dxnesic.constants(2, 6)
    integers = Integers(2, NO_INTEGERS, 0.1, Round())
    s = dxnesic.start(c, np.zeros(2), integers)
    population = dxnesic.sample(c, s, np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    values = np.array([np.nan, np.inf, 5.0, 1.0, np.nan, 7.0])
    ranking = rank(values, None, population, integers)
    assert ranking.order.tolist() == [3, 2, 5, 1, 4, 0]
    assert ranking.feasible == 3


def test_violated_candidates_rank_by_violation_between_the_others() -> None:
    c = cmaes.constants(2, 6)
    integers = Integers(2, NO_INTEGERS, 0.1, Round())
    s = cmaes.start(c, np.zeros(2), integers)
    population = cmaes.sample(c, s, np.arange(12.0).reshape(6, 2))
    values = np.array([9.0, -5.0, -9.0, np.nan, np.nan, 1.0])
    violations = np.array([0.0, 2.0, 1.0, 0.0, 0.5, np.nan])
    ranking = rank(values, violations, population, integers)
    assert ranking.order.tolist() == [0, 4, 2, 1, 3, 5]
    assert ranking.feasible == 4


def test_equal_candidates_beyond_the_end_rank_by_how_far() -> None:
    c = cmaes.constants(2, 4)
    integers = Integers(1, Lattice([np.array([0.0, 1.0, 4.0])]), 0.1, Round())
    s = cmaes.start(c, np.array([0.0, 4.0]), integers)
    population = cmaes.sample(c, s, np.array([[0.0, 9.0], [0.0, 3.0], [0.0, 1.0], [0.0, -1.0]]))
    assert integers.overshoot(population.x).tolist() == [7.5, 1.5, 0.0, 0.0]
    assert rank(np.array([1.0, 1.0, 1.0, 0.5]), None, population, integers).order.tolist() == [3, 2, 1, 0]
    assert rank(np.array([1.0, 1.0, 1.0, 1.0]), None, population, integers).order.tolist() == [2, 3, 1, 0]


def test_equal_candidates_share_their_weights() -> None:
    integers = Integers(1, Lattice([]), 0.1, Round())
    population = cmaes.Population(np.zeros((5, 1)), np.zeros((5, 1)), np.zeros((5, 1)))
    ranking = rank(np.array([2.0, 1.0, 2.0, 0.5, 2.0]), None, population, integers)
    weights = np.array([5.0, 3.0, 2.0, 1.0, -3.0])
    np.testing.assert_allclose(ranking.weighted(weights, True), [0.0, 3.0, 0.0, 5.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(ranking.weighted(weights), [2.0, 3.0, 1.0, 5.0, -3.0])
    distinct = rank(np.array([3.0, 1.0, 2.0]), None, population, integers)
    np.testing.assert_array_equal(distinct.weighted(weights[:3], True), [2.0, 5.0, 3.0])
