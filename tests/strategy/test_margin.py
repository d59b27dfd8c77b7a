"""Margin, beside `tests/reference`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers
from saltus.strategy.margin import Margin


def test_a_binary_variable_exactly_on_its_threshold_keeps_its_margin() -> None:
    integers = Integers(0, Lattice([(0.0, 1.0, 2)]), 0.05, Margin())
    m, (magnification,) = integers.correct_mean((np.ones(1),), np.array([0.5]), np.array([0.3]))
    assert m.tolist() == [0.5]
    assert magnification.tolist() == [1.0]


def probabilities(lattice: Lattice, m: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of the plateaus below and above that of the mean."""
    low, high = lattice.ends_of(lattice.plateau(m))
    return ndtr((low - m) / spread), ndtr((m - high) / spread)


@settings(deadline=None)
@given(
    m=st.lists(st.floats(-1.0, 11.0), min_size=4, max_size=4),
    sd=st.lists(st.floats(1e-6, 3.0), min_size=4, max_size=4),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
)
def test_every_neighbouring_plateau_keeps_its_probability(
    m: list[float], sd: list[float], alpha: float
) -> None:
    """Half of alpha on either side of an inner plateau, alpha beside an outer one; magnified."""
    lattice = Lattice([(0.0, 1.0, 11)] * 4)
    before, deviations = np.array(m), np.array(sd)
    after, (A,) = Margin().correct_mean(lattice, alpha, (np.ones(4),), before, deviations)
    plateau = lattice.plateau(before)
    np.testing.assert_array_equal(lattice.plateau(after), plateau)
    below, above = probabilities(lattice, after, A * deviations)
    assert np.all(below[plateau > 0] >= alpha / 2 - 1e-3 * alpha)
    assert np.all(above[plateau < 10] >= alpha / 2 - 1e-3 * alpha)
    outer = (plateau == 0) | (plateau == 10)
    assert np.all(np.maximum(below, above)[outer] >= alpha * (1 - 1e-6))
    np.testing.assert_array_equal(A[outer], 1.0)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_what_one_margin_lacks_is_taken_in_proportion_to_what_the_others_exceed(alpha: float) -> None:
    """The mean is close to one neighbour and far from the other, once below and once above the middle."""
    lattice = Lattice([(0.0, 1.0, 11)] * 2)
    before, sd = np.array([4.6, 5.4]), np.full(2, 0.3)
    near, far = ndtr(-0.1 / 0.3), ndtr(-0.9 / 0.3)
    lack, excess = alpha / 2 - far, near - alpha / 2
    given_up = lack * excess / (excess + (1 - near - far) - alpha / 2)
    after, (A,) = Margin().correct_mean(lattice, alpha, (np.ones(2),), before, sd)
    below, above = probabilities(lattice, after, A * sd)
    np.testing.assert_allclose(below, [near - given_up, alpha / 2])
    np.testing.assert_allclose(above, [alpha / 2, near - given_up])


def test_points_are_evaluated_after_magnification() -> None:
    lattice = Lattice([(0.0, 1.0, 11)])
    m, x = np.array([5.0]), np.array([[5.1], [4.8]])
    assert Margin().plateaus(lattice, (np.array([1.0]),), m, x).tolist() == [[5.0], [5.0]]
    assert Margin().plateaus(lattice, (np.array([6.0]),), m, x).tolist() == [[6.0], [4.0]]


def test_a_run_that_has_converged_long_ago_is_not_magnified_to_infinity() -> None:
    lattice = Lattice([(0.0, 1.0, 11)])
    for sd in (0.0, 1e-200, 1e-308):
        m, (A,) = Margin().correct_mean(lattice, 0.05, (np.ones(1),), np.array([5.2]), np.array([sd]))
        assert np.isfinite(m).all()
        assert np.isfinite(A).all()
