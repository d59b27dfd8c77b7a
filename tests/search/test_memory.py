"""Memory: what it holds, what it forgets, and its state."""

from __future__ import annotations

import base64
import json
import math
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest

from saltus.order import Failure, Outcome
from saltus.search.memory import Memory


def filled(count: int, width: int = 3, batch: int = 7, capacity: int = 100_000, seed: int = 1) -> Memory:
    rng, memory = np.random.default_rng(seed), Memory(width, capacity)
    for first in range(0, count, batch):
        ids = range(first, min(first + batch, count))
        n = len(ids)
        memory.extend(ids, rng.standard_normal((n, width)), rng.standard_normal(n).tolist(), [0.0] * n)
    return memory


def contents(memory: Memory) -> Any:
    names = memory.constraint_names
    parts = [memory.ids, memory.x, memory.values, memory.violations, *map(memory.constraint, names)]
    return [(part.dtype, part.shape, part.tobytes()) for part in parts], names, memory.failures, len(memory)


def test_what_is_put_in_is_there_in_that_order() -> None:
    memory = Memory(2)
    assert len(memory) == 0
    assert memory.best is None
    assert memory.x.shape == (0, 2)
    memory.extend([3, 5], np.array([[1.0, 2.0], [3.0, 4.0]]), [7.0, 6.0], [0.0, 0.5])
    memory.extend([4], np.array([[5.0, 6.0]]), [8.0], [0.0])
    assert len(memory) == 3
    assert memory.ids.tolist() == [3, 5, 4]
    assert memory.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert memory.values.tolist() == [7, 6, 8]
    assert memory.violations.tolist() == [0, 0.5, 0]
    assert memory.failures == [None] * 3
    assert memory.best == 0
    assert memory.constraint_names == []


def test_without_violations_nothing_is_violated() -> None:
    memory = Memory(1)
    memory.extend([0, 1], np.zeros((2, 1)), [2.0, 1.0], None)
    assert memory.violations.tolist() == [0.0, 0.0]
    assert memory.failures == [None, None]
    assert memory.best == 1


def test_the_first_evaluation_may_have_failed_without_a_word() -> None:
    memory = Memory(1)
    memory.extend([0, 1], np.zeros((2, 1)), [math.nan, 1.0], None)
    assert memory.failures == [Failure.VALUE, None]


def test_looking_in_between_changes_nothing() -> None:
    looked, other = Memory(3), filled(50)
    rng = np.random.default_rng(1)
    for first in range(0, 50, 7):
        n = min(7, 50 - first)
        looked.extend(
            range(first, first + n), rng.standard_normal((n, 3)), rng.standard_normal(n).tolist(), [0.0] * n
        )
        assert len(looked.ids) == len(looked) == first + n
    assert contents(looked) == contents(other)


def test_a_constraint_that_appears_later_is_unknown_before() -> None:
    memory = Memory(1)
    x = np.zeros((2, 1))
    memory.extend([0, 1], x, [1.0, 2.0], [0.0, 0.0])
    memory.extend([2, 3], x, [1.0, 2.0], [0.5, 0.0], {0: Outcome(1.0, {"mass": 0.5, "stress": -1.0})})
    assert memory.constraint_names == ["mass", "stress"]
    memory.extend([4, 5], x, [1.0, 2.0], [0.0, 2.0], {1: Outcome(2.0, {"cost": 2.0, "mass": -3.0})})
    assert memory.constraint_names == ["mass", "stress", "cost"]
    nan = math.nan
    np.testing.assert_array_equal(memory.constraint("mass"), [nan, nan, 0.5, nan, nan, -3.0])
    np.testing.assert_array_equal(memory.constraint("stress"), [nan, nan, -1.0, nan, nan, nan])
    np.testing.assert_array_equal(memory.constraint("cost"), [nan, nan, nan, nan, nan, 2.0])
    assert memory.x.shape == (6, 1)
    with pytest.raises(ValueError, match="weight"):
        memory.constraint("weight")


def test_kinds_of_failure() -> None:
    memory = Memory(1)
    told: list[tuple[float, float, Failure | None]] = [(math.nan, 0.0, kind) for kind in Failure]
    told += [(math.inf, 0.0, None), (1.0, math.nan, None), (1.0, math.inf, None), (math.nan, 0.5, None)]
    told += [(1.0, 0.0, None), (-math.inf, 0.0, None), (math.nan, math.nan, None)]
    details = {i: Outcome(v, failure=kind) for i, (v, _, kind) in enumerate(told) if kind is not None}
    values, violations, _ = zip(*told, strict=True)
    memory.extend(range(len(told)), np.zeros((len(told), 1)), values, violations, details)
    found = memory.failures
    assert found[:5] == list(Failure)
    assert found[5:] == [
        Failure.VALUE,
        Failure.CONSTRAINT,
        Failure.CONSTRAINT,
        None,  # it is known by how much it is violated
        None,
        Failure.VALUE,
        Failure.VALUE,
    ]
    assert memory.best == 9


