"""The strategy `saltus` as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Optimizer, Ordinal, Space, Stop, minimize
from saltus._typing import FloatArray

from .playing import ALL_KINDS, stiff

SPACES = {
    "no continuous variables": Space([Int(-3, 12), Bool(), Bool(), Ordinal([0.0, 1.0, 10.0])]),
    "no integers": Space([Float(-5, 5), Float(), Float(0, None), Float(1e-3, 1e3, log=True)]),
    "one float": Space([Float(-3, 9)]),
    "one integer": Space([Int(-3, 9)]),
    "one switch": Space([Bool()]),
    "many values": Space([Int(0, 10**6), Int(-(10**6), 10**6), Float(-5, 5)]),
    "uneven": Space([Ordinal([1.0, 1.1, 7.0, 100.0]), Int(1, 1000, log=True), Float(-2, 2)]),
    "fixed": Space([Int(3, 3), Float(2, 2), Float(-4, 4), Int(0, 9)]),
}


@pytest.mark.parametrize("name", SPACES)
def test_all_spaces(name: str) -> None:
    """An optimum at a random place of the lattice is found exactly, or nearly."""
    space = SPACES[name]
    rng = np.random.default_rng(5)
    candidates = Optimizer(space, seed=rng).ask()
    best = np.array(candidates[1].params, dtype=float)
    scale = np.maximum(np.abs(best), 1.0)

    def fun(x: FloatArray) -> float:
        return float((((x - best) / scale) ** 2).sum())

    result = minimize(fun, space, seed=1, budget=4000, target=1e-9)
    assert result.stop is Stop.TARGET, result


@pytest.mark.parametrize("seed", range(3))
def test_constraints_and_infeasible_regions(seed: int) -> None:
    """The optimum lies on a constraint, next to a region without values."""

    def fun(p: Any) -> tuple[float, list[float]]:
        if p["x"] + p["k"] < -3:
            return math.nan, []
        return p["x"] ** 2 + (p["y"] - 1) ** 2 + 0.1 * p["k"], [2 - p["x"] - p["k"]]

    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(-4, 6)})
    result = minimize(fun, space, seed=seed, budget=3000)
    assert result.fun == pytest.approx(0.2, abs=1e-3)
    assert result.params == {"x": pytest.approx(0.0, abs=0.05), "y": pytest.approx(1.0, abs=0.05), "k": 2}


def test_the_search_goes_on_where_everything_fails_at_first() -> None:
    result = minimize(
        lambda x: float(((x - 4) ** 2).sum()) if x[0] > 3 else math.inf,
        Space([Float(-5, 5), Int(-5, 5)]),
        mean=[-4.0, -4.0],
        sigma=[0.1, 1.0],
        seed=1,
        budget=3000,
        target=1e-6,
    )
    assert result.stop is Stop.TARGET


def test_a_batch_is_whole_and_the_order_of_telling_does_not_matter() -> None:
    def final(order: int) -> dict[str, Any]:
        optimizer = Optimizer(ALL_KINDS, seed=4)
        for _ in range(200):
            candidates = optimizer.ask()
            assert optimizer.ask() == []
            for c in candidates[::order]:
                optimizer.tell(c, stiff(c.params))
        return optimizer.state()

    assert final(1) == final(-1)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e300])
@pytest.mark.parametrize("offset", [0.0, -1.0])
def test_values_of_any_size(scale: float, offset: float) -> None:
    """The unit of values does not matter, and near the end of all numbers the search goes on."""

    def fun(p: Any) -> tuple[float, list[float]]:
        value = (p["x"] - 1) ** 2 + abs(p["y"]) + (p["k"] - 7) ** 2 / 10 + offset
        return scale * value, [scale * (p["x"] - 3)]

    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(0, 20)})
    result = minimize(fun, space, seed=1, budget=2000)
    assert result.params["k"] == 7
    assert result.fun == pytest.approx(scale * offset, abs=1e-4 * scale)


def random_space(rng: np.random.Generator) -> Space:
    grid = np.unique(np.round(rng.uniform(-5, 5, 12), 3)).tolist()
    kinds = [
        Float(-5, 5),
        Float(),
        Float(0, None),
        Float(1e-3, 10, log=True),
        Int(0, int(10 ** rng.uniform(0.4, 6))),
        Int(1, 500, log=True),
        Ordinal(grid),
        Bool(),
    ]
    return Space([kinds[i] for i in rng.integers(0, len(kinds), rng.integers(1, 8))])


LANDSCAPES: list[Callable[[FloatArray, np.random.Generator], tuple[float, float]]] = [
    lambda u, rng: (float(((u - 0.3) ** 2).sum()), 0.0),
    lambda u, rng: (float(np.floor(5 * np.abs(u)).sum()), 0.0),
    lambda u, rng: (math.nan if u.sum() > 1 else float((u**2).sum()), 0.0),
    lambda u, rng: (float(u.sum()), max(0.0, 1.0 - float(u.sum()))),
    lambda u, rng: (7.0, 0.0),
    lambda u, rng: (float(rng.standard_normal()), max(0.0, float(rng.standard_normal()))),
    lambda u, rng: (math.exp(min(700.0, float((np.sinh(u) ** 2).sum()))), 1e300 * max(0.0, float(u[0]))),
]


@pytest.mark.parametrize("landscape", range(len(LANDSCAPES)))
def test_no_problem_breaks_the_search(landscape: int) -> None:
    """Kinks, steps, holes, constraints, noise, nothing at all and numbers without end, over any space."""
    for seed in range(6):
        rng = np.random.default_rng([landscape, seed])
        optimizer = Optimizer(random_space(rng), seed=seed)
        while optimizer.evaluations < 800:
            candidates = optimizer.ask()
            assert candidates
            told = [LANDSCAPES[landscape](np.arcsinh(c.params), rng) for c in candidates]
            optimizer.tell(candidates, [value for value, _ in told], [violation for _, violation in told])
        state = json.loads(json.dumps(optimizer.state(), allow_nan=False))
        assert Optimizer.restore(state).state() == optimizer.state()


def descents(without: tuple[str, ...] = (), seed: int = 1, evaluations: int = 4000) -> list[tuple[str, int]]:
    """How each run begins: the name of its first phase, and the population."""
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10)])
    optimizer = Optimizer(space, seed=seed, without=without)
    begun: list[tuple[str, int]] = []
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        if optimizer.restarts == len(begun):
            begun.append((optimizer.phase, optimizer.population))
        optimizer.tell(
            candidates, [float((c.params**2).sum() + np.cos(5 * c.params).sum()) for c in candidates]
        )
    return begun


def test_global_runs_with_small_and_large_populations_take_turns_with_local_ones() -> None:
    begun = descents()
    default = begun[0][1]
    assert begun[0][0] == "MixedRun"
    assert {name for name, _ in begun} == {"MixedRun", "CoordinateScan"}
    sizes = sorted({size for _, size in begun})
    assert sizes[0] == default
    assert sizes[1] == 2 * default
    assert all(size & (size - 1) == 0 for size in np.array(sizes) // default)
    assert sum(size == default for _, size in begun) > len(begun) / 2


def test_runs_that_are_left_out_do_not_begin() -> None:
    locals_only = descents(("global runs",))
    assert {size for _, size in locals_only} == {locals_only[0][1]}  # a larger one is global
    globals_only = descents(("local runs",))
    assert {name for name, _ in globals_only} == {"MixedRun"}  # a scan is local
    assert len({size for _, size in globals_only}) > 2
    assert {name for name, _ in descents(("scan",))} == {"MixedRun"}


def test_a_point_of_another_that_is_better_becomes_the_incumbent() -> None:
    """Local runs begin there."""
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10)])
    optimizer = Optimizer(space, seed=1, without=["global runs", "scan"])
    while optimizer.phase == "MixedRun":
        candidates = optimizer.ask()
        optimizer.tell(candidates, [float((c.params**2).sum()) for c in candidates])
    optimizer.add(np.array([4.0, -4.0, 9]), -100.0)
    while optimizer.restarts == 0:
        candidates = optimizer.ask()
        if optimizer.restarts == 0:
            optimizer.tell(candidates, [float((c.params**2).sum()) for c in candidates])
    np.testing.assert_allclose(optimizer.mean, [4.0, -4.0, 9.0], atol=1e-9)
