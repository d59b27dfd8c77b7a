"""Searches over categories: every strategy, saved, without waiting, whatever the order of the choices."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from saltus import STRATEGIES, Categorical, Float, Int, Optimizer, Space, Stop, minimize
from saltus._serialize import pack

KINDS = ["rbf", "poly", "sigmoid", None]
MIXED = Space(
    {"kind": Categorical(KINDS), "x": Float(-5, 5), "k": Int(0, 9), "on": Categorical([True, False])}
)
ONLY = Space({name: Categorical(range(4)) for name in "abcd"})
FEW = ("saltus", "saltus-es", "dx-nes-ici", "cr-fm-nes+leap", "cma-es-margin")


def cost(p: dict[str, Any]) -> float:
    return float((p["kind"] != "poly") + (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2 + (p["on"] is not False))


def wrong(p: dict[str, Any]) -> float:
    return float(sum(v != 3 for v in p.values()))


def played(optimizer: Optimizer, fun: Any, evaluations: int, *, restored: bool = False) -> list[Any]:
    """The points of a search; saved and restored in the middle of every batch, if so wished."""
    seen: list[Any] = []
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        half = len(candidates) // 2
        if half:
            optimizer.tell(candidates[:half], [fun(c.params) for c in candidates[:half]])
        if restored:
            optimizer = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
            assert [c.params for c in optimizer.pending] == [c.params for c in candidates[half:]]
        optimizer.tell(optimizer.pending, [fun(c.params) for c in optimizer.pending])
        seen += [(optimizer.phase, c.params) for c in candidates]
    return seen


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("space", "fun", "best"), [(MIXED, cost, 1e-6), (ONLY, wrong, 0.0)])
def test_every_strategy_finds_the_best_values(strategy: str, space: Space, fun: Any, best: float) -> None:
    result = minimize(fun, space, strategy=strategy, target=best, budget=4000, seed=1)
    assert result.success
    if space is MIXED:
        assert result.params["kind"] == "poly"
        assert result.params["on"] is False


@pytest.mark.parametrize("strategy", FEW)
@pytest.mark.parametrize(("space", "fun"), [(MIXED, cost), (ONLY, wrong)])
def test_a_search_goes_on_exactly_when_it_is_restored(strategy: str, space: Space, fun: Any) -> None:
    most = 45 if strategy == "saltus" else 300
    how: dict[str, Any] = {"strategy": strategy, "seed": 3, "auto_restart": True}
    one = played(Optimizer(space, **how), fun, most)
    assert one == played(Optimizer(space, **how), fun, most, restored=True)


def test_all_phases_with_categories_can_be_restored() -> None:
    """Of the search without a model, which comes to them in no time; pairs and sweeps among them."""
    how: dict[str, Any] = {"strategy": "saltus-es", "seed": 1}
    one = played(Optimizer(MIXED, **how), cost, 700)
    assert one == played(Optimizer(MIXED, **how), cost, 700, restored=True)
    assert {"MixedRun", "Newton", "IntegerSweep", "CategoryPairs"} <= {phase for phase, _ in one}


def test_what_the_model_has_spared_of_categories_can_be_restored() -> None:
    one = played(Optimizer(MIXED, seed=1), cost, 130)
    assert one == played(Optimizer(MIXED, seed=1), cost, 130, restored=True)
    assert {"ModelRun", "IntegerSweep", "SparedCategories"} <= {phase for phase, _ in one}


def test_an_evolution_of_categories_can_be_restored() -> None:
    space = Space({f"c{i}": Categorical(range(8)) for i in range(5)})

    def fun(p: dict[str, Any]) -> float:
        return float(sum((3 * v + i) % 8 for i, v in enumerate(p.values())))

    how: dict[str, Any] = {"seed": 1, "without": ["model", "asking"]}
    one = played(Optimizer(space, **how), fun, 500)
    assert one == played(Optimizer(space, **how), fun, 500, restored=True)
    assert "IntegerEvolution" in {phase for phase, _ in one}


def reordered(optimizer: Optimizer, orders: dict[str, list[int]]) -> Optimizer:
    """The same search of a space with its choices in other orders."""
    state = json.loads(json.dumps(optimizer.state()))
    given = []
    for name, row in zip(state["space"]["names"], state["space"]["variables"], strict=True):
        if row["kind"] == "Categorical":
            row["choices"] = [row["choices"][k] for k in orders[name]]
            given.append(np.argsort(orders[name]))
    pairs = zip(given, optimizer._encoding.orders, strict=True)
    state["orders"] = pack([places[order.astype(int)].astype(float) for places, order in pairs])
    return Optimizer.restore(state)


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es-margin"])
@pytest.mark.parametrize(
    ("space", "fun", "orders"),
    [
        (MIXED, cost, {"kind": [2, 0, 3, 1], "on": [1, 0]}),
        (ONLY, wrong, {"a": [3, 2, 1, 0], "b": [1, 2, 3, 0], "c": [0, 2, 1, 3], "d": [2, 3, 0, 1]}),
    ],
)
def test_the_order_of_the_choices_means_nothing(
    strategy: str, space: Space, fun: Any, orders: dict[str, list[int]]
) -> None:
    """How values are numbered is drawn at random; with the same numbers, the same search, to the last bit.

    So over all seeds a search is the same for every order.
    """
    first = Optimizer(space, strategy=strategy, seed=5, auto_restart=True)
    other = reordered(first, orders)
    assert other.space != first.space
    most = 40 if strategy == "saltus" else 300
    assert played(first, fun, most) == played(other, fun, most)


def test_values_are_numbered_at_random() -> None:
    space = Space({"k": Categorical(["a", "b", "c"]), "x": Float(0, 1)})
    orders = {tuple(Optimizer(space, seed=seed)._encoding.orders[0]) for seed in range(60)}
    assert len(orders) == 6
    first = {Optimizer(space, seed=seed).ask(1)[0].params["k"] for seed in range(20)}
    assert first == {"a", "b", "c"}


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cr-fm-nes+leap"])
@pytest.mark.parametrize(("space", "fun"), [(MIXED, cost), (ONLY, wrong)])
def test_without_waiting_the_order_of_telling_means_nothing(strategy: str, space: Space, fun: Any) -> None:
    def run(seed: int) -> list[Any]:
        shuffle = random.Random(seed)
        optimizer = Optimizer(space, strategy=strategy, seed=2, asynchronous=True, auto_restart=True)
        seen: list[Any] = []
        for _ in range(4 if strategy == "saltus" else 20):
            candidates = optimizer.ask(9)
            seen += [c.params for c in candidates]
            late, now = candidates[:3], candidates[3:]
            shuffle.shuffle(now)
            for c in now:
                optimizer.tell(c, fun(c.params))
            seen += [c.params for c in optimizer.ask(2)]
            for c in late:
                optimizer.tell(c, fun(c.params))
        return seen

    assert run(1) == run(2)


def test_points_of_others_are_learnt_from() -> None:
    for strategy in ("saltus", "dx-nes-ici"):
        optimizer = Optimizer(MIXED, strategy=strategy, seed=1)
        optimizer.add({"kind": "poly", "x": 1.0, "k": 7, "on": False}, 0.0)
        assert optimizer.best is not None
        assert optimizer.best.params["kind"] == "poly"
        optimizer.tell(optimizer.ask(), [cost(c.params) for c in optimizer.pending])


def test_a_space_of_categories_ends_when_all_is_known() -> None:
    seen: list[Any] = []

    def fun(p: dict[str, Any]) -> float:
        seen.append(tuple(p.values()))
        return float(p["a"] == "x") + (p["b"] is None)

    space = Space({"a": Categorical(["x", "y", "z"]), "b": Categorical([None, 1, 2, 3])})
    for strategy in ("saltus", "saltus-es", "dx-nes-ici"):
        seen.clear()
        result = minimize(fun, space, strategy=strategy, budget=500, seed=1)
        assert result.stop is Stop.EXHAUSTED or strategy == "dx-nes-ici"
        assert len(seen) == len({*seen}) <= 12  # no point is paid for twice
        assert result.fun == 0.0


def test_what_is_learnt_of_categories() -> None:
    optimizer = Optimizer(MIXED, seed=1)
    played(optimizer, lambda p: 10.0 * (p["kind"] != "poly") + p["x"] ** 2, 80)
    shares = optimizer.sensitivity(everywhere=True)
    assert shares is not None
    assert shares["kind"].share > 0.2 > 0.1 > shares["on"].share
    near, far = optimizer.predict([{"kind": kind, "x": 0.0, "k": 5, "on": True} for kind in ("poly", None)])
    assert near.value < 0.1
    assert far.value > 5
    assert optimizer.centre["kind"] == "poly"
    assert len(optimizer.mean) == len(optimizer.sd) == 4
    assert np.isfinite(optimizer.mean).all()


def test_states_with_nonsense_about_categories_are_refused() -> None:
    state = Optimizer(MIXED, seed=1).state()
    some: list[Any] = [[]]
    for nonsense in (*some, pack([np.array([0.0, 1.0]), np.array([0.0, 1.0])])):
        with pytest.raises(ValueError, match="places of all choices"):
            Optimizer.restore(state | {"orders": nonsense})
    with pytest.raises(TypeError, match="text, finite numbers, true, false or None"):
        Optimizer(Space({"k": Categorical([(1, 2), (3, 4)])}), seed=1).state()
