"""Lattice runs: integers that have to change together."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from saltus import Categorical, Float, Int, Optimizer, Ordinal, Space, _serialize
from saltus.search.lattice_run import MOST_VARIABLES, VAIN, VAIN_PER_VARIABLE, LatticeRun, possible
from saltus.search.proposal import Domain, Results
from saltus.search.restarts import GROWN
from saltus.search.settings import Settings
from saltus.space.encoding import Encoding

# the best integers lie along a line across the lattice, and the float has to follow
VALLEY = Space([Float(-5, 5), Int(0, 15), Int(0, 15)])


def across(x: Any) -> float:
    wall = (x[1] - 2 * x[2] + 7) ** 2 + (x[0] - 0.25 * x[2]) ** 2
    return float(1e3 * wall + 0.3 * (x[2] - 9) ** 2 + 0.01 * (x[0] - 2.25) ** 2)


class Player:
    """A lattice run on a function, around a point, with a memory of random points."""

    def __init__(
        self, space: Space = VALLEY, start: tuple[float, ...] = (1.5, 5, 6), known: int = 300, **settings: Any
    ) -> None:
        encoding = Encoding(space)
        self.domain = Domain.of(encoding, Settings.checked(encoding.N, "saltus", **settings))
        rng = np.random.default_rng(2)
        x = np.array(start) + np.column_stack((rng.uniform(-1, 1, known), rng.integers(-3, 4, (known, 2))))
        self.remember(np.concatenate((np.clip(x, [-5, 0, 0], [5, 15, 15]), [start])))
        u = self.domain.model.cube.of_numbers(np.array([start]))
        points, plateaus = self.domain.model.cube.points(u)
        results = Results(self.domain.proposals(points[:, :1], plateaus), np.array([across(start)]), None)
        self.phase = LatticeRun(self.domain, results.best())
        self.rng = np.random.default_rng(3)
        self.asked: list[list[float]] = []

    def remember(self, x: Any) -> None:
        first = len(self.domain.memory)
        ids = list(range(first, first + len(x)))
        self.domain.memory.extend(ids, x, [across(row) for row in x], None)

    def step(self) -> None:
        self.phase.draw(self.rng)
        proposals = self.phase.propose()
        numbers = self.domain.model.cube._encoding.numbers(*proposals)
        self.asked += numbers.tolist()
        self.phase.observe(Results(proposals, np.array([across(row) for row in numbers]), None))
        self.remember(numbers)


def test_it_finds_integers_that_differ_in_two_places() -> None:
    player = Player()
    before = len(player.domain.memory)
    while player.phase.best.plateaus.tolist() != [11.0, 9.0]:
        player.step()
        assert not player.phase.done
    assert len(player.domain.memory) - before <= 8
    assert player.phase.best.key < player.phase.start.key


def test_it_ends_after_many_in_a_row_that_are_no_better_and_asks_nothing_twice() -> None:
    player = Player(start=(2.25, 11, 9))
    while not player.phase.done:
        player.step()
    assert len(player.asked) >= VAIN + 3 * VAIN_PER_VARIABLE
    assert player.phase.vain == VAIN + 3 * VAIN_PER_VARIABLE
    integers = [tuple(row[1:]) for row in player.asked]
    assert len(set(integers)) == len(integers)
    assert len({tuple(row) for row in player.asked}) == len(player.asked)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_a_batch_has_as_many_points_as_the_settings_say(batch: int) -> None:
    player = Player(batch=batch)
    player.step()
    assert len({tuple(row) for row in player.asked}) == batch


def test_a_batch_on_a_small_lattice_has_no_point_twice() -> None:
    player = Player(Space([Float(-5, 5), Int(0, 2), Int(0, 2)]), start=(0.5, 1, 1), known=0, batch=12)
    player.step()
    assert len(np.unique(player.asked, axis=0)) == len(player.asked)


def test_with_few_points_it_tries_neighbours() -> None:
    player = Player(known=0)
    player.step()
    (asked,) = player.asked
    assert (np.abs(np.array(asked[1:]) - [5, 6]) <= 1).all()
    assert asked != [1.5, 5, 6]


def test_it_is_saved_in_the_middle() -> None:
    player, other = Player(batch=2), Player(batch=2)
    for each in (player, other):
        each.step()
    state = json.loads(json.dumps(_serialize.pack(other.phase.state())))
    other.phase = LatticeRun.restored(other.domain, _serialize.unpack(state))
    for each in (player, other):
        each.step()
    assert player.asked == other.asked


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (VALLEY, True),
        (Space([Int(0, 9), Ordinal([1, 10, 100, 1000])]), True),
        (Space([Float(0, 1), Int(0, 9)]), False),  # a sweep does that
        (Space({"f": Float(0, 1), "i": Int(0, 9), "j": Int(0, 9), "c": Categorical(["a", "b"])}), False),
        (Space([Int(0, 9)] * MOST_VARIABLES), True),
        (Space([Int(0, 9)] * (MOST_VARIABLES + 1)), False),
    ],
)
def test_where_it_is_possible(space: Space, expected: bool) -> None:
    encoding = Encoding(space)
    assert possible(Domain.of(encoding, Settings.checked(encoding.N, "saltus"))) is expected
    assert not possible(Domain.of(encoding, Settings.checked(encoding.N, "saltus-es")))


def test_not_where_something_is_violated_or_has_failed() -> None:
    player = Player()
    assert possible(player.domain)
    player.domain.memory.extend([10**6], np.array([[0.0, 1.0, 1.0]]), [float("nan")], None)
    assert not possible(player.domain)


def comes(optimizer: Optimizer, evaluations: int) -> bool:
    """Whether there is a lattice run within so many evaluations."""
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        if optimizer.phase == "LatticeRun":
            return True
        optimizer.tell(candidates, [rugged(c.params) for c in candidates])
    return False


def rugged(x: Any) -> float:
    return across(x) + 30.0 * float(np.sin(7 * x[0]) ** 2 + (x[1] * 7 + x[2] * 3) % 5)


def test_it_has_its_turns_in_a_search_and_can_be_left_out() -> None:
    assert comes(Optimizer(VALLEY, seed=1), 3000)
    assert not comes(Optimizer(VALLEY, seed=1, without=["lattice"]), 600)


@pytest.mark.parametrize("space", [VALLEY, Space([Int(0, 15), Int(0, 15), Int(0, 15)])])
def test_a_search_goes_on_from_a_state_in_the_middle_of_one(space: Space) -> None:
    optimizer = Optimizer(space, seed=1, without=["evolution"])
    while optimizer.phase != "LatticeRun":
        candidates = optimizer.ask()
        optimizer.tell(candidates, [rugged(c.params) for c in candidates])
    other = Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))
    for _ in range(20):
        asked = optimizer.ask(), other.ask()
        assert asked[0] == asked[1]
        for each, candidates in zip((optimizer, other), asked, strict=True):
            each.tell(candidates, [rugged(c.params) for c in candidates])
    assert other.state() == optimizer.state()


def test_at_the_same_incumbent_it_comes_again_when_half_as_much_again_is_known() -> None:
    optimizer = Optimizer(VALLEY, seed=2)
    begun: list[int] = []
    before, improved = "", 0
    while optimizer.evaluations < 4000 and sum(count > improved for count in begun) < 2:
        candidates = optimizer.ask()
        if optimizer.phase == "LatticeRun" != before:
            begun.append(optimizer.evaluations)
        best, before = optimizer.best, optimizer.phase
        optimizer.tell(candidates, [across(c.params) for c in candidates])
        if optimizer.best != best:
            improved = optimizer.evaluations
    later = [count for count in begun if count > improved]
    assert len(later) >= 2
    for one, next_one in pairwise(later):
        assert next_one >= GROWN * one
