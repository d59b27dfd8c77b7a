"""Claims about every core that need no oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, dxnesic, rank
from saltus.strategy.leap import Leap
from saltus.strategy.margin import Margin
from saltus.strategy.rounding import Round

from .cores import CORES, NO_INTEGERS, ellipsoid, run


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


@pytest.mark.parametrize("core", CORES)
def test_two_thousand_dimensions(core: Any) -> None:
    N = 2000
    integers = Integers(N // 2, Lattice([(-10.0, 1.0, 21)] * (N // 2)), 1e-5, Leap())
    s = run(core, lambda x: float(x @ x), integers, np.full(N, 2.0), 3, population=26, sigma=0.05)
    assert np.all(np.isfinite(s.m))
    assert np.linalg.norm(s.m[: N // 2]) < 2.0 * np.sqrt(N // 2)  # the continuous half got closer


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


def test_state_is_frozen() -> None:
    c = dxnesic.constants(3, 6)
    s = dxnesic.start(c, np.zeros(3), Integers(3, NO_INTEGERS, 0.1, Round()))
    with pytest.raises(AttributeError):
        s.sigma = 2.0  # type: ignore[misc]  # wrong on purpose
    assert s._replace(sigma=2.0).sigma == 2.0
