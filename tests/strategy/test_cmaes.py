"""CMA-ES, beside `tests/reference`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Ranking, cmaes, rank
from saltus.strategy.leap import Leap
from saltus.strategy.margin import Margin
from saltus.strategy.rounding import Round


@pytest.mark.parametrize(("treatment", "moves"), [(Margin(), False), (Round(), True), (Leap(), True)])
def test_a_flat_generation_moves_the_mean_of_cma_es_unless_equals_share(
    treatment: Round, moves: bool
) -> None:
    integers = Integers(4, Lattice([(-10.0, 1.0, 21)]), 0.1, treatment)
    c = cmaes.constants(5, 8)
    s = cmaes.start(c, np.ones(5), integers)
    population = cmaes.sample(c, s, cmaes.draw(c, np.random.default_rng(0)))
    after = cmaes.update(c, s, population, rank(np.zeros(8), None, population, integers), integers)
    assert c.weights_sum < 0  # the mean of all weights is negative, and only positive ones move the mean
    assert np.any(after.m[:4] != s.m[:4]) == moves


@pytest.mark.parametrize(("N", "population"), [(1, 4), (2, 6), (10, 10), (40, 15), (100, 200)])
def test_the_constants_are_those_of_the_tutorial(N: int, population: int) -> None:
    """What its equations promise: weights, learning rates, and a covariance that stays positive definite."""
    c = cmaes.constants(N, population)
    good, bad = c.weights[c.weights > 0], c.weights[c.weights < 0]
    assert good.sum() == pytest.approx(1.0)
    assert c.mu_eff == pytest.approx(1.0 / (good @ good))
    assert np.all(np.diff(c.weights) < 0)
    assert c.weights_sum == pytest.approx(1.0 + bad.sum())
    assert c.c_1 + c.c_mu <= 1
    assert c.c_mu * N * -bad.sum() <= 1 - c.c_1 - c.c_mu + 1e-12  # eq. 52
    assert 0 < c.c_sigma < 1
    assert c.d_sigma > 1
    assert c.refresh >= 1
    assert cmaes.constants(N, population, exact=True).refresh == 1


def preferences(population: int) -> tuple[float, float]:
    """mu_eff of the better half and of the worse one: the weights as they are before they are scaled."""
    w = np.array([math.log((population + 1) / 2 / rank) for rank in range(1, population + 1)])
    better, worse = w[: population // 2], w[population // 2 :]
    return tuple(float(half.sum() ** 2 / (half**2).sum()) for half in (better, worse))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("N", "population", "bound"),
    [(10, 10, 50), (100, 17, 50), (1, 4, 51), (2, 6, 51), (1000, 4, 51), (10, 100, 52), (50, 300, 52)],
)
def test_negative_weights_add_up_to_the_least_of_three_bounds(N: int, population: int, bound: int) -> None:
    c = cmaes.constants(N, population)
    mu_eff, mu_eff_bad = preferences(population)
    assert c.mu_eff == pytest.approx(mu_eff)
    bounds = {
        50: 1 + c.c_1 / c.c_mu,
        51: 1 + 2 * mu_eff_bad / (mu_eff + 2),
        52: (1 - c.c_1 - c.c_mu) / (N * c.c_mu),
    }
    assert min(bounds, key=lambda number: bounds[number]) == bound
    assert -c.weights[c.weights < 0].sum() == pytest.approx(bounds[bound])


def test_learning_rates_are_those_of_the_tutorial() -> None:
    for N, population in ((3, 7), (10, 10), (50, 300)):
        c, mu = cmaes.constants(N, population), preferences(population)[0]
        assert c.c_1 == pytest.approx(2 / ((N + 1.3) ** 2 + mu))
        assert c.c_mu == pytest.approx(2 * (mu - 1) ** 2 / mu / ((N + 2) ** 2 + mu))
        assert c.c_c == pytest.approx((4 * N + mu) / (N * (N + 4) + 2 * mu))
        assert c.c_sigma == pytest.approx((mu + 2) / (N + mu + 5))
        assert c.d_sigma == pytest.approx(1 + c.c_sigma + 2 * max(0.0, math.sqrt((mu - 1) / (N + 1)) - 1))
        assert c.epsilon == pytest.approx((N - 1 / 4 + 1 / (21 * N)) / math.sqrt(N), rel=1e-12)
        assert c.refresh == math.ceil(1 / (2 * N * (c.c_1 + c.c_mu)))
        assert (c.N, c.population, len(c.weights)) == (N, population, population)
    crowd = cmaes.constants(1, 10_000)  # so many candidates that the old covariance would be forgotten
    assert 1 - crowd.c_1 - crowd.c_mu == pytest.approx(1e-8, rel=1e-3)


def test_weights_are_logarithmic_in_the_rank() -> None:
    c = cmaes.constants(5, 9)
    assert c.weights[4] == 0.0  # the middle of an odd population counts for nothing
    ranks = np.arange(1, 5)
    np.testing.assert_allclose(c.weights[:4] / c.weights[0], np.log(5 / ranks) / math.log(5))
    np.testing.assert_allclose(c.weights[5:] / c.weights[8], np.log(5 / (ranks + 5)) / math.log(5 / 9))


def test_the_first_gaussian_is_a_sphere() -> None:
    s = cmaes.start(cmaes.constants(3, 8), np.arange(3.0), Integers(3, Lattice([]), 0.1, Round()), 0.5)
    assert (s.sigma, s.generation, s.age) == (0.5, 0, 0)
    np.testing.assert_array_equal(s.covariance, 0.25 * np.eye(3))
    for vector in (s.p_sigma, s.p_c):
        np.testing.assert_array_equal(vector, np.zeros(3))
    np.testing.assert_array_equal(s.m, np.arange(3.0))
    np.testing.assert_array_equal(s.sd, np.full(3, 0.5))


def test_a_long_path_widens_and_a_short_one_narrows() -> None:
    integers = Integers(3, Lattice([]), 0.1, Round())
    c = cmaes.constants(3, 8)
    s = cmaes.start(c, np.zeros(3), integers)
    population = cmaes.sample(c, s, 0.1 * cmaes.draw(c, np.random.default_rng(0)))
    ranking = rank(population.x[:, 0], None, population, integers)
    far, near = (
        cmaes.update(c, s._replace(p_sigma=np.full(3, length)), population, ranking, integers)
        for length in (9.0, 0.0)
    )
    assert near.sigma < s.sigma < far.sigma
    np.testing.assert_array_equal(far.p_c, 0.0)  # eq. 45: while p_sigma is too long, p_c gets no step
    assert np.all(near.p_c != 0.0)


@pytest.mark.parametrize("generation", [0, 1, 4, 200])
@pytest.mark.parametrize(("length", "stalled"), [(0.99, False), (1.01, True)])
def test_the_path_of_the_covariance_stalls_while_that_of_sigma_is_longer_than_by_chance(
    generation: int, length: float, stalled: bool
) -> None:
    """By 1.4 + 2 / (N + 1), where a young path is expected to be shorter; more of C is kept then."""
    integers = Integers(3, Lattice([]), 0.1, Round())
    c = cmaes.constants(3, 8)
    young = math.sqrt(1 - (1 - c.c_sigma) ** (2 * (generation + 2)))
    limit = (1.4 + 2 / 4) * c.epsilon * young
    path = np.array([0.0, length * limit / (1 - c.c_sigma), 0.0])
    s = cmaes.start(c, np.zeros(3), integers)._replace(p_sigma=path, generation=generation)
    nothing = cmaes.sample(c, s, np.zeros((8, 3)))  # all at the mean: only the paths say something
    after = cmaes.update(c, s, nothing, Ranking(np.arange(8), 8), integers)
    assert after.generation == generation + 1
    assert np.linalg.norm(after.p_sigma) == pytest.approx(length * limit)
    kept = 1 - c.c_1 - c.c_mu * c.weights_sum + (c.c_1 * c.c_c * (2 - c.c_c) if stalled else 0.0)
    np.testing.assert_allclose(after.C, kept * np.eye(3))
    change = math.log(after.sigma / s.sigma)
    assert change == pytest.approx(c.c_sigma / c.d_sigma * (length * limit / c.epsilon - 1))


def test_both_paths_point_where_the_mean_went() -> None:
    integers = Integers(3, Lattice([]), 0.1, Round())
    c = cmaes.constants(3, 8)
    s = cmaes.start(c, np.zeros(3), integers)
    population = cmaes.sample(c, s, cmaes.draw(c, np.random.default_rng(0)))
    after = cmaes.update(c, s, population, rank(population.x[:, 0], None, population, integers), integers)
    way = after.m / np.linalg.norm(after.m)
    assert way[0] < 0
    for path in (after.p_sigma, after.p_c):
        np.testing.assert_allclose(path / np.linalg.norm(path), way)


def test_a_direction_that_rounding_has_turned_inside_out_is_made_narrow() -> None:
    """A negative eigenvalue of C has no standard deviation: it becomes 1e-8."""
    integers = Integers(3, Lattice([]), 0.1, Round())
    c = cmaes.constants(3, 8, exact=True)
    s = cmaes.start(c, np.zeros(3), integers)._replace(C=np.diag([2.0, 1.0, -1e-9]))
    nothing = cmaes.sample(c, s, np.zeros((8, 3)))
    after = cmaes.update(c, s, nothing, Ranking(np.arange(8), 8), integers)
    assert after.axes.min() == 1e-8
    assert after.axes.max() == pytest.approx(2 * np.median(after.axes))
    assert np.linalg.eigvalsh(after.C).min() == pytest.approx(1e-8)
    assert np.isfinite(after.sd).all()


def _started(C: FloatArray | None = None) -> tuple[cmaes.Constants, cmaes.State]:
    c = cmaes.constants(3, 8)
    return c, cmaes.start(c, np.zeros(3), Integers(3, Lattice([]), 0.5, Round()), 2.0, C)


def test_it_starts_with_a_given_covariance() -> None:
    C = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    c, s = _started(C)
    np.testing.assert_allclose(s.covariance, 4 * C)
    np.testing.assert_allclose(s.sd, 2 * np.sqrt(C.diagonal()))
    drawn = cmaes.sample(c, s, np.random.default_rng(1).standard_normal((20_000, 3))).x
    np.testing.assert_allclose(np.cov(drawn.T), 4 * C, atol=1.0)
    flat = _started(np.ones((3, 3)))[1]  # two of three axes have no length
    assert (flat.axes > 0).all()


def test_a_mean_that_somebody_else_has_found_is_seen_by_the_paths() -> None:
    c, s = _started()
    there = np.array([0.5, 0.0, 0.0])
    near, far = cmaes.moved(c, s, there), cmaes.moved(c, s, 1e6 * there)
    assert near.m.tolist() == there.tolist()
    for path in ("p_sigma", "p_c"):
        step, jump = getattr(near, path), getattr(far, path)
        assert step[0] > 0
        assert step[1:].tolist() == [0.0, 0.0]
        assert jump[0] > step[0]
        assert np.linalg.norm(jump) <= np.sqrt(3) + 2 * 3 / 5  # as of a rare draw
    assert near.sigma == s.sigma
    assert s.m.tolist() == [0.0, 0.0, 0.0]


def test_a_covariance_goes_part_of_the_way_to_another_one() -> None:
    C = np.diag([4.0, 1.0, 9.0])
    s = _started(C)[1]
    axes = s.V * np.sqrt(s.axes)
    shape = np.diag([1.0, 0.5, 0.1])
    for share in (0.0, 0.3, 1.0):
        found = cmaes.reshaped(s, shape, share)
        np.testing.assert_allclose(found.C, (1 - share) * C + share * axes @ shape @ axes.T, atol=1e-12)
        np.testing.assert_allclose((found.V * found.axes) @ found.V.T, found.C, atol=1e-12)
        np.testing.assert_allclose(found.sd, 2 * np.sqrt(found.C.diagonal()))
