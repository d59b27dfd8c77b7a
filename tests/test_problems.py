from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus.problems import (
    ENGINEERING,
    PAPER,
    coil_spring,
    concrete_beam,
    gear_train,
    n_int_tablet,
    pressure_vessel,
    reversed_ellipsoid_int,
    speed_reducer,
    welded_beam,
)


@pytest.mark.parametrize("make", PAPER)
def test_the_papers_functions_have_their_optimum(make: Any) -> None:
    problem = make(20)
    x = np.zeros(20)
    if problem.name == "SphereOneMax":
        x[10:] = 1
    assert problem.fun(x) == problem.best == 0
    rng = np.random.default_rng(0)
    others = rng.integers(0, 2, (50, 20)) * 1.0
    assert np.all(problem.fun(others) >= 0)
    np.testing.assert_allclose(problem.fun(others), [problem.fun(row) for row in others])
    start = problem.start(rng)
    if problem.name == "SphereOneMax":
        assert np.all(start[10:] == 0.5)
    assert np.all((start[:10] >= 1) & (start[:10] <= 3))


def test_stiff_axes_are_where_the_paper_has_them() -> None:
    unit = np.eye(20)
    tablet = n_int_tablet(20).fun(unit)
    assert tablet.tolist() == [1e4] * 10 + [1.0] * 10
    values = reversed_ellipsoid_int(20).fun(unit)
    assert values[10] == 1.0  # the first integer
    assert values[9] == pytest.approx(1e6)  # the last continuous variable
    with pytest.raises(ValueError, match="even"):
        n_int_tablet(7)


@pytest.mark.parametrize(
    ("make", "params"),
    [
        (pressure_vessel, {"shell": 13, "head": 7, "radius": 42.0984455958549, "length": 176.6365958424394}),
        (
            speed_reducer,
            {
                "face": 3.5,
                "module": 0.7,
                "teeth": 17,
                "length1": 7.3,
                "length2": 7.71531991147825,
                "diameter1": 3.35021466609645,
                "diameter2": 5.28665446498022,
            },
        ),
        (
            welded_beam,
            {
                "weld": 0.205729639786,
                "length": 3.470488665628,
                "height": 9.036623910358,
                "width": 0.205729639786,
            },
        ),
        (coil_spring, {"coils": 9, "wire": 0.283, "diameter": 1.2230410100}),
        (concrete_beam, {"steel": 6.32, "width": 34, "depth": 8.5}),
    ],
)
def test_engineering_problems_have_their_best_known_design(make: Any, params: dict[str, Any]) -> None:
    problem = make()
    value, constraints = problem.fun(params)
    assert value == pytest.approx(problem.best, rel=1e-7)
    assert max(constraints) < 1e-9


def test_the_best_gears() -> None:
    problem = gear_train()
    assert problem.fun({"a": 16, "b": 19, "c": 43, "d": 49}) == pytest.approx(problem.best, rel=1e-9)


@pytest.mark.parametrize("make", ENGINEERING)
def test_every_design_has_a_value(make: Any) -> None:
    problem = make()
    rng = np.random.default_rng(1)
    for _ in range(200):
        params = {
            name: v.range()[0] + rng.random() * (v.range()[1] - v.range()[0])
            for name, v in zip(problem.space.names, problem.space.variables, strict=True)
        }
        value = problem.fun(params)
        assert np.all(np.isfinite(value[0] if isinstance(value, tuple) else value))
