"""Claims about the cores and treatments that need no oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import STRATEGIES, Integers, cmaes, dxnesic, rank
from saltus.strategy.leap import Leap
from saltus.strategy.linalg import expm1_factors, expm1_symmetric
from saltus.strategy.margin import Margin
from saltus.strategy.rounding import Round

NO_INTEGERS = Lattice([])
CORES = [dxnesic, cmaes]


def run(
    core: Any,
    fun: Callable[[FloatArray], float],
    integers: Integers,
    m: FloatArray,
    generations: int,
    *,
    population: int = 12,
    seed: int = 0,
    sigma: float = 1.0,
) -> Any:
    """The state after some generations."""
    rng = np.random.default_rng(seed)
    c = core.constants(len(m), population)
    s = core.start(c, m, integers, sigma)
    n_co = integers.n_continuous
    for _ in range(generations):
        population = core.sample(c, s, core.draw(c, rng))
        x = population.x.copy()
        x[:, n_co:] = integers.lattice.value(integers.plateaus(s.integer_state, s.m, population.x))
        s = core.update(
            c, s, population, rank(np.array([fun(row) for row in x]), None, population, integers), integers
        )
    return s


def ellipsoid(x: FloatArray) -> float:
    return float((10 ** np.linspace(0, 4, len(x)) * (x - 0.7) ** 2).sum())


@pytest.mark.parametrize("core", CORES)
def test_without_integers_all_treatments_are_the_plain_core(core: Any) -> None:
    states = [
        run(core, ellipsoid, Integers(6, NO_INTEGERS, 0.01, treatment), np.full(6, 2.0), 60)
        for treatment in (Round(), Leap(bias=False), Leap(bias=True), Margin())
    ]
    for other in states[1:]:
        for name, a, b in zip(other._fields, states[0], other, strict=True):
            assert np.array_equal(a, b), name


@pytest.mark.parametrize("core", CORES)
def test_every_field_of_the_state_changes(core: Any) -> None:
    """A symbol that is computed and never stored would not."""
    lattice = Lattice([(-10.0, 1.0, 21)] * 20)
    for treatment in (Leap(), Margin()):
        integers = Integers(20, lattice, 0.01, treatment)
        seen: dict[str, list[Any]] = {}
        c = core.constants(40, 12)
        s = core.start(c, np.full(40, 8.2), integers, 0.1)
        rng = np.random.default_rng(0)
        for _ in range(60):
            population = core.sample(c, s, core.draw(c, rng))
            values = ((population.x - 0.7) ** 2).sum(1)
            s = core.update(c, s, population, rank(values, None, population, integers), integers)
            for name, value in s._asdict().items():
                seen.setdefault(name, []).append(repr(value))
        for name, values_seen in seen.items():
            assert len(set(values_seen)) > 1, f"{name} never changes"


@pytest.mark.parametrize("core", CORES)
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 7))
def test_rotating_the_problem_rotates_the_search(core: Any, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    integers = Integers(n, NO_INTEGERS, 0.01, Round())
    m = rng.normal(size=n)
    c = core.constants(n, 2 * n + 4, exact=True)
    a, b = core.start(c, m, integers), core.start(c, turn @ m, integers)
    if core is dxnesic:  # axes of its own from the start: those of the identity are not turned along
        B = np.diag(np.exp(np.linspace(-0.5, 0.5, n) - 0.0))
        a, b = core.start(c, m, integers, 1.0, B), core.start(c, turn @ m, integers, 1.0, turn @ B)
    for _ in range(25):
        z = core.draw(c, rng)
        turned_z = z if core is dxnesic else z @ (b.V.T @ turn @ a.V).T
        population, turned = core.sample(c, a, z), core.sample(c, b, turned_z)
        np.testing.assert_allclose(turned.x, population.x @ turn.T, rtol=1e-6, atol=1e-6)
        ranking = rank(np.array([ellipsoid(x) for x in population.x]), None, population, integers)
        a = core.update(c, a, population, ranking, integers)
        b = core.update(c, b, turned, ranking, integers)
    assert b.sigma == pytest.approx(a.sigma, rel=1e-6)


@pytest.mark.parametrize("name", STRATEGIES)
@settings(deadline=None, max_examples=8)
@given(shift=st.integers(-50, 50), seed=st.integers(0, 1000))
def test_shifting_the_problem_shifts_the_search(name: str, shift: int, seed: int) -> None:
    strategy = STRATEGIES[name]
    n_co, n_int = 3, 3

    def at(offset: int) -> Any:
        lattice = Lattice([(-5.0 + offset, 1.0, 11)] * n_int)
        integers = Integers(n_co, lattice, 0.01, strategy.treatment)
        m = np.full(n_co + n_int, 2.25) + offset
        return run(strategy.core, lambda x: ellipsoid(x - offset), integers, m, 30, seed=seed)

    a, b = at(0), at(shift)
    np.testing.assert_allclose(b.m - shift, a.m, atol=1e-9)
    assert b.sigma == pytest.approx(a.sigma)


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_the_order_of_values_counts(name: str) -> None:
    strategy = STRATEGIES[name]
    integers = Integers(3, Lattice([(-5.0, 1.0, 11)] * 3), 0.01, strategy.treatment)
    start = np.full(6, 2.25)
    a = run(strategy.core, ellipsoid, integers, start, 40)
    b = run(strategy.core, lambda x: np.sqrt(ellipsoid(x)) * 1e-3 - 5, integers, start, 40)
    np.testing.assert_array_equal(a.m, b.m)


def test_candidates_are_mirrored_and_inputs_untouched() -> None:
    c = dxnesic.constants(5, 8)
    m = np.arange(5.0)
    integers = Integers(3, Lattice([(0.0, 1.0, 9)] * 2), 0.01, Leap())
    s = dxnesic.start(c, m, integers)
    z = dxnesic.draw(c, np.random.default_rng(0))
    kept = [
        z.copy(),
        *(np.copy(v) for v in s if v is not s.integer_state),
        *(np.copy(v) for v in s.integer_state),
    ]
    population = dxnesic.sample(c, s, z)
    np.testing.assert_allclose((population.x[:4] + population.x[4:]) / 2, np.tile(m, (4, 1)))
    values = np.array([ellipsoid(row) for row in population.x])
    dxnesic.update(c, s, population, rank(values, None, population, integers), integers)
    after = [z, *(v for v in s if v is not s.integer_state), *s.integer_state]
    for a, b in zip(kept, after, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(m, np.arange(5.0))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), pairs=st.integers(1, 6), size=st.floats(0.001, 3.0))
def test_low_rank_exponential_is_the_exponential(seed: int, pairs: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((pairs, 2 * pairs + 3))
    a = size / 10 * rng.standard_normal(pairs)
    full = (z.T * a) @ z
    T, e = expm1_factors(a, z @ z.T)
    R = T @ z
    expected = expm(full)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.eye(len(full)) + (R.T * e) @ R, expected, atol=1e-9 * scale)
    np.testing.assert_allclose(np.eye(len(full)) + expm1_symmetric(full), expected, atol=1e-9 * scale)


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


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize(("n_co", "n_int"), [(1, 0), (0, 1), (0, 5), (5, 0)])
def test_extreme_dimensions(name: str, n_co: int, n_int: int) -> None:
    strategy = STRATEGIES[name]
    lattice = Lattice([(-10.0, 1.0, 21)] * n_int)
    integers = Integers(n_co, lattice, 0.02, strategy.treatment)
    s = run(
        strategy.core,
        lambda x: float(((x - 3) ** 2).sum()),
        integers,
        np.zeros(n_co + n_int),
        120,
        population=8,
        sigma=3.0,
    )
    assert np.all(np.isfinite(s.m))
    np.testing.assert_allclose(s.m[:n_co], 3.0, atol=1e-3)
    assert np.all(np.abs(s.m[n_co:] - 3.0) <= 1.0)


@pytest.mark.parametrize("core", CORES)
def test_two_thousand_dimensions(core: Any) -> None:
    N = 2000
    integers = Integers(N // 2, Lattice([(-10.0, 1.0, 21)] * (N // 2)), 1e-5, Leap())
    s = run(core, lambda x: float(x @ x), integers, np.full(N, 2.0), 3, population=26, sigma=0.05)
    assert np.all(np.isfinite(s.m))
    assert np.linalg.norm(s.m[: N // 2]) < 2.0 * np.sqrt(N // 2)  # the continuous half got closer


def test_infeasible_candidates_come_last_by_distance() -> None:
    c = dxnesic.constants(2, 6)
    integers = Integers(2, NO_INTEGERS, 0.1, Round())
    s = dxnesic.start(c, np.zeros(2), integers)
    population = dxnesic.sample(c, s, np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    values = np.array([np.nan, np.inf, 5.0, 1.0, np.nan, 7.0])
    ranking = rank(values, None, population, integers)
    assert ranking.order.tolist() == [3, 2, 5, 1, 4, 0]
    assert ranking.feasible == 3


def test_violated_candidates_rank_by_violation_between_the_others() -> None:
    c = cmaes.constants(2, 6)
    integers = Integers(2, NO_INTEGERS, 0.1, Round())
    s = cmaes.start(c, np.zeros(2), integers)
    population = cmaes.sample(c, s, np.arange(12.0).reshape(6, 2))
    values = np.array([9.0, -5.0, -9.0, np.nan, np.nan, 1.0])
    violations = np.array([0.0, 2.0, 1.0, 0.0, 0.5, np.nan])
    ranking = rank(values, violations, population, integers)
    assert ranking.order.tolist() == [0, 4, 2, 1, 3, 5]
    assert ranking.feasible == 4


def test_equal_candidates_beyond_the_end_rank_by_how_far() -> None:
    c = cmaes.constants(2, 4)
    integers = Integers(1, Lattice([np.array([0.0, 1.0, 4.0])]), 0.1, Round())
    s = cmaes.start(c, np.array([0.0, 4.0]), integers)
    population = cmaes.sample(c, s, np.array([[0.0, 9.0], [0.0, 3.0], [0.0, 1.0], [0.0, -1.0]]))
    assert integers.overshoot(population.x).tolist() == [7.5, 1.5, 0.0, 0.0]
    assert rank(np.array([1.0, 1.0, 1.0, 0.5]), None, population, integers).order.tolist() == [3, 2, 1, 0]
    assert rank(np.array([1.0, 1.0, 1.0, 1.0]), None, population, integers).order.tolist() == [2, 3, 1, 0]


def test_few_feasible_candidates_slow_the_learning_down() -> None:
    c = dxnesic.constants(4, 8)
    for phase in dxnesic.Regime:
        all_sigma, all_B = dxnesic.calculate_learning_rate(c, phase, 8)
        few_sigma, few_B = dxnesic.calculate_learning_rate(c, phase, 1)
        assert few_B < all_B
        assert few_sigma <= all_sigma


def test_a_binary_variable_exactly_on_its_threshold_keeps_its_margin() -> None:
    integers = Integers(0, Lattice([(0.0, 1.0, 2)]), 0.05, Margin())
    m, (magnification,) = integers.correct_mean((np.ones(1),), np.array([0.5]), np.array([0.3]))
    assert m.tolist() == [0.5]
    assert magnification.tolist() == [1.0]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("grid", [(0.0, 1.0, 11), (-10.0, 1.0, 21), (-1000.0, 1.0, 2001), (-7.3, 0.1, 150)])
def test_a_leap_does_not_cross_the_threshold_when_sd_is_below_the_last_digit(
    bias: bool, grid: tuple[float, float, int]
) -> None:
    count = grid[2]
    lattice = Lattice([grid] * count)
    treatment = Leap(bias)
    plateau = np.arange(float(count))
    m, sd = lattice.value(plateau), np.full(count, 1e-20)
    memory = treatment.start(lattice, 0.01, m, sd)
    for _ in range(20):
        m, memory = treatment.correct_mean(lattice, 0.01, memory, m + sd, sd)
        np.testing.assert_array_equal(lattice.plateau(m), plateau)


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


def test_equal_candidates_share_their_weights() -> None:
    integers = Integers(1, Lattice([]), 0.1, Round())
    population = cmaes.Population(np.zeros((5, 1)), np.zeros((5, 1)), np.zeros((5, 1)))
    ranking = rank(np.array([2.0, 1.0, 2.0, 0.5, 2.0]), None, population, integers)
    weights = np.array([5.0, 3.0, 2.0, 1.0, -3.0])
    np.testing.assert_allclose(ranking.weighted(weights, True), [0.0, 3.0, 0.0, 5.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(ranking.weighted(weights), [2.0, 3.0, 1.0, 5.0, -3.0])
    distinct = rank(np.array([3.0, 1.0, 2.0]), None, population, integers)
    np.testing.assert_array_equal(distinct.weighted(weights[:3], True), [2.0, 5.0, 3.0])


def test_leap_moves_to_the_next_boundary_and_leaves_alpha_there() -> None:
    alpha = 0.05
    integers = Integers(0, Lattice([(0.0, 1.0, 11)]), alpha, Leap())
    sd = np.array([0.01])
    memory = integers.start(np.array([4.49]), sd)
    m, _ = integers.correct_mean(memory, np.array([4.40]), sd)  # moved away from 4.5, downwards
    assert m[0] == pytest.approx(3.5 + 1.6448536 * 0.01)
    memory = integers.start(np.array([4.51]), sd)
    m, _ = integers.correct_mean(memory, np.array([4.60]), sd)  # and upwards
    assert m[0] == pytest.approx(5.5 - 1.6448536 * 0.01)
    for outer, threshold, side in ((-3.0, 0.5, -1), (13.0, 9.5, 1)):
        m, _ = integers.correct_mean(memory, np.array([outer]), sd)  # the mean correction
        assert m[0] == pytest.approx(threshold + side * 1.6448536 * 0.01)


def test_bias_doubles_the_step_away_from_the_only_threshold() -> None:
    integers = Integers(0, Lattice([(0.0, 1.0, 11)] * 3), 0.05, Leap())
    m = np.array([4.52, 4.52, 4.52])
    memory = integers.start(m, np.array([0.05, 0.05, 5.0]))
    step = integers.bias_step(memory, m, np.array([0.1, -0.1, 0.1]))
    np.testing.assert_allclose(step, [0.2, -0.1, 0.1])


def test_state_is_frozen() -> None:
    c = dxnesic.constants(3, 6)
    s = dxnesic.start(c, np.zeros(3), Integers(3, NO_INTEGERS, 0.1, Round()))
    with pytest.raises(AttributeError):
        s.sigma = 2.0  # type: ignore[misc]  # wrong on purpose
    assert s._replace(sigma=2.0).sigma == 2.0
