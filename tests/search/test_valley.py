"""The valley: a Gaussian to the bottom, with steps by quadratics."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection

import numpy as np
import pytest

from saltus import Float, Int, Optimizer, Outcome, Space, _serialize
from saltus._typing import FloatArray
from saltus.search import valley
from saltus.search.proposal import Domain, Evaluated, Results
from saltus.search.schedule import PHASES
from saltus.search.settings import Settings
from saltus.search.valley import LONGEST_PAUSE, LONGEST_REACH, Valley, from_a_mean, only_valleys
from saltus.space.encoding import Encoding

from .playing import rotated

BOX = Space([Float(-5, 5) for _ in range(5)])
OPEN = Space([Float() for _ in range(5)])
MIXED = Space([Float(-5, 5), Float(-5, 5), Int(0, 9)])
AT = np.array([1.3, -2.0, 0.4, 3.0, -1.0])
Fun = Callable[[FloatArray], float]


def bowl(x: FloatArray) -> float:
    """Rotated, with a condition of a million."""
    y = x - AT
    return float(y @ rotated(5) @ y) + 7.0


def kink(x: FloatArray) -> float:
    return float(np.abs(x - AT).sum()) + 7.0


class Player:
    """A valley with a memory, and how many evaluations it has had."""

    def __init__(
        self,
        fun: Fun,
        space: Space = BOX,
        without: Collection[str] = (),
        batch: int = 1,
        goal: float | None = None,
        start: Evaluated | None = None,
    ) -> None:
        self.encoding, self.fun = Encoding(space), fun
        settings = Settings.checked(self.encoding.N, "saltus", batch=batch, without=without)
        self.domain = Domain.of(self.encoding, settings)
        at = from_a_mean(self.domain, self.encoding.m) if start is None else start
        n = self.domain.n_continuous
        self.valley = Valley(self.domain, at, np.eye(n), None if goal is None else (0.0, goal))
        self.rng = np.random.default_rng(1)
        self.steps: list[int] = []

    def turn(self) -> None:
        valley = self.valley
        valley.draw(self.rng)
        points = valley.propose()
        assert np.array_equal(points.x, valley.propose().x)
        x = self.encoding.numbers(*points)
        values = np.array([self.fun(row) for row in x])
        first = len(self.domain.memory)
        self.domain.memory.extend(range(first, first + len(x)), x, values.tolist(), None)
        if valley.stepping:
            self.steps.append(len(x))
        valley.observe(Results(points, values, None))

    def play(self, to: float = -math.inf, most: int = 5000) -> int:
        while not self.valley.done and self.valley.best.value > to and len(self.domain.memory) < most:
            self.turn()
        return len(self.domain.memory)


def test_a_smooth_valley_costs_little_more_than_the_points_that_tell_its_shape() -> None:
    spent = Player(bowl).play(7.0 + 1e-8)
    alone = Player(bowl, without=["quadratic steps"]).play(7.0 + 1e-8)
    assert spent < 300  # the quadratic has 21 coefficients
    assert alone > 3 * spent


def test_a_kink_costs_hardly_more_than_without_steps() -> None:
    player = Player(kink)
    spent = player.play(7.0 + 1e-6)
    assert player.valley.best.value < 7.0 + 1e-6
    assert spent < 1.3 * Player(kink, without=["quadratic steps"]).play(7.0 + 1e-6)


def test_it_ends_at_the_bottom() -> None:
    for fun in (bowl, kink):
        player = Player(fun)
        player.play()
        assert player.valley.done
        assert player.valley.best.value == pytest.approx(7.0, abs=1e-9)


@pytest.mark.parametrize("space", [BOX, OPEN])
def test_points_lie_within_the_bounds_and_an_optimum_on_a_face_is_found(space: Space) -> None:
    def beyond(x: FloatArray) -> float:
        bounded = space is BOX
        assert not bounded or (np.abs(x) <= 5).all()
        return float(((x - [7.0, 1.0, 2.0, -9.0, 0.0]) ** 2 * [1, 4, 9, 16, 25]).sum()) + 1.0

    player = Player(beyond, space)
    player.play(most=600)
    best = player.encoding.numbers(player.valley.best.x[None], player.valley.best.plateaus[None])[0]
    expected = [5.0, 1.0, 2.0, -5.0, 0.0] if space is BOX else [7.0, 1.0, 2.0, -9.0, 0.0]
    np.testing.assert_allclose(best, expected, atol=1e-4)


def test_a_step_that_keeps_its_promise_is_followed_by_another_and_moves_the_gaussian() -> None:
    player = Player(lambda x: float(((x - AT) ** 2).sum()) + 7.0)
    while not player.valley.stepping:
        player.turn()
    before = player.valley.gaussian.state
    player.turn()
    valley = player.valley
    assert valley.stepping
    assert valley.pause == 0
    assert valley.reach == 2.0
    np.testing.assert_array_equal(valley.gaussian.state.m, valley.best.x)
    assert (valley.gaussian.state.p_sigma != before.p_sigma).all()
    for _ in range(10):
        player.turn()
    assert valley.reach <= LONGEST_REACH


def test_steps_that_do_not_help_become_rare_and_leave_the_gaussian_alone() -> None:
    player = Player(lambda x: float(np.random.default_rng(int(1e6 * abs(x[0]))).random()))
    seen = []
    for _ in range(80):
        before = player.valley.gaussian.state if player.valley.stepping else None
        best = player.valley.best.value
        player.turn()
        if before is not None and player.steps and player.valley.best.value == best:
            seen.append(player.valley.pause)
            assert player.valley.reach == 1.0
            if not np.array_equal(before.m, player.valley.gaussian.state.m):
                pytest.fail("a step that was no better has moved the Gaussian")
    assert max(seen) == LONGEST_PAUSE
    assert len(player.steps) < 20


def test_several_workers_get_several_points_along_a_step() -> None:
    player = Player(bowl, batch=3)
    player.play(most=200)
    assert set(player.steps) == {3}


def test_a_goal_out_of_reach_ends_it_once_it_has_shrunk() -> None:
    assert Player(kink, goal=6.0).play() < 0.7 * Player(kink).play()
    assert Player(kink, goal=100.0).play() == Player(kink).play()


def terrace(x: FloatArray) -> float:
    """Plateaus, and a slope that is seen from the lowest one alone."""
    return float((np.floor(3 * np.abs(x - AT)) ** 2).sum() + abs(x[0] - AT[0]) / 100)


def test_it_ends_soon_where_it_has_shrunk_and_finds_nothing_better(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent() -> int:
        players = [Player(terrace) for _ in range(4)]
        for seed, player in enumerate(players):
            player.rng = np.random.default_rng(seed)
            player.play()
        assert all(player.valley.done and player.valley.rugged for player in players)
        return sum(len(player.domain.memory) for player in players)

    soon = spent()
    monkeypatch.setattr(valley, "LOST", 0.0)
    assert soon < 0.7 * spent()


def test_a_best_point_that_was_luck_does_not_end_it_on_its_way_there() -> None:
    lucky = Evaluated(np.full(5, 3.0), np.empty(0), 0.0, 7.01)
    player = Player(kink, start=lucky)
    player.play()
    assert player.valley.best.value == pytest.approx(7.0, abs=1e-9)


def test_with_integers_these_stay_as_they_are() -> None:
    start = Evaluated(np.array([0.5, 0.5, 0.0]), np.array([4.0]), 0.0, 90.0)
    player = Player(lambda x: float(((x[:2] - 1) ** 2).sum() + 10 * x[2]), MIXED, start=start)
    player.play(most=300)
    assert player.valley.best.plateaus.tolist() == [4.0]
    assert player.valley.best.value == pytest.approx(40.0, abs=1e-9)


def test_it_goes_on_from_its_state_after_every_batch() -> None:
    one, other = Player(bowl), Player(bowl)
    for _ in range(60):
        one.turn()
        other.turn()
        text = json.dumps(_serialize.pack(other.valley.state()))
        again = PHASES["Valley"].restored(other.domain, _serialize.unpack(json.loads(text)))
        assert isinstance(again, Valley)
        other.valley = again
        assert one.valley.best.value == other.valley.best.value
    np.testing.assert_array_equal(one.valley.gaussian.state.C, other.valley.gaussian.state.C)


def test_where_something_is_violated_or_fails_there_are_no_steps() -> None:
    for outcome in (Outcome(1.0, {"g": 1.0}), math.nan):
        optimizer = Optimizer(BOX, seed=1, without=["model"])
        first = optimizer.ask()
        optimizer.tell(first, [outcome, *[bowl(np.array(c.params)) for c in first[1:]]])
        for _ in range(20):
            candidates = optimizer.ask()
            assert len(candidates) > 1
            optimizer.tell(candidates, [bowl(np.array(c.params)) for c in candidates])


@pytest.mark.parametrize(
    ("space", "strategy", "without", "expected"),
    [
        (BOX, "saltus", [], True),
        (BOX, "saltus-es", [], False),
        (BOX, "saltus", ["valley"], False),
        (MIXED, "saltus", [], False),
        (Space([Float() for _ in range(51)]), "saltus", [], False),
    ],
)
def test_where_runs_are_valleys(space: Space, strategy: str, without: list[str], expected: bool) -> None:
    encoding = Encoding(space)
    domain = Domain.of(encoding, Settings.checked(encoding.N, strategy, without=without))
    assert only_valleys(domain) is expected
    optimizer = Optimizer(
        space, strategy=strategy, without=[*without, *(["model"] if expected else [])], seed=1
    )
    optimizer.ask()
    assert (optimizer.phase == "Valley") is expected
