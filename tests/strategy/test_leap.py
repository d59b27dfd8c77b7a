"""Leap and bias."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.space.lattice import Lattice
from saltus.strategy import Integers
from saltus.strategy.leap import Leap


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("grid", [(0.0, 1.0, 11), (-10.0, 1.0, 21), (-1000.0, 1.0, 2001), (-7.3, 0.1, 150)])
def test_a_leap_does_not_cross_the_threshold_when_sd_is_below_the_last_digit(
    bias: bool, grid: tuple[float, float, int]
) -> None:
    count = grid[2]
    lattice = Lattice([grid] * count)
    treatment = Leap(bias)
    plateau = np.arange(float(count))
    m, sd = lattice.value(plateau), np.full(count, 1e-20)
    memory = treatment.start(lattice, 0.01, m, sd)
    for _ in range(20):
        m, memory = treatment.correct_mean(lattice, 0.01, memory, m + sd, sd)
        np.testing.assert_array_equal(lattice.plateau(m), plateau)


def test_leap_moves_to_the_next_boundary_and_leaves_alpha_there() -> None:
    alpha = 0.05
    integers = Integers(0, Lattice([(0.0, 1.0, 11)]), alpha, Leap())
    sd = np.array([0.01])
    memory = integers.start(np.array([4.49]), sd)
    m, _ = integers.correct_mean(memory, np.array([4.40]), sd)  # moved away from 4.5, downwards
    assert m[0] == pytest.approx(3.5 + 1.6448536 * 0.01)
    memory = integers.start(np.array([4.51]), sd)
    m, _ = integers.correct_mean(memory, np.array([4.60]), sd)  # and upwards
    assert m[0] == pytest.approx(5.5 - 1.6448536 * 0.01)
    for outer, threshold, side in ((-3.0, 0.5, -1), (13.0, 9.5, 1)):
        m, _ = integers.correct_mean(memory, np.array([outer]), sd)  # the mean correction
        assert m[0] == pytest.approx(threshold + side * 1.6448536 * 0.01)


def test_bias_doubles_the_step_away_from_the_only_threshold() -> None:
    integers = Integers(0, Lattice([(0.0, 1.0, 11)] * 3), 0.05, Leap())
    m = np.array([4.52, 4.52, 4.52])
    memory = integers.start(m, np.array([0.05, 0.05, 5.0]))
    step = integers.bias_step(memory, m, np.array([0.1, -0.1, 0.1]))
    np.testing.assert_allclose(step, [0.2, -0.1, 0.1])


def test_a_mean_on_the_threshold_itself_counts_as_below_it() -> None:
    """Line 30; it is trapped there once its standard deviation is below the last digit."""
    lattice = Lattice([(0.0, 1.0, 11)])
    m, sd = np.array([4.5]), np.array([1e-30])
    after, _ = Leap().correct_mean(lattice, 0.05, (np.array([4.5]), np.array([1.0])), m, sd)
    assert after[0] == pytest.approx(3.5)
