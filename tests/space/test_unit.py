"""The unit cube of a space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Ordinal, Space
from saltus.space.encoding import Encoding
from saltus.space.unit import FARTHEST, UnitCube
from saltus.space.variable import Variable

from .any_variable import variables


@settings(deadline=None, max_examples=60)
@given(st.lists(variables, min_size=1, max_size=6), st.integers(0, 1000))
def test_there_and_back(some: list[Variable], seed: int) -> None:
    space = Space(some)
    assume(space.dimension)
    encoding = Encoding(space)
    cube = UnitCube(encoding)
    u = cube.snapped(np.random.default_rng(seed).random((20, cube.N)))
    assert ((u >= cube.low) & (u <= cube.high)).all()
    np.testing.assert_array_equal(cube.snapped(u), u)
    x, plateaus = cube.points(u)
    np.testing.assert_array_equal(encoding.lattice.plateau(x[:, cube.n_continuous :]), plateaus)
    np.testing.assert_allclose(cube.of_points(x, plateaus), u, atol=1e-5)
    numbers = encoding.numbers(x, plateaus)
    np.testing.assert_array_equal(cube.of_numbers(numbers), cube.of_points(x, plateaus))


def test_ends_of_every_kind() -> None:
    space = Space(
        [Float(1, 100, log=True), Bool(), Int(1, 3), Ordinal([0, 1, 100, 101]), Float(2, 2), Float(0, 4)]
    )
    cube = UnitCube(Encoding(space))
    assert cube.N == 5
    numbers = np.array([[1.0, 0.0, 1.0, 0.0, 2.0, 0.0], [100.0, 1.0, 3.0, 101.0, 2.0, 4.0]])
    u = cube.of_numbers(numbers)
    np.testing.assert_allclose(u[0], [0, 0, 1 / 4, 1 / 6, 1 / 8])
    np.testing.assert_allclose(u[1], 1 - u[0])
    np.testing.assert_allclose(cube.of_numbers(np.array([[10.0, 0, 1, 0, 2, 1]]))[0, :2], [0.5, 0.25])


def test_integers_by_logarithm() -> None:
    cube = UnitCube(Encoding(Space([Int(1, 1000, log=True)])))
    u = cube.of_numbers(np.array([[1.0], [10.0], [100.0], [1000.0]])).ravel()
    steps = np.diff(u)
    assert steps == pytest.approx(np.full(3, steps[0]))
    assert 0 < u[0] < u[-1] < 1


def test_where_there_is_no_bound_the_cube_is_open() -> None:
    cube = UnitCube(Encoding(Space([Float(init=3.0, scale=1.0), Float(low=0.0), Float(high=1.0)])))
    assert cube.low.tolist() == [-FARTHEST, 0.0, -FARTHEST]
    assert cube.high.tolist() == [FARTHEST, FARTHEST, 1.0]
    u = cube.of_numbers(np.array([[3.0, 0.0, 1.0], [3.0 + 0.5 / 0.15, 50.0, 1.0]]))
    np.testing.assert_allclose(u[0], [0.5, 0.0, 1.0])
    assert u[1, 0] == pytest.approx(1.0)
    assert u[1, 1] > 1
    x, plateaus = cube.points(np.array([[2.0, -1.0, 3.0]]))
    np.testing.assert_allclose(cube.of_points(x, plateaus), [[2.0, 0.0, 1.0]], atol=1e-9)
