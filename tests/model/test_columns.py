"""Categories in the kernel: any two values are as far apart as any others."""

from __future__ import annotations

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.model import condition, condition_limits, first_parameters, fit
from saltus.model.choice import chosen
from saltus.model.draws import draws
from saltus.model.panel import panel
from saltus.model.posterior import negative_log_posterior
from saltus.model.together import together
from saltus.model.warp import gaps

SIZES = (4, 3)


def points(seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    """One number and two categories; the value depends on both kinds."""
    rng = np.random.default_rng(seed)
    number, a, b = rng.random(n), rng.integers(0, 4, n), rng.integers(0, 3, n)
    x = np.column_stack((number, (a + 0.5) / 4, (b + 0.5) / 3))
    return x, (number - 0.3) ** 2 + (a == 2) * 1.0 + 0.3 * (b == 0) * number


def renamed(x: FloatArray) -> FloatArray:
    """The same points with other numbers for the values."""
    order = np.array([2, 0, 3, 1])
    return np.column_stack((x[:, 0], (order[(x[:, 1] * 4).astype(int)] + 0.5) / 4, x[:, 2]))


def test_how_values_are_numbered_means_nothing() -> None:
    x, y = points(1, 40)
    at, _ = points(2, 30)
    theta = fit(x, y, sizes=SIZES)
    likely = [negative_log_posterior(theta, each, gaps(y), sizes=SIZES)[0] for each in (x, renamed(x))]
    assert likely[0] == pytest.approx(likely[1], rel=1e-9)
    one, two = condition(theta, x, y, SIZES), condition(theta, renamed(x), y, SIZES)
    np.testing.assert_allclose(one.mean(at), two.mean(renamed(at)), rtol=1e-6, atol=1e-6)
    # a variance is a small difference of large numbers, whose last digits depend on the processor
    variances = one.predict(at).sd ** 2, two.predict(renamed(at)).sd ** 2
    np.testing.assert_allclose(*variances, atol=5e-5)


def test_it_learns_what_categories_do() -> None:
    x, y = points(1, 60)
    at, truth = points(3, 40)
    model = condition(fit(x, y, sizes=SIZES), x, y, SIZES)
    assert np.corrcoef(model.values(model.mean(at)), truth)[0, 1] > 0.95
    one = draws(model, 20, np.random.default_rng(1)).at(x)
    assert np.abs(one - model.z[:, None]).max() < 0.2
    assert len(panel(x, y, np.random.default_rng(1), SIZES)) == 5


def test_the_gradient_of_the_likelihood() -> None:
    x, y = points(1, 25)
    theta = first_parameters(3) + 0.3 * np.random.default_rng(1).standard_normal(7)
    _, gradient = negative_log_posterior(theta, x, gaps(y), sizes=SIZES)
    for i, own in enumerate(gradient):
        step = 1e-5 * np.eye(7)[i]
        up, down = (negative_log_posterior(theta + s, x, gaps(y), sizes=SIZES)[0] for s in (step, -step))
        assert own == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


def test_slopes_are_those_of_numbers_alone() -> None:
    x, y = points(1, 25)
    theta = first_parameters(3)
    model, limits = condition(theta, x, y, SIZES), condition_limits(theta, x, y[:, None] - 0.5, SIZES)
    at, _ = points(2, 6)
    step = np.array([1e-6, 0.0, 0.0])
    for kappa in (0.0, 1.0):
        found = model.steepness(at, kappa)
        up, down = (model.steepness(at + s, kappa).bound for s in (step, -step))
        assert found.by_x.shape == (6, 3)
        assert not found.by_x[:, 1:].any()
        np.testing.assert_allclose(found.by_x[:, 0], (up - down) / 2e-6, rtol=1e-3, atol=1e-3)
    by_x = limits.log_feasible_by_x(at)
    up, down = (limits.log_feasible(at + s) for s in (step, -step))
    np.testing.assert_allclose(by_x[:, 0], (up - down) / 2e-6, rtol=1e-3, atol=1e-3)
    assert not by_x[:, 1:].any()
    values, slopes = together([model, limits]).bounds(at[0], np.array([-1.0, 0.0]))
    assert values[0] == pytest.approx(model.steepness(at[:1], 1.0).bound[0], rel=1e-6)
    assert slopes[0, 0] == pytest.approx(model.steepness(at[:1], 1.0).by_x[0, 0], rel=1e-6)


def test_the_nearest_points_are_those_with_the_same_values() -> None:
    x = np.column_stack((np.full(4, 0.5), (np.arange(4) + 0.5) / 4))
    near = x[3]
    rows = chosen(x, np.zeros(4), near, np.ones(2), 1, (4,))
    assert rows.tolist() == [3] or rows.tolist() == [0]  # early in both lists
    far = np.array([[0.9, 0.875], [0.5, 0.625], [0.9, 0.125]])
    assert chosen(far, np.zeros(3), np.array([0.5, 0.875]), np.array([1.0, 0.1]), 1, (4,)).tolist() == [0]
