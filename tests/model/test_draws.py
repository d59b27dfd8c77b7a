"""Functions that a model holds possible."""

from __future__ import annotations

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.model import Fitted, condition, fit
from saltus.model.draws import draws


def bowl(n: int, D: int, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    x = np.random.default_rng(seed).random((n, D))
    return x, ((x - 0.4) ** 2 * np.arange(1, D + 1)).sum(axis=1) + 0.1 * np.sin(9 * x[:, 0])


def model(n: int, D: int, quadratic: float) -> Fitted:
    x, y = bowl(n, D)
    theta = fit(x, y)
    theta[-3] = np.log(quadratic)
    return condition(theta, x, y)


@pytest.mark.parametrize("quadratic", [1e-4, 1.0])
@pytest.mark.parametrize("D", [1, 3])
def test_their_mean_and_spread_are_those_of_the_model(D: int, quadratic: float) -> None:
    own = model(8, D, quadratic)
    x = np.random.default_rng(2).random((40, D))
    values = np.concatenate([draws(own, 100, np.random.default_rng(s)).at(x) for s in range(20)], axis=1)
    mean, sd = own.predict(x)
    np.testing.assert_allclose(values.mean(axis=1), mean, atol=0.15 * sd.max())
    np.testing.assert_allclose(values.std(axis=1), sd, rtol=0.15, atol=0.02)


def test_the_same_stream_draws_the_same_functions() -> None:
    own = model(12, 2, 0.5)
    x = np.random.default_rng(2).random((5, 2))
    first, again = (draws(own, 3, np.random.default_rng(7)).at(x) for _ in range(2))
    assert first.shape == (5, 3)
    assert np.array_equal(first, again)
