"""Steps to the minimum of a quadratic through points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.model.quadratic import FLATTEST, REACH, coefficients, fewest, limited_step, step, step_along

seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(1, 5))
def test_a_quadratic_is_solved_at_once(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0.4, 0.6, n)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    H = turn @ np.diag(rng.uniform(1, 10, n)) @ turn.T
    count = 2 * coefficients(n)
    parts = rng.permuted(np.tile(np.arange(count), (n, 1)), axis=1).T  # far enough apart: no step is longer
    x = centre + 0.4 * (parts + rng.random((count, n))) / count - 0.2
    y = 1e3 + 0.5 * np.einsum("ij,jk,ik->i", x - centre, H, x - centre)
    found = step(x, y, np.zeros(n), np.ones(n))
    assert found is not None
    np.testing.assert_allclose(found.x, centre, atol=1e-6)
    assert found.gain == pytest.approx(y.min() - 1e3, rel=1e-3)


def test_what_is_far_away_has_no_say() -> None:
    """Neither in where a step goes, if the function is quadratic near its minimum alone, nor in how far."""

    def fun(x: np.ndarray) -> np.ndarray:
        return np.asarray((np.exp(4 * (x - 0.4)) - 1) ** 2)

    near, far = np.array([0.38, 0.395, 0.41]), np.array([0.8, 0.95, 1.0])
    found = step(np.append(near, far)[:, None], fun(np.append(near, far)), np.zeros(1), np.ones(1))
    assert found is not None
    assert abs(found.x[0] - 0.4) < 5e-4
    slope = np.array([0.5, 0.51, 0.53, 0.0, 1.0])
    found = step(slope[:, None], np.array([1.0, 0.99, 0.97, 2.0, 2.0]), np.zeros(1), np.ones(1))
    assert found is not None
    assert 0.53 < found.x[0] <= 0.53 + REACH * 0.03


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(1, 6), st.integers(0, 30))
def test_a_step_stays_within_its_bounds(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.random((count, n)), 10.0 ** rng.uniform(-200, 200, count)
    found = step(x, y, np.full(n, 0.2), np.full(n, 0.8))
    if found is not None:
        assert ((found.x >= 0.2) & (found.x <= 0.8)).all()
        assert found.gain > 0


@pytest.mark.parametrize("n", [1, 2, 4])
def test_steps_converge_on_a_smooth_function(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.uniform(0.2, 0.8, (2 * n + 3, n))

    def fun(x: np.ndarray) -> np.ndarray:
        t = x - 0.43
        return np.asarray(np.cosh(3 * t).sum(axis=-1) + 0.3 * t.sum(axis=-1) ** 2 - n)

    y = fun(x)
    for _ in range(8 * n + 4):
        found = step(x, y, np.zeros(n), np.ones(n))
        if found is None:
            break
        x, y = np.concatenate((x, found.x[None])), np.append(y, fun(found.x))
    assert y.min() < 1e-9


def test_what_tells_nothing_gives_no_step() -> None:
    ends = (np.zeros(2), np.ones(2))
    assert step(np.random.default_rng(1).random((fewest(2) - 1, 2)), np.arange(3.0), *ends) is None
    x = np.random.default_rng(1).random((8, 2))
    assert step(x, np.full(8, 3.0), *ends) is None
    x[:, 1] = 0.5  # nothing is known along this one
    assert step(x, np.arange(8.0), *ends) is None


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(2, 5))
def test_under_linear_constraints_a_quadratic_is_solved_at_once(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.3, 0.7, (2 * (1 + n + n * (n + 1) // 2), n))
    centre = np.full(n, 0.5)
    centre[0] = 0.25
    y = ((x - centre) ** 2).sum(axis=1)
    g = np.column_stack((0.35 - x[:, 0], x[:, 1] - 5.0))  # the second always holds
    allowed = np.flatnonzero((g <= 0).all(axis=1))
    best = int(allowed[y[allowed].argmin()])
    found = limited_step(x, y, g, best, np.zeros(n), np.ones(n))
    assert found is not None
    np.testing.assert_allclose(found.x, np.r_[0.35, centre[1:]], atol=1e-4)
    assert found.gain == pytest.approx(y[best] - 0.01, abs=1e-3)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 5), st.integers(1, 30))
def test_a_step_under_constraints_stays_within_its_bounds(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.random((count, n)), 10.0 ** rng.uniform(-100, 100, count)
    g = rng.standard_normal((count, 2)) * 10.0 ** rng.uniform(-100, 100, (count, 2))
    found = limited_step(x, y, g, 0, np.full(n, 0.2), np.full(n, 0.8))
    if found is not None:
        assert ((found.x >= 0.2) & (found.x <= 0.8)).all()
        assert found.gain > 0


def test_too_few_points_or_points_in_a_plane_make_no_step_under_constraints() -> None:
    at = np.array([[0.1, 0.5], [0.5, 0.5], [0.9, 0.5], [0.3, 0.5], [0.2, 0.5]])
    low, high = np.zeros(2), np.ones(2)
    assert limited_step(at, at[:, 0], at[:, :1] - 0.7, 0, low, high) is None
    assert limited_step(at[:2], at[:2, 0], at[:2, :1] - 0.7, 0, low, high) is None


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(2, 6), st.floats(0, 6))
def test_along_axes_a_quadratic_of_any_condition_is_solved_at_once(seed: int, n: int, digits: float) -> None:
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0.4, 0.6, n)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    H = turn @ np.diag(np.logspace(0, digits, n)) @ turn.T
    x = centre + rng.uniform(-0.2, 0.2, (2 * (1 + n + n * (n + 1) // 2), n))
    y = 1e3 + 0.5 * np.einsum("ij,jk,ik->i", x - centre, H, x - centre)
    found = step_along(x, y, np.eye(n), np.zeros(n), np.ones(n), reach=8.0)
    assert found is not None
    reached = 0.5 * (found.x - centre) @ H @ (found.x - centre)
    assert reached < 1e-4 * (y.min() - 1e3)
    assert found.gain == pytest.approx(y.min() - 1e3, rel=1e-2)


def test_where_points_do_not_tell_all_a_quadratic_is_as_round_as_its_axes() -> None:
    rng = np.random.default_rng(3)
    n = 10
    axes = np.diag(np.logspace(0, -3, n)) @ np.linalg.qr(rng.standard_normal((n, n)))[0]
    x = 0.5 + 0.1 * rng.standard_normal((n + 3, n)) @ axes.T  # of 66 coefficients
    t = np.linalg.solve(axes, (x - 0.49).T)
    found = step_along(x, (t**2).sum(axis=0), axes, np.zeros(n), np.ones(n), reach=8.0)
    assert found is not None
    reached = np.linalg.solve(axes, found.x - 0.49)
    assert reached @ reached < 0.5 * (t**2).sum(axis=0).min()
    assert found.shape is not None
    assert np.linalg.eigvalsh(found.shape)[0] > 0.1  # nothing says that an axis is much shorter


def test_the_shape_of_a_quadratic_has_its_contours_and_a_longest_axis_of_1() -> None:
    rng = np.random.default_rng(3)
    x = 0.5 + rng.uniform(-0.1, 0.1, (40, 3))
    found = step_along(x, ((x - 0.5) ** 2 * [4.0, 1.0, 1e9]).sum(axis=1), np.eye(3), np.zeros(3), np.ones(3))
    assert found is not None
    assert found.shape is not None
    np.testing.assert_allclose(found.shape, np.diag([0.25, 1.0, FLATTEST]), atol=1e-2)


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(1, 6), st.integers(0, 60))
def test_a_step_along_axes_stays_within_bounds_and_reach(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.random((count, n)), 10.0 ** rng.uniform(-200, 200, count)
    axes = rng.standard_normal((n, n)) + 3 * np.eye(n)
    found = step_along(x, y, axes, np.full(n, -0.1), np.full(n, 1.1), reach=0.5)
    if found is not None:
        assert ((found.x >= -0.1) & (found.x <= 1.1)).all()
        assert found.gain > 0


def test_coordinates_on_their_bounds_stay_there_and_the_others_make_the_best_of_it() -> None:
    rng = np.random.default_rng(3)
    H = np.array([[2.0, 1.2], [1.2, 1.0]])
    x = rng.uniform(0, 1, (30, 2))
    y = np.einsum("ij,jk,ik->i", x - [1.5, 0.2], H, x - [1.5, 0.2])
    found = step_along(x, y, np.eye(2), np.zeros(2), np.ones(2), reach=8.0)
    assert found is not None
    np.testing.assert_allclose(found.x, [1.0, 0.2 + 0.5 * 1.2], atol=1e-6)


@pytest.mark.parametrize("count", [0, 4])
def test_of_too_few_or_equal_points_there_is_no_step_along_axes(count: int) -> None:
    x = np.random.default_rng(1).random((count, 2))
    assert step_along(x, np.arange(count, dtype=float), np.eye(2), np.zeros(2), np.ones(2)) is None
    same = np.random.default_rng(1).random((9, 2))
    assert step_along(same, np.ones(9), np.eye(2), np.zeros(2), np.ones(2)) is None
