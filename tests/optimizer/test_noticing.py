"""Noise: said, noticed, and what is recommended then."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from saltus import Candidate, Categorical, Float, Int, Optimizer, Outcome, Space
from saltus.optimizer.noticing import Repeats
from saltus.search import Memory, Noisy
from saltus.space import Variable

SPACE = Space({"x": Float(-5, 5), "y": Float(-5, 5)})
MIXED = Space({"x": Float(-5, 5), "k": Int(0, 20)})


def truth(params: Any) -> float:
    rest = sum(params.get(name, 0.0) ** 2 for name in "zuvw")
    return float(
        (params["x"] - 1) ** 2 + (params.get("y", -2.0) + 2) ** 2 + (params.get("k", 7) - 7) ** 2 + rest
    )


def run(optimizer: Optimizer, budget: int, seed: int = 0, noise: float = 1.0) -> Optimizer:
    rng = np.random.default_rng(seed)
    while optimizer.evaluations < budget:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [truth(c.params) + noise * rng.normal() for c in candidates])
    return optimizer


def test_a_memory_with_equal_repeats_is_not_noisy() -> None:
    memory, repeats = Memory(2), Repeats()
    x = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0], [1.0, 3.0]])
    memory.extend(range(4), x, [5.0, np.nan, 5.0 * (1 + 1e-12), 4.0], None)
    assert not repeats.differ(memory)
    memory.extend([4], x[:1], [5.1], None)
    assert repeats.differ(memory)
    assert repeats.differ(memory)


def test_noise_is_noticed_from_past_data() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    for value in (3.0, 3.5):
        optimizer.add({"x": 1.0, "y": 2.0}, value)
    for _ in range(2):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [truth(c.params) for c in candidates])
    optimizer.ask()
    assert optimizer.noisy
    assert isinstance(optimizer._search, Noisy)
    again = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
    assert again.noisy
    assert isinstance(again._search, Noisy)
    assert [c.params for c in again.pending] == [c.params for c in optimizer.pending]


def test_noise_is_noticed_whatever_the_order_of_telling() -> None:
    asked = []
    for order in (1, -1):
        optimizer = Optimizer(Space({"k": Int(0, 3)}), seed=1, strategy="saltus-es")
        for number in range(8):
            candidates: list[Candidate] = optimizer.ask()
            for candidate in candidates[::order]:
                optimizer.tell(candidate, candidate.params["k"] + 0.1 * candidate.id)
            if number == 3:
                assert optimizer.noisy
        asked.append([c.params for c in optimizer.ask()])
    assert asked[0] == asked[1]


def test_who_says_that_there_is_no_noise_is_believed() -> None:
    optimizer = Optimizer(SPACE, seed=1, noisy=False)
    for value in (3.0, 3.5):
        optimizer.add({"x": 1.0, "y": 2.0}, value)
    run(optimizer, 30)
    assert not optimizer.noisy
    assert not isinstance(optimizer._search, Noisy)


def test_without_noise_what_is_said_makes_no_difference_and_the_best_is_recommended() -> None:
    said, noticed = (run(Optimizer(MIXED, seed=1, noisy=n), 60, noise=0.0) for n in (False, None))
    assert said.best is not None
    assert noticed.best is not None
    assert noticed.recommended is not None
    assert said.best.params == noticed.best.params == noticed.recommended.params
    assert noticed.recommended.value == noticed.best.value
    assert noticed.recommended.error == 0.0
    assert Optimizer(SPACE).recommended is None


@pytest.mark.parametrize("space", [SPACE, MIXED, Space({"x": Float(), "k": Int(0, 3)})])
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici"])
def test_what_is_recommended_is_a_point_with_finite_numbers(space: Space, strategy: str) -> None:
    optimizer = Optimizer(space, seed=1, noisy=True, strategy=strategy)
    rng = np.random.default_rng(1)
    for _ in range(12):
        candidates = optimizer.ask()
        for candidate in candidates:
            optimizer.tell(candidate, truth(candidate.params) + rng.normal())
            found = optimizer.recommended
            assert found is not None
            assert np.isfinite(found.value)
            assert found.error >= 0
            assert space.names
            assert list(found.params) == list(space.names)
            optimizer._encoding.numbers_of(found.params)  # it can be evaluated


def test_it_is_the_same_search_after_a_restore_in_the_middle() -> None:
    whole, pieces = (Optimizer(MIXED, seed=1, noisy=True) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(30):
        candidates = whole.ask()
        values = [truth(c.params) + rng.normal() for c in candidates]
        own = pieces.ask(3)
        pieces.tell(own[1], values[1])
        pieces = Optimizer.restore(json.loads(json.dumps(pieces.state())))
        own = pieces.pending + pieces.ask()
        pieces.tell(own, [values[c.slot] for c in own])
        whole.tell(candidates, values)
    assert whole.recommended is not None
    assert pieces.recommended is not None
    assert whole.recommended.params == pieces.recommended.params
    assert whole.recommended[2:] == pieces.recommended[2:]


def test_what_is_recommended_is_nearer_than_the_luckiest_value() -> None:
    nearer, honest, space = 0, 0, Space({name: Float(-5, 5) for name in "xyzuvw"})
    for seed in range(10):
        optimizer = run(Optimizer(space, seed=seed, noisy=True), 400, seed)
        assert optimizer.best is not None
        assert optimizer.recommended is not None
        nearer += truth(optimizer.recommended.params) < truth(optimizer.best.params)
        off = optimizer.recommended.value - truth(optimizer.recommended.params)
        honest += abs(off) < 2 * optimizer.recommended.error
    assert nearer >= 8
    assert honest >= 7


def test_constraints_hold_where_it_is_recommended() -> None:
    optimizer, rng = Optimizer(SPACE, seed=1, noisy=True), np.random.default_rng(1)
    while optimizer.evaluations < 400:
        candidates = optimizer.ask()
        outcomes = [Outcome(truth(c.params) + rng.normal(), {"g": c.params["x"]}) for c in candidates]
        optimizer.tell(candidates, outcomes)
    found = optimizer.recommended
    assert found is not None
    assert -1.5 < found.params["x"] <= 0.0


def test_an_asynchronous_search_learns_from_repeats_too() -> None:
    optimizer, rng = Optimizer(SPACE, seed=1, noisy=True, asynchronous=True), np.random.default_rng(1)
    running = optimizer.ask(5)
    while optimizer.evaluations < 600:
        done = running.pop(2)
        optimizer.tell(done, truth(done.params) + 3 * rng.normal())
        running += optimizer.ask()
    found = optimizer.recommended
    assert found is not None
    assert truth(found.params) < 2.0
    assert isinstance(optimizer._search, Noisy)
    assert optimizer._search.phase.reliability < 0.9


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("beside", [{}, {"x": Float(-5, 5), "k": Int(0, 9)}], ids=["alone", "mixed"])
def test_categories_of_a_noisy_objective(beside: dict[str, Variable], asynchronous: bool) -> None:
    """The right value is found in spite of noise, and a run goes on from its state."""
    space = Space({"c": Categorical(["a", "b", "d"])} | beside)
    noise = np.random.default_rng(3)
    optimizer = Optimizer(space, seed=1, noisy=True, asynchronous=asynchronous)
    while optimizer.evaluations < 200:
        candidates = optimizer.ask()
        values = [(c.params["c"] != "b") + 0.5 * noise.standard_normal() for c in candidates]
        optimizer.tell(candidates, values)
        if optimizer.evaluations < 30:
            optimizer = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
    assert optimizer.recommended is not None
    assert optimizer.recommended.params["c"] == "b"
    assert abs(optimizer.recommended.value) < 4 * optimizer.recommended.error
