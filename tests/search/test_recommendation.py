"""What is recommended where values are noisy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from saltus.search.recommendation import estimate, safest


def test_one_value_says_nothing_of_its_error() -> None:
    assert estimate(np.zeros(2), np.zeros((1, 2)), np.array([3.0])) == (3.0, math.inf)


def test_equal_values_have_no_error() -> None:
    assert estimate(np.zeros(2), np.ones((9, 2)), np.full(9, 3.0)) == (3.0, 0.0)


def test_repeats_of_one_point_give_their_mean() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(5.0, 1.0, 30)
    value, error = estimate(np.zeros(2), np.zeros((30, 2)), y)
    assert value == pytest.approx(y.mean(), abs=0.1)
    assert error == pytest.approx(1 / math.sqrt(30), rel=0.4)


def test_a_quadratic_without_noise_is_exact() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 3))
    value, error = estimate(np.zeros(3), x, (x @ [1.0, 2.0, 3.0]) + 2 * (x * x).sum(axis=1) + 7)
    assert value == pytest.approx(7.0, abs=1.0)
    assert error < 1.0


def test_error_bars_cover_the_truth_about_as_often_as_they_say() -> None:
    covered, count = 0, 300
    for seed in range(count):
        rng = np.random.default_rng(seed)
        x = 0.1 * rng.normal(size=(200, 2))
        value, error = estimate(np.zeros(2), x, 10 * (x * x).sum(axis=1) + rng.normal(size=200))
        covered += abs(value) <= 1.96 * error
    assert 0.88 <= covered / count <= 0.99


def test_values_far_off_hardly_count() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2))
    y = (x * x).sum(axis=1) + 0.1 * rng.normal(size=200)
    y[::10] += 1e6 * rng.standard_cauchy(20)
    value, error = estimate(np.zeros(2), x, y)
    assert abs(value) < 0.3
    assert error < 0.3


def test_one_lucky_point_is_not_the_safest() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (400, 2))
    y = (x * x).sum(axis=1) + 0.3 * rng.normal(size=400)
    corner = np.array([0.9, 0.9])
    y[np.argmin(((x - corner) ** 2).sum(axis=1))] = -100.0
    chosen, found = safest(np.array([corner, [0.0, 0.0]]), x, y)
    assert chosen == 1
    assert abs(found.value) < 0.3


def test_more_variables_than_values_is_no_harm() -> None:
    x = np.random.default_rng(1).normal(size=(5, 300))
    value, error = estimate(np.zeros(300), x, np.arange(5.0))
    assert value == pytest.approx(2.0, abs=0.5)
    assert math.isfinite(error)


def test_values_of_which_a_sum_is_no_number_are_judged_alike() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    y = (x * x).sum(axis=1) / 20 + rng.normal(0, 0.01, 60)
    plain, large = estimate(np.zeros(2), x, y), estimate(np.zeros(2), x, y * 2.0**1020)
    assert large == pytest.approx((plain.value * 2.0**1020, plain.error * 2.0**1020))
    best, found = safest(x[:3], x, -1.7e308 * np.exp(-0.01 * np.abs(y)))
    assert best in (0, 1, 2)
    assert math.isfinite(found.value)
    assert math.isfinite(found.error)
