"""Known constraints: no point that breaks one is ever asked, whatever searches and however it is driven."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from saltus import STRATEGIES, Bool, Categorical, Float, Int, Optimizer, Ordinal, Outcome, Space, minimize

of_scipy: Any = optimize.minimize
NAMES = ["a", "b", "c"]
SWITCHES = [f"s{i}" for i in range(8)]


def in_a_ball(x: Any) -> bool:
    """About 1% of the box."""
    return bool(((x - 0.4) ** 2).sum() <= 0.42**2)


SPACES: dict[str, tuple[Space, Any]] = {
    "simplex": (
        Space({name: Float(0, 1) for name in NAMES}, where="a + b + c <= 1"),
        lambda p: p["a"] + p["b"] + p["c"] <= 1,
    ),
    "ordered": (
        Space(
            {"low": Float(0, 1), "high": Float(0, 1), "k": Int(0, 9), "m": Int(0, 9)},
            where=["low <= high", lambda p: p["k"] < p["m"]],
        ),
        lambda p: p["low"] <= p["high"] and p["k"] < p["m"],
    ),
    "switches": (
        Space({name: Bool() for name in SWITCHES}, where=" + ".join(SWITCHES) + " <= 2"),
        lambda p: sum(p.values()) <= 2,
    ),
    "ball": (Space([Float(-1, 1)] * 4, where=in_a_ball), in_a_ball),
    "mixed": (
        Space(
            {"x": Float(1e-3, 1, log=True), "k": Int(0, 20), "o": Ordinal([0.5, 1, 4])},
            where=["10*x + k <= 2", "o >= 1"],
        ),
        lambda p: 10 * p["x"] + p["k"] <= 2 and p["o"] >= 1,
    ),
}


def value(params: Any) -> float:
    numbers = np.array(list(params.values()) if isinstance(params, dict) else params, dtype=float)
    return float(((numbers - 0.7) ** 2 * np.arange(1, len(numbers) + 1)).sum())


def played(optimizer: Optimizer, allowed: Any, budget: int, restoring: bool = False) -> Optimizer:
    """Ask, check and tell, saved and restored at every turn if so."""
    rng = np.random.default_rng(0)
    while optimizer.evaluations < budget:
        candidates = optimizer.ask(3 if optimizer.asynchronous else None)
        assert candidates
        assert all(allowed(c.params) for c in candidates), [c.params for c in candidates]
        if optimizer.asynchronous:
            pending = optimizer.pending
            rng.shuffle(pending)
            candidates = pending[: max(1, len(pending) - 4)]
        optimizer.tell(candidates, [value(c.params) for c in candidates])
        if restoring:
            space = optimizer.space
            optimizer = Optimizer.restore(json.loads(json.dumps(optimizer.state())), space=space)
    return optimizer


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", SPACES)
def test_every_strategy(name: str, strategy: str) -> None:
    space, allowed = SPACES[name]
    optimizer = Optimizer(space, strategy=strategy, seed=1, auto_restart=True)
    played(optimizer, allowed, 40 if strategy == "saltus" else 200)
    assert optimizer.best is not None
    assert optimizer.best.violation == 0


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es"])
@pytest.mark.parametrize("name", SPACES)
def test_without_waiting(name: str, strategy: str) -> None:
    space, allowed = SPACES[name]
    optimizer = Optimizer(space, strategy=strategy, seed=1, asynchronous=True, auto_restart=True)
    played(optimizer, allowed, 36 if strategy == "saltus" else 150)


@pytest.mark.parametrize("how", [{"noisy": True}, {"batch": 4}, {"noisy": True, "asynchronous": True}])
@pytest.mark.parametrize("name", ["ordered", "ball"])
def test_noisy_and_in_batches(name: str, how: dict[str, Any]) -> None:
    space, allowed = SPACES[name]
    played(Optimizer(space, seed=1, **how), allowed, 48)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "cma-es+leap"])
@pytest.mark.parametrize("name", ["ordered", "switches"])
def test_saved_and_restored(name: str, strategy: str, asynchronous: bool) -> None:
    space, allowed = SPACES[name]
    how: dict[str, Any] = {
        "strategy": strategy,
        "seed": 1,
        "asynchronous": asynchronous,
        "auto_restart": True,
    }
    budget = 24 if strategy == "saltus" else 60
    straight = played(Optimizer(space, **how), allowed, budget)
    halting = played(Optimizer(space, **how), allowed, budget, restoring=True)
    assert straight.memory.x.tolist() == halting.memory.x.tolist()
    assert straight.best is not None
    assert halting.best is not None
    assert straight.best.value == halting.best.value


def test_a_state_with_text_has_its_rules_and_one_with_a_function_asks_for_them() -> None:
    space, allowed = SPACES["simplex"]
    restored = Optimizer.restore(Optimizer(space, seed=1).state())
    assert restored.space == space
    played(restored, allowed, 20)
    ball, _ = SPACES["ball"]
    state = Optimizer(ball, seed=1).state()
    with pytest.raises(ValueError, match="where has a function, which is not in it: give the space itself"):
        Optimizer.restore(state)
    assert Optimizer.restore(state, space=ball).space == ball
    with pytest.raises(ValueError, match="another space"):
        Optimizer.restore(state, space=Space([Float(-1, 1)] * 4))


def test_an_optimum_on_the_border_is_found() -> None:
    target = np.array([0.5, 0.4, 0.6])
    found = of_scipy(
        lambda x: ((x - target) ** 2).sum(),
        np.full(3, 0.1),
        bounds=[(0, 1)] * 3,
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum()},
        tol=1e-12,
    )
    space = SPACES["simplex"][0]

    def far(p: Any) -> float:
        return float(((np.array(list(p.values())) - target) ** 2).sum())

    assert minimize(far, space, budget=60, seed=1).fun == pytest.approx(found.fun, abs=1e-6)
    result = minimize(far, space, budget=600, seed=1, strategy="saltus-es")
    assert result.fun == pytest.approx(found.fun, abs=1e-3)


def test_constraints_of_the_objective_besides() -> None:
    optimizer = Optimizer(SPACES["simplex"][0], seed=1)
    while optimizer.evaluations < 60:
        candidates = optimizer.ask()
        assert all(sum(c.params.values()) <= 1 for c in candidates)
        told = [Outcome(-c.params["a"], {"g": c.params["a"] - 0.3}) for c in candidates]
        optimizer.tell(candidates, told)
    assert optimizer.best is not None
    assert optimizer.best.value == pytest.approx(-0.3, abs=1e-3)


def test_what_others_have_evaluated_is_violated_if_it_is_not_allowed() -> None:
    optimizer = Optimizer(SPACES["simplex"][0], seed=1)
    optimizer.add({"a": 1.0, "b": 1.0, "c": 1.0}, -5.0)
    optimizer.add({"a": 0.1, "b": 0.1, "c": 0.1}, 3.0)
    assert optimizer.best is not None
    assert optimizer.best.value == 3.0


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_first_mean_that_is_not_allowed_is_not_compared_with_known_points(
    strategy: str, asynchronous: bool
) -> None:
    space = Space({"a": Float(0, 1), "b": Float(0, 1)}, where="a + 2*b <= 1")
    optimizer = Optimizer(space, strategy=strategy, seed=1, asynchronous=asynchronous, auto_restart=True)
    optimizer.enqueue({"a": 0.1, "b": 0.1})
    played(optimizer, lambda p: p["a"] + 2 * p["b"] <= 1, 20)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_known_point_on_the_border_is_allowed_and_not_lost(strategy: str) -> None:
    space = Space({"a": Float(0, 1), "b": Float(0, 1), "c": Float(0, 1)}, where="a + b + c <= 1")
    best = {"a": 0.5, "b": 0.25, "c": 0.25}

    def known(p: Any) -> float:
        return float(0.0 if p == best else 1.0 + p["a"])

    asked, told = (Optimizer(space, strategy=strategy, seed=1, auto_restart=True) for _ in range(2))
    asked.enqueue(best, {"a": 0.1, "b": 0.2, "c": 0.7})  # as a sum of floats, a little above 1 or below it
    told.add([best, {"a": 0.1, "b": 0.1, "c": 0.1}], [0.0, 1.1])
    for optimizer in (asked, told):
        while optimizer.evaluations < 20:
            candidates = optimizer.ask()
            optimizer.tell(candidates, [known(c.params) for c in candidates])
        assert optimizer.best is not None
        assert (optimizer.best.params, optimizer.best.violation) == (best, 0.0)


@pytest.mark.parametrize("where", ["a + b <= 1", [lambda p: True, "a + b <= 1"]])
def test_a_known_point_that_breaks_a_rule_is_refused_by_its_name(where: Any) -> None:
    optimizer = Optimizer(Space({"a": Float(0, 1), "b": Float(0, 1)}, where=where), seed=1)
    with pytest.raises(ValueError, match=r"{'a': 0.9, 'b': 0.8} breaks 'a \+ b <= 1' \(where\)$"):
        optimizer.enqueue({"a": 0.9, "b": 0.8})
    with pytest.raises(
        ValueError, match=r"'b': 0.5} breaks 'a \+ b <= 1' \(where\); give its other variables, too$"
    ):
        optimizer.enqueue({"a": 0.9})


def test_a_known_point_that_breaks_a_function_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"breaks 'in_a_ball' \(where\)$"):
        Optimizer(SPACES["ball"][0], seed=1).enqueue([1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
def test_text_holds_where_a_variable_of_it_is_not_active(strategy: str) -> None:
    variables = {"a": Float(0, 1), "kind": Categorical(["u", "v"]), "b": Float(0, 1, when={"kind": "u"})}
    space = Space(variables, where=["a + b <= 0.5", "a <= 0.9"])
    optimizer = Optimizer(space, strategy=strategy, seed=1, auto_restart=True)
    optimizer.enqueue({"a": 0.6, "kind": "v"})
    while optimizer.evaluations < 60:
        candidates = optimizer.ask()
        assert all(c.params["a"] + c.params.get("b", -0.4) <= 0.5 for c in candidates)
        optimizer.tell(candidates, [c.params.get("b", -1.0) - c.params["a"] for c in candidates])
    assert optimizer.best is not None
    assert optimizer.best.params["kind"] == "v"
    assert optimizer.best.value == pytest.approx(-1.9, abs=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_a_switch_with_which_little_is_allowed_is_tried(seed: int) -> None:
    variables = {"size": Float(0, 10), "more": Float(0, 10), "on": Bool()}
    space = Space(variables, where="size + more + 8*on <= 10")
    result = minimize(
        lambda p: (p["size"] - 7) ** 2 + (p["more"] - 3) ** 2 - 100 * p["on"], space, budget=60, seed=seed
    )
    assert result.fun == pytest.approx(-66, abs=1e-3)


def test_a_single_point_may_be_all_that_is_allowed() -> None:
    space = Space({"k": Int(0, 50), "m": Int(0, 50), "n": Int(0, 50)}, where="k + m + n <= 0")
    result = minimize(lambda p: float(p["k"]), space, budget=10, seed=1)
    assert result.params == {"k": 0, "m": 0, "n": 0}


def test_nothing_allowed_is_a_clear_error() -> None:
    for where in ("x >= 2", lambda p: False):
        with pytest.raises(ValueError, match="where allows none of 16,384 points at random"):
            Optimizer(Space({"x": Float(0, 1), "y": Float(0, 1)}, where=where))


def test_a_known_start_is_enough() -> None:
    def narrow(p: Any) -> bool:
        return bool(abs(p["x"] - 0.123456) < 1e-6)

    space = Space({"x": Float(0, 1), "y": Float(0, 1)}, where=narrow)
    with pytest.raises(ValueError, match="give it as mean="):
        Optimizer(space)
    played(Optimizer(space, mean={"x": 0.123456}, seed=1), narrow, 20)


def test_rules_about_categories_are_functions() -> None:
    variables = {"a": Float(0, 1), "k": Int(0, 5), "c": Categorical(["u", "v", "w"])}
    with pytest.raises(ValueError, match="c is a Categorical"):
        Space(variables, where="a + c <= 1")
    space = Space(variables, where=lambda p: p["c"] != "v" or p["k"] < 2)
    for strategy in ("saltus", "saltus-es", "dx-nes-ici"):
        optimizer = Optimizer(space, seed=1, strategy=strategy)
        while optimizer.evaluations < 40:
            candidates = optimizer.ask()
            assert all(c.params["c"] != "v" or c.params["k"] < 2 for c in candidates)
            optimizer.tell(candidates, [(c.params["c"] != "v") + abs(c.params["k"] - 4) for c in candidates])
