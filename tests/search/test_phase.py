"""What holds for every phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from saltus import Optimizer, _serialize
from saltus.search.phase import Phase
from saltus.search.proposal import Domain, Proposals, Results
from saltus.search.schedule import PHASES

from .playing import ALL_KINDS, MIXED, domain_of, rough, stiff


@pytest.mark.parametrize("strategy", ["saltus-es", "saltus"])
@pytest.mark.parametrize("fun", [stiff, rough])
def test_every_phase_is_saved_and_restored_in_the_middle_of_a_batch(
    fun: Callable[[Any], float], strategy: str
) -> None:
    optimizer = Optimizer(ALL_KINDS, seed=3, strategy=strategy)
    checked: dict[str, int] = {}
    while optimizer.evaluations < (2000 if strategy == "saltus-es" else 500):
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
    expected = set(PHASES) - {
        "ModelRun",
        "IntegerEvolution",
        "Valley",  # of continuous variables alone
        "LatticeRun",  # with a model, after the first run: test_lattice_run.py
        *("CategoryPairs", "SparedCategories"),  # of categories: tests/optimizer/test_categories.py
        "QuasiNewton",  # of many variables
        "Polish" if fun is stiff else "IntegerNeighbours",
    }
    assert set(checked) >= (expected if strategy == "saltus-es" else {"ModelRun", "MixedRun", "IntegerSweep"})


class Walk(Phase):
    """The simplest phase: one point, until it is told."""

    saved: ClassVar[tuple[str, ...]] = ("best", "done")

    def __init__(self, domain: Domain) -> None:
        self.domain, self.best, self.done = domain, domain.nowhere(), False

    def propose(self) -> Proposals:
        return self.domain.proposals(np.zeros((1, 2)), np.zeros((1, 3)))

    def observe(self, results: Results) -> None:
        self.best, self.done = results.best(), True


def test_a_phase_that_says_no_more_waits_for_all_has_nothing_extra_and_accepts_nothing() -> None:
    phase = Walk(domain_of(MIXED))
    rng = np.random.default_rng(1)
    phase.draw(rng)
    results = Results(phase.propose(), np.array([3.0]), None)
    assert phase.ready(results)
    assert not phase.ready(results._replace(known=np.array([False])))
    assert phase.extra(0, rng) is None
    assert not phase.accepts(np.zeros(3))
    assert not phase.waits_for_pairs
    phase.observe(results)
    m, sd = phase.where()
    np.testing.assert_array_equal(m, phase.best.x)
    assert sd.tolist() == [0.0] * 5


def test_a_phase_is_restored_from_what_it_lists() -> None:
    domain = domain_of(MIXED)
    phase = Walk(domain)
    phase.observe(Results(phase.propose(), np.array([3.0]), None))
    state = _serialize.unpack(json.loads(json.dumps(_serialize.pack(phase.state()))))
    other = Walk.restored(domain, state)
    assert (other.done, other.best.value) == (True, 3.0)
    np.testing.assert_array_equal(other.best.x, phase.best.x)
    for bad, words in (
        ({"best": state["best"]}, "Walk has best, done, got best"),
        (state | {"more": 1}, "got best, done, more"),
        (state | {"best": {"x": 1}}, "best must have x, plateaus, violation, value, got x"),
        (state | {"best": state["best"] | {"x": np.zeros(9)}}, "x must be an array of shape"),
        (state | {"best": state["best"] | {"value": "low"}}, "value must be a number"),
    ):
        with pytest.raises(ValueError, match=words):
            Walk.restored(domain, bad)


# not in a space of all kinds, or only with a model
ELSEWHERE = {"IntegerEvolution", "LatticeRun", "QuasiNewton", "Valley", "CategoryPairs", "SparedCategories"}


@pytest.mark.parametrize("name", sorted(PHASES.keys() - ELSEWHERE))
def test_every_phase_lists_what_it_saves(name: str) -> None:
    """And proposes the same points until something is observed."""
    optimizer = Optimizer(ALL_KINDS, seed=3, strategy="saltus" if name == "ModelRun" else "saltus-es")
    fun = rough if name == "Polish" else stiff
    while optimizer.phase != name:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [fun(c.params) for c in candidates])
    first, again = (Optimizer.restore(optimizer.state()).ask() for _ in range(2))
    assert first == again
    assert {"best", "done"} <= set(PHASES[name].saved)


class Aimed(Walk):
    """The same with a goal."""

    saved = ("goal", "best", "done")
    goal: Any = None


def test_the_goal_of_a_phase_is_none_or_a_key() -> None:
    domain = domain_of(MIXED)
    state = _serialize.unpack(json.loads(json.dumps(_serialize.pack(Aimed(domain).state()))))
    assert Aimed.restored(domain, state).goal is None
    assert Aimed.restored(domain, state | {"goal": [0.5, 3.0]}).goal == (0.5, 3.0)
    for bad in ("far", [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match="state: goal must"):
            Aimed.restored(domain, state | {"goal": bad})
