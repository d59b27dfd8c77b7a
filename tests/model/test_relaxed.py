"""A quadratic of all variables around a point, and its lowest points on the lattice of the integers."""

from __future__ import annotations

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.model.quadratic import coefficients
from saltus.model.relaxed import CELLS, MOST, SHARE, Relaxed, relaxed

RNG = np.random.default_rng(5)
CURVATURE = np.array([[9.0, 2.0, -1.0], [2.0, 3.0, 1.0], [-1.0, 1.0, 4.0]])  # one float, two integers


def around(count: int) -> FloatArray:
    """Points around one, and that one."""
    t = np.column_stack((RNG.uniform(-0.3, 0.3, count), RNG.integers(-3, 4, (count, 2))))
    return np.concatenate((np.zeros((1, 3)), t))


def upwards(t: FloatArray) -> FloatArray:
    """As far from the best point as it is told: the quadratic without its slope."""
    return np.asarray(0.5 * ((t @ CURVATURE) * t).sum(axis=1))


def test_what_is_a_quadratic_is_found() -> None:
    t = around(60)
    found = relaxed(t, upwards(t), 1)
    assert found is not None
    moves = np.array([[0.0, 0.0], [1.0, 0.0], [-2.0, 1.0]])
    best = found.continuous(moves)
    np.testing.assert_allclose(best[:, 0], -(moves @ CURVATURE[0, 1:]) / CURVATURE[0, 0], atol=1e-4)
    np.testing.assert_allclose(found.values(moves), upwards(np.column_stack((best, moves))), atol=1e-3)


def test_without_continuous_variables_it_is_one_of_the_integers() -> None:
    t = around(60)[:, 1:]
    found = relaxed(t, 0.5 * ((t @ CURVATURE[1:, 1:]) * t).sum(axis=1), 0)
    assert found is not None
    np.testing.assert_allclose(found.hessian, CURVATURE[1:, 1:], atol=1e-3)
    assert found.continuous(np.ones((4, 2))).shape == (4, 0)


@pytest.mark.parametrize(
    "t",
    [
        around(coefficients(3) - 2),
        around(60) * [1.0, 1.0, 0.0],  # nothing is known of one of them
        around(60) * [1.0, 1.0, 2 * CELLS],  # nearly all are too far away
        around(60) + np.array([4 * SHARE, 0.0, 0.0]),
    ],
)
def test_too_few_points_tell_nothing(t: FloatArray) -> None:
    assert relaxed(t, upwards(t), 1) is None


def test_points_of_which_most_are_as_good_as_the_best_tell_nothing() -> None:
    t = around(60)
    assert relaxed(t, np.where(np.arange(len(t)) < 50, 0.0, 1.0), 1) is None


def test_many_points_with_the_same_integers_do_not_hide_the_others() -> None:
    """A valley whose bottom was searched deeply: its points are the best, and all alike."""
    bottom = np.zeros((int(MOST * coefficients(3)), 3))
    bottom[:, 0] = RNG.uniform(-1e-3, 1e-3, len(bottom))
    t = np.concatenate((bottom, around(60)))
    found = relaxed(t, upwards(t), 1)
    assert found is not None
    np.testing.assert_allclose(found.values(np.eye(2)), found.hessian.diagonal() / 2, atol=1e-2)
    assert found.hessian[0, 0] == pytest.approx(3.0 - 4.0 / 9.0, rel=1e-3)


def test_where_points_curve_downwards_it_stays() -> None:
    """Nothing better is known there: an extrapolation would go to the ends of the box."""
    t = around(60)
    saddle = t @ np.diag([9.0, 3.0, -0.5])
    found = relaxed(t, (saddle * t).sum(axis=1) + 10.0 * np.abs(t[:, 2]), 1)
    assert found is not None
    assert (np.linalg.eigvalsh(found.hessian) >= 0).all()


def test_the_lowest_moves_are_those_of_an_exhaustive_search() -> None:
    line = np.array([1.0, -2.0, 1.0, 0.0])
    walls = np.eye(4) * 50.0 - 50.0 * np.outer(line, line) / (line @ line)  # none along the line
    hessian = walls + 0.1 * np.eye(4)
    target = 2 * line
    found = Relaxed(-hessian @ target, hessian, np.zeros(0), np.zeros((0, 4)))
    low, high = np.array([-4.0, -6.0, -2.0, -3.0]), np.array([5.0, 4.0, 4.0, 3.0])
    ranges = [np.arange(first, last + 1.0) for first, last in zip(low, high, strict=True)]
    all_moves: FloatArray = np.stack(np.meshgrid(*ranges), axis=-1).reshape(-1, 4)
    expected = all_moves[np.argsort(found.values(all_moves), kind="stable")][:3]
    moves = found.lowest(low, high)
    np.testing.assert_array_equal(moves[0], target)
    np.testing.assert_allclose(found.values(moves[:3]), found.values(expected))
    assert (moves >= low).all()
    assert (moves <= high).all()
    assert len(np.unique(moves, axis=0)) == len(moves)
    assert (np.diff(found.values(moves)) >= 0).all()