def test_the_best_is_feasible_first_then_violated_least_and_the_first_of_equals() -> None:
    memory = Memory(1)

    def add(value: float, violation: float = 0.0) -> int | None:
        memory.extend([len(memory)], np.zeros((1, 1)), [value], [violation])
        return memory.best

    assert add(math.nan) is None
    assert add(1.0, math.inf) is None
    assert add(-5.0, 2.0) == 2
    assert add(math.nan, 1.0) == 3
    assert add(9.0) == 4
    assert add(9.0) == 4
    assert add(-9.0, 0.1) == 4
    assert add(8.0) == 7


@pytest.mark.parametrize("best", [0, 3, 25, 39, None])
def test_beyond_its_capacity_the_older_half_is_forgotten_but_for_the_best(best: int | None) -> None:
    memory = Memory(1, capacity=40)
    for id in range(41):
        value = -1.0 if id == best else math.nan if best is None else float(100 - id)
        memory.extend([id], np.full((1, 1), float(id)), [value], [0.0])
    assert len(memory) == 20
    kept = list(range(21, 41))
    if best is not None and best < 21:
        kept[0] = best
    assert memory.ids.tolist() == kept
    assert memory.x[:, 0].tolist() == kept
    assert memory.best == (None if best is None else kept.index(best))


def test_with_many_variables_it_holds_fewer_evaluations() -> None:
    assert [Memory(n)._capacity for n in (0, 1, 100, 1000, 2000)] == [
        100_000,
        100_000,
        100_000,
        10_000,
        5_000,
    ]


def test_it_never_holds_more_than_its_capacity() -> None:
    memory = Memory(2, capacity=100)
    rng = np.random.default_rng(1)
    least = math.inf
    for first in range(0, 2000, 8):
        values = rng.standard_normal(8)
        least = min(least, values.min())
        memory.extend(range(first, first + 8), rng.standard_normal((8, 2)), values.tolist(), [0.0] * 8)
        assert len(memory) <= 100
        assert memory.best is not None
        assert memory.values[memory.best] == least
        assert memory.ids[-1] == first + 7
    again = Memory(2, capacity=100)
    again.restore(memory.state())
    assert contents(again) == contents(memory)


def eventful(count: int = 60) -> Memory:
    """With constraints by name, failures of every kind and numbers of every size."""
    memory, rng = Memory(3), np.random.default_rng(2)
    kinds = [None, *Failure]
    for first in range(0, count, 6):
        x = rng.standard_normal((6, 3)) * 10.0 ** rng.integers(-300, 300, (6, 3))
        values = rng.choice([1.5, -0.0, math.nan, math.inf, 1e308], 6).tolist()
        violations = rng.choice([0.0, 0.5, math.inf, math.nan], 6).tolist()
        turn = first // 6
        constraints = dict.fromkeys(["a", "b", "c"][: 1 + turn % 3], float(turn))
        details = {i: Outcome(values[i], constraints, kinds[i]) for i in range(0, 6, 1 + turn % 2)}
        memory.extend([3 * id for id in range(first, first + 6)], x, values, violations, details)
    return memory


def test_state_and_restore_are_exact() -> None:
    for memory, width in ((eventful(), 3), (filled(100), 3), (Memory(2), 2), (filled(5, width=1), 1)):
        state = json.loads(json.dumps(memory.state(), allow_nan=False))
        other = filled(11, width)  # what it held before is gone
        other.restore(state)
        assert contents(other) == contents(memory)
        assert other.state() == memory.state()
        for each in (memory, other):
            detail = {1: Outcome(1.0, {"late": -1.0})}
            each.extend([1000, 1001], np.ones((2, width)), [0.0, 1.0], [0.0, 0.0], detail)
        assert contents(other) == contents(memory)


