"""Diagonal scaling of DX-NES-IC."""

from __future__ import annotations

import math

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Leap, Ranking, Round, dxnesic, rank, scaled
from saltus.strategy.dxnesic import Regime

NO_INTEGERS = Integers(6, Lattice([]), 0.1, Round())


def random_state(N: int, seed: int = 0) -> tuple[scaled.Constants, scaled.State]:
    rng = np.random.default_rng(seed)
    c = scaled.constants(N, 8, exact=True)
    sd = 10.0 ** rng.uniform(-2, 2, N)
    A = rng.standard_normal((N, N)) + 2 * np.eye(N)
    return c, scaled.start(c, rng.standard_normal(N), Integers(N, Lattice([]), 0.1, Round()), sd, A)


@pytest.mark.parametrize("exact", [False, True])
def test_d_is_learnt_faster_than_a_the_more_variables_there_are(exact: bool) -> None:
    for N in (1, 4, 7, 100):
        c = scaled.constants(N, 8, exact=exact)
        assert (c.N, c.population) == (c.base.N, c.base.population) == (N, 8)
        assert c.refresh == c.base.refresh == (1 if exact else max(1, N // 2))
        assert c.eta_D == pytest.approx((3 + math.log(N)) / 5 / math.sqrt(N))
        assert c.least_eta_A / c.eta_D == pytest.approx(1.5 / N)
        assert scaled.constants(N, 8, least_rate=0.6).least_eta_A == pytest.approx(2 * c.least_eta_A)


def test_unless_it_is_to_be_exact_the_eigenbasis_is_that_of_some_generations() -> None:
    assert [scaled.constants(N, 8).refresh for N in (2, 6, 10)] == [1, 3, 5]


def test_the_gaussian_is_the_one_that_was_given() -> None:
    rng = np.random.default_rng(1)
    sd, A = np.array([1.0, 10.0, 0.1, 3.0, 1.0, 1.0]), rng.standard_normal((6, 6))
    c = scaled.constants(6, 8)
    s = scaled.start(c, np.zeros(6), NO_INTEGERS, sd, A)
    rows = sd[:, None] * A
    np.testing.assert_allclose(s.covariance, rows @ rows.T)
    np.testing.assert_allclose(s.sd, np.sqrt((rows @ rows.T).diagonal()))
    assert np.prod(s.D) == pytest.approx(1.0)
    assert (s.gamma, s.long_paths, s.age, s.p_sigma.tolist()) == (1.0, 0, 0, [0.0] * 6)


def test_a_singular_matrix_of_correlations_keeps_eigenvalues_that_can_be_divided_by() -> None:
    """Four variables that move together: the largest eigenvalue is 4, the others its last digit."""
    s = scaled.start(
        scaled.constants(4, 8), np.zeros(4), Integers(4, Lattice([]), 0.1, Round()), 1.0, np.ones((4, 4))
    )
    np.testing.assert_allclose(s.axes, [*[4 * np.finfo(float).eps] * 3, 4.0])
    assert np.isfinite(s.inverse).all()
    assert s.damping == pytest.approx(1 / math.sqrt(np.finfo(float).eps) - 1)


def one_generation(s: scaled.State, seed: int = 1) -> scaled.State:
    """After candidates whose first coordinate counts."""
    c = scaled.constants(6, 8)
    population = scaled.sample(c, s, scaled.draw(c, np.random.default_rng(seed)))
    ranking = rank(population.x[:, 0], None, population, NO_INTEGERS)
    return scaled.update(c, s, population, ranking, NO_INTEGERS)


def test_gamma_is_remembered_from_generation_to_generation() -> None:
    """It forgets a little each time: by c_gamma, here a fifteenth, towards how much the axes grow."""
    s = scaled.start(scaled.constants(6, 8), np.zeros(6), NO_INTEGERS)
    after = one_generation(s._replace(gamma=2.0))
    assert 2.0 - 1.1 / 15 < after.gamma < 2.0 - 0.9 / 15
    again = one_generation(after)
    assert (
        after.gamma - 1.1 * (after.gamma - 1) / 15 < again.gamma < after.gamma - 0.9 * (after.gamma - 1) / 15
    )


def test_expansion_is_emphasized_from_the_fifth_long_path_on() -> None:
    """Also with diagonal scaling: four in a row are not enough."""
    s = scaled.start(scaled.constants(6, 8), np.zeros(6), NO_INTEGERS)
    s = s._replace(p_sigma=np.full(6, 9.0), gamma=2.0)
    fourth, fifth = (one_generation(s._replace(long_paths=before)) for before in (3, 4))
    assert (fourth.long_paths, fifth.long_paths) == (4, 5)
    assert np.prod(fifth.sd) > 1.5 * np.prod(fourth.sd)


def test_while_converging_d_is_learnt_ten_times_and_a_fourteen_times_more_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same generation in two regimes; the least rate is so large that it is the one of A in both."""
    c = scaled.constants(6, 8, least_rate=10.0)
    s = scaled.start(c, np.zeros(6), NO_INTEGERS)
    population = scaled.sample(c, s, scaled.draw(c, np.random.default_rng(1)))
    ranking = rank(population.x[:, 0], None, population, NO_INTEGERS)
    log_D, log_A = [], []
    for regime in (Regime.STAGNATION, Regime.CONVERGENCE):
        path = (s.p_sigma, 0, regime)
        monkeypatch.setattr(dxnesic, "evolution_path", lambda *_, path=path: path)
        after = scaled.update(c, s, population, ranking, NO_INTEGERS)
        log_D.append(np.log(after.D))
        log_A.append(np.log(np.linalg.svd(after.V @ after.W, compute_uv=False)))
    np.testing.assert_allclose(log_D[1], log_D[0] / 10)
    np.testing.assert_allclose(log_A[1], log_A[0] / 14, atol=1e-12)
    assert np.abs(log_D[0]).max() > 0.01
    assert np.abs(log_A[0]).max() > 0.01


def test_the_step_of_d_is_the_natural_gradient() -> None:
    """Scores of log D by finite differences, and the Fisher matrix as the mean of their products."""
    N = 4
    _, s = random_state(N, 2)
    A = s.V @ s.W
    C = A @ A.T
    np.testing.assert_allclose(C.diagonal(), 1.0)

    def log_density(x: FloatArray, d: FloatArray) -> float:
        scale = np.exp(d)
        y = np.linalg.solve(scale[:, None] * A, x)
        return float(-0.5 * y @ y - d.sum())

    rng = np.random.default_rng(3)
    z = rng.standard_normal((4000, N))
    h = 1e-4
    scores = np.array(
        [[(log_density(x, h * e) - log_density(x, -h * e)) / (2 * h) for e in np.eye(N)] for x in z @ A.T]
    )
    y = z @ A.T
    np.testing.assert_allclose(scores, y * (y @ s.inverse) - 1.0, atol=1e-5)
    fisher = np.tril(s.fisher) @ np.tril(s.fisher).T
    np.testing.assert_allclose(fisher, np.eye(N) + C * np.linalg.inv(C), atol=1e-10)
    np.testing.assert_allclose(scores.T @ scores / len(z), fisher, rtol=0.25, atol=0.25)


def test_shift_scale_and_order_of_variables_change_nothing() -> None:
    """The same search in other units and another order: the same points, up to rounding."""
    N = 6
    rng = np.random.default_rng(4)
    units, shift, order = 10.0 ** rng.uniform(-3, 3, N), rng.standard_normal(N), rng.permutation(N)
    steep = np.logspace(0, 3, N)
    c = scaled.constants(N, 8, exact=True)
    plain = scaled.start(c, np.ones(N), NO_INTEGERS)
    other = scaled.start(c, ((np.ones(N) + shift) * units)[order], NO_INTEGERS, units[order])
    for _ in range(40):
        z = rng.standard_normal((4, N))
        a = scaled.sample(c, plain, z @ plain.W @ np.linalg.inv(plain.W))
        # the same directions, through the other one's own basis
        target = (a.y * plain.sigma * plain.D * units)[:, order]
        same = target / (other.sigma * other.D) @ other.V @ np.linalg.inv(other.W).T
        b = scaled.sample(c, other, same)
        np.testing.assert_allclose(b.x, ((a.x + shift) * units)[:, order], rtol=1e-6, atol=1e-9)
        values = ((steep * a.x) ** 2).sum(axis=1)
        plain = scaled.update(c, plain, a, rank(values, None, a, NO_INTEGERS), NO_INTEGERS)
        other = scaled.update(c, other, b, rank(values, None, b, NO_INTEGERS), NO_INTEGERS)
        np.testing.assert_allclose(other.sd, (plain.sd * units)[order], rtol=1e-6)


def test_scales_are_learnt_much_faster_than_correlations() -> None:
    """The standard deviations follow a function of very different axes in a few hundred evaluations."""
    N = 10
    steep = np.logspace(0, 3, N)
    c = scaled.constants(N, 10)
    integers = Integers(N, Lattice([]), 0.1, Round())
    s = scaled.start(c, np.full(N, 3.0), integers)
    rng = np.random.default_rng(5)
    for _ in range(120):
        population = scaled.sample(c, s, scaled.draw(c, rng))
        ranking = rank(((steep * population.x) ** 2).sum(axis=1), None, population, integers)
        s = scaled.update(c, s, population, ranking, integers)
    spread = s.sd * steep
    assert spread.max() / spread.min() < 15  # of the 1000 that the axes differ by


def test_an_integer_never_spreads_over_its_whole_range() -> None:
    lattice = Lattice([(0.0, 1.0, 4), (0.0, 1.0, 21)])
    integers = Integers(1, lattice, 0.05, Leap())
    c = scaled.constants(3, 6)
    s = scaled.start(c, np.zeros(3), integers)
    rng = np.random.default_rng(6)
    for _ in range(200):
        population = scaled.sample(c, s, scaled.draw(c, rng))
        ranking = Ranking(np.argsort(-np.abs(population.x).sum(axis=1)), 6)  # the farther, the better
        s = scaled.update(c, s, population, ranking, integers)
        assert np.all(s.sd[1:] <= 0.3 * np.array([4.0, 21.0]) * (1 + 1e-12))
    assert s.sd[0] > 10
