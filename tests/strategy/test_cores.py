"""Claims about every core that need no oracle."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Leap, Round, cmaes, crfmnes, rank, scaled
from saltus.strategy.margin import Margin

from .cores import CORES, DIAGONAL, NO_INTEGERS, ellipsoid, leaves, run

each_core = pytest.mark.parametrize("core", CORES.values(), ids=CORES)


def steep(x: FloatArray) -> FloatArray:
    """A turned ellipsoid, one value for each row."""
    x = x - 0.7
    return np.asarray((np.logspace(0, 3, x.shape[1]) * (x + 0.5 * np.roll(x, 1, axis=1)) ** 2).sum(axis=1))


@each_core
def test_without_integers_all_treatments_are_the_plain_core(core: Any) -> None:
    states = [
        run(core, ellipsoid, Integers(6, NO_INTEGERS, 0.01, treatment), np.full(6, 2.0), 60)
        for treatment in (Round(), Leap(bias=False), Leap(bias=True), Margin())
    ]
    for other in states[1:]:
        for name, a, b in zip(other._fields, states[0], other, strict=True):
            assert np.array_equal(a, b), name


@each_core
@pytest.mark.parametrize("treatment", [Leap(), Margin()])
def test_every_field_of_the_state_changes(core: Any, treatment: Round) -> None:
    """A symbol that is computed and never stored would not."""
    integers = Integers(20, Lattice([(-10.0, 1.0, 21)] * 20), 0.01, treatment)
    c = core.constants(40, 12)
    s = core.start(c, np.full(40, 8.2), integers, 0.1)
    rng = np.random.default_rng(0)
    seen: dict[str, set[bytes]] = {name: set() for name in leaves(s)}
    for _ in range(60):
        population = core.sample(c, s, core.draw(c, rng))
        s = core.update(c, s, population, rank(steep(population.x), None, population, integers), integers)
        for name, value in leaves(s).items():
            seen[name].add(value)
    for name, values in seen.items():
        assert len(values) > 1, f"{name} never changes"


@each_core
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 7))
def test_rotating_the_problem_rotates_the_search(core: Any, seed: int, n: int) -> None:
    """With diagonal scaling the axes matter: there the rotations are those that map axes onto axes."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    if core in DIAGONAL:
        turn = np.eye(n)[rng.permutation(n)] * rng.choice([-1.0, 1.0], n)
    integers = Integers(n, NO_INTEGERS, 0.01, Round())
    m = rng.normal(size=n)
    c = core.constants(n, 2 * n + 4, exact=True)
    a, b = core.start(c, m, integers), core.start(c, turn @ m, integers)
    if core is CORES["dxnesic"]:  # axes of its own from the start: those of the identity are not turned along
        B = np.diag(np.exp(np.linspace(-0.5, 0.5, n) - 0.0))
        a, b = core.start(c, m, integers, 1.0, B), core.start(c, turn @ m, integers, 1.0, turn @ B)
    for _ in range(25):
        z = core.draw(c, rng)
        turned_z = z
        if core in DIAGONAL:
            turned_z = z @ turn.T
        elif core is cmaes:
            turned_z = z @ (b.V.T @ turn @ a.V).T
        population, turned = core.sample(c, a, z), core.sample(c, b, turned_z)
        np.testing.assert_allclose(turned.x, population.x @ turn.T, rtol=1e-6, atol=1e-6)
        ranking = rank(np.array([ellipsoid(x) for x in population.x]), None, population, integers)
        a = core.update(c, a, population, ranking, integers)
        b = core.update(c, b, turned, ranking, integers)
    assert b.sigma == pytest.approx(a.sigma, rel=1e-6)


@each_core
@pytest.mark.parametrize("shift", [-37.0, 12.0])
def test_shifting_the_problem_shifts_the_search(core: Any, shift: float) -> None:
    integers = Integers(5, NO_INTEGERS, 0.01, Round())
    a = run(core, ellipsoid, integers, np.full(5, 2.25), 40)
    b = run(core, lambda x: ellipsoid(x - shift), integers, np.full(5, 2.25 + shift), 40)
    np.testing.assert_allclose(b.m - shift, a.m, atol=1e-9)
    np.testing.assert_allclose(b.sd, a.sd, rtol=1e-6)


@each_core
def test_only_the_order_of_values_counts(core: Any) -> None:
    integers = Integers(3, Lattice([(-5.0, 1.0, 11)] * 3), 0.01, Leap())
    a = run(core, ellipsoid, integers, np.full(6, 2.25), 40)
    b = run(core, lambda x: np.sqrt(ellipsoid(x)) * 1e-3 - 5, integers, np.full(6, 2.25), 40)
    assert leaves(a) == leaves(b)


@each_core
@pytest.mark.parametrize(("n_co", "n_int"), [(1, 0), (0, 1), (0, 5), (5, 0)])
def test_extreme_dimensions(core: Any, n_co: int, n_int: int) -> None:
    integers = Integers(n_co, Lattice([(-10.0, 1.0, 21)] * n_int), 0.02, Leap())
    start = np.zeros(n_co + n_int)
    s = run(core, lambda x: float(((x - 3) ** 2).sum()), integers, start, 120, population=8, sd=3.0)
    assert np.all(np.isfinite(s.covariance))
    np.testing.assert_allclose(s.m[:n_co], 3.0, atol=1e-3)
    assert np.all(np.abs(s.m[n_co:] - 3.0) <= 1.0)


