"""The model: gradients, predictions, and data that would break a careless one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from saltus._typing import FloatArray
from saltus.model import Fitted, condition, first_parameters, fit
from saltus.model.kernel import Kernel, covariance, differentiable
from saltus.model.posterior import negative_log_posterior, prior
from saltus.model.warp import extended, gaps, unwarped, warp_of

quickly = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 2**32 - 1)


def data(seed: int, n: int, D: int) -> tuple[FloatArray, FloatArray]:
    """Points, of which some coordinates are integers, and values of a bowl with ripples."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, D))
    whole = rng.random(D) < 0.5
    x[:, whole] = (np.floor(4 * x[:, whole]) + 0.5) / 4
    y = ((x - 0.4) ** 2 * rng.uniform(0.1, 10, D)).sum(axis=1) + 0.1 * np.sin(9 * x).sum(axis=1)
    return x, np.asarray(y)


def parameters(seed: int, D: int) -> FloatArray:
    about = prior(D)
    return np.asarray(about.mean + 0.5 * about.sd * np.random.default_rng(seed).standard_normal(D + 4))


@quickly
@given(seeds, st.integers(2, 30), st.integers(1, 8))
def test_the_gradient_of_the_posterior(seed: int, n: int, D: int) -> None:
    x, y = data(seed, n, D)
    theta, known = parameters(seed, D), gaps(y)
    assume(not known.flat)
    _, gradient = negative_log_posterior(theta, x, known)
    h = 1e-5
    for j in range(D + 4):
        step = h * np.eye(D + 4)[j]
        up, down = (negative_log_posterior(theta + t, x, known)[0] for t in (step, -step))
        assert gradient[j] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-3)


class Slopes(NamedTuple):
    mean: FloatArray
    sd: FloatArray
    mean_by_x: FloatArray
    sd_by_x: FloatArray


def slopes_of(model: Fitted, x: FloatArray) -> Slopes:
    """Mean and standard deviation with their derivatives, from bounds that differ by one deviation."""
    mean, below = model.steepness(x, 0.0), model.steepness(x, 1.0)
    return Slopes(mean.bound, mean.bound - below.bound, mean.by_x, mean.by_x - below.by_x)


@quickly
@given(seeds, st.integers(2, 40), st.integers(1, 8))
def test_the_slopes_of_a_prediction(seed: int, n: int, D: int) -> None:
    x, y = data(seed, n, D)
    model = condition(parameters(seed, D), x, y)
    points = np.random.default_rng(seed + 1).random((5, D))
    slopes = slopes_of(model, points)
    prediction = model.predict(points)
    np.testing.assert_allclose(slopes.mean, prediction.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slopes.sd, prediction.sd, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.mean(points), prediction.mean, rtol=1e-9, atol=1e-9)
    for kappa in (0.0, 0.7):
        both = model.steepness(points, kappa)
        np.testing.assert_allclose(both.bound, slopes.mean - kappa * slopes.sd, 1e-9, 1e-9)
        np.testing.assert_allclose(both.by_x, slopes.mean_by_x - kappa * slopes.sd_by_x, 1e-6, 1e-6)
        worst = np.full(5, float(np.median(both.bound)))
        bounds = model.bounds(points, kappa, worst)
        below = both.bound < worst - 1e-6
        np.testing.assert_allclose(bounds[below], both.bound[below], 1e-4, 1e-6)
        assert (bounds[~below] >= worst[~below] - 2e-6).all()

    def differences(h: float) -> tuple[FloatArray, FloatArray]:
        steps = h * np.eye(D)
        up, down = ([model.predict(points + sign * step) for step in steps] for sign in (1, -1))
        pairs = list(zip(up, down, strict=True))
        by_mean = np.transpose([(u.mean - d.mean) / (2 * h) for u, d in pairs])
        return by_mean, np.transpose([(u.sd**2 - d.sd**2) / (2 * h) for u, d in pairs])

    np.testing.assert_allclose(slopes.mean_by_x, differences(1e-6)[0], 1e-3, 1e-3)
    # of the variance, and by longer steps: where next to nothing is unknown, rounding is magnified
    variance_by_x = 2 * slopes.sd[:, None] * slopes.sd_by_x
    np.testing.assert_allclose(variance_by_x, differences(1e-4)[1], 1e-3, 1e-2)


