"""CMA-ES, beside `tests/reference`."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, cmaes, rank
from saltus.strategy.leap import Leap
from saltus.strategy.margin import Margin
from saltus.strategy.rounding import Round


@pytest.mark.parametrize(("treatment", "moves"), [(Margin(), False), (Round(), True), (Leap(), True)])
def test_a_flat_generation_moves_the_mean_of_cma_es_unless_equals_share(
    treatment: Round, moves: bool
) -> None:
    integers = Integers(4, Lattice([(-10.0, 1.0, 21)]), 0.1, treatment)
    c = cmaes.constants(5, 8)
    s = cmaes.start(c, np.ones(5), integers)
    population = cmaes.sample(c, s, cmaes.draw(c, np.random.default_rng(0)))
    after = cmaes.update(c, s, population, rank(np.zeros(8), None, population, integers), integers)
    assert c.weights_sum < 0  # the mean of all weights is negative, and only positive ones move the mean
    assert np.any(after.m[:4] != s.m[:4]) == moves


@pytest.mark.parametrize(("N", "population"), [(1, 4), (2, 6), (10, 10), (40, 15), (100, 200)])
def test_the_constants_are_those_of_the_tutorial(N: int, population: int) -> None:
    """What its equations promise: weights, learning rates, and a covariance that stays positive definite."""
    c = cmaes.constants(N, population)
    good, bad = c.weights[c.weights > 0], c.weights[c.weights < 0]
    assert good.sum() == pytest.approx(1.0)
    assert c.mu_eff == pytest.approx(1.0 / (good @ good))
    assert np.all(np.diff(c.weights) < 0)
    assert c.weights_sum == pytest.approx(1.0 + bad.sum())
    assert c.c_1 + c.c_mu <= 1
    assert c.c_mu * N * -bad.sum() <= 1 - c.c_1 - c.c_mu + 1e-12  # eq. 52
    assert 0 < c.c_sigma < 1
    assert c.d_sigma > 1
    assert c.refresh >= 1
    assert cmaes.constants(N, population, exact=True).refresh == 1


def test_a_long_path_widens_and_a_short_one_narrows() -> None:
    integers = Integers(3, Lattice([]), 0.1, Round())
    c = cmaes.constants(3, 8)
    s = cmaes.start(c, np.zeros(3), integers)
    population = cmaes.sample(c, s, 0.1 * cmaes.draw(c, np.random.default_rng(0)))
    ranking = rank(population.x[:, 0], None, population, integers)
    far, near = (
        cmaes.update(c, s._replace(p_sigma=np.full(3, length)), population, ranking, integers)
        for length in (9.0, 0.0)
    )
    assert near.sigma < s.sigma < far.sigma
    np.testing.assert_array_equal(far.p_c, 0.0)  # eq. 45: while p_sigma is too long, p_c gets no step
    assert np.all(near.p_c != 0.0)
