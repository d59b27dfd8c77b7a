"""Models of constraints: gradients, chances, and values that would break careless ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus._typing import FloatArray
from saltus.model import condition_limits, first_parameters, fit_limits
from saltus.model.limits import LimitSlopes, signed, warped
from saltus.model.posterior import negative_log_posterior, prior

quickly = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 2**32 - 1)


def data(seed: int, n: int, D: int, m: int) -> tuple[FloatArray, FloatArray]:
    """Points, and values of bent planes of very different sizes."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, D))
    g = (x - 0.5) @ rng.standard_normal((D, m)) + 0.2 * np.sin(7 * x[:, :1])
    return x, np.asarray(g * 10.0 ** rng.uniform(-6, 6, m))


def parameters(seed: int, D: int) -> FloatArray:
    about = prior(D)
    return np.asarray(about.mean + 0.5 * about.sd * np.random.default_rng(seed).standard_normal(D + 4))


@quickly
@given(seeds, st.integers(2, 25), st.integers(1, 6), st.integers(1, 5))
def test_the_gradient_of_the_posterior(seed: int, n: int, D: int, m: int) -> None:
    x, g = data(seed, n, D, m)
    theta, values = parameters(seed, D), signed(g)
    _, gradient = negative_log_posterior(theta, x, values)
    for i in range(len(theta)):
        off = np.zeros(len(theta))
        off[i] = 1e-5
        above, below = (negative_log_posterior(theta + way * off, x, values)[0] for way in (1, -1))
        assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-3, abs=1e-3)


@quickly
@given(seeds, st.integers(3, 20), st.integers(1, 5), st.integers(1, 4))
def test_the_slopes(seed: int, n: int, D: int, m: int) -> None:
    x, g = data(seed, n, D, m)
    limits = condition_limits(first_parameters(D), x, g)
    point = np.random.default_rng(seed).random(D)
    slopes = LimitSlopes(*(part[0] for part in limits.slopes(point[None])))
    mean, sd = limits.predict(point[None])
    np.testing.assert_allclose(slopes.mean, mean[0])
    assert slopes.sd == pytest.approx(sd[0])
    by_x = limits.log_feasible_by_x(point[None])[0]
    # where feasible is next to impossible, the last digits of sd make differences of the logarithm coarse
    coarse = 2e-3 * abs(float(limits.log_feasible(point[None])[0]))
    for i, off in enumerate(1e-5 * np.eye(D)):
        (above, sd_above), (below, sd_below) = (limits.predict((point + way * off)[None]) for way in (1, -1))
        np.testing.assert_allclose(slopes.mean_by_x[:, i], (above - below)[0] / 2e-5, rtol=1e-3, atol=1e-4)
        assert slopes.sd_by_x[i] == pytest.approx((sd_above - sd_below)[0] / 2e-5, rel=1e-2, abs=1e-3)
        high, low = (limits.log_feasible((point + way * off)[None])[0] for way in (1, -1))
        doubt = coarse + 1e-2 * (1 + abs(by_x).max())
        assert by_x[i] == pytest.approx((high - low) / 2e-5, rel=2e-2, abs=doubt)


@quickly
@given(seeds, st.floats(-280, 290))
def test_zero_stays_zero_and_units_do_not_matter(seed: int, decades: float) -> None:
    x, g = data(seed, 12, 2, 2)
    g[3] = 0.0
    z, _ = warped(signed(g), 0.3)
    np.testing.assert_array_equal(np.sign(z), np.sign(g))
    scaled, _ = warped(signed(np.asarray(g / np.abs(g).max() * 10.0**decades)), 0.3)
    np.testing.assert_allclose(scaled, z, rtol=1e-6, atol=1e-9)
    assert np.isfinite(fit_limits(x, g)).all()


def test_planes_are_known_from_a_few_points() -> None:
    rng = np.random.default_rng(1)
    slopes = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.1], [0.2, -0.4, 1.0]])
    x, points = rng.random((12, 3)), rng.random((200, 3))
    g, true = ((at - 0.4) @ slopes * 1e4 for at in (x, points))
    limits = condition_limits(fit_limits(x, g), x, g)
    mean, _ = limits.predict(points)
    assert (np.sign(mean) == np.sign(true)).mean() > 0.97
    feasible = (true <= 0).all(axis=1)
    chances = np.exp(limits.log_feasible(points))
    assert chances[feasible].mean() > 0.8
    assert chances[~feasible].mean() < 0.1


def test_what_is_believed_makes_it_surer_and_changes_no_mean() -> None:
    x, g = data(3, 10, 2, 3)
    limits = condition_limits(first_parameters(2), x, g)
    more = limits.believing(np.array([[0.9, 0.1]]))
    at = np.array([[0.88, 0.1], [0.2, 0.7]])
    (mean, sd), (same, less) = limits.predict(at), more.predict(at)
    np.testing.assert_allclose(same, mean, atol=1e-8)
    assert less[0] < sd[0]
    assert less[1] <= sd[1] + 1e-9


def test_nothing_to_learn_from() -> None:
    x = np.array([[0.1], [0.7]])
    assert fit_limits(x, np.zeros((2, 1))).tolist() == first_parameters(1).tolist()
    assert fit_limits(x[:1], np.ones((1, 1))).tolist() == first_parameters(1).tolist()
    limits = condition_limits(first_parameters(1), x, np.zeros((2, 1)))
    assert limits.log_feasible(x)[0] == pytest.approx(math.log(0.5))
    with pytest.raises(ValueError, match="theta must have 5 parameters, got 6"):
        condition_limits(first_parameters(2), x, np.zeros((2, 1)))
