"""Where a model says to evaluate next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Space
from saltus._typing import FloatArray
from saltus.model import Fitted, condition, first_parameters
from saltus.search.acquisition import (
    Acquisition,
    Seen,
    WithValue,
    integer_neighbours,
    lowest,
    random_points,
    region,
)
from saltus.space.encoding import Encoding
from saltus.space.unit import UnitCube
from saltus.space.variable import Variable
from tests.space.any_variable import variables

MIXED = UnitCube(Encoding(Space([Float(-5, 5), Float(-5, 5), Int(0, 7), Int(0, 20), Bool()])))
INTEGERS = UnitCube(Encoding(Space([Int(0, 3), Bool()])))


def bowl(cube: UnitCube, centre: float, count: int = 60, seed: int = 1) -> tuple[Fitted, FloatArray]:
    x = cube.snapped(np.random.default_rng(seed).random((count, cube.N)))
    return condition(first_parameters(cube.N), x, ((x - centre) ** 2).sum(axis=1)), x


def nothing(width: int) -> Seen:
    return Seen(np.empty((0, width)))


@settings(deadline=None, max_examples=40)
@given(st.lists(variables, min_size=1, max_size=6), st.integers(0, 1000), st.floats(0.01, 1.6))
def test_a_region_has_room_for_the_next_integer(some: list[Variable], seed: int, side: float) -> None:
    space = Space(some)
    assume(space.dimension)
    cube = UnitCube(Encoding(space))
    rng = np.random.default_rng(seed)
    centre = cube.snapped(rng.random((1, cube.N)))[0]
    box = region(cube, centre, side, np.exp(rng.standard_normal(cube.N)))
    assert ((box.low <= centre) & (centre <= box.high)).all()
    assert ((cube.low <= box.low) & (box.high <= cube.high)).all()
    around = integer_neighbours(cube, centre[None])[0]
    differ = np.abs(around - centre).sum(axis=1) > 0
    plateaus = cube.lattice.plateau(around[:, cube.n_continuous :])
    own = cube.lattice.plateau(centre[cube.n_continuous :])
    nearest = differ & (np.abs(plateaus - own).sum(axis=1) == 1)
    assert ((around[nearest] >= box.low - 1e-9) & (around[nearest] <= box.high + 1e-9)).all()
    points = random_points(cube, box, rng, 30)
    np.testing.assert_array_equal(cube.snapped(points), points)


def test_what_is_seen_is_told_from_what_is_not() -> None:
    points = MIXED.snapped(np.random.default_rng(1).random((200, 5)))
    seen = Seen(points[:100])
    assert seen.which(points).tolist() == [True] * 100 + [False] * 100
    assert points[3] in seen
    assert points[3] + [1e-6, 0, 0, 0, 0] not in seen
    assert not nothing(5).which(points).any()


def test_neighbours_differ_in_one_integer() -> None:
    u = MIXED.snapped(np.random.default_rng(2).random((3, 5)))
    around = integer_neighbours(MIXED, u)
    assert around.shape == (3, 2 + 2 + 1, 5)
    changed = np.abs(around - u[:, None]) > 1e-9
    assert (changed.sum(axis=2) <= 1).all()
    assert not changed[:, :, :2].any()
    few = integer_neighbours(INTEGERS, np.array([[0.125, 0.25]]))[0]
    assert sorted(few.tolist()) == [[0.125, 0.75], [0.375, 0.25], [0.625, 0.25], [0.875, 0.25]]


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_the_lowest_point_is_found(kappa: float) -> None:
    model, x = bowl(MIXED, 0.4)
    acquisition = Acquisition(model, kappa, Seen(x), nothing(3))
    centre = x[model.z.argmin()]
    box = region(MIXED, centre, 0.8, model.lengths)
    found = lowest(acquisition, MIXED, box, np.random.default_rng(1))
    assert found is not None
    np.testing.assert_array_equal(MIXED.snapped(found), found)
    assert found not in Seen(x)
    value = acquisition(found[None], np.array([np.inf]))[0]
    anywhere = random_points(MIXED, box, np.random.default_rng(2), 3000)
    assert value <= np.quantile(acquisition(anywhere, np.full(3000, np.inf)), 0.002)


def test_closed_integers_are_left_alone() -> None:
    model, x = bowl(MIXED, 0.4)
    box = region(MIXED, x[model.z.argmin()], 0.8, model.lengths)
    rng = np.random.default_rng
    first = lowest(Acquisition(model, 0.0, Seen(x), nothing(3)), MIXED, box, rng(1))
    assert first is not None
    closed = Seen(first[None, 2:])
    second = lowest(Acquisition(model, 0.0, Seen(x), closed), MIXED, box, rng(1))
    assert second is not None
    assert second[2:].tolist() != first[2:].tolist()


def test_when_all_is_known_there_is_nothing_left() -> None:
    grid = np.array([[i, j] for i in (0.125, 0.375, 0.625, 0.875) for j in (0.25, 0.75)])
    model = condition(first_parameters(2), grid, np.arange(8.0))
    box = region(INTEGERS, grid[0], 1.6, model.lengths)
    for known, expected in ((grid, None), (grid[:-1], grid[-1].tolist())):
        acquisition = Acquisition(model, 0.3, Seen(known), nothing(2))
        found = lowest(acquisition, INTEGERS, box, np.random.default_rng(1))
        assert (None if found is None else found.tolist()) == expected


def test_with_a_value_alone_and_away_from_what_is_taken() -> None:
    """Otherwise the lowest point may be next to a known one, again and again."""
    model, x = bowl(MIXED, 0.4)
    box = region(MIXED, x[model.z.argmin()], 1.6, model.lengths)
    plain = Acquisition(model, 0.0, Seen(x), nothing(3))
    near = lowest(plain, MIXED, box, np.random.default_rng(1))
    assert near is not None
    value, none = float(near[-1]), np.empty((0, 2))
    away = lowest(WithValue(plain, 4, value, near[None, :2], 0.2), MIXED, box, np.random.default_rng(1))
    assert away is not None
    assert away[-1] == value
    assert np.abs(away[:2] - near[:2]).max() >= 0.2
    assert not WithValue(plain, 4, value, none, 0.2).shut(near[None])[0]
    assert WithValue(plain, 4, 1 - value, none, 0.2).shut(near[None])[0]
    assert not WithValue(plain, 4, value, np.empty((3, 0)), 0.0).shut(near[None])[0]  # categories alone
