"""The core of the paper, beside `tests/reference`, which compares it with the authors' code."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Round, dxnesic, rank
from saltus.strategy.leap import Leap

from .cores import NO_INTEGERS, ellipsoid, run


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


def test_the_search_moves_after_five_long_paths_in_a_row() -> None:
    """Line 9: a path that is long by chance, for a generation or two, is no movement yet."""
    c = dxnesic.constants(4, 8)
    p_sigma, long_paths = np.zeros(4), 0
    regimes = []
    for step in [100.0] * 6:
        p_sigma, long_paths, regime = dxnesic.evolution_path(c, p_sigma, long_paths, np.full(4, step))
        regimes.append(regime)
    assert regimes == [dxnesic.Regime.STAGNATION] * 4 + [dxnesic.Regime.MOVE] * 2
    assert long_paths == 6
    _, long_paths, regime = dxnesic.evolution_path(c, np.zeros(4), long_paths, np.zeros(4))
    assert (long_paths, regime) == (0, dxnesic.Regime.CONVERGENCE)  # and then it begins anew


@pytest.mark.parametrize(
    ("length", "regime"), [(0.09, "CONVERGENCE"), (0.11, "STAGNATION"), (0.99, "STAGNATION")]
)
def test_short_paths_tell_stagnation_from_convergence(length: float, regime: str) -> None:
    c = dxnesic.constants(9, 8)
    path = np.full(9, length * c.epsilon / 3)
    after, long_paths, found = dxnesic.evolution_path(c, path / (1 - c.c_sigma), 4, np.zeros(9))
    np.testing.assert_allclose(after, path)
    assert (long_paths, found.name) == (0, regime)


def test_gamma_follows_the_axis_that_grew_most_and_never_falls_below_one() -> None:
    c = dxnesic.constants(5, 4)
    assert c.d_gamma == 1.0
    assert dxnesic.expansion(c, 1.0, np.array([0.5, 1.44, 1.0, 1.0, 1.0])) == pytest.approx(1 + 0.2 / 12)
    assert dxnesic.expansion(c, 1.5, np.full(5, 0.81)) == pytest.approx(11 / 12 * 1.5 + 0.9 / 12)
    assert dxnesic.expansion(c, 1.0, np.full(5, 0.1)) == 1.0


def test_expansion_is_emphasized_along_the_axes_that_grew_alone() -> None:
    """Line 24: Q has gamma there and 1 elsewhere; its determinant goes to sigma."""
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    W = np.diag([2.0, 1.0, 0.5])
    axes = np.array([4.0, 1.0, 0.25])
    growth = np.array([1.1, 0.9, 1.0])
    sigma, after, variance, lengths = dxnesic.emphasize_expansion(1.5, growth, 2.0, V, W, (V**2) @ axes, axes)
    assert sigma == pytest.approx(2.0 * 1.5 ** (1 / 3))
    np.testing.assert_allclose(sigma * after, 2.0 * np.diag([3.0, 1.0, 0.5]))
    np.testing.assert_allclose(lengths, (after**2).sum(1))
    np.testing.assert_allclose(variance, ((V @ after) ** 2).sum(1))
    assert np.linalg.det(after) == pytest.approx(np.linalg.det(W))


def test_while_moving_the_farther_of_two_candidates_counts_more() -> None:
    c = dxnesic.constants(3, 6)
    integers = Integers(3, NO_INTEGERS, 0.1, Round())
    s = dxnesic.start(c, np.zeros(3), integers)
    population = dxnesic.sample(c, s, np.array([[1.0, 0, 0], [2.0, 0, 0], [0, 3.0, 0]]))
    ranking = rank(np.arange(6.0), None, population, integers)
    w = dxnesic.calculate_weights(c, population, population.z @ population.z.T, ranking)
    assert w.sum() == pytest.approx(0.0, abs=1e-12)
    plain = c.w_hat / c.w_hat.sum()
    shares = (w + 1 / 6)[:3] / plain[:3]  # the others have no weight
    assert shares[0] < shares[1] < shares[2]
    np.testing.assert_allclose(np.diff(np.log(shares)), c.h_inv, rtol=1e-9)  # all are feasible
