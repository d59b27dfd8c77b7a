"""Between the user's values and the coordinates of a strategy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Optimizer, Ordinal, Space
from saltus.space.encoding import Encoding
from saltus.space.variable import Variable

from .any_variable import variables

MIXED = {
    "lr": Float(1e-5, 1e-1, log=True),
    "layers": Int(1, 8),
    "fixed": Float(2.5, 2.5),
    "width": Int(1, 1000, log=True),
    "grid": Ordinal([0.1, 0.5, 2]),
    "free": Float(init=3, scale=2),
    "switch": Bool(),
    "one": Ordinal([7]),
    "above": Float(low=0),
    "below": Float(high=-1),
}


def sample(encoding: Encoding, seed: int, spread: float = 1.0) -> Any:
    x = encoding.m + spread * np.random.default_rng(seed).standard_normal((50, encoding.N))
    return encoding.decode(x, encoding.lattice.plateau(x[:, encoding.n_continuous :]))


def test_the_objective_gets_plain_values() -> None:
    points = sample(Encoding(Space(MIXED)), 1)
    types = {
        name: {type(p[name]) for p in points.params} for name in ("lr", "layers", "grid", "switch", "one")
    }
    assert types == {"lr": {float}, "layers": {int}, "grid": {float, int}, "switch": {bool}, "one": {int}}
    for p in points.params:
        assert list(p) == list(MIXED)
        assert 1e-5 <= p["lr"] <= 1e-1
        assert 1 <= p["layers"] <= 8
        assert p["fixed"] == 2.5
        assert p["grid"] in (0.1, 0.5, 2)
        assert p["above"] >= 0
        assert p["below"] <= -1
    assert len({p["width"] for p in points.params}) > 10


def test_a_list_gives_arrays_in_the_given_order() -> None:
    points = sample(Encoding(Space(list(MIXED.values()))), 1)
    named = sample(Encoding(Space(MIXED)), 1)
    for row, p in zip(points.params, named.params, strict=True):
        assert isinstance(row, np.ndarray)
        assert row.tolist() == [float(v) for v in p.values()]


def test_ordinal_values_are_the_very_values_given() -> None:
    from fractions import Fraction

    values = [Fraction(1, 3), 2, np.float32(2.5)]
    params = sample(Encoding(Space({"o": Ordinal(values)})), 0, spread=3).params
    assert {id(p["o"]) for p in params} == {id(v) for v in values}


def test_fixed_variables_cost_no_dimension() -> None:
    space = Space(MIXED)
    assert len(space) == 10
    assert space.dimension == Encoding(space).N == 8


@settings(deadline=None)
@given(st.lists(variables, min_size=1, max_size=6), st.integers(0, 10**6), st.floats(0.1, 20))
def test_points_are_within_bounds_and_encode_undoes_decode(
    given_variables: list[Variable], seed: int, spread: float
) -> None:
    space = Space({f"v{i}": v for i, v in enumerate(given_variables)})
    if space.dimension == 0:
        with pytest.raises(ValueError, match="nothing to optimise"):
            Encoding(space)
        return
    encoding = Encoding(space)
    points = sample(encoding, seed, spread)
    for numbers, params in zip(points.x, points.params, strict=True):
        for variable, value in zip(space.variables, params.values(), strict=True):
            if isinstance(variable, Float):
                low, high = variable.range()
                assert low <= value <= high
            elif isinstance(variable, Int):
                assert variable.low <= value <= variable.high
                assert type(value) is int
            elif isinstance(variable, Ordinal):
                assert value in variable.values
        coordinates = encoding.encode(numbers)[None, :]
        back = encoding.decode(coordinates, encoding.lattice.plateau(coordinates[:, encoding.n_continuous :]))
        np.testing.assert_allclose(back.x[0], numbers, rtol=1e-9, atol=1e-9)
        assert encoding.params_of(numbers) == params


def test_defaults_start_in_the_middle() -> None:
    encoding = Encoding(
        Space({"a": Float(2, 4), "b": Float(0.01, 1, log=True), "k": Int(0, 20), "s": Bool()})
    )
    middle = encoding.unrounded(encoding.m)
    np.testing.assert_allclose(middle, [3.0, 0.1, 10.0, 0.5])


def test_the_papers_settings_are_exact() -> None:
    space = Space([Float()] * 3 + [Int(-10, 10)] * 3)
    mean = np.random.default_rng(0).uniform(1, 3, 6)
    encoding = Encoding(space, mean, 1.0)
    np.testing.assert_array_equal(encoding.m, mean)
    np.testing.assert_array_equal(
        encoding.lattice.threshold(np.array([0.0, 9.0, 19.0])), np.array([-9.5, -0.5, 9.5])
    )


def test_mean_and_sigma_in_the_users_units() -> None:
    space = Space({"x": Float(-10, 10), "k": Int(0, 9), "lr": Float(1e-4, 1, log=True)})
    encoding = Encoding(space, {"k": 3, "lr": 0.01}, {"x": 0.5, "lr": 0.01})
    np.testing.assert_allclose(encoding.unrounded(encoding.m), [0.0, 3.0, 0.01])
    spreads = encoding.spreads(np.ones(3))
    assert spreads[0] == pytest.approx(0.5)
    assert spreads[2] == pytest.approx(math.log(2))  # one standard deviation up is 0.02


@pytest.mark.parametrize("init", [0.01, 0.003, 0.7, 1e-4, 12.3])
def test_a_start_is_what_was_written(init: float) -> None:
    space = Space(
        {
            "free": Float(init=init, scale=0.3),
            "log": Float(1e-5, 1e3, log=True, init=init),
            "other": Float(-3, 99, init=init),
            "one": Float(low=1e-7, log=True, init=init, scale=2.0),
            "middle": Float(0, 1),
        }
    )
    encoding = Encoding(space)
    (params,) = encoding.decode(encoding.m[None], np.empty((1, 0))).params
    assert [params[name] for name in ("free", "log", "other", "one")] == [init] * 4


def test_a_mean_is_what_was_written() -> None:
    space = Space([Float(1e-5, 1), Float(1e-5, 1, log=True), Float(1e-5, 1, init=0.5), Int(0, 9)])
    first = Optimizer(space, mean=[0.01, 0.01, 0.01, 3], seed=1).ask()[0]
    assert np.asarray(first.params).tolist() == [0.01, 0.01, 0.01, 3.0]


def test_one_sided_logs() -> None:
    for scale in (10.0, 1000.0):
        by_scale = Encoding(Space([Float(1, log=True, scale=scale)]))
        by_sigma = Encoding(Space([Float(1, log=True)]), sigma=scale)
        for encoding in (by_scale, by_sigma):
            np.testing.assert_allclose(encoding.unrounded(encoding.m), 1 + scale)
    far = Encoding(Space({"x": Float(1, log=True)}))
    points = far.decode(np.array([[1e5]]), np.empty((1, 0)))
    assert math.isfinite(points.params[0]["x"])


def test_the_mean_of_an_encoding_is_a_valid_mean() -> None:
    space = Space([Float(1e-5, 0.1, log=True), Float(0.3, 0.9)])
    for mean in ([0.1, 0.9], [1e-5, 0.3]):
        encoding = Encoding(space, mean)
        Encoding(space, encoding.unrounded(encoding.m))


@pytest.mark.parametrize("limits", [(0, 2**50), (-(2**50), 2**50), (2**50 - 10, 2**50)])
def test_the_largest_integers_are_told_apart(limits: tuple[int, int]) -> None:
    encoding = Encoding(Space([Int(*limits)]))
    for value in [limits[1] - k for k in range(11)] + [limits[0] + k for k in range(11)]:
        coordinate = encoding.encode(np.array([float(value)]))[None, :]
        assert encoding.decode(coordinate, encoding.lattice.plateau(coordinate)).x[0, 0] == value


def test_order_of_kinds_does_not_matter() -> None:
    a = Encoding(Space([Int(0, 4), Float(0, 1), Bool(), Float(5, 6)]))
    b = Encoding(Space([Float(0, 1), Float(5, 6), Int(0, 4), Bool()]))
    np.testing.assert_array_equal(a.m, b.m)
    np.testing.assert_array_equal(sample(a, 3).x[:, [1, 3, 0, 2]], sample(b, 3).x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Encoding(Space([Float(0, 1)]), mean=[0.1, 0.2]), "one number for each of the 1"),
        (lambda: Encoding(Space({"x": Float(0, 1)}), mean={"y": 0.1}), "'y' is not a variable"),
        (lambda: Encoding(Space({"x": Float(0, 1)}), mean=4.0), "mean of 'x': init must lie in"),
        (lambda: Encoding(Space([Float(0, 1)]), sigma=-1), "sigma of variable 0: scale must be positive"),
        (lambda: Encoding(Space([Float(0, 1)]), mean={"x": 1}), "needs a space with names"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()
