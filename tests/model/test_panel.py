"""Several models of the same points, and their error bars."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.model.panel import bars, panel


def bowl(x: FloatArray) -> FloatArray:
    return np.asarray(((x - 0.3) ** 2 * np.array([8.0, 4.0, 2.0, 1.0])).sum(axis=1))


def decades(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(3 * bowl(x)))


def valley(x: FloatArray) -> FloatArray:
    u = 3 * x - 1.5
    return np.asarray((10 * (u[:, 1:] - u[:, :-1] ** 2) ** 2 + (1 - u[:, :-1]) ** 2).sum(axis=1))


def waves(x: FloatArray) -> FloatArray:
    return np.asarray(np.sin(4 * x[:, 0]) + x[:, 1] * np.cos(3 * x[:, 2]))


def noisy(x: FloatArray) -> FloatArray:
    return bowl(x) + 0.3 * np.random.default_rng(3).standard_normal(len(x))


@pytest.mark.parametrize("function", [bowl, decades, valley, waves, noisy])
@pytest.mark.parametrize("n", [25, 80])
def test_nine_in_ten_are_within_the_bar(function: Callable[[FloatArray], FloatArray], n: int) -> None:
    """Points that the model has not seen, of smooth functions: about 90% of them."""
    inside = []
    for seed in range(4):
        x = np.random.default_rng(seed).random((n + 100, 4))
        y = function(x)
        low, middle, high = bars(panel(x[:n], y[:n], np.random.default_rng(1)), x[n:], 1.645)
        assert (low <= middle).all()
        assert (middle <= high).all()
        inside.append(np.mean((low <= y[n:]) & (y[n:] <= high)))
    assert 0.75 <= np.mean(inside) <= 1.0


def test_bars_are_short_where_much_is_known() -> None:
    x = np.random.default_rng(1).random((40, 4))
    low, _, high = bars(panel(x[:30], bowl(x[:30]), np.random.default_rng(1)), x, 1.645)
    length = high - low
    assert np.median(length[:30]) < 0.5 * np.median(length[30:])


def test_two_points_are_enough() -> None:
    models = panel(np.array([[0.1, 0.2], [0.8, 0.9]]), np.array([1.0, 2.0]), np.random.default_rng(1))
    assert np.isfinite(bars(models, np.array([[0.5, 0.5]]), 1.645)).all()
