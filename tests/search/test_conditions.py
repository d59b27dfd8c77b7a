"""Phases where variables have conditions: what is not active is not tried."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Categorical, Float, Int, Optimizer, Space
from saltus.search.category_pairs import CategoryPairs
from saltus.search.coordinate_scan import CoordinateScan
from saltus.search.integer_neighbours import beside
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.proposal import Domain, Evaluated, Results
from saltus.search.settings import Settings
from saltus.space import Encoding

SPACE = Space(
    {
        "kind": Categorical(["a", "b"]),
        "x": Float(0, 1, when={"kind": "b"}),
        "y": Float(0, 1),
        "k": Int(1, 5, when={"kind": "b"}),
        "side": Categorical(["l", "m", "r"], when={"kind": "b"}),
    }
)
ENCODING = Encoding(SPACE)  # coordinates: x, y, k, kind, side


def begun(kind: str) -> tuple[Domain, Evaluated]:
    domain = Domain.of(ENCODING, Settings.checked(5, "saltus-es", 6, None, False))
    more = {"x": 0.5, "k": 3, "side": "l"} if kind == "b" else {}
    x, plateaus = ENCODING.located(ENCODING.numbers_of({"kind": kind, "y": 0.5, **more}))
    x[2:] = domain.lattice.value(plateaus)
    return domain, Evaluated(x, plateaus, 0.0, 1.0)


def test_which_coordinates_are_active() -> None:
    domain, point = begun("a")
    assert domain.active(point).tolist() == [False, True, False, True, False]
    domain, point = begun("b")
    assert domain.active(point).all()


def test_a_sweep_tries_what_is_active_and_what_becomes_so() -> None:
    domain, point = begun("a")
    sweep = IntegerSweep(domain, point, np.random.default_rng(1))
    proposed = sweep.propose()
    assert ENCODING.decode(*proposed).params == [{"kind": "b", "x": 0.5, "y": 0.5, "k": 3, "side": "l"}]
    sweep.observe(Results(proposed, np.array([0.5]), None))
    assert not sweep.done
    tried = ENCODING.decode(*sweep.propose()).params
    assert len(tried) == 6  # four values of k, two of the side
    assert all(p["kind"] == "b" for p in tried)


def test_a_scan_has_no_line_along_what_is_not_active() -> None:
    domain, point = begun("a")
    assert CoordinateScan(domain, point, np.random.default_rng(1)).order == [1]


def test_pairs_and_neighbours_are_different_points() -> None:
    domain, point = begun("a")
    pairs = CategoryPairs(domain, point, np.random.default_rng(1)).propose()
    assert [p["side"] for p in ENCODING.decode(*pairs).params] in (["m", "r"], ["r", "m"])
    around = domain.proposals(point.x[None, :2], beside(domain, point.plateaus))
    new = domain.distinct(around, point)
    assert len(around.x) == 5  # k up and down, the other kind, two sides
    assert [p["kind"] for p in ENCODING.decode(around.x[new], around.plateaus[new]).params] == ["b"]


def test_the_model_proposes_no_point_twice() -> None:
    def value(p: dict[str, Any]) -> float:
        other = 0.0 if p["kind"] == "a" else 2 + abs(p["k"] - 3) + (p["side"] != "l")
        return float(abs(p["n"] - 4) + other)

    parts = dict(zip(SPACE.keys, SPACE.variables, strict=True))
    space = Space({"n": Int(1, 9), **{name: parts[name] for name in ("kind", "k", "side")}})
    optimizer = Optimizer(space, seed=1)
    asked = []
    while optimizer.evaluations < 25:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [value(c.params) for c in candidates])
        asked += [json.dumps(c.params) for c in candidates]
    assert len(set(asked)) == len(asked)
    assert optimizer.best is not None
    assert optimizer.best.params == {"n": 4, "kind": "a"}


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es"])
def test_a_search_goes_on_where_no_continuous_variable_is_active(strategy: str) -> None:
    """There is nothing to scan at the best point, so no run is a scan."""
    space = Space({"on": Bool(), "x": Float(0, 1, when={"on": True})})
    optimizer = Optimizer(space, strategy=strategy, seed=1)
    while optimizer.evaluations < 300:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [1 + c.params["x"] if c.params["on"] else 0.0 for c in candidates])
    assert optimizer.best is not None
    assert optimizer.best.params == {"on": False}
    assert optimizer.restarts > 2
