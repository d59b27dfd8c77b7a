"""What holds for every phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from saltus import Optimizer
from saltus.search.schedule import PHASES

from .playing import (
    ALL_KINDS,
    rough,
    stiff,
)


@pytest.mark.parametrize("fun", [stiff, rough])
def test_every_phase_is_saved_and_restored_in_the_middle_of_a_batch(fun: Callable[[Any], float]) -> None:
    optimizer = Optimizer(ALL_KINDS, seed=3)
    checked: dict[str, int] = {}
    while optimizer.evaluations < 2000:
        candidates = optimizer.ask()
        kind = optimizer.phase
        half = candidates[: len(candidates) // 2]
        if half:
            optimizer.tell(half, [fun(c.params) for c in half])
        others = []
        if checked.get(kind, 0) < 8:
            checked[kind] = checked.get(kind, 0) + 1
            others = [Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))]
            assert others[0].state() == optimizer.state()
        for one in (optimizer, *others):
            left = one.pending
            one.tell(left, [fun(c.params) for c in left])
        for other in others:
            assert other.state() == optimizer.state()
            assert other.ask() == optimizer.ask()
            assert other.state() == optimizer.state()
            optimizer = other  # go on with the restored one
            candidates = optimizer.pending
            optimizer.tell(candidates, [fun(c.params) for c in candidates])
    expected = set(PHASES) - ({"Polish"} if fun is stiff else {"IntegerNeighbours"})
    assert set(checked) >= expected
