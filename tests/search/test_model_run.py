"""The model run: points that a model chooses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Categorical, Float, Int, Optimizer, Outcome, Space, Stop, _serialize, minimize
from saltus._typing import FloatArray
from saltus.problems import Problem, coil_spring, pressure_vessel
from saltus.search.acquisition import LARGEST_SIDE
from saltus.search.model_run import FEW, FIRST_SIDE, KAPPAS, LEAST, WINDOW, ModelRun
from saltus.search.proposal import Evaluated, Results
from saltus.space.encoding import Encoding
from saltus.space.variable import Variable
from tests.search.playing import modelled

MIXED = Space([Float(-5, 5), Int(0, 20), Int(0, 3), Bool()])
FLOATS = Space([Float(-5, 5), Float(-5, 5), Float()])
BOX = Space([Float(-5, 5), Float(-5, 5), Float(-5, 5)])
INTEGERS = Space([Int(0, 20), Int(0, 20), Int(0, 3), Bool()])
Fun = Callable[[FloatArray], float]


def bowl(x: FloatArray) -> float:
    return float(((x - [1.3, 4.0, 2.0, 1.0][: len(x)]) ** 2).sum()) + 2.0


class Player:
    """A model run with a memory, and what it has evaluated."""

    def __init__(self, space: Space, fun: Fun, size: int = 1, seed: int = 1) -> None:
        self.encoding, self.fun = Encoding(space), fun
        self.domain = modelled(self.encoding, batch=size)
        self.run = ModelRun(self.domain, self.encoding.m)
        self.rng = np.random.default_rng(seed)
        self.batches: list[FloatArray] = []

    def step(self) -> None:
        self.run.draw(self.rng)
        points = self.run.propose()
        x = self.encoding.numbers(*points)
        values = np.array([self.fun(row) for row in x])
        first = len(self.domain.memory)
        self.domain.memory.extend(range(first, first + len(x)), x, values.tolist(), [0.0] * len(x))
        self.run.observe(Results(points, values, None))
        self.batches.append(x)

    def play(self, most: int = 400) -> Player:
        while not self.run.done and len(self.domain.memory) < most:
            self.step()
        return self


@pytest.mark.parametrize(
    ("space", "least", "most"), [(MIXED, 2.0, 30), (FLOATS, 2.0, 40), (INTEGERS, 2.09, 25)]
)
def test_a_bowl_takes_few_evaluations(space: Space, least: float, most: int) -> None:
    for seed in range(3):
        player = Player(space, bowl, seed=seed)
        while player.run.best.value > least + 1e-8:
            player.step()
            assert len(player.domain.memory) <= most


@pytest.mark.parametrize("space", [MIXED, FLOATS, INTEGERS])
@pytest.mark.parametrize("size", [1, 4])
def test_no_point_is_paid_for_twice(space: Space, size: int) -> None:
    player = Player(space, lambda x: round(bowl(x)), size).play(80)
    x = np.concatenate(player.batches)
    assert len(np.unique(x, axis=0)) == len(x)


def test_first_points_are_spread_around_the_first_mean() -> None:
    player = Player(MIXED, bowl)
    player.step()
    (x,) = player.batches
    assert len(x) == 4 + 3
    assert x[0, 0] == 0.0
    assert (np.abs(x[:, 0]) <= 3.5 + 1e-9).all()
    strata = np.floor((x[1:, 0] + 3.5) / 7 * 6)
    assert sorted(strata.tolist()) == [0, 1, 2, 3, 4, 5]


def test_a_batch_holds_different_points() -> None:
    player = Player(FLOATS, bowl, size=5)
    for _ in range(4):
        player.step()
    assert [len(batch) for batch in player.batches] == [6, 5, 5, 5]
    for batch in player.batches[1:]:
        apart = np.abs(batch[:, None] - batch).max(axis=2) + np.eye(5)
        assert apart.min() > 1e-7


def test_the_region_grows_with_success_and_shrinks_without() -> None:
    player = Player(INTEGERS, lambda x: -float(len(player.domain.memory)))
    player.step()
    assert player.run.side == FIRST_SIDE
    player.step()
    player.step()
    assert player.run.side == LARGEST_SIDE
    player.fun = lambda x: 0.0
    while not player.run.done:
        player.step()
    assert player.run.small


def test_on_a_plateau_the_region_grows_and_every_second_turn_is_for_elsewhere() -> None:
    """What is equal throughout is no bottom of a valley, and to look closer would not help."""
    player = Player(BOX, lambda x: 3.0)
    while not player.run.flat:
        player.step()
        assert len(player.domain.memory) < 15
    assert player.run.side == LARGEST_SIDE
    turns = [player.run._exploring(turn) for turn in range(4)]
    assert turns == [False, True, False, True]
    player.fun = lambda x: 2.0
    player.step()
    assert not player.run.flat
    assert not any(player.run._exploring(turn) for turn in range(4))
    player.fun = lambda x: 3.0
    side = player.run.side
    while player.run.side == side:
        player.step()
        assert len(player.domain.memory) < 40
    assert not player.run.flat
    assert player.run.side == side / 2


def test_steps_by_a_quadratic_pause_when_they_do_not_keep_their_promise() -> None:
    player = Player(Space([Float(-5, 5), Int(0, 20)]), lambda x: np.sin(1e5 * x[0]) + 0.1 * abs(x[1] - 7))
    pauses = []
    for _ in range(30):
        player.step()
        pauses.append(player.run.pause)
    assert max(pauses) > 2
    player = Player(Space([Float(-5, 5), Int(0, 20)]), lambda x: bowl(np.append(x, [2.0, 1.0])))
    while player.run.best.value > 2.0 + 1e-8:
        player.step()
        assert player.run.pause <= 1
    assert player.run.pause == 1  # what is left to gain is little: the model has every second turn


def test_it_ends_when_nothing_is_gained() -> None:
    rng = np.random.default_rng(1)
    player = Player(FLOATS, lambda x: float(rng.random())).play()
    assert player.run.done
    assert len(player.domain.memory) < 200


def test_few_variables_have_as_many_evaluations_as_five() -> None:
    run = Player(Space([Float(-5, 5), Int(0, 20)]), lambda x: bowl(np.append(x, [2.0, 1.0]))).play(12).run
    ends = []
    for count, window in [
        (LEAST * FEW, WINDOW * FEW),
        (LEAST * FEW - 1, WINDOW * FEW),
        (999, WINDOW * FEW - 1),
    ]:
        run.count, run.trail = count, [run.best.value] * (window + 1)
        run._end()
        ends.append(run.done)
    assert ends == [True, False, False]


def restored(run: ModelRun) -> ModelRun:
    state = json.loads(json.dumps(_serialize.pack(run.state()), allow_nan=False))
    return ModelRun.restored(run.domain, _serialize.unpack(state))


@pytest.mark.parametrize("size", [1, 3])
def test_it_is_saved_and_restored_between_all_steps(size: int) -> None:
    one, other = Player(MIXED, bowl, size), Player(MIXED, bowl, size)
    for _ in range(12):
        one.step()
        other.run = restored(other.run)
        other.step()
        other.run = restored(other.run)
        np.testing.assert_array_equal(one.batches[-1], other.batches[-1])


def test_around_a_point_it_begins_with_the_model() -> None:
    player = Player(MIXED, bowl)
    player.step()
    before = player.run.best
    player.run = ModelRun.around(player.domain, before)
    player.play()
    assert len(player.batches[1]) == 1
    assert player.run.best.value < before.value
    assert player.run.local


def outcome(params: Any) -> tuple[float, float]:
    if params[0] > 4:
        return math.nan, 0.0
    return bowl(params), max(0.0, float(params[1]) - 3)


def test_failures_and_violations_are_avoided() -> None:
    optimizer = Optimizer(MIXED, strategy="saltus", seed=1)
    while optimizer.evaluations < 60:
        candidates = optimizer.ask()
        told = [outcome(c.params) for c in candidates]
        optimizer.tell(candidates, [v for v, _ in told], [w for _, w in told])
    assert optimizer.best is not None
    assert optimizer.best.violation == 0
    assert optimizer.best.value < 3.2  # the least is 3


def test_nothing_but_failures() -> None:
    optimizer = Optimizer(MIXED, strategy="saltus", seed=1)
    for _ in range(30):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [math.nan] * len(candidates))
    assert optimizer.best is None


def test_free_workers_get_points_of_their_own() -> None:
    optimizer = Optimizer(MIXED, strategy="saltus", seed=1, asynchronous=True)
    running = optimizer.ask(4)
    seen = [tuple(c.params) for c in running]
    rng = np.random.default_rng(1)
    for _ in range(40):
        done = running.pop(int(rng.integers(4)))
        optimizer.tell(done, bowl(done.params))
        running += optimizer.ask()
        if optimizer.phase == "ModelRun":
            seen.append(tuple(running[-1].params))
    assert len(set(seen)) == len(seen) > 20
    assert optimizer.best is not None
    assert optimizer.best.value < 2.1


def test_free_workers_get_a_point_also_where_the_first_points_are_all_the_same() -> None:
    player = Player(Space([Bool()]), bowl)
    run = ModelRun(player.domain, player.encoding.m + 9.0)  # far from where the other value begins
    run.draw(player.rng)
    first = run.propose().plateaus
    extra = run.extra(0, player.rng)
    assert extra is not None
    assert extra.plateaus.tolist() == first.tolist() == [[1.0]]


def test_the_order_of_telling_does_not_matter() -> None:
    runs = []
    for backwards in (False, True):
        optimizer = Optimizer(MIXED, strategy="saltus", seed=3)
        points: list[list[float]] = []
        while optimizer.evaluations < 60:
            candidates = optimizer.ask()
            points += [c.params.tolist() for c in candidates]
            for c in reversed(candidates) if backwards else candidates:
                optimizer.tell(c, bowl(c.params))
        runs.append(points)
    assert runs[0] == runs[1]


def test_where_it_looks() -> None:
    player = Player(MIXED, bowl)
    m, sd = player.run.where()
    np.testing.assert_array_equal(m, player.encoding.m)
    assert (sd == 1).all()
    player.step()
    m, sd = player.run.where()
    np.testing.assert_array_equal(m, player.run.best.x)
    np.testing.assert_allclose(sd, 0.5 * FIRST_SIDE * player.domain.span)


def test_points_that_are_under_way_are_kept_in_mind() -> None:
    player = Player(MIXED, bowl)
    player.step()
    run = player.run
    run.draw(player.rng)
    points = run.propose()
    results = Results(points, np.full(1, math.nan), None, np.array([False]))
    run._note_pending(results)
    assert len(run.pending) == 1
    run.draw(player.rng)
    assert run.points[0].tolist() != run.pending[0].tolist()
    assert isinstance(run.best, Evaluated)


def slanted(x: FloatArray) -> tuple[float, dict[str, float]]:
    """A bowl whose best feasible point is on a plane: 2 + 3 * 0.3 ** 2."""
    return float(((x - 1.3) ** 2).sum()) + 2.0, {"plane": float(x.sum() - 3.0), "far": float(x[0] - 9.0)}


def searched(space: Space, named: bool, evaluations: int, **arguments: Any) -> Optimizer:
    optimizer = Optimizer(space, strategy="saltus", **arguments)
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        outcomes = [slanted(np.asarray(c.params, dtype=float)) for c in candidates]
        if named:
            optimizer.tell(candidates, [Outcome(value, g) for value, g in outcomes])
        else:
            totals = [sum(max(amount, 0.0) for amount in g.values()) for _, g in outcomes]
            optimizer.tell(candidates, [value for value, _ in outcomes], totals)
    return optimizer


@pytest.mark.parametrize("batch", [1, 3])
def test_named_constraints_take_few_evaluations(batch: int) -> None:
    for seed in range(2):
        best = searched(BOX, True, 40, seed=seed, batch=batch).best
        assert best is not None
        assert best.violation == 0
        assert best.value == pytest.approx(2.27, abs=1e-3)


def test_a_total_violation_is_enough_for_a_model() -> None:
    best = searched(BOX, False, 60, seed=1).best
    assert best is not None
    assert best.violation == 0
    assert best.value < 2.4


def test_integers_under_constraints() -> None:
    best = searched(Space([Float(-5, 5), Int(-4, 4), Int(-4, 4)]), True, 60, seed=1).best
    assert best is not None
    assert best.violation == 0
    assert best.value == pytest.approx(2 + 0.3**2 + 0.3**2 + 0.3**2, abs=1e-3)


def test_with_constraints_there_are_more_model_runs() -> None:
    optimizer = searched(BOX, True, 150, seed=1)
    assert optimizer.phase == "ModelRun"


def test_under_constraints_it_goes_on_where_it_was_saved() -> None:
    optimizer = searched(BOX, True, 30, seed=1)
    again = Optimizer.restore(json.loads(json.dumps(optimizer.state())))
    for _ in range(6):
        a, b = optimizer.ask(), again.ask()
        assert [c.params.tolist() for c in a] == [c.params.tolist() for c in b]
        for one, candidates in ((optimizer, a), (again, b)):
            one.tell(candidates, [Outcome(*slanted(c.params)) for c in candidates])


def test_failures_are_avoided() -> None:
    optimizer = Optimizer(BOX, strategy="saltus", seed=1)
    failed = []
    while optimizer.evaluations < 60:
        for c in optimizer.ask():
            value = math.nan if c.params[0] > 1.0 else bowl(c.params)
            optimizer.tell(c, value)
            failed.append(math.isnan(value))
    assert sum(failed[20:]) < 30  # although the bottom lies behind them
    assert optimizer.best is not None
    assert optimizer.best.value < 2.3


@pytest.mark.parametrize("constrained", [False, True])
def test_integers_get_another_chance_where_the_mean_counts(constrained: bool) -> None:
    """Otherwise the best ones are closed when they were tried in bad places, or just beyond the limits."""
    run = searched(MIXED, True, 30)._search.phase if constrained else Player(MIXED, bowl).play(30).run
    assert isinstance(run, ModelRun)
    known = run.domain.model.known()[0]
    often = np.tile(known[0], (3, 1))
    assert known[0, 1:] in run._closed(known[-1], often, 1.0)
    assert known[0, 1:] not in run._closed(known[-1], often, 0.0)


@pytest.mark.parametrize("make", [coil_spring, pressure_vessel])
def test_designs_take_few_evaluations(make: Callable[[], Problem]) -> None:
    """Where integers decide, and the continuous variables have to follow along active constraints."""
    problem = make()
    target = 1.001 * problem.best
    seeds = (2, 0, 1, *range(3, 12))  # the first that gets there is enough
    runs = (minimize(problem.fun, problem.space, seed=seed, budget=150, target=target) for seed in seeds)
    assert any(result.stop is Stop.TARGET for result in runs)


def test_every_third_turn_is_for_the_value_of_a_category_that_was_tried_least() -> None:
    """However good another value is."""
    choices = ["good", "bad", "worse"]
    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "c": Categorical(choices)})
    optimizer = Optimizer(space, seed=3)
    tried: list[str] = []
    while optimizer.phase == "ModelRun":
        candidates = optimizer.ask()
        tried += [c.params["c"] for c in candidates]
        points = [c.params for c in candidates]
        values = [10.0 * choices.index(p["c"]) + abs(p["x"] - 1) + abs(p["y"] + 2) for p in points]
        optimizer.tell(candidates, values)
    first = 6  # points of the design
    good, bad, worse = (tried[first:].count(choice) for choice in choices)
    assert good > max(bad, worse)
    assert bad + worse >= (len(tried) - first) // 5  # steps by a quadratic come between the turns


@pytest.mark.parametrize("kind", [Bool(), Int(0, 1), Categorical(["a", "b"])])
def test_of_few_combinations_none_is_closed_for_having_its_share(kind: Variable) -> None:
    """With two values, each of them is tried half of the time: then both would be closed after a while."""
    space = Space({"x": Float(-5, 5), "k": kind})
    player = Player(space, lambda x: abs(x[0] - 1.3) + 0.1 * x[1]).play(20)
    known = player.domain.model.known()[0]
    assert len(known) == 20
    for point in known:
        assert point[1:] not in player.run._closed(known[-1], np.empty((0, 2)), 1.0)


def test_on_a_plateau_every_turn_is_for_other_values_of_categories() -> None:
    """More points of a plateau would be as good as the best one, again and again."""
    player = Player(Space({"x": Float(-5, 5), "c": Categorical(["a", "b", "c"])}), lambda x: 3.0)
    while not player.run.flat:
        player.step()
        assert len(player.domain.memory) < 25
    assert all(player.run._exploring(turn) for turn in range(6))
    own = player.run.best.plateaus[-1]
    for _ in range(3):
        player.step()
        assert player.batches[-1][0, -1] != own


def test_a_rare_value_is_judged_by_a_model_of_its_own() -> None:
    """One value is good and the same everywhere; the other is better within a tenth of the range."""

    def fun(x: FloatArray) -> float:
        return 1.0 if x[1] == 0 else 2.0 - 1.5 * float(np.exp(-2.0 * (x[0] - 3.0) ** 2))

    player = Player(Space({"x": Float(-5, 5), "c": Categorical(["wide", "narrow"])}), fun)
    while player.run.best.value >= 1.0:
        player.step()
        assert len(player.domain.memory) < 25


def test_the_usual_turns_are_left_to_the_region() -> None:
    """Also those that look where little is known: otherwise these would be taken away from it for ever."""
    player = Player(Space({"x": Float(-5, 5), "c": Categorical(["a", "b"])}), lambda x: 0.0)
    left = {KAPPAS[turn % len(KAPPAS)] for turn in range(24) if not player.run._exploring(turn)}
    assert left == set(KAPPAS)