@quickly
@given(seeds, st.integers(1, 6))
def test_a_kernel_is_symmetric_and_positive(seed: int, D: int) -> None:
    rng = np.random.default_rng(seed)
    kernel = Kernel(np.exp(rng.standard_normal(D)), 0.7, 0.2)
    a = kernel.scaled(rng.random((12, D)))
    K = covariance(kernel, a, a)
    np.testing.assert_allclose(K, K.T)
    np.testing.assert_allclose(K.diagonal(), kernel.variance(a))
    np.testing.assert_allclose(differentiable(kernel, a, a).total, K)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * K.max()


@quickly
@given(seeds, st.integers(1, 6))
def test_it_goes_through_what_it_knows_and_is_surer_there(seed: int, D: int) -> None:
    x, y = data(seed, 12 + 4 * D, D)
    model = condition(fit(x, y), x, y)
    at, away = model.predict(x), model.predict(np.random.default_rng(seed).random((20, D)) + 3.0)
    # as far as the noise that it believes in
    assert np.abs(at.mean - model.z).max() < 10 * math.sqrt(math.exp(model.theta[-2]) + 1e-8)
    assert np.median(at.sd) < np.median(away.sd)
    order = np.argsort(y)
    assert (np.diff(model.z[order]) >= 0).all()
    np.testing.assert_allclose(model.warped(y), model.z, atol=1e-9)
    np.testing.assert_allclose(model.values(model.z), y, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("D", [1, 2, 5, 10])
def test_a_bowl_is_known_from_few_points(D: int) -> None:
    rng = np.random.default_rng(D)
    centre = rng.uniform(0.3, 0.7, D)
    x = rng.random((2 * D + 6 + D * (D + 1) // 2, D))
    y = ((x - centre) ** 2).sum(axis=1)
    model = condition(fit(x, y), x, y)
    at = rng.uniform(0.2, 0.8, (50, D))
    exact = ((at - centre) ** 2).sum(axis=1)
    predicted = model.values(model.mean(at))
    assert np.corrcoef(predicted, exact)[0, 1] > 0.97


def usable(model: Fitted, D: int) -> None:
    prediction = model.predict(np.random.default_rng(0).random((7, D)))
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.sd).all()
    assert (prediction.sd > 0).all()
    assert np.isfinite(model.values(prediction.mean)).all()
    slopes = slopes_of(model, np.random.default_rng(0).random((7, D)))
    assert np.isfinite(slopes.mean_by_x).all()
    assert np.isfinite(slopes.sd_by_x).all()


@quickly
@given(seeds, st.sampled_from([1, 2, 3, 7, 20, 50]), st.integers(1, 60))
def test_any_data_make_a_usable_model(seed: int, D: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = data(seed, n, D)
    kind = seed % 7
    if kind == 0:
        y = np.full(n, 3.0)
    elif kind == 1:
        y = np.floor(2 * y)
    elif kind == 2:
        y = 10.0 ** rng.uniform(-300, 300, n)
    elif kind == 3:
        y = rng.choice([-1.7e308, 0.0, 1.7e308], n)
    elif kind == 4:
        x[:] = x[0]
    elif kind == 5:
        x[n // 2 :] = x[: n - n // 2]
        y[0] = 1e300
    else:
        y = 1e6 + 1e-12 * y
    usable(condition(fit(x, y), x, y), D)


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e200])
def test_units_change_nothing(unit: float) -> None:
    x, y = data(3, 30, 3)
    theta, same = fit(x, y), fit(x, unit * y)
    np.testing.assert_allclose(theta, same, rtol=1e-5, atol=1e-5)
    at = np.random.default_rng(1).random((9, 3))
    one, other = condition(theta, x, y), condition(theta, x, unit * y)
    np.testing.assert_allclose(one.mean(at), other.mean(at), atol=1e-8)
    np.testing.assert_allclose(unit * one.values(one.mean(at)), other.values(other.mean(at)), rtol=1e-6)


def test_the_same_data_make_the_same_model() -> None:
    x, y = data(5, 40, 4)
    theta = fit(x, y)
    assert fit(x, y).tolist() == theta.tolist()
    at = np.random.default_rng(1).random((9, 4))
    assert condition(theta, x, y).mean(at).tolist() == condition(theta.copy(), x, y).mean(at).tolist()
    better = fit(x, y, theta, 5)
    known = gaps(y)
    assert negative_log_posterior(better, x, known)[0] <= negative_log_posterior(theta, x, known)[0]
    assert (
        negative_log_posterior(theta, x, known)[0] < negative_log_posterior(first_parameters(4), x, known)[0]
    )


def test_theta_of_another_dimension_is_refused() -> None:
    x, y = data(5, 10, 4)
    with pytest.raises(ValueError, match="theta must have 8 parameters, got 7"):
        condition(first_parameters(3), x, y)


def test_the_warp_keeps_order_and_comes_back() -> None:
    y = np.array([3.0, -2.0, 1e5, 3.5, -1.999])
    for s in (1e-3, 1.0, 1e3):
        known = gaps(y)
        warp, z = warp_of(known, s)
        assert np.argsort(z).tolist() == np.argsort(y).tolist()
        np.testing.assert_allclose(unwarped(known, warp, z), y, rtol=1e-9)
        assert abs(z.mean()) < 1e-12
        assert z.std() == pytest.approx(1.0)
        assert unwarped(known, warp, np.array([-100.0]))[0] == -2.0


@quickly
@given(seeds, st.integers(2, 20), st.integers(1, 5), st.integers(1, 4))
def test_what_is_believed_changes_no_mean(seed: int, n: int, D: int, more: int) -> None:
    x, y = data(seed, n, D)
    model = condition(parameters(seed, D), x, y)
    new, at = data(seed + 1, more, D)[0], data(seed + 2, 6, D)[0]
    believing = model.believing(new)
    np.testing.assert_allclose(believing.mean(at), model.mean(at), atol=1e-9)
    before, after = model.predict(at).sd, believing.predict(at).sd
    assert (after <= before + 1e-3).all()
    # as if it had been told
    kernel, noise = model.kernel, math.exp(model.theta[-2]) + 1e-8
    a = kernel.scaled(np.concatenate((x, new)))
    K = covariance(kernel, a, a) + noise * np.eye(n + more)
    k = covariance(kernel, kernel.scaled(at), a)
    exact = kernel.variance(kernel.scaled(at)) - (k * np.linalg.solve(K, k.T).T).sum(axis=1)
    np.testing.assert_allclose(after**2, np.maximum(exact, 0), rtol=1e-2, atol=1e-4)


def test_impossible_parameters_have_no_gradient() -> None:
    x, y = data(5, 10, 2)
    x[:] = 0.5
    theta = first_parameters(2)
    theta[2:4] = 60.0  # the covariance matrix is singular beside such numbers
    value, gradient = negative_log_posterior(theta, x, gaps(y))
    assert value == 1e10
    assert not gradient.any()
    usable(condition(theta, x, y), 2)


@quickly
@given(seeds)
def test_below_the_least_it_goes_straight_on(seed: int) -> None:
    x, y = data(seed, 12, 2)
    model = condition(parameters(seed, 2), x, y)
    z = np.linspace(-6.0, 3.0, 400)
    values = extended(model.gaps, model.warp, z)
    assert (np.diff(values) > 0).all()
    assert values[0] < y.min()
    np.testing.assert_allclose(model.warped(values[values >= y.min()]), z[values >= y.min()], atol=1e-6)
    assert np.isfinite(extended(gaps(1e300 * y), model.warp, np.array([-1e5, 1e5]))).all()
