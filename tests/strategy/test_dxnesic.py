"""The core of the paper, beside `tests/reference`, which compares it with the authors' code."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, dxnesic
from saltus.strategy.leap import Leap

from .cores import ellipsoid, run


def test_the_lazy_basis_is_the_exact_one_when_always_refreshed() -> None:
    """Between refreshes the Gaussian itself is exact: only tau is measured along older axes."""
    integers = Integers(3, Lattice([(-5.0, 1.0, 11)] * 3), 0.01, Leap())
    s = run(dxnesic, ellipsoid, integers, np.full(6, 2.25), 80, population=6)
    B = s.B
    np.testing.assert_allclose(np.linalg.slogdet(B)[1], 0.0, atol=1e-8)
    np.testing.assert_allclose(np.diag(B @ B.T), s.variance, rtol=0.2)
    c = dxnesic.constants(6, 6, exact=True)
    fresh = dxnesic.start(c, s.m, integers, s.sigma, B)
    np.testing.assert_allclose(fresh.B, B, atol=1e-12)
    np.testing.assert_allclose(fresh.variance, np.diag(B @ B.T))


@pytest.mark.parametrize(("N", "expected"), [(10, 1.180), (40, 1.574), (160, 2.035), (640, 2.482)])
def test_h_inv(N: int, expected: float) -> None:
    assert dxnesic.h_inv(N) == pytest.approx(expected, abs=1e-3)


def test_h_inv_does_not_overflow() -> None:
    assert 2.5 < dxnesic.h_inv(1010) < dxnesic.h_inv(10**6) < 10


def test_few_feasible_candidates_slow_the_learning_down() -> None:
    c = dxnesic.constants(4, 8)
    for phase in dxnesic.Regime:
        all_sigma, all_B = dxnesic.calculate_learning_rate(c, phase, 8)
        few_sigma, few_B = dxnesic.calculate_learning_rate(c, phase, 1)
        assert few_B < all_B
        assert few_sigma <= all_sigma
