"""Sobol indices, beside functions whose indices are known."""

from __future__ import annotations

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.model.panel import panel
from saltus.model.sensitivity import LEAST_SAMPLES, MOST_SAMPLES, indices, samples, sensitivity


def ishigami(x: FloatArray) -> FloatArray:
    t = np.pi * (2 * x - 1)
    return np.asarray(np.sin(t[:, 0]) + 7 * np.sin(t[:, 1]) ** 2 + 0.1 * t[:, 2] ** 4 * np.sin(t[:, 0]))


def product(x: FloatArray) -> FloatArray:
    """The g-function of Sobol with a = 0, 1, 4.5, 9."""
    a = np.array([0.0, 1.0, 4.5, 9.0])
    return np.asarray(np.prod((np.abs(4 * x - 2) + a) / (1 + a), axis=1))


def test_indices_that_are_known() -> None:
    a, b = samples(3)
    found = indices(lambda x: ishigami(x)[:, None], a, b)
    np.testing.assert_allclose(found.first[:, 0], [0.314, 0.442, 0.0], atol=0.02)
    np.testing.assert_allclose(found.total[:, 0], [0.558, 0.442, 0.244], atol=0.02)
    a, b = samples(4)
    parts = 1 / 3 / (1 + np.array([0.0, 1.0, 4.5, 9.0])) ** 2
    total = parts * np.prod(1 + parts) / (1 + parts) / (np.prod(1 + parts) - 1)
    np.testing.assert_allclose(indices(lambda x: product(x)[:, None], a, b).total[:, 0], total, atol=0.02)


def test_what_does_not_change_has_none() -> None:
    a, b = samples(2)
    both = indices(lambda x: np.column_stack((np.ones(len(x)), x[:, 1])), a, b)
    assert both.total[:, 0].tolist() == both.first[:, 0].tolist() == [0.0, 0.0]
    assert both.total[0, 1] == 0.0
    assert both.first[1, 1] > 0.98


def test_the_more_coordinates_the_fewer_samples() -> None:
    assert samples(1)[0].shape == (MOST_SAMPLES, 1)
    assert samples(10)[0].shape == samples(10)[1].shape == (MOST_SAMPLES, 10)
    assert len(samples(40)[0]) == 256
    assert samples(1000)[0].shape == (LEAST_SAMPLES, 1000)
    assert np.array_equal(samples(3)[1], samples(3)[1])


@pytest.mark.parametrize("n", [20, 60])
def test_those_of_a_model_are_near_and_within_their_bars(n: int) -> None:
    weights = np.array([8.0, 4.0, 2.0, 1.0, 0.0])
    true = weights**2 / (weights**2).sum()

    def weighted(at: FloatArray) -> FloatArray:
        return np.asarray(((at - 0.5) ** 2 * weights).sum(axis=1))

    x = np.random.default_rng(1).random((n, 5))
    y = weighted(x)
    a, b = samples(5)
    rng = np.random.default_rng(1)
    models = panel(x, y, rng)
    found = sensitivity(models, a, b, rng)
    # the indices of what the model sees
    seen = indices(lambda at: models[0].warped(weighted(at))[:, None], a, b).total[:, 0]
    assert ((found.low <= found.total) & (found.total <= found.high)).all()
    assert ((found.low - 0.02 <= seen) & (seen <= found.high + 0.02)).all()
    np.testing.assert_allclose(found.total, seen, atol=2 / n)
    np.testing.assert_allclose(found.total, true, atol=0.15)
    assert (found.first <= found.total).all()


def test_bars_get_shorter_with_more_points() -> None:
    lengths = []
    for n in (8, 30, 120):
        x = np.random.default_rng(1).random((n, 3))
        a, b = samples(3)
        found = sensitivity(panel(x, product(np.column_stack((x, x[:, 0]))), np.random.default_rng(1)), a, b,
                            np.random.default_rng(1))  # fmt: skip
        lengths.append((found.high - found.low).mean())
    assert lengths[0] > lengths[2]
