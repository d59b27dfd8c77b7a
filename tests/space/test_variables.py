"""Variables: what they are given is checked."""

from __future__ import annotations

import math
from typing import Any

import pytest

from saltus import Float, Int, Optimizer, Ordinal, Space

from .any_variable import anything


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Float(2, 1), "low must not exceed high"),
        (lambda: Float(0, 1, log=True), "log=True needs low > 0"),
        (lambda: Float(math.nan, 1), "must be a number"),
        (lambda: Float(anything("a"), 1), "must be a number that a float can hold, got 'a'"),
        (lambda: Float(math.inf, None), "must be finite or None"),
        (lambda: Float(0, 1, init=2), r"init must lie in \[0, 1\], got 2"),
        (lambda: Float(0, 1, scale=0), "scale must be positive"),
        (lambda: Float(0, 1, step=0), "step must be positive and finite, got 0"),
        (lambda: Float(0, 1, step=anything("a")), "step must be a number"),
        (lambda: Float(0, step=0.1), "step needs low and high, got low=0.0, high=None"),
        (lambda: Float(1, 8, log=True, step=1), "give the values to Ordinal"),
        (lambda: Float(1e9, 1e9 + 1, step=1e-4), "too small to tell values near 1e.09 apart"),
        (lambda: Float(0, 1, step=1e-9), "at most 2,000,000 values, got 1,000,000,000; leave it out"),
        (lambda: Int(anything(0.5), 3), "must be a whole number, got 0.5"),
        (lambda: Int(3, 1), "low must not exceed high"),
        (lambda: Int(0, 10, log=True), "log=True needs low >= 1"),
        (lambda: Int(1, 10**9, log=True), "use Float"),
        (lambda: Int(0, 2**60), r"\+-2\*\*50"),
        (lambda: Int(0, 10**400), r"\+-2\*\*50"),
        (lambda: Int(True, 3), "must be a whole number, got True"),
        (lambda: Float(0, 10**400), "a float can hold"),
        (lambda: Ordinal([]), "at least one"),
        (lambda: Ordinal([1, 1]), "increase strictly"),
        (lambda: Ordinal([999.9999999999999, 1000.0]), "are they meant to be the same"),
        (lambda: Ordinal([0.0, 5e-324]), "differ by more than"),
        (lambda: Ordinal(anything(None)), "values must be a list of increasing numbers, got None"),
        (lambda: Ordinal(["a"]), "must be a number, got 'a'; Categorical takes names"),
        (lambda: Space({"x": anything((0, 1))}), r"a range is written Float\(low, high\)"),
        (lambda: Space({"x": anything(["a", "b"])}), r"a choice is written Categorical\(\[...\]\)"),
        # points of these would be infinite or NaN
        (
            lambda: Float(-1.79e308, 1.79e308),
            r"low must lie within \+-1e\+75, got -1.79e\+308; use another unit",
        ),
        (lambda: Float(low=1e300), "low must lie within"),
        (lambda: Float(0, 5e-324), "high must exceed low by 1e-75 or more"),
        (lambda: Float(1e300, math.nextafter(1e300, math.inf), log=True), "high must exceed low by 1e-75"),
        (lambda: Float(low=0, scale=1e160), r"scale must be from 1e-75 to 1e\+75, got 1e\+160"),
        (lambda: Float(scale=1e-300), "scale must be from"),
        (lambda: Float(init=1e308), "init must lie within"),
        (lambda: Ordinal([1e307, 1.7e308]), r"each value must lie within .* use another unit$"),
        (lambda: Ordinal([0.0, 1e-80]), "by more than 1e-75"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()


@pytest.mark.parametrize(
    "variable",
    [
        Float(-1e75, 1e75),
        Float(0, 1e-75),
        Float(-1e75, 1e75, scale=1e-75),
        Float(0, 1e-75, scale=1e75),
        Float(low=0, scale=1e75),
        Float(low=0, scale=1e-75),
        Float(low=1e75, scale=1e60),
        Float(init=-1e75, scale=1e60),
        Float(init=1e15),
        Float(5e-324, 1.79e308, log=True),
        Float(low=1e308, log=True),
        Ordinal([-1e75, 1e75]),
        Ordinal([0, 1e-74]),
        Ordinal([0, 1e-74, 1e75], scale=1e75),
        Int(0, 5, scale=1e-75),
        Int(0, 5, scale=1e75),
    ],
)
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es-margin"])
@pytest.mark.filterwarnings("error")
def test_what_is_accepted_gives_points_within_the_bounds(variable: Any, strategy: str) -> None:
    optimizer = Optimizer(Space([variable]), strategy=strategy, seed=1, auto_restart=True)
    low, high = variable.range()
    while optimizer.evaluations < (16 if strategy == "saltus" else 60):
        candidates = optimizer.ask()
        points = [float(c.params[0]) for c in candidates]
        assert all(low <= x <= high and math.isfinite(x) for x in points)
        optimizer.tell(candidates, [abs(x / 4) for x in points])


@pytest.mark.parametrize(
    "variable", [Float(low=1e75), Float(init=1e16), Float(low=1.0, log=True, init=9.0, scale=1e-20)]
)
def test_a_scale_that_tells_no_points_apart_is_refused(variable: Float) -> None:
    with pytest.raises(
        ValueError, match=r"scale is too small to tell points near the start, .* apart, got 1"
    ):
        Optimizer(Space([variable]))


def test_a_scale_beside_its_start_is_one_to_compute_with() -> None:
    for init, scale in ((1e-300, 1.0), (1e300, 1.0)):
        with pytest.raises(ValueError, match=f"times the start, {init:g}, got 1.0".replace("+", r"\+")):
            Optimizer(Space([Float(1e-305, 1e305, log=True, init=init, scale=scale)]))


@pytest.mark.parametrize(
    ("variable", "values"),
    [
        (Float(0, 0.5, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (Float(0.05, 0.2, step=0.05), [0.05, 0.1, 0.15, 0.2]),
        (Float(0, 1, step=0.4), [0.0, 0.4, 0.8]),  # the last value is the upper bound
        (Float(0, 1, step=2), [0.0]),
        (Float(0.1, 0.1 + 0.2 + 0.2, step=0.2), [0.1, 0.3, 0.5]),
        (Float(0.1, 0.1 + 7 * 0.1 - 1e-16, step=0.1), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
    ],
)
def test_the_values_of_a_step_are_as_written(variable: Float, values: list[float]) -> None:
    assert variable.grid().tolist() == values
    assert variable.high == values[-1]
    assert variable.fixed == (len(values) == 1)
    assert Space([variable]).count_points() == (len(values) if len(values) > 1 else 1)


def test_a_step_is_a_grid_for_the_search() -> None:
    for space in (Space({"x": Float(0, 3, step=0.1)}), Space([Float(0, 3, step=0.1)])):
        seen = set()
        optimizer = Optimizer(space, seed=1)
        for _ in range(30):
            candidates = optimizer.ask()
            values = [float(c.params["x"] if space.names else c.params[0]) for c in candidates]
            seen |= set(values)
            optimizer.tell(candidates, [(x - 1.23) ** 2 for x in values])
        assert optimizer.best is not None
        assert optimizer.best.x[0] == 1.2
        assert seen <= {i / 10 for i in range(31)}
        assert len(seen) > 5


def test_a_step_is_saved_and_no_step_is_saved_as_before() -> None:
    space = Space({"x": Float(0, 1, step=0.3), "y": Float(0, 1)})
    plain = space.to_plain()
    assert plain["variables"][0]["step"] == 0.3
    assert "step" not in plain["variables"][1]
    assert Space.from_plain(plain) == space
