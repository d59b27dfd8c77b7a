"""Several models side by side say what each of them says."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.model import condition, condition_limits, first_parameters
from saltus.model.together import together


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_each_model_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    D = int(rng.integers(1, 6))
    x = rng.random((20, D))
    g = rng.standard_normal((20, 3))
    theta = first_parameters(D)
    objective = condition(theta + 0.3, x[3:], x[3:].sum(axis=1))
    limits = [condition_limits(theta, x, g[:, :2]), condition_limits(theta - 0.1, x[:12], g[:12, 2:])]
    point = rng.random(D)
    values, slopes = together([objective, *limits]).bounds(point, np.array([-0.7, 1.0, -0.5]))
    at = objective.steepness(point[None], 0.7)
    expected, by_x = [at.bound[:1]], [at.by_x]
    for deviations, one in zip((1.0, -0.5), limits, strict=True):
        there = one.slopes(point[None])
        expected.append(there.mean[0] + deviations * there.sd[0])
        by_x.append(there.mean_by_x[0] + deviations * there.sd_by_x[0])
    np.testing.assert_allclose(values, np.concatenate(expected), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(slopes, np.concatenate(by_x), rtol=1e-5, atol=1e-7)
