"""The scan along each coordinate."""

from __future__ import annotations

import numpy as np

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.coordinate_scan import CoordinateScan

from .playing import domain_of, evaluated, play


def test_a_scan_finds_the_far_valley() -> None:
    domain = domain_of(Space([Float(-10, 10), Float(-10, 10), Int(0, 3)]))
    valleys = np.array([7.3, -6.1])

    def fun(x: FloatArray) -> FloatArray:
        local = 1.0 + 0.01 * x[:, :2] ** 2
        return np.asarray(np.minimum(local, 0.1 + (x[:, :2] - valleys) ** 2).sum(axis=1))

    lines = CoordinateScan(domain, evaluated(domain, fun, [0.0, 0.0], [1.0]), np.random.default_rng(1))
    spent = play(lines, fun)
    np.testing.assert_allclose(lines.best.x[:2], valleys, atol=0.1)
    assert spent <= 2 * (30 + 4 * 6)
