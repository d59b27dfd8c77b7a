"""Every strategy makes the searches that were recorded; also if it is saved and restored on the way."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from saltus import STRATEGIES, Float, Optimizer
from saltus.search.settings import DEFAULT_STRATEGY
from tests.golden import CASES, EVALUATIONS, SEEDS, Case, Evaluated, file_of, search

RUNS = [
    pytest.param(strategy, name, seed, id=f"{strategy}-{name}-{seed}")
    for strategy, name, seed in itertools.product(STRATEGIES, CASES, SEEDS)
]


def restored(optimizer: Optimizer) -> Optimizer:
    """What comes back from its state as text."""
    return Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))


def check(strategy: str, name: str, seed: int, run: list[Evaluated], *, straight: bool = True) -> None:
    """To 1e-9, since processors round differently: as long as the last digits do not decide.

    Where two runs depart from one another, so must one on this machine whose values differ in the last digits
    depart from one that has them all: differences of a smooth function, for instance, magnify those. One that
    did not go straight on, but was restored on the way, is first of all the same as one that did.
    """
    with np.load(file_of(strategy)) as files:
        expected = files[f"{name}-{seed}"][: len(run)]
    last = departure(as_rows(run), expected)
    if last == len(run):
        return
    # a model is fitted to all values after the first ones, of which there are at least six
    assert last >= (6 if strategy == DEFAULT_STRATEGY else EVALUATIONS // 8), (
        f"evaluation {last} is another one"
    )
    case, rows = CASES[name], as_rows(run)
    if not straight:
        assert departure(rows, again(case, strategy, seed, len(run))) == len(run)
    rounded = (again(inexact(case, k), strategy, seed, last + 1) for k in range(8))  # no farther than needed
    assert any(departure(other, rows[: last + 1]) <= last for other in rounded), (
        f"evaluation {last} is another one"
    )


def again(case: Case, strategy: str, seed: int, evaluations: int) -> NDArray[np.float64]:
    return as_rows(search(case, Optimizer(case.space, strategy=strategy, seed=seed), evaluations))


def as_rows(run: Iterable[Evaluated]) -> NDArray[np.float64]:
    return np.array([[*e.x, e.value, e.violation] for e in run])


def departure(a: NDArray[np.float64], b: NDArray[np.float64]) -> int:
    """The first evaluation in which two runs differ; as many as there are if they do not."""
    differ = ~np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True).all(axis=1)
    return int(differ.argmax()) if differ.any() else len(a)


def inexact(case: Case, k: int) -> Case:
    """The same values but for their last digits, at points that are the same but for theirs.

    A point on a constraint may so be on its other side.
    """
    rng = np.random.default_rng(k)
    last = 4 * np.finfo(float).eps * np.array([isinstance(v, Float) for v in case.space.variables])

    def fun(x: NDArray[np.float64]) -> tuple[float, float]:
        value, violation = case.fun(x + last * np.maximum(1.0, np.abs(x)) * rng.uniform(-1, 1, len(x)))
        return value * (1 + 4 * np.finfo(float).eps * rng.uniform(-1, 1)), violation

    return Case(case.space, fun)


def test_another_search_is_noticed() -> None:
    how = "dx-nes-ici"
    run = list(search(CASES["continuous"], Optimizer(CASES["continuous"].space, strategy=how, seed=1)))
    check(how, "continuous", 1, run)
    row = run[120]
    run[120] = row._replace(x=row.x + 1e-6)
    with pytest.raises(AssertionError):
        check(how, "continuous", 1, run, straight=False)


@pytest.mark.parametrize(("strategy", "name", "seed"), RUNS)
def test_the_search_is_the_recorded_one(strategy: str, name: str, seed: int) -> None:
    case = CASES[name]
    # under constraints most of a search is one phase, whose points are dear
    dear = (strategy, name) == (DEFAULT_STRATEGY, "constrained")
    run = search(case, Optimizer(case.space, strategy=strategy, seed=seed), 100 if dear else EVALUATIONS)
    check(strategy, name, seed, list(run))


@pytest.mark.parametrize(("strategy", "name", "seed"), RUNS[:: len(SEEDS)])
def test_the_search_is_the_recorded_one_when_it_is_restored_in_the_middle_of_batches(
    strategy: str, name: str, seed: int
) -> None:
    case = CASES[name]
    optimizer = Optimizer(case.space, strategy=strategy, seed=seed)
    # one strategy has all that it saves at once; later phases are restored here without a model, and with one
    # in tests/search/test_phase.py
    evaluations = EVALUATIONS if strategy == "saltus-es" else 60
    run: dict[int, Evaluated] = {}
    while len(run) < evaluations:
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
    check(strategy, name, seed, [run[id] for id in range(evaluations)], straight=False)
