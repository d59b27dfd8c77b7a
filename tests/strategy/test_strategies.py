"""Claims about every strategy: a core with a treatment of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.space.lattice import Lattice
from saltus.strategy import STRATEGIES, Integers

from .cores import ellipsoid, run


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
