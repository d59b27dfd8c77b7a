"""Points that a Gaussian did not draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Round, cmaes, crfmnes, dxnesic, rank, scaled
from saltus.strategy.late import (
    clip_factors,
    embed_cmaes,
    embed_crfmnes,
    embed_dxnesic,
    embed_scaled,
    sample_missing_integers,
)
from saltus.strategy.linalg import row_norms2
from saltus.strategy.mirrored import Origins

MIRRORED = [(dxnesic, embed_dxnesic), (scaled, embed_scaled), (crfmnes, embed_crfmnes)]


def test_clipping_leaves_typical_points_alone() -> None:
    rng = np.random.default_rng(1)
    for N in (1, 2, 10, 100):
        z = rng.standard_normal((1000, N))
        share = clip_factors(z)
        assert share.shape == (1000, 1)
        assert (share == 1.0).mean() > 0.88  # one variable is the worst case
        longest = np.sqrt(N) + 2 * N / (N + 2)
        far = z * 10.0 ** rng.uniform(1, 150, (1000, 1))
        lengths = np.sqrt(row_norms2(clip_factors(far) * far))
        assert lengths.max() <= longest * (1 + 1e-12)
        np.testing.assert_allclose(lengths[row_norms2(far) > longest**2], longest)
        along = clip_factors(far) * far
        np.testing.assert_allclose(  # only shorter: the direction is the same
            along / np.linalg.norm(along, axis=1)[:, None], far / np.linalg.norm(far, axis=1)[:, None]
        )
    assert clip_factors(np.zeros((2, 3))).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(("core", "embed"), [(cmaes, embed_cmaes), *MIRRORED])
def test_an_embedded_population_of_the_own_points_is_the_drawn_one(core: Any, embed: Any) -> None:
    N, population = 5, 8
    integers = Integers(N, Lattice([]), 0.1, Round())
    c = core.constants(N, population)
    state = core.start(c, np.arange(5.0), integers)
    rng = np.random.default_rng(1)
    stretch = 3.0 ** np.arange(N)
    for _ in range(60):  # until it is no sphere
        drawn_now = core.sample(c, state, core.draw(c, rng))
        values = ((stretch * (drawn_now.x - 7.0)) ** 2).sum(1)
        state = core.update(c, state, drawn_now, rank(values, None, drawn_now, integers), integers)
    assert state.eigenvalues.max() > 1.5 * state.eigenvalues.min()
    z = core.draw(c, rng)
    z *= np.minimum(1.0, 2.0 / np.sqrt(row_norms2(z)))[:, None]  # none so long that it is shortened
    drawn_now = core.sample(c, state, z)
    drawn = np.concatenate((z, -z)) if core.MIRRORED else z
    lone = embed(state, drawn_now.x, Origins(0, len(drawn_now.x), 0))
    np.testing.assert_allclose(lone.z, drawn, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(lone.distances, drawn_now.distances, rtol=1e-6)
    np.testing.assert_array_equal(lone.x, drawn_now.x)
    far = embed(state, drawn_now.x + 1e6, Origins(0, 0, 0))
    assert np.sqrt(row_norms2(far.z)).max() < np.sqrt(N) + 2
    np.testing.assert_allclose(far.y, core.sample(c, state, far.z).y)
    if not core.MIRRORED:
        return
    if core is not crfmnes:  # the others have axes of their own
        np.testing.assert_allclose(far.along_axes, far.z @ state.W.T)
    ranking = rank(drawn_now.x[:, 0], None, drawn_now, integers)
    paired = embed(state, drawn_now.x, Origins(population // 2, 0, 0))
    np.testing.assert_allclose(paired.z, z, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(paired.distances, drawn_now.distances, rtol=1e-6)
    one, other = (core.update(c, state, each, ranking, integers) for each in (drawn_now, paired))
    np.testing.assert_allclose(one.m, other.m, rtol=1e-6)
    np.testing.assert_allclose(one.sd, other.sd, rtol=1e-6)

    # with a point of nobody's in addition, which lies to the left and is the best, the mean goes there
    with_one = embed(
        state,
        np.vstack((drawn_now.x, drawn_now.x[:1] - [3.0, 0, 0, 0, 0])),
        Origins(population // 2, 0, 1),
    )
    values = np.append(drawn_now.x[:, 1], -1e3)
    more = core.constants(N, population + 1)
    left = core.update(more, state, with_one, rank(values, None, with_one, integers), integers)
    assert left.m[0] < state.m[0]


@pytest.mark.parametrize("m", [0.0, 1.5, -40.0, 1e3, -1e6])
@pytest.mark.parametrize("sd", [1e-8, 0.3, 10.0, 1e6, 1e305])
def test_sampled_integers_stay_on_their_plateaus(m: float, sd: float) -> None:
    lattice = Lattice([np.array([0.0, 1.0, 2.0, 3.0]), np.array([-5.0, 0.0, 100.0])])
    integers = Integers(1, lattice, 0.1, Round())
    rng = np.random.default_rng(1)
    plateaus = np.array([[i, j] for i in range(4) for j in range(3)], dtype=float)
    known = np.column_stack((np.arange(12.0), lattice.value(plateaus)))
    blank = known.copy()
    blank[:, 1:] = np.nan
    means, sds = np.full(3, m), np.full(3, sd)
    x = sample_missing_integers(integers, blank, plateaus, means, sds, rng)
    assert np.isfinite(x).all()
    np.testing.assert_array_equal(x[:, 0], known[:, 0])
    np.testing.assert_array_equal(lattice.plateau(x[:, 1:]), plateaus)
    assert np.isnan(blank[:, 1:]).all()  # the given points are as they were
    np.testing.assert_array_equal(sample_missing_integers(integers, known, plateaus, means, sds, rng), known)
    half = blank.copy()
    half[:, 1] = known[:, 1]
    np.testing.assert_array_equal(
        sample_missing_integers(integers, half, plateaus, means, sds, rng)[:, 1], known[:, 1]
    )


def test_sampled_integers_are_distributed_like_the_gaussian() -> None:
    lattice = Lattice([np.array([0.0, 1.0, 2.0])])
    integers = Integers(0, lattice, 0.1, Round())
    rng = np.random.default_rng(1)
    drawn = 1.2 + 0.8 * rng.standard_normal((40_000, 1))
    for plateau in (0.0, 1.0, 2.0):
        own = drawn[lattice.plateau(drawn)[:, 0] == plateau]
        blank, plateaus = np.full_like(own, np.nan), np.full_like(own, plateau)
        x = sample_missing_integers(integers, blank, plateaus, np.array([1.2]), np.array([0.8]), rng)
        assert x.mean() == pytest.approx(own.mean(), abs=0.02)
        assert x.std() == pytest.approx(own.std(), abs=0.02)


@pytest.mark.parametrize(("core", "embed"), MIRRORED)
def test_both_sides_of_a_pair_may_come_as_lone_points(core: Any, embed: Any) -> None:
    """They are linearly dependent then, and the step of the covariance must not mind."""
    N = 20
    integers = Integers(N, Lattice([]), 0.1, Round())
    c = core.constants(N, 4)
    state = core.start(c, np.zeros(N), integers)
    drawn = core.sample(c, state, 0.5 * core.draw(c, np.random.default_rng(1)))
    ranking = rank(drawn.x[:, 0], None, drawn, integers)
    lone = embed(state, drawn.x, Origins(0, 4, 0))
    assert drawn.independent
    assert not lone.independent
    one, other = (core.update(c, state, each, ranking, integers) for each in (drawn, lone))
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.sd, one.sd)
    np.testing.assert_allclose(other.m, one.m)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_values_far_out_are_distributed_like_the_tail_of_the_gaussian(side: float) -> None:
    """Where probabilities have no digits left beside 1: ten standard deviations out it falls off fast."""
    lattice = Lattice([np.array([-20.0, 0.0, 20.0])])
    integers = Integers(0, lattice, 0.1, Round())
    blank, plateaus = np.full((4000, 1), np.nan), np.full((4000, 1), 1.0 + side)
    x = sample_missing_integers(integers, blank, plateaus, np.zeros(1), np.ones(1), np.random.default_rng(1))
    beyond = side * x - 10.0
    assert beyond.min() >= 0.0
    assert beyond.mean() == pytest.approx(0.098, abs=0.005)
    assert beyond.std() == pytest.approx(0.096, abs=0.005)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_rounding_does_not_put_a_value_on_the_plateau_beside_its_own(side: float) -> None:
    """Far out all of a plateau is as good as its nearer end, which must not be crossed by the last digit."""
    rng = np.random.default_rng(2)
    n = 500
    lattice = Lattice([(0.0, 1.0, 8)] * n)
    integers = Integers(0, lattice, 0.1, Round())
    m, sd = side * rng.uniform(100.0, 1000.0, n), rng.uniform(0.01, 0.1, n)
    plateaus = np.full((1, n), 3.0)
    x = sample_missing_integers(integers, np.full((1, n), np.nan), plateaus, m, sd, rng)
    np.testing.assert_array_equal(lattice.plateau(x), plateaus)
