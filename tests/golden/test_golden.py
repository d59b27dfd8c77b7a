"""Every strategy makes the searches that were recorded; also if it is saved and restored on the way."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from saltus import STRATEGIES, Optimizer
from tests.golden import CASES, EVALUATIONS, SEEDS, Evaluated, file_of, search

RUNS = [
    pytest.param(strategy, name, seed, id=f"{strategy}-{name}-{seed}")
    for strategy, name, seed in itertools.product(STRATEGIES, CASES, SEEDS)
]


def restored(optimizer: Optimizer) -> Optimizer:
    """What comes back from its state as text."""
    return Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))


def check(strategy: str, name: str, seed: int, run: list[Evaluated]) -> None:
    """To 1e-9: processors round differently."""
    with np.load(file_of(strategy)) as files:
        expected = files[f"{name}-{seed}"]
    rows = np.array([[*e.x, e.value, e.violation] for e in run])
    np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("strategy", "name", "seed"), RUNS)
def test_the_search_is_the_recorded_one(strategy: str, name: str, seed: int) -> None:
    case = CASES[name]
    run = search(case, Optimizer(case.space, strategy=strategy, seed=seed))
    check(strategy, name, seed, list(run))


@pytest.mark.parametrize(("strategy", "name", "seed"), RUNS[:: len(SEEDS)])
def test_the_search_is_the_recorded_one_when_it_is_restored_in_the_middle_of_batches(
    strategy: str, name: str, seed: int
) -> None:
    case = CASES[name]
    optimizer = Optimizer(case.space, strategy=strategy, seed=seed)
    run: dict[int, Evaluated] = {}
    while len(run) < EVALUATIONS:
        if optimizer.stop is not None:
            optimizer.restart()
        optimizer.ask()
        optimizer = restored(optimizer)
        for candidate in reversed(optimizer.pending):
            value, violation = case.fun(candidate.params)
            optimizer.tell(candidate, value, violation)
            run[candidate.id] = Evaluated(np.asarray(candidate.params), value, violation)
            if len(run) % 7 == 3:
                optimizer = restored(optimizer)
    check(strategy, name, seed, [run[id] for id in range(EVALUATIONS)])
