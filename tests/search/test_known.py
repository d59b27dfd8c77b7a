"""Points that are allowed: found, moved, and checked as they will be evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Ordinal, Space
from saltus.search.known import POOL, Known
from saltus.search.memory import Memory
from saltus.space.encoding import Encoding

TINY = [f"s{i}" for i in range(30)]
SPACES = {
    "simplex": Space([Float(0, 1)] * 6, where=" + ".join(f"x{i}" for i in range(6)) + " <= 1"),
    "corner": Space([Float(0, 1)] * 6, where=" + ".join(f"x{i}" for i in range(6)) + " >= 5.9"),
    "switches": Space({name: Bool() for name in TINY}, where=" + ".join(TINY) + " <= 2"),
    "mixed": Space(
        {
            "x": Float(1e-3, 10, log=True),
            "k": Int(1, 64, log=True),
            "o": Ordinal([1, 2, 5, 9]),
            "free": Float(),
        },
        where=["x + k + o >= 80", "free <= -3"],
    ),
    "both": Space([Float(0, 1)] * 6, where=["x0 + x1 + x2 + x3 >= 3.9", lambda x: x[4] > x[5]]),
    "all": Space([Float(0, 1), Int(0, 9)], where=["x0 <= 1", lambda x: True]),
}


@pytest.mark.parametrize("name", SPACES)
def test_a_start_and_a_pool_that_are_allowed(name: str) -> None:
    encoding = Encoding(SPACES[name])
    known = Known(encoding)
    n = encoding.n_continuous
    assert known.excess(known.start[None], encoding.lattice.plateau(known.start[None, n:]))[0] == 0
    assert known.allowed(known.pool).all()
    assert 5 <= len(known.pool) <= POOL
    assert known.allowed(known.home(Memory(len(encoding.space)))[None])[0]


def test_the_first_mean_is_the_start_if_it_is_allowed() -> None:
    encoding = Encoding(SPACES["simplex"], mean=0.1)
    assert Known(encoding).start.tolist() == encoding.m.tolist()
    encoding = Encoding(SPACES["simplex"], mean=0.9)
    assert Known(encoding).start.tolist() != encoding.m.tolist()


@pytest.mark.parametrize("name", ["simplex", "mixed", "both"])
def test_on_the_way_to_an_allowed_point(name: str) -> None:
    known = Known(Encoding(SPACES[name]))
    rng = np.random.default_rng(3)
    points, home = rng.random((50, known.cube.N)), known.pool[0]
    moved = known.towards(points, home)
    assert known.allowed(moved).all()
    fine = known.allowed(known.cube.snapped(points))
    assert moved[fine].tolist() == known.cube.snapped(points[fine]).tolist()
    few = known.towards(points, home, most=3)
    assert known.allowed(few).all()
    left_out = len(points) - len(few)
    assert (few == home).all(axis=1).sum() + left_out >= np.count_nonzero(~fine) - 3


def test_a_function_that_allows_hardly_anything_is_not_asked_about_points_that_would_not_move() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((400, 4))
    for rule, kept in ((lambda x: x.max() < 0.4, 100), (lambda x: x.max() < 0.9, 400), ("x0 <= 0.03", 400)):
        known = Known(Encoding(Space([Float(0, 1)] * 4, where=rule)))
        moved = known.towards(points, np.full(4, 0.01), 3, 100)
        assert len(moved) == kept
        assert known.allowed(moved).all()


def test_the_border_is_met_exactly() -> None:
    known = Known(Encoding(Space([Float(0, 1)] * 2, where="x0 + x1 <= 1")))
    found = known.border(np.array([0.9, 0.9]), np.array([0.1, 0.1]))
    numbers, _ = known.cube.numbers(found[None])
    assert numbers.sum() == pytest.approx(1.0, abs=1e-10)
    assert numbers.sum() <= 1


def test_instead_of_points_that_are_not_allowed() -> None:
    known = Known(Encoding(SPACES["simplex"]))
    points = np.random.default_rng(1).random((20, 6))
    points[0] = 0.01
    replaced = known.replaced(points)
    assert replaced[0].tolist() == points[0].tolist()
    assert known.allowed(replaced).all()
    assert len(np.unique(replaced, axis=0)) == 20


def test_how_far_above_a_limit() -> None:
    known = Known(Encoding(Space([Float(0, 10), Int(0, 3)], where=["x0 + 3*x1 <= 8", "x0 >= 1"])))
    u = known.cube.of_numbers(np.array([[6.0, 2.0], [0.0, 0.0]]))
    assert known.heights(u) == pytest.approx(np.array([[1.0, -5.0], [-2.0, 1.0]]))


def test_functions_get_what_the_objective_gets() -> None:
    seen: list[Any] = []

    def rule(p: Any) -> bool:
        seen.append(p)
        return True

    Known(Encoding(Space({"k": Int(0, 9), "on": Bool(), "x": Float(0, 1)}, where=rule)))
    assert all([type(v) for v in p.values()] == [int, bool, float] for p in seen)
