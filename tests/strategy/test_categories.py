"""Probabilities of categories: they follow the ranking, and no value dies out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus import _serialize
from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import STRATEGIES, Integers, Ranking, Round, categories, with_categories
from saltus.strategy.gaussian import MovingGaussian
from saltus.strategy.mirrored import Origins

SIZES = (5, 2, 3)
C = categories.constants(SIZES, 12)


def ranked(values: FloatArray) -> Ranking:
    return Ranking(values.argsort(kind="stable"), len(values))


def gaussian(strategy: str = "dx-nes-ici", n: int = 3, sizes: tuple[int, ...] = SIZES) -> MovingGaussian:
    integers = Integers(n, Lattice([]), 0.1, Round())
    return with_categories(STRATEGIES[strategy].gaussian(integers, np.zeros(n), 12), sizes)


def right(plateaus: FloatArray) -> FloatArray:
    """How many categories are not at their last value."""
    return np.asarray((plateaus != np.array(SIZES) - 1).sum(axis=1), dtype=float)


def is_distribution(p: FloatArray) -> bool:
    kept = bool((p >= C.least - 1e-12).all()) and not p[~C.exists].any()
    return kept and bool(np.allclose(p.sum(axis=1), 1.0))


@given(st.integers(0, 10**6), st.integers(1, 30), st.booleans())
def test_no_value_dies_out(seed: int, generations: int, drawn: bool) -> None:
    """Whatever the ranking says, and whoever has drawn."""
    rng = np.random.default_rng(seed)
    state = categories.start(C)
    assert is_distribution(state.p)
    for _ in range(generations):
        values = categories.sample(C, state, categories.draw(C, rng))
        if not drawn:
            values = np.tile(values[:1], (12, 1))
        state = categories.update(C, state, values, ranked(rng.random(12)), drawn)
        assert is_distribution(state.p)


def test_the_margin() -> None:
    """A quarter of the candidates differ in some category, however sure the probabilities are."""
    state = categories.start(C, np.array([2.0, 1.0, 0.0]), 0.0)
    np.testing.assert_array_equal(state.mode, [2, 1, 0])
    np.testing.assert_allclose(state.doubt, categories.MARGIN / 3)
    np.testing.assert_allclose(categories.constants(SIZES, 12, 0.01).least[0], 0.01 / 4)
    alike = categories.constants((2,), 12, 0.9)  # more than all values alike there cannot be
    np.testing.assert_allclose(categories.start(alike, np.zeros(1), 0.0).p, [[0.5, 0.5]])


def test_values_are_as_frequent_as_they_are_likely() -> None:
    """In each generation, but for less than one candidate: numbers come from all strata."""
    rng = np.random.default_rng(1)
    state = categories.start(C, np.array([2.0, 1.0, 0.0]), 0.6)
    for _ in range(20):
        values = categories.sample(C, state, categories.draw(C, rng))
        for j, size in enumerate(SIZES):
            counts = np.bincount(values[:, j].astype(int), minlength=size)
            assert (np.abs(counts - 12 * state.p[j, :size]) < 2).all()
    edges = categories.sample(C, state, np.array([[0.0] * 3, [np.nextafter(1.0, 0.0)] * 3]))
    np.testing.assert_array_equal(edges, [[0, 0, 0], [4, 1, 2]])


def test_the_step_is_the_natural_gradient() -> None:
    """The inverse of the Fisher matrix times the gradient of sum w log p, for K - 1 free probabilities."""
    c = categories.constants((4,), 12, 1e-9)
    rng = np.random.default_rng(3)
    p = np.array([[0.1, 0.2, 0.3, 0.4]])
    values = rng.integers(0, 4, (12, 1)).astype(float)
    w = ranked(np.arange(12.0)).weighted(c.weights)
    shares = np.array([w[values[:, 0] == k].sum() for k in range(4)])
    gradient = shares[:3] / p[0, :3] - shares[3] / p[0, 3]
    fisher = np.diag(1 / p[0, :3]) + 1 / p[0, 3]
    step = np.linalg.solve(fisher, gradient)
    after = categories.update(c, categories.State(p), values, ranked(np.arange(12.0)), drawn=False)
    np.testing.assert_allclose(after.p[0, :3] - p[0, :3], categories.RATE * step, atol=1e-7)


def test_both_forms_of_the_step_agree_on_average() -> None:
    c = categories.constants((3,), 12, 1e-9)
    state = categories.State(np.array([[0.2, 0.3, 0.5]]))
    rng = np.random.default_rng(1)
    steps: dict[bool, list[FloatArray]] = {True: [], False: []}
    for _ in range(4000):
        values = categories.sample(c, state, rng.random((12, 1)))
        order = ranked(values[:, 0] + 2 * rng.standard_normal(12))
        for drawn, found in steps.items():
            found.append(categories.update(c, state, values, order, drawn).p - state.p)
    np.testing.assert_allclose(np.mean(steps[True], axis=0), np.mean(steps[False], axis=0), atol=0.006)
    assert np.var(steps[True], axis=0).sum() < np.var(steps[False], axis=0).sum()
    assert np.mean(steps[True], axis=0)[0, 0] > 0.02  # the least is the best


def test_equal_candidates_say_nothing() -> None:
    state = categories.start(C)
    values = categories.sample(C, state, categories.draw(C, np.random.default_rng(1)))
    equal = Ranking(np.arange(12), 12, np.zeros(12, dtype=np.intp))
    np.testing.assert_allclose(categories.update(C, state, values, equal, True).p, state.p, atol=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n", [0, 3])
def test_a_gaussian_with_categories_finds_values_and_is_saved(strategy: str, n: int) -> None:
    one, other = gaussian(strategy, n), gaussian(strategy, n)
    rng = np.random.default_rng(1)
    for _ in range(40):
        one.draw(rng)
        other.restore(_serialize.unpack(json.loads(json.dumps(_serialize.pack(one.saved())))))
        x, plateaus = one.candidates()
        assert x.shape == (12, n + 3)
        assert plateaus.shape == (12, 3)
        np.testing.assert_array_equal(x[:, n:], plateaus)
        np.testing.assert_array_equal(one.plateaus(x), plateaus)
        value = right(plateaus) + (x[:, :n] ** 2).sum(axis=1)
        one.update(value, None)
        other.update(value, None)
        np.testing.assert_array_equal(one.where(), other.where())
    m, sd = one.where()
    assert len(m) == len(sd) == n + 3
    assert m[n:].tolist() == [4, 1, 2]
    assert one.doubt == pytest.approx(categories.MARGIN, abs=0.05)
    extra = one.extra(rng)
    assert extra.shape[1] == n + 3
    assert one.plateaus(extra).shape == (len(extra), 3)


@pytest.mark.parametrize("n", [0, 2])
def test_points_of_others_count(n: int) -> None:
    """A generation that somebody else has chosen, with any number of points."""
    one = gaussian(n=n)
    for k in range(30):
        rng = np.random.default_rng(k)
        plateaus = np.column_stack([rng.integers(0, size, 20) for size in SIZES]).astype(float)
        one.embed(rng.standard_normal((20, n)), plateaus, Origins(0, 20, 0), rng)
        one.update(right(plateaus), None)
    assert one.where()[0][n:].tolist() == [4, 1, 2]


def test_without_categories_nothing_is_added() -> None:
    plain: Any = gaussian(sizes=())
    assert type(plain).__name__ == "Gaussian"
    assert plain.doubt == 0.0
    with pytest.raises(RuntimeError, match="draw before sample"):
        gaussian(n=0).candidates()
    broken = gaussian().saved() | {"u": np.zeros((3, 3))}
    with pytest.raises(ValueError, match=r"u must be an array of shape \(12, 3\)"):
        gaussian().restore(_serialize.unpack(_serialize.pack(broken)))