@pytest.mark.parametrize("N", [2, 10, 40])
@pytest.mark.parametrize("kind", ["continuous", "half integers"])
def test_its_state_has_about_eight_bytes_for_each_number(N: int, kind: str) -> None:
    memory, rng, count = Memory(N), np.random.default_rng(1), 3000
    for first in range(0, count, 10):
        x = rng.uniform(-5, 5, (10, N))
        if kind == "half integers":
            x[:, N // 2 :] = rng.integers(-10, 11, (10, N - N // 2))
        memory.extend(range(first, first + 10), x, (x**2).sum(1).tolist(), [0.0] * 10)
    size = len(json.dumps(memory.state()))
    most = 8 * (N + 4) * count
    assert size < (1.35 if kind == "continuous" else 1.0) * most


def repacked(state: dict[str, Any], change: Any) -> dict[str, Any]:
    raw = bytearray(zlib.decompress(base64.b85decode(state["base85"])))
    change(raw)
    return state | {"base85": base64.b85encode(zlib.compress(bytes(raw))).decode()}


def test_damaged_states_are_refused() -> None:
    good = eventful().state()

    def kind_of_failure(raw: bytearray) -> None:
        raw[8 * 60] = 77

    bad: list[tuple[dict[str, Any], str]] = [
        (good | {"count": -1}, "must hold 0 to 100000 evaluations, got -1"),
        (good | {"count": 10**9}, "must hold 0 to"),
        (good | {"count": 59}, "bytes for 59 evaluations"),
        (good | {"count": 61}, "bytes for 61 evaluations"),
        (good | {"constraints": ["a"]}, "bytes for 60 evaluations"),
        (good | {"base85": "~~~?"}, "cannot be read"),
        (good | {"base85": '"not base 85"'}, "cannot be read"),
        (good | {"base85": good["base85"][:40]}, "bytes for 60|cannot be read"),
        (good | {"base85": good["base85"][5:]}, "cannot be read"),
        (good | {"base85": base64.b85encode(b"not compressed").decode()}, "cannot be read"),
        (repacked(good, lambda raw: raw.pop()), "bytes for 60 evaluations"),
        (repacked(good, lambda raw: raw.append(0)), "bytes for 60 evaluations"),
        (repacked(good, kind_of_failure), "unknown kind of failure"),
    ]
    for state, words in bad:
        with pytest.raises(ValueError, match=words):
            Memory(3).restore(state)
    for name in good:
        with pytest.raises(KeyError):
            Memory(3).restore({key: value for key, value in good.items() if key != name})


def test_a_state_for_points_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes for 20 evaluations"):
        Memory(4).restore(filled(20, width=3).state())


def test_a_few_bytes_that_claim_to_be_gigabytes_are_not_unpacked() -> None:
    bomb = zlib.compress(bytes(60_000_000), 9)
    assert len(bomb) < 100_000
    state = {"count": 10, "constraints": [], "base85": base64.b85encode(bomb).decode()}
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="must have 490 bytes"):
            Memory(3).restore(state)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_batch_of_nothing_changes_nothing() -> None:
    memory = Memory(2)
    memory.extend([], np.empty((0, 2)), [], [])
    assert (len(memory), str(memory.ids.dtype), memory.best) == (0, "int64", None)
    memory.extend([3], np.ones((1, 2)), [1.0], [0.0])
    memory.extend([], np.empty((0, 2)), [], [])
    assert (memory.ids.tolist(), str(memory.ids.dtype)) == ([3], "int64")


def test_a_memory_that_is_just_full_comes_back() -> None:
    memory, again = filled(40, capacity=40), Memory(3, capacity=40)
    assert len(memory) == 40
    again.restore(memory.state())
    assert contents(again) == contents(memory)
    with pytest.raises(ValueError, match="must hold 0 to 39 evaluations, got 40"):
        Memory(3, capacity=39).restore(memory.state())


@pytest.mark.parametrize(
    ("kind", "known"), [(0, True), (len(Failure), True), (len(Failure) + 1, False), (255, False)]
)
def test_kinds_of_failure_that_do_not_exist_are_refused(kind: int, known: bool) -> None:
    memory = Memory(1)
    memory.extend([0], np.zeros((1, 1)), [math.nan], [0.0], {0: Outcome(math.nan, failure=Failure.DIED)})
    state = memory.state()
    raw = bytearray(zlib.decompress(base64.b85decode(state["base85"])))
    assert raw[8] == len(Failure)  # after the id
    raw[8] = kind
    state["base85"] = base64.b85encode(zlib.compress(bytes(raw))).decode()
    if known:
        Memory(1).restore(state)
        return
    with pytest.raises(ValueError, match="unknown kind of failure"):
        Memory(1).restore(state)


def test_the_first_part_of_another_memory() -> None:
    memory, other = Memory(2), Memory(2)
    late = Outcome(math.nan, failure=Failure.TIMEOUT)
    memory.extend([0, 1], np.array([[1.0, 2.0], [1.5, 2.0]]), [5.0, math.nan], [0.0, 0.0], {1: late})
    before = memory.state()
    memory.extend([2], np.array([[7.0, 8.0]]), [1.0], [0.0])
    other.copy_first(memory, 2)
    assert other.state() == before
    other.extend([3], np.array([[9.0, 9.0]]), [0.5], [0.0])
    assert memory.ids.tolist() == [0, 1, 2]
    assert other.ids.tolist() == [0, 1, 3]
