"""CR-FM-NES: its natural gradient beside the dense one, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Leap, Ranking, Round, crfmnes, rank

from .cores import NO_INTEGERS

CONTINUOUS = Integers(1000, NO_INTEGERS, 0.1, Round())


def dense(
    v: FloatArray, y: FloatArray, w: FloatArray, coupling: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """The natural gradient for v and log D by the Fisher matrix of all 2N parameters, from its definition."""
    N = len(v)
    M = np.eye(N) + np.outer(v, v)
    S = (y.T * w) @ y - w.sum() * M
    unit = np.eye(N)
    tangents = [np.outer(e, e) @ M + M @ np.outer(e, e) for e in unit]
    tangents += [np.outer(e, v) + np.outer(v, e) for e in unit]
    half = [np.linalg.solve(M, T) for T in tangents]
    fisher = np.array([[np.trace(a @ b) / 2 for b in half] for a in half])
    fisher[:N, N:] *= coupling
    fisher[N:, :N] *= coupling
    gradient = [np.trace(np.linalg.solve(M, S) @ a) / 2 for a in half]
    step = np.linalg.solve(fisher, gradient)
    return step[N:], step[:N]


@pytest.mark.parametrize("length", [0.1, 1.0, 30.0])
def test_the_step_of_the_shape_is_the_natural_gradient(length: float) -> None:
    rng = np.random.default_rng(1)
    v = rng.uniform(0.5, 1.0, 9) * rng.choice([-1.0, 1.0], 9)
    v *= length / np.linalg.norm(v)
    y, w = rng.standard_normal((5, 9)), rng.standard_normal(5)
    for found, expected in zip(crfmnes.natural_gradient(v, y, w), dense(v, y, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("length", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("share", [0.3, 0.6, 1.0])
def test_where_one_variable_dominates_v_the_coupling_is_smaller(length: float, share: float) -> None:
    """With all of it v and D could replace one another, and a step would be without bounds."""
    rng = np.random.default_rng(2)
    v = length * np.sqrt(np.array([share, *[(1 - share) / 4] * 4]))
    y, w = rng.standard_normal((6, 5)), np.array([0.4, 0.1, -0.1, -0.2, -0.2, 0.1])
    turn, d = crfmnes.natural_gradient(v, y, w)
    vv = length**2
    t = min(1.0, (1 + vv + vv**2 * share) / ((2 + vv) ** 2 * share))
    expected_turn, expected_d = dense(v, y, w, np.sqrt(t))
    np.testing.assert_allclose(d, expected_d, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(turn, expected_turn, rtol=1e-6, atol=1e-9 * np.abs(expected_turn).max())
    assert np.abs(d).max() < 10


def test_without_a_direction_only_the_scales_are_learnt() -> None:
    y, w = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([0.5, -0.3])
    turn, d = crfmnes.natural_gradient(np.zeros(3), y, w)
    assert turn.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(d, (w @ y**2 - w.sum()) / 2)


@pytest.mark.parametrize("power", [0.5, -0.5, 1.0])
def test_the_shape_is_a_power_of_its_matrix(power: float) -> None:
    rng = np.random.default_rng(3)
    v, z = rng.standard_normal(5), rng.standard_normal((3, 5))
    values, axes = np.linalg.eigh(np.eye(5) + np.outer(v, v))
    np.testing.assert_allclose(crfmnes.shaped(v, z, power), z @ (axes * values**power) @ axes.T)
    np.testing.assert_allclose(crfmnes.shaped(v, z[0], power), crfmnes.shaped(v, z, power)[0])
    assert crfmnes.shaped(np.zeros(5), z, power) is z


def learnt(steep: FloatArray, along: FloatArray, generations: int, population: int = 12) -> crfmnes.State:
    """After generations on a quadratic function that is flat along a direction."""
    N = len(steep)
    c = crfmnes.constants(N, population)
    s = crfmnes.start(c, np.ones(N), CONTINUOUS)
    rng = np.random.default_rng(4)
    for _ in range(generations):
        drawn = crfmnes.sample(c, s, crfmnes.draw(c, rng))
        t = drawn.x * steep
        t = t - 0.99 * np.multiply.outer(t @ along, along)
        s = crfmnes.update(c, s, drawn, rank((t**2).sum(1), None, drawn, CONTINUOUS), CONTINUOUS)
    return s


def test_it_learns_the_scales_of_variables() -> None:
    steep = np.logspace(0, 3, 20)
    s = learnt(steep, np.zeros(20), 500)
    spread = s.sd * steep
    assert spread.max() / spread.min() < 10  # of 1000


def test_it_learns_one_direction_in_which_all_variables_go_together() -> None:
    along = np.repeat([1.0, -1.0], 10) / np.sqrt(20)
    s = learnt(np.ones(20), along, 500)
    axis = s.D * s.v
    assert abs(axis @ along) / np.sqrt(axis @ axis) > 0.98
    assert 1 + s.v @ s.v > 1000  # of 10,000


def test_its_state_is_linear_in_the_number_of_variables() -> None:
    s = learnt(np.ones(50), np.zeros(50), 2)
    assert all(np.size(part) <= 50 for part in s if not isinstance(part, tuple))


def test_sigma_alone_says_how_large_the_gaussian_is() -> None:
    s = learnt(np.logspace(0, 2, 8), np.zeros(8), 60)
    assert np.linalg.slogdet(s.covariance)[1] == pytest.approx(16 * np.log(s.sigma), abs=1e-9)


def test_an_integer_never_spreads_over_its_whole_range() -> None:
    lattice = Lattice([(0.0, 1.0, 4), (0.0, 1.0, 21)])
    integers = Integers(1, lattice, 0.05, Leap())
    c = crfmnes.constants(3, 6)
    s = crfmnes.start(c, np.zeros(3), integers)
    rng = np.random.default_rng(6)
    for _ in range(200):
        population = crfmnes.sample(c, s, crfmnes.draw(c, rng))
        ranking = Ranking(np.argsort(-np.abs(population.x).sum(axis=1)), 6)  # the farther, the better
        s = crfmnes.update(c, s, population, ranking, integers)
        assert np.all(s.sd[1:] <= 0.3 * np.array([4.0, 21.0]) * (1 + 1e-12))
    assert s.sd[0] > 10


def test_a_path_of_no_length_leaves_no_direction() -> None:
    """As when both sides of every pair are equally good, which ranks do not say but late points may."""
    c = crfmnes.constants(3, 4)
    s = crfmnes.start(c, np.zeros(3), CONTINUOUS)
    population = crfmnes.sample(c, s, np.zeros((2, 3)))
    s = crfmnes.update(c, s, population, Ranking(np.arange(4), 4), CONTINUOUS)
    assert s.v.tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(s.sd).all()
