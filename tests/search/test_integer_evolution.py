"""The evolution of integers: differences of good points."""

from __future__ import annotations

import json

import numpy as np
import pytest

from saltus import Bool, Float, Int, Optimizer, Space, _serialize
from saltus._typing import FloatArray
from saltus.problems import gear_train
from saltus.search.integer_evolution import FEWEST, PATIENCE, PER_VARIABLE, IntegerEvolution, roomy
from saltus.search.proposal import Results
from saltus.search.schedule import Descent
from saltus.space.encoding import Encoding

from .playing import domain_of, modelled

INTEGERS = Space([Int(0, 40)] * 4)


class Player:
    """An evolution with a memory."""

    def __init__(self, space: Space = INTEGERS) -> None:
        self.encoding = Encoding(space)
        self.domain = modelled(self.encoding)
        self.phase = IntegerEvolution(self.domain)
        self.rng = np.random.default_rng(1)

    def step(self) -> FloatArray:
        self.phase.draw(self.rng)
        points = self.phase.propose()
        x = self.encoding.numbers(*points)
        values = slanted(x)
        first = len(self.domain.memory)
        self.domain.memory.extend(range(first, first + len(x)), x, values, None)
        self.phase.observe(Results(points, values, None))
        return x


def slanted(x: FloatArray) -> FloatArray:
    """A narrow valley that no axis is parallel to, with its bottom at (7, 20, 14, 30)."""
    t = x - np.array([7.0, 20.0, 14.0, 30.0])
    return np.asarray(100 * (t[:, 0] + t[:, 1] - t[:, 2]) ** 2 + (t**2).sum(axis=1))


def test_it_follows_a_valley_and_never_pays_twice() -> None:
    player = Player()
    batches = [player.step()]
    assert len(batches[0]) == PER_VARIABLE * 4
    while not player.phase.done:
        batches.append(player.step())
    x = np.concatenate(batches)
    assert len(np.unique(x, axis=0)) == len(x)
    assert player.phase.best.value == 0


def test_it_goes_on_where_it_was_saved() -> None:
    player = Player()
    for _ in range(5):
        player.step()
    state = json.loads(json.dumps(_serialize.pack(player.phase.state())))
    again = IntegerEvolution.restored(player.domain, _serialize.unpack(state))
    for phase in (player.phase, again):
        phase.draw(np.random.default_rng(2))
    np.testing.assert_array_equal(player.phase.propose().x, again.propose().x)
    assert again.best.key == player.phase.best.key
    mean, sd = again.where()
    assert mean.shape == sd.shape == (4,)
    for name in ("crowd", "keys", "trials"):
        with pytest.raises(ValueError, match=f"state: {name} must"):
            IntegerEvolution.restored(player.domain, _serialize.unpack(state) | {name: np.zeros((2, 3))})


def test_it_ends_when_nothing_gets_better() -> None:
    player = Player()
    player.step()
    for still in range(1, PATIENCE + 1):
        assert not player.phase.done
        player.phase.draw(player.rng)
        points = player.phase.propose()
        player.phase.observe(Results(points, np.full(len(points.x), 1e9), None))
        assert player.phase.still == still
    assert player.phase.done


def test_it_ends_when_all_are_the_same_and_until_then_has_something_to_propose() -> None:
    player = Player()
    player.step()
    player.phase.crowd[:] = player.phase.crowd[0]
    player.phase.draw(player.rng)
    points = player.phase.propose()
    assert len(points.x) == 1
    player.phase.observe(Results(points, np.array([1e9]), None))
    assert player.phase.done


@pytest.mark.parametrize(
    ("space", "there"),
    [
        (INTEGERS, True),
        (Space([Int(0, 40), Float(0, 1)]), False),
        (Space([Int(0, 10**6)]), False),
        (Space([Bool()] * 6), False),
        (Space([Bool()] * 12), True),
        (Space([Int(0, 10), Int(0, 9)]), False),
        (Space([Int(0, 10), Int(0, FEWEST - 2)]), True),
    ],
)
def test_where_there_is_one(space: Space, there: bool) -> None:
    assert roomy(modelled(Encoding(space))) == there


def test_only_what_is_better_is_swept() -> None:
    for goal, following in ((None, "IntegerSweep"), (-1.0, None)):
        player = Player()
        while not player.phase.done:
            player.step()
        descent = Descent(player.domain, player.phase, None if goal is None else (0.0, goal))
        descent.advance(player.rng)
        assert descent.over == (following is None)
        if following is not None:
            assert type(descent.phase).__name__ == following


def phases(strategy: str, *without: str) -> dict[str, int]:
    problem = gear_train()
    optimizer = Optimizer(problem.space, seed=1, strategy=strategy, without=without)
    counts: dict[str, int] = {}
    while optimizer.evaluations < 3000:
        candidates = optimizer.ask()
        counts[optimizer.phase] = counts.get(optimizer.phase, 0) + len(candidates)
        optimizer.tell(candidates, [problem.fun(c.params) for c in candidates])
    return counts


def test_evolutions_have_their_share_of_the_default_alone() -> None:
    counts = phases("saltus")
    assert 1500 < counts["IntegerEvolution"] < 2800
    assert "IntegerEvolution" not in phases("saltus", "evolution")
    assert "IntegerEvolution" not in phases("saltus-es")


def test_without_a_model_the_domain_is_roomy_all_the_same() -> None:
    assert roomy(domain_of(INTEGERS))