@pytest.mark.parametrize(
    ("core", "N"),
    [
        (CORES["dxnesic"], 2000),
        (CORES["cmaes"], 2000),
        (crfmnes, 2000),
        (scaled, 700),  # it begins with an eigenbasis, which takes seconds in two thousand
        pytest.param(scaled, 2000, marks=pytest.mark.slow),
    ],
    ids=["dxnesic", "cmaes", "crfmnes", "scaled-700", "scaled"],
)
def test_two_thousand_dimensions(core: Any, N: int) -> None:
    integers = Integers(N // 2, Lattice([(-10.0, 1.0, 21)] * (N // 2)), 1e-5, Leap())
    s = run(core, lambda x: float(x @ x), integers, np.full(N, 2.0), 3, population=26, sd=0.05)
    assert np.all(np.isfinite(s.m))
    assert np.linalg.norm(s.m[: N // 2]) < 2.0 * np.sqrt(N // 2)  # the continuous half got closer


@each_core
def test_inputs_are_untouched(core: Any) -> None:
    c = core.constants(5, 8)
    m = np.arange(5.0)
    integers = Integers(3, Lattice([(0.0, 1.0, 9)] * 2), 0.01, Leap())
    s = core.start(c, m, integers)
    z = core.draw(c, np.random.default_rng(0))
    before, drawn = leaves(s), z.copy()
    population = core.sample(c, s, z)
    x = population.x.copy()
    ranking = rank(np.array([ellipsoid(row) for row in x]), None, population, integers)
    core.update(c, s, population, ranking, integers)
    assert leaves(s) == before
    np.testing.assert_array_equal(z, drawn)
    np.testing.assert_array_equal(population.x, x)
    np.testing.assert_array_equal(m, np.arange(5.0))


@each_core
def test_mirrored_candidates_lie_around_the_mean(core: Any) -> None:
    c = core.constants(5, 8)
    s = core.start(c, np.arange(5.0), Integers(5, NO_INTEGERS, 0.01, Round()))
    z = core.draw(c, np.random.default_rng(0))
    x = core.sample(c, s, z).x
    assert len(x) == 8
    assert len(z) == (4 if core.MIRRORED else 8)
    middle = (x[:4] + x[4:]) / 2
    assert np.allclose(middle, s.m) == core.MIRRORED


@each_core
def test_one_row_of_z_makes_one_more_candidate_or_pair(core: Any) -> None:
    """The very candidate that it would have been among others."""
    integers = Integers(3, NO_INTEGERS, 0.01, Round())
    s = run(core, ellipsoid, integers, np.ones(3), 20, population=8)
    c = core.constants(3, 8)
    z = core.draw(c, np.random.default_rng(1))
    whole = core.sample(c, s, z)
    for i in range(len(z)):
        one = core.sample(c, s, z[i : i + 1])
        rows = [i, i + 4] if core.MIRRORED else [i]
        np.testing.assert_allclose(one.x, whole.x[rows], rtol=1e-12)
        np.testing.assert_allclose(one.distances, whole.distances[rows], rtol=1e-12)


@each_core
def test_distances_are_the_lengths_of_z(core: Any) -> None:
    c = core.constants(3, 6)
    s = core.start(c, np.zeros(3), Integers(3, NO_INTEGERS, 0.1, Round()))
    population = core.sample(c, s, core.draw(c, np.random.default_rng(2)))
    np.testing.assert_allclose(population.distances, np.linalg.norm(population.x, axis=1))


@each_core
def test_what_a_state_says_of_its_gaussian_agrees(core: Any) -> None:
    s = run(core, ellipsoid, Integers(4, NO_INTEGERS, 0.1, Round()), np.full(4, 3.0), 90, population=8)
    c = core.constants(4, 8, exact=True)
    integers = Integers(4, NO_INTEGERS, 0.1, Round())
    population = core.sample(c, s, core.draw(c, np.random.default_rng(3)))
    s = core.update(c, s, population, rank(population.x[:, 0], None, population, integers), integers)
    assert s.age == 0
    np.testing.assert_allclose(s.sd, np.sqrt(s.covariance.diagonal()), rtol=1e-9)
    if core not in DIAGONAL:  # whose eigenvalues are those of what stands between their D
        expected = np.linalg.eigvalsh(s.covariance)
        np.testing.assert_allclose(np.sort(s.sigma**2 * s.eigenvalues), expected, rtol=1e-6)
    z = core.draw(core.constants(4, 40_000), np.random.default_rng(4))
    x = core.sample(c, s, z).x - s.m
    np.testing.assert_allclose(x.T @ x / len(x), s.covariance, atol=0.05 * s.covariance.max())


@each_core
def test_the_refresh_of_the_basis_changes_no_gaussian(core: Any) -> None:
    """A generation with and without it: the same covariance, up to rounding."""
    integers = Integers(20, NO_INTEGERS, 0.1, Round())
    s = run(core, ellipsoid, integers, np.full(20, 3.0), 1, population=6)
    z = core.draw(core.constants(20, 6), np.random.default_rng(5))
    after = []
    for exact in (False, True):
        c = core.constants(20, 6, exact=exact)
        population = core.sample(c, s, z)
        ranking = rank(np.array([ellipsoid(x) for x in population.x]), None, population, integers)
        after.append(core.update(c, s, population, ranking, integers))
    assert [state.age for state in after] == ([0, 0] if core is crfmnes else [s.age + 1, 0])
    np.testing.assert_allclose(after[0].covariance, after[1].covariance, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(after[0].sd, after[1].sd, rtol=1e-6)


@each_core
def test_state_and_constants_are_frozen(core: Any) -> None:
    c = core.constants(3, 6)
    s = core.start(c, np.zeros(3), Integers(3, NO_INTEGERS, 0.1, Round()))
    with pytest.raises(AttributeError):
        s.sigma = 2.0
    with pytest.raises(FrozenInstanceError):
        c.population = 8
    assert s._replace(sigma=2.0).sigma == 2.0
