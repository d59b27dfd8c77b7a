"""What a core sees of the integers: their coordinates alone are treated."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Leap, Round
from saltus.strategy.integers import quantile
from saltus.strategy.margin import Margin

LATTICE = Lattice([(0.0, 1.0, 11), (0.0, 1.0, 11)])
TREATMENTS = [Round(), Leap(), Leap(bias=False), Margin()]


@pytest.mark.parametrize("alpha", [0.5, 0.1, 1e-3, 1e-9])
def test_the_quantile_is_exceeded_with_that_probability(alpha: float) -> None:
    drawn = np.random.default_rng(1).standard_normal(200_000)
    assert np.mean(drawn > quantile(alpha)) == pytest.approx(alpha, abs=0.005)


def test_the_resolution_counts_thresholds() -> None:
    m = np.array([4.4, 5.0])
    for ci, expected in ((0.05, [0, 0]), (0.2, [1, 0]), (1.2, [3, 2]), (100.0, [10, 10])):
        assert LATTICE.resolution(m, np.full(2, ci)).tolist() == expected
    integers = Integers(1, LATTICE, 0.1, Round())
    sd = np.full(3, 1.2 / quantile(0.1))
    assert integers.resolution(np.array([7.0, 4.4, 5.0]), sd).tolist() == [3, 2]


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_continuous_coordinates_are_left_alone(treatment: Round) -> None:
    integers = Integers(2, LATTICE, 0.1, treatment)
    m, sd = np.array([0.1, -7.0, 4.4, 9.9]), np.full(4, 1e-3)
    state = integers.start(m, sd)
    x = m + 0.01 * np.arange(8.0).reshape(2, 4)
    assert integers.plateaus(state, m, x).shape == (2, 2)
    step = integers.bias_step(state, m, np.array([0.3, -0.3, 0.3, -0.3]))
    assert step[:2].tolist() == [0.3, -0.3]
    after, _ = integers.correct_mean(state, m + step, sd)
    np.testing.assert_array_equal(after[:2], [0.4, -7.3])


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_without_integers_there_is_nothing_to_treat(treatment: Round) -> None:
    integers = Integers(2, Lattice([]), 0.1, treatment)
    m = np.array([1.0, 2.0])
    assert integers.start(m, np.ones(2)) == ()
    assert integers.plateaus((), m, np.ones((3, 2))).shape == (3, 0)
    assert integers.correct_mean((), m, np.ones(2)) == (m, ())
    assert integers.overshoot(np.ones((3, 2))).tolist() == [0.0] * 3
    assert not integers.equals_share


def test_overshoot_is_added_up_beyond_both_ends() -> None:
    integers = Integers(1, LATTICE, 0.1, Round())
    x = np.array([[99.0, 5.0, 5.0], [99.0, -1.5, 12.5], [0.0, 10.5, -0.5]])
    assert integers.overshoot(x).tolist() == [0.0, 3.0, 0.0]
