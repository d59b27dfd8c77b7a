"""The core of the paper, beside `tests/reference`, which compares it with the authors' code."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Ranking, Round, dxnesic, rank
from saltus.strategy.leap import Leap
from saltus.strategy.linalg import row_norms2
from saltus.strategy.mirrored import Mirrored, Origins

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


@pytest.mark.parametrize("N", [1, 7, 40, 500])
def test_h_inv_solves_its_equation_to_the_last_digits(N: int) -> None:
    a = dxnesic.h_inv(N)
    assert (1 + a * a) * math.exp(a * a / 2) / 0.24 == pytest.approx(10 + N, rel=1e-13)


@pytest.mark.parametrize(("N", "population"), [(1, 4), (2, 6), (7, 8), (40, 16), (8, 100)])
def test_the_constants_are_those_of_table_1(N: int, population: int) -> None:
    c = dxnesic.constants(N, population)
    assert (c.N, c.population) == (N, population)
    shares = c.w_rank + 1 / population
    assert shares.sum() == pytest.approx(1.0)
    half = population // 2
    np.testing.assert_allclose(np.exp(-np.diff(c.w_hat[:half])), np.arange(2, half + 1) / np.arange(1, half))
    np.testing.assert_allclose(c.w_hat[half:], 0.0, atol=1e-15)
    np.testing.assert_allclose(shares * c.w_hat.sum(), c.w_hat, atol=1e-15)
    assert c.mu_eff == pytest.approx(1 / (shares**2).sum())
    assert c.c_sigma == pytest.approx((c.mu_eff + 2) / ((N + c.mu_eff + 5) * 2 * math.log(N + 1)))
    assert c.path_gain**2 == pytest.approx((1 - (1 - c.c_sigma) ** 2) * c.mu_eff)
    assert c.epsilon == pytest.approx((N - 1 / 4 + 1 / (21 * N)) / math.sqrt(N), rel=1e-12)
    assert c.c_gamma == pytest.approx(1 / (3 * N - 3) if N > 1 else 0.0)  # a single axis has no expansion
    assert c.d_gamma == min(1.0, N / population)
    assert c.h_inv == dxnesic.h_inv(N)
    assert c.refresh == max(1, N // 2)
    assert dxnesic.constants(N, population, exact=True).refresh == 1


def test_a_search_may_start_from_any_gaussian() -> None:
    """Given B, the first axes are its own."""
    rng = np.random.default_rng(1)
    B, m = rng.standard_normal((4, 4)), rng.standard_normal(4)
    c = dxnesic.constants(4, 8)
    s = dxnesic.start(c, m, Integers(4, NO_INTEGERS, 0.1, Round()), 0.5, B)
    np.testing.assert_allclose(s.covariance, 0.25 * B @ B.T)
    np.testing.assert_allclose(s.sd**2, s.covariance.diagonal())
    np.testing.assert_allclose(s.V @ np.diag(s.axes) @ s.V.T, B @ B.T)  # V is an eigenbasis
    np.testing.assert_allclose(s.W @ s.W.T, np.diag(s.axes), atol=1e-12)
    np.testing.assert_allclose(s.variance, (B @ B.T).diagonal())
    assert s.sigma == 0.5
    assert (s.gamma, s.long_paths, s.age, s.p_sigma.tolist()) == (1.0, 0, 0, [0.0] * 4)
    np.testing.assert_array_equal(s.m, m)
    plain = dxnesic.start(c, m, Integers(4, NO_INTEGERS, 0.1, Round()))
    for matrix in (plain.V, plain.W, plain.covariance):
        np.testing.assert_array_equal(matrix, np.eye(4))  # not even turned


def test_the_learning_rates_are_those_of_the_paper() -> None:
    c = dxnesic.constants(40, 16)
    rates = {
        regime.name: dxnesic.calculate_learning_rate(c, regime, feasible)
        for regime, feasible in ((r, 10) for r in dxnesic.Regime)
    }
    slowness = 47 * 40**2 + 6400
    assert rates["MOVE"] == pytest.approx((1.0, 180 * 40 * math.tanh(0.2) / slowness))
    assert rates["STAGNATION"] == pytest.approx(
        (math.tanh((0.24 + 28 + 20) / 52), 168 * 40 * math.tanh(0.2) / slowness)
    )
    assert rates["CONVERGENCE"] == pytest.approx(
        (2 * math.tanh((0.25 + 30 + 10) / 44), 12 * 40 * math.tanh(0.2) / slowness)
    )


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


def test_the_path_follows_the_steps() -> None:
    c = dxnesic.constants(3, 8)
    step = np.array([1.0, -2.0, 0.5])
    first, *_ = dxnesic.evolution_path(c, np.zeros(3), 0, step)
    np.testing.assert_allclose(first, c.path_gain * step)
    second, *_ = dxnesic.evolution_path(c, first, 0, -step)
    np.testing.assert_allclose(second, -c.c_sigma * first)


@pytest.mark.parametrize(
    ("length", "long_paths", "regime"),
    [(10.0, 5, "MOVE"), (1.0, 0, "STAGNATION"), (np.nextafter(1.0, 0.0), 0, "CONVERGENCE")],
)
def test_paths_of_exactly_the_limits_are_long_and_stagnating(
    length: float, long_paths: int, regime: str
) -> None:
    c = replace(dxnesic.constants(1, 4), c_sigma=0.0, epsilon=10.0)
    _, count, found = dxnesic.evolution_path(c, np.array([length]), 4, np.zeros(1))
    assert (count, found.name) == (long_paths, regime)


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
    w = dxnesic.calculate_weights(c, population, row_norms2(population.z), ranking)
    assert w.sum() == pytest.approx(0.0, abs=1e-12)
    plain = c.w_hat / c.w_hat.sum()
    shares = (w + 1 / 6)[:3] / plain[:3]  # the others have no weight
    assert shares[0] < shares[1] < shares[2]
    np.testing.assert_allclose(np.diff(np.log(shares)), c.h_inv, rtol=1e-9)  # all are feasible


def weights_while_moving(N: int, lengths: list[float], feasible: int) -> FloatArray:
    """Of candidates in pairs of these lengths, ranked as they come."""
    c = dxnesic.constants(N, 2 * len(lengths))
    nothing = np.empty((len(lengths), 0))  # only lengths count
    population = Mirrored(nothing, nothing, nothing, Origins(len(lengths), 0, 0))
    ranking = Ranking(np.arange(2 * len(lengths)), feasible)
    w = dxnesic.calculate_weights(c, population, np.square(lengths), ranking)
    return np.asarray((w + 1 / len(w)) / (c.w_hat / c.w_hat.sum()).clip(1e-300))


@pytest.mark.parametrize(
    ("N", "feasible", "slower"), [(2, 6, 1.0), (2, 3, 0.5), (24, 6, 0.25), (24, 2, 1 / 12)]
)
def test_distances_count_less_where_candidates_are_few_or_infeasible(
    N: int, feasible: int, slower: float
) -> None:
    """Of 6 candidates in few or in many dimensions: alpha is h_inv times the root of both shares."""
    shares = weights_while_moving(N, [1.0, 1.5, 3.0], feasible)
    alpha = dxnesic.h_inv(N) * math.sqrt(slower)
    np.testing.assert_allclose(np.diff(np.log(shares[:3])), [0.5 * alpha, 1.5 * alpha])


def test_weights_of_many_candidates_in_many_dimensions_do_not_overflow() -> None:
    """Distances from the mean are in the thousands there, and differ by a little only."""
    shares = weights_while_moving(10**6, [1000.0, 999.0, 1001.0] * 10_000, 60_000)
    assert np.isfinite(shares).all()
    assert 0 < shares[1] < shares[0] < shares[2]
