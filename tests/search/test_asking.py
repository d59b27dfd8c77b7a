"""Asking the model before paying."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from saltus import Float, Int, Optimizer, Space
from saltus._typing import FloatArray
from saltus.search.asking import LONGEST, Asking, askable
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.mixed_run import MixedRun
from saltus.search.newton import Newton
from saltus.search.proposal import Evaluated, Proposals, Results
from saltus.space.encoding import Encoding
from tests.search.playing import domain_of, modelled

SPACE = Space([Float(-5, 5), Float(-5, 5), Int(0, 20), Int(0, 20)])


def bowl(x: FloatArray) -> float:
    return float(((x - [1.3, -0.4, 7.0, 11.0]) ** 2).sum()) + 2.0


def rugged(x: FloatArray) -> float:
    return float(np.sin(1e4 * x.sum()))


class Stage:
    """A domain whose memory holds some points, and a phase that asks."""

    def __init__(self, fun: Callable[[FloatArray], float], count: int = 40) -> None:
        self.encoding, self.fun = Encoding(SPACE), fun
        self.domain = modelled(self.encoding, population=12)
        self.rng = np.random.default_rng(1)
        cube = self.domain.model.cube
        self.remember(Proposals(*cube.points(cube.snapped(self.rng.random((count, 4))))))

    def remember(self, points: Proposals) -> FloatArray:
        memory, x = self.domain.memory, self.encoding.numbers(*points)
        values = np.array([self.fun(row) for row in x])
        memory.extend(range(len(memory), len(memory) + len(x)), x, values.tolist(), [0.0] * len(x))
        return values

    def evaluated(self) -> Evaluated:
        x, plateaus = self.encoding.located(np.array([1.0, 0.0, 6.0, 9.0]))
        points = self.domain.with_values(Proposals(x[None], plateaus[None]))
        return Results(points, self.remember(points), None).point(0)

    def mixed_run(self) -> MixedRun:
        return MixedRun(self.domain, self.encoding.m, 1.0)

    def generation(self, asking: Asking) -> int:
        """One batch of the phase that asks; how many were paid for."""
        paid = 0
        while not asking.done:
            asking.draw(self.rng)
            points = asking.propose()
            asking.observe(Results(points, self.remember(points), None))
            paid += len(points.x)
        return paid


def test_of_a_generation_that_is_easy_to_tell_only_a_part_is_paid_for() -> None:
    stage = Stage(bowl)
    run = stage.mixed_run()
    assert askable(run)
    paid = [stage.generation(Asking(run)) for _ in range(8)]
    assert sum(paid) <= 8 * 8
    assert run.best.value < 8
    _, values = stage.domain.model.known()
    assert run.best.value in values  # never a prediction


def test_what_the_model_cannot_tell_is_paid_for() -> None:
    stage = Stage(rugged)
    run = stage.mixed_run()
    paid = [stage.generation(Asking(run)) for _ in range(5)]
    assert sum(paid) > 5 * 10


def test_a_sweep_pays_only_for_what_may_be_better() -> None:
    stage = Stage(bowl, 60)
    sweep = IntegerSweep(stage.domain, stage.evaluated(), np.random.default_rng(1))
    paid = asked = 0
    while not sweep.done:
        asked += len(sweep.propose().x)
        paid += stage.generation(Asking(sweep))
    assert sweep.best.plateaus.tolist() == [7.0, 11.0]
    assert paid < asked / 2


def test_failures_and_violations_end_it() -> None:
    stage = Stage(bowl)
    for value, violation in ((math.nan, 0.0), (1.0, 0.5)):
        run = stage.mixed_run()
        asking = Asking(run)
        asking.draw(stage.rng)
        first = asking.propose()
        values = np.full(len(first.x), value)
        asking.observe(Results(first, values, np.full(len(first.x), violation)))
        assert not asking.done
        asking.draw(stage.rng)
        rest = asking.propose()
        assert len(first.x) + len(rest.x) == 12
        asking.observe(Results(rest, stage.remember(rest), None))
        assert asking.done
    stage.domain.memory.extend([1000], np.array([[0.0, 0.0, 1.0, 1.0]]), [1.0], [0.5])
    assert not askable(run)


def test_who_is_asked_and_when() -> None:
    stage = Stage(bowl)
    assert not askable(Newton(stage.domain, stage.evaluated(), np.eye(2)))
    assert not askable(Stage(bowl, 3).mixed_run())
    assert not askable(Stage(bowl, LONGEST * 4).mixed_run())
    assert not askable(MixedRun(domain_of(SPACE, encoding=stage.encoding), np.zeros(4), 1.0))


def test_free_workers_get_the_rest_of_the_batch_and_then_more() -> None:
    stage = Stage(bowl)
    run = stage.mixed_run()
    asking = Asking(run)
    asking.draw(stage.rng)
    rows = len(asking.propose().x)
    assert asking.name == "MixedRun"
    whole = run.propose()
    extras = [asking.extra(k, np.random.default_rng(k)) for k in range(12 - rows + 1)]
    given = [asking.propose(), *(e for e in extras if e is not None)]
    x = np.concatenate([g.x for g in given])
    assert len(x) == 12 + 2  # one more pair
    assert sorted(map(tuple, x[:12].tolist())) == sorted(map(tuple, whole.x.tolist()))


@pytest.mark.parametrize("seed", [1, 2])
def test_one_at_a_time_without_waiting_is_the_same_search(seed: int) -> None:
    runs = []
    for asynchronous in (False, True):
        optimizer = Optimizer(
            SPACE, strategy="saltus", seed=seed, asynchronous=asynchronous, without=["model"]
        )
        points: list[list[float]] = []
        while len(points) < 150:
            (c,) = optimizer.ask(1)
            points.append(c.params.tolist())
            optimizer.tell(c, bowl(c.params))
        runs.append(points)
    assert runs[0] == runs[1]


def test_several_workers_that_do_not_wait() -> None:
    optimizer = Optimizer(SPACE, strategy="saltus", seed=1, asynchronous=True, without=["model"])
    running = optimizer.ask(6)
    rng = np.random.default_rng(1)
    for step in range(200):
        done = running.pop(int(rng.integers(6)))
        optimizer.tell(done, bowl(done.params))
        running += optimizer.ask()
        if step % 17 == 0:
            optimizer = Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))
            running = optimizer.pending
    assert optimizer.best is not None
    assert optimizer.best.value < 2.01


def test_workers_that_are_always_one_behind_get_on() -> None:
    """What comes back is never of the batch that is on: it is of the same generation all the same."""
    optimizer = Optimizer(SPACE, strategy="saltus", seed=1, asynchronous=True, without=["model"])
    running = optimizer.ask(4)
    generations = 0
    for _ in range(120):
        done = running.pop(0)
        optimizer.tell(done, bowl(done.params))
        running += optimizer.ask()
        generations = optimizer.generation
    assert optimizer.best is not None
    assert optimizer.best.value < 4
    assert generations > 20


@pytest.mark.parametrize("workers", [2, 4, 9])
@pytest.mark.parametrize("fun", [bowl, rugged])
def test_what_is_known_or_in_flight_is_not_asked_again(
    fun: Callable[[FloatArray], float], workers: int
) -> None:
    """Also where a failure makes everything be paid for, and after a restore."""
    others = ["model", "sweep", "newton", "scan"]  # the last two have nothing for free workers
    optimizer = Optimizer(SPACE, strategy="saltus", seed=2, asynchronous=True, without=others)
    rng = np.random.default_rng(1)
    running = optimizer.ask(workers)
    asked = [tuple(c.params.tolist()) for c in running]
    while len(asked) < 180:
        done = running.pop(int(rng.integers(len(running))))
        failed = len(asked) in range(100, 130)
        optimizer.tell(done, math.nan if failed else fun(done.params))
        if optimizer.evaluations % 13 == 0:
            optimizer = Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))
            running = optimizer.pending
        running += (new := optimizer.ask())
        asked += [tuple(c.params.tolist()) for c in new]
    assert len(set(asked)) == len(asked)


def test_an_outcome_that_never_comes_holds_nobody_up() -> None:
    """A worker that died has one point of every generation for ever."""
    optimizer = Optimizer(SPACE, strategy="saltus", seed=1, asynchronous=True, without=["model"])
    running = optimizer.ask(4)
    for step in range(200):
        lost = step in (20, 40, 60)
        done = running.pop(0)
        if not lost:
            optimizer.tell(done, rugged(done.params) if step < 70 else bowl(done.params))
        running += optimizer.ask()
    assert optimizer.best is not None
    assert optimizer.generation > 20
