"""Claims about every strategy: a core with a treatment of integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.space.lattice import Lattice
from saltus.strategy import (
    STRATEGIES,
    GaussianState,
    Integers,
    Leap,
    MovingGaussian,
    default_population,
    integers_of,
)

from .cores import ellipsoid, move

WITHOUT_BASIS = ("cr-fm-nes", "cr-fm-nes+leap", "cr-fm-nes+leap+bias")


def gaussian_of(
    name: str, n_co: int, grids: list[tuple[float, float, int]], m: float, population: int = 12
) -> MovingGaussian:
    strategy = STRATEGIES[name]
    integers = Integers(n_co, Lattice(grids), 0.01, strategy.treatment)
    return strategy.gaussian(integers, np.full(n_co + len(grids), m), population)


def test_leaps_are_biased_where_the_name_says_so() -> None:
    """DX-NES-ICI is DX-NES-IC with leaps and bias."""
    leaping = {name: s.treatment for name, s in STRATEGIES.items() if isinstance(s.treatment, Leap)}
    biased = {name for name, treatment in leaping.items() if treatment.bias}
    assert biased == {"dx-nes-ici", "dx-nes-ici+d", "cr-fm-nes+leap+bias", "cma-es+leap+bias"}
    assert leaping.keys() - biased == {"dx-nes-ic+leap", "cr-fm-nes+leap", "cma-es+leap"}
    assert {name for name in leaping if not STRATEGIES[name].mirrored} == {"cma-es+leap", "cma-es+leap+bias"}


@pytest.mark.parametrize("name", STRATEGIES)
@settings(deadline=None, max_examples=8)
@given(shift=st.integers(-50, 50), seed=st.integers(0, 1000))
def test_shifting_the_problem_shifts_the_search(name: str, shift: int, seed: int) -> None:
    def at(offset: int) -> GaussianState:
        gaussian = gaussian_of(name, 3, [(-5.0 + offset, 1.0, 11)] * 3, 2.25 + offset)
        return move(gaussian, lambda x: ellipsoid(x - offset), 30, seed)

    a, b = at(0), at(shift)
    np.testing.assert_allclose(b.m - shift, a.m, atol=1e-9)
    assert b.sigma == pytest.approx(a.sigma)


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_the_order_of_values_counts(name: str) -> None:
    a, b = (gaussian_of(name, 3, [(-5.0, 1.0, 11)] * 3, 2.25) for _ in range(2))
    move(a, ellipsoid, 40)
    move(b, lambda x: np.sqrt(ellipsoid(x)) * 1e-3 - 5, 40)
    np.testing.assert_array_equal(a.state.m, b.state.m)
    np.testing.assert_array_equal(a.state.covariance, b.state.covariance)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize(("n_co", "n_int"), [(1, 0), (0, 1), (0, 5), (5, 0)])
def test_extreme_dimensions(name: str, n_co: int, n_int: int) -> None:
    third = 1 / 3  # the first standard deviation is 1: of a problem with unit steps it is 3
    gaussian = gaussian_of(name, n_co, [(-10.0 * third, third, 21)] * n_int, 0.0, population=8)
    m = 3 * move(gaussian, lambda x: float(((x - 1) ** 2).sum()), 120).m
    assert np.all(np.isfinite(m))
    np.testing.assert_allclose(m[:n_co], 3.0, atol=1e-3)
    assert np.all(np.abs(m[n_co:] - 3.0) <= 1.0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_pairs_are_drawn_by_those_that_say_so(name: str) -> None:
    strategy, gaussian = STRATEGIES[name], gaussian_of(name, 2, [(-5.0, 1.0, 11)], 0.25, population=6)
    gaussian.draw(np.random.default_rng(1))
    x = gaussian.sample()
    assert len(x) == gaussian.size == 6
    assert np.allclose(x[:3] + x[3:], 2 * gaussian.state.m) == strategy.mirrored
    assert len(gaussian.extra(np.random.default_rng(1))) == 1 + strategy.mirrored


def test_the_default_margin_and_population_are_the_papers() -> None:
    assert [default_population(N) for N in (1, 2, 20, 40, 80)] == [4, 6, 12, 16, 18]
    lattice = Lattice([(0.0, 1.0, 9)] * 3)
    for margin, alpha in ((None, 1 / (5 * 8)), (0.01, 0.01)):
        assert integers_of(lattice, 2, 8, margin, Leap()).alpha == alpha


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_eigenbasis_is_refreshed_in_every_generation_only_if_that_is_asked_for(name: str) -> None:
    strategy = STRATEGIES[name]
    integers = Integers(20, Lattice([]), 0.01, strategy.treatment)
    lazy, exact = (
        strategy.gaussian(integers, np.zeros(20), 6, **options) for options in ({}, {"exact": True})
    )
    assert move(lazy, ellipsoid, 1).age == (0 if name in WITHOUT_BASIS else 1)
    assert move(exact, ellipsoid, 1).age == 0
