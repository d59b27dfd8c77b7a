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
