"""States: a restored optimizer goes on bit by bit, and what is broken is refused."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import STRATEGIES, Candidate, Float, Optimizer, Ordinal, Space
from saltus.search.settings import MANY_PHASES

from .playing import (
    LOGS,
    SPACE,
    SPACES,
    World,
    asynchronous,
    eventful,
    in_mid_air,
    objective,
    remembered,
    through_json,
    trace,
)


@settings(deadline=None, max_examples=25)
@given(
    strategy=st.sampled_from(sorted(STRATEGIES)),
    moment=st.integers(0, 60),
    seed=st.integers(0, 10**6),
    named=st.booleans(),
)
def test_a_restored_search_goes_on_bit_by_bit(strategy: str, moment: int, seed: int, named: bool) -> None:
    space = SPACE if named else Space(list(SPACE.variables))
    names = SPACE.names or ()

    def value(params: Any) -> tuple[float, float]:
        p = params if named else dict(zip(names, params.tolist(), strict=True))
        v = objective(p)
        return (math.nan if p["x"] > 3 else v), max(0.0, p["k"] - 5)

    def go(optimizer: Optimizer, evaluations: int) -> list[str]:
        seen = []
        for c in optimizer.pending:
            optimizer.tell(c, *value(c.params))
        for _ in range(evaluations):
            (c,) = optimizer.ask(1)
            optimizer.tell(c, *value(c.params))
            seen.append(repr(c.params))
            if optimizer.generation % 8 == 7:
                with contextlib.suppress(RuntimeError):  # in the middle of a generation
                    optimizer.restart()
        return seen

    optimizer = Optimizer(space, strategy=strategy, seed=seed, mean={"k": 1.0} if named else None)
    go(optimizer, moment)
    optimizer.ask(2)  # asked and not told
    text = json.dumps(optimizer.state(), allow_nan=False)
    restored = Optimizer.restore(json.loads(text))
    assert restored.state() == optimizer.state()
    assert [c.id for c in restored.pending] == [c.id for c in optimizer.pending]
    assert go(restored, 30) == go(optimizer, 30)
    assert restored.state() == optimizer.state()


def test_restore_other_bit_generators() -> None:
    for bits in (np.random.MT19937(1), np.random.Philox(1), np.random.SFC64(1)):
        optimizer = Optimizer(SPACE, seed=np.random.Generator(bits))
        trace(optimizer, 2)
        restored = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
        assert trace(restored, 3) == trace(optimizer, 3)


def test_copy_and_pickle_go_on_alike() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    trace(optimizer, 3)
    optimizer.ask(2)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert other.state() == optimizer.state()


def test_restore_with_the_space_keeps_the_very_values() -> None:
    space = Space({"v": Ordinal([Fraction(1, 3), Fraction(1, 2), 2])})
    state = json.loads(json.dumps(Optimizer(space, seed=1).state()))
    kinds = {type(c.params["v"]) for c in Optimizer.restore(state, space).ask()}
    assert Fraction in kinds
    assert Fraction not in {type(c.params["v"]) for c in Optimizer.restore(state).ask()}
    with pytest.raises(ValueError, match="another space"):
        Optimizer.restore(state, SPACE)


def test_a_state_of_before_the_model_is_not_continued_with_one() -> None:
    """What was called saltus then is saltus-es now."""
    older = Optimizer(SPACE, seed=1, strategy="saltus-es").state() | {"format": 3, "strategy": "saltus"}
    with pytest.raises(ValueError, match=r"an older Saltus wrote it: .* strategy='saltus-es'"):
        Optimizer.restore(older)


def test_broken_states_are_refused() -> None:
    optimizer = Optimizer(SPACE, seed=1, strategy="saltus-es")
    trace(optimizer, 2)
    good = optimizer.state()
    Optimizer.restore(good)
    array = {"dtype": "float64", "shape": [1], "order": "C", "base64": "AAAAAAAAAAA="}
    run = ["search", "descent", "phase", "state"]
    gaussian = [*run, "gaussian", "state"]

    def broken(path: list[str], value: Any) -> dict[str, Any]:
        state = copy.deepcopy(good)
        inner = state
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return state

    for state in (
        {},
        {"format": 99},
        broken(["space"], 3),
        broken(["strategy"], "nope"),
        broken([*gaussian, "m"], array),
        broken([*run, "gaussian"], {"m": 1}),
        broken([*run, "gaussian", "state"], "os.system"),
        broken([*run, "best"], array),
        broken([*run, "best", "x"], array),
        broken([*run, "gaussian", "z"], array),
        broken(["search", "descent", "phase", "kind"], "Nope"),
        broken(["search", "kind"], "nope"),
        broken(["rng", "bit_generator"], "__import__('os')"),
        broken([*gaussian, "m"], {"dtype": "object", "shape": [1], "order": "C", "base64": "AAAA"}),
        broken(["search", "stop"], "NOPE"),
    ):
        with pytest.raises(ValueError, match=r"state|strategy"):
            Optimizer.restore(state)


@pytest.mark.parametrize("strategy", MANY_PHASES)
def test_the_memory_is_restored_in_the_middle_of_a_batch(strategy: str) -> None:
    optimizer = Optimizer(SPACE, strategy=strategy, seed=4, batch=4)
    for _ in range(20):
        candidates = optimizer.ask()
        middle = len(candidates) // 2
        optimizer.tell(candidates[:middle], [eventful(c.params) for c in candidates[:middle]])
        other = Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))
        assert remembered(other) == remembered(optimizer)
        for each in (optimizer, other):
            left = each.pending
            each.tell(left, [eventful(c.params) for c in left])
        assert remembered(other) == remembered(optimizer)
        optimizer = other
    assert len(optimizer.memory) == optimizer.evaluations


def test_a_state_without_the_memory_does_not_grow() -> None:
    optimizer = Optimizer(Space([Float(-5, 5)] * 5), strategy="dx-nes-ici", seed=1)
    sizes = []
    for _ in range(2):
        for _ in range(40):
            candidates = optimizer.ask()
            optimizer.tell(candidates, [float(c.params @ c.params) for c in candidates])
        state = optimizer.state(memory=False)
        assert "memory" not in state
        sizes.append(len(json.dumps(state)))
        other = Optimizer.restore(state)
        assert len(other.memory) == 0
        assert [c.params.tolist() for c in other.ask()] == [
            c.params.tolist() for c in Optimizer.restore(optimizer.state()).ask()
        ]
    assert sizes[1] < 1.02 * sizes[0]


def test_copies_and_pickles_go_on_alike() -> None:
    optimizer = asynchronous(SPACES["mixed"], seed=1)
    world = World(optimizer, 6, seed=2)
    world.run(60)
    world.fill()
    for other in (copy.copy(optimizer), copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert type(other) is Optimizer
        assert other.state() == optimizer.state()
        twin = World(other, 6, seed=3)
        twin.running = list(world.running)
        twin.run(20)
        assert other.state() != optimizer.state()
    assert optimizer.pending == sorted(world.running, key=lambda c: c.id)  # none was touched by the others


def damaged(good: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    state = copy.deepcopy(good)
    inner: Any = state
    for name in path[:-1]:
        inner = inner[name]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return state


ARRAY = {"dtype": "float64", "shape": [1], "order": "C", "base64": "AAAAAAAAAAA="}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["late_phase"], None),
        (["late_phase"], "soon"),
        (["in_flight"], None),
        (["in_flight"], 3),
        (["in_flight", 0], [1, 2]),
        (["in_flight", 0, 0], "first"),
        (["in_flight", 0, 1], ARRAY),
        (["in_flight", 0, 2], ARRAY),
        (["late"], None),
        (["late", 0], ["x"]),
        (["news"], None),
        (["news", 0], [1]),
        (["news", 0, 1], "much"),
        (["elsewhere", 0, 1], ARRAY),
        (["details"], [[0, 1.0, {}, "NO SUCH FAILURE"]]),
        (["asked"], [[0]]),
        (["asked"], [[5, 10**12]]),
        (["asked"], [[5, -1]]),
        (["memory", "base85"], "?"),
        (["memory", "count"], 10**9),
    ],
)
def test_damaged_states_are_refused(path: list[Any], value: Any) -> None:
    good = json.loads(json.dumps(in_mid_air().state(), allow_nan=False))
    Optimizer.restore(good)
    with pytest.raises(ValueError, match=r"."):
        Optimizer.restore(damaged(good, path, value))


def test_the_memory_is_restored_while_candidates_are_in_flight() -> None:
    optimizer = in_mid_air()
    other = through_json(optimizer)
    assert remembered(other) == remembered(optimizer)
    for each in (optimizer, other):
        World(each, 5, seed=3).run(120)
        each.tell(each.pending, [1.0] * len(each.pending))
        each.ask()
    assert remembered(other) == remembered(optimizer)
    assert other.state() == optimizer.state()


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("strategy", ["saltus", "saltus-es"])
def test_a_state_goes_on_where_numbers_are_rounded_otherwise(
    strategy: str, waits: bool, other_processor: Callable[[], None]
) -> None:
    """What was asked is what was asked: in the batch, in flight, told and not learnt from."""
    optimizer = Optimizer(LOGS, strategy=strategy, seed=1, asynchronous=not waits, batch=4)
    where: dict[int, Any] = {}

    def value(params: Any) -> float:
        return float(np.log(params["rate"]) ** 2 + np.log(params["width"]) ** 2 + (params["k"] - 7) ** 2)

    def asked(k: int) -> list[Candidate]:
        new = optimizer.ask(k)
        where.update((c.id, c.params) for c in new)
        return new

    running = asked(8)
    for _ in range(60):
        if waits and not running:
            running = asked(8)
        done = running.pop(0 if waits else len(running) // 2)
        optimizer.tell(done, value(done.params))
        running += [] if waits else asked(1)
    running += asked(3)
    if running[1:]:
        done = running.pop()
        optimizer.tell(done, value(done.params))
    state = json.dumps(optimizer.state())
    other_processor()
    restored = Optimizer.restore(json.loads(state))
    assert restored.pending == optimizer.pending == sorted(running, key=lambda c: c.id)
    for candidate in restored.pending:
        restored.tell(candidate, value(candidate.params) - 1e6)  # the best is one of them
    restored.ask()
    assert restored.best is not None
    assert restored.best.params == where[restored.best.id]
    numbers = {id: list(params.values()) for id, params in where.items()}
    memory = zip(restored.memory.ids.tolist(), restored.memory.x.tolist(), strict=True)
    assert all(numbers[id] == x for id, x in memory)
