"""The sweep over single integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from saltus import Bool, Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.integer_sweep import IntegerSweep, other_values
from saltus.search.proposal import Evaluated, Proposals, Results
from saltus.search.settings import Settings

from .playing import MIXED, domain_of, evaluated, play


def test_sweep_ends_where_no_single_integer_helps() -> None:
    domain = domain_of(MIXED)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(((x[:, 2:] - [2, 6, 17]) ** 2).sum(axis=1))

    sweep = IntegerSweep(
        domain, evaluated(domain, fun, [0.3, -0.4], [0.0, 0.0, 0.0]), np.random.default_rng(1)
    )
    spent = play(sweep, fun)
    assert sweep.best.plateaus.tolist() == [2.0, 6.0, 17.0]
    assert sweep.best.x[:2].tolist() == [0.3, -0.4]
    assert spent < 120
    again = IntegerSweep(domain, sweep.best, np.random.default_rng(1))
    assert play(again, fun) == 3 + 7 + 2 * 5 - 1  # 17 - 32 and 17 + 16 are outside
    assert again.best is sweep.best


def test_a_batch_of_a_sweep_fills_a_population() -> None:
    domain = domain_of(Space([Bool() for _ in range(20)] + [Float()]))
    point = evaluated(domain, lambda x: x.sum(axis=1), [0.0], [0.0] * 20)
    assert len(IntegerSweep(domain, point, np.random.default_rng(1)).propose().x) == 8


def test_spares_of_a_sweep_are_what_would_come_next() -> None:
    domain = domain_of(Space([Int(0, 3), Int(0, 7), Bool(), Int(0, 30), Int(0, 2)]), 6)
    start = Evaluated(np.zeros(5), np.zeros(5), 0.0, 1.0)
    rng = np.random.default_rng(1)
    sweep = IntegerSweep(domain, start, rng)
    first = sweep.propose()
    spares: list[Proposals] = []
    while (spare := sweep.extra(len(spares), rng)) is not None:
        spares.append(spare)
    rows = [row for batch in (first, *spares) for row in batch.plateaus.tolist()]
    later: list[list[float]] = []
    while not sweep.done:  # nothing is better
        batch = sweep.propose()
        later += batch.plateaus.tolist()
        sweep.observe(Results(batch, np.full(len(batch.x), 2.0), None))
    assert rows == later
    assert len(spares) >= 2


def test_a_sweep_goes_on_as_soon_as_something_is_better() -> None:
    domain = domain_of(Space([Int(0, 3), Int(0, 7), Bool()]), 20)
    sweep = IntegerSweep(domain, Evaluated(np.zeros(3), np.zeros(3), 0.0, 1.0), np.random.default_rng(1))
    batch = sweep.propose()
    told = Results(batch, np.full(len(batch.x), 2.0), None)
    known = np.full(len(batch.x), False)
    known[:2] = True
    told = told._replace(known=known)
    assert not sweep.ready(told)
    told.values[1] = 0.5
    assert sweep.ready(told)
    sweep.observe(told)
    assert sweep.best.value == 0.5
    np.testing.assert_array_equal(sweep.best.plateaus, batch.plateaus[1])
    missing = {int((row != 0).argmax()) for row in batch.plateaus[2:]}
    assert missing <= set(sweep.queue)  # of these not all is known


def test_all_of_sixteen_values_are_tried_and_of_more_those_at_growing_distances() -> None:
    assert other_values(0.0, 15.0) == [float(k) for k in range(1, 16)]
    assert other_values(7.0, 15.0) == [float(k) for k in range(16) if k != 7]
    assert other_values(0.0, 16.0) == [1.0, 2.0, 4.0, 8.0, 16.0]  # both ends count
    assert other_values(16.0, 16.0) == [15.0, 14.0, 12.0, 8.0, 0.0]
    assert other_values(9.0, 20.0) == [8.0, 10.0, 7.0, 11.0, 5.0, 13.0, 1.0, 17.0]
    assert other_values(1.0, 1.0) == [0.0]


def sweep_of(space: Space, population: int, value: float = 1.0) -> IntegerSweep:
    """From the lowest values of all integers; they come in the order of the space."""
    domain = replace(domain_of(space), settings=Settings("saltus-es", population))
    start = Evaluated(np.zeros(domain.N), np.zeros(domain.lattice.size), 0.0, value)
    sweep = IntegerSweep(domain, start, np.random.default_rng(1))
    sweep.order = list(range(domain.lattice.size))
    sweep.queue = list(sweep.order)
    return sweep


def changed(batch: Proposals) -> list[int]:
    """The integer that each point changes, from the lowest values."""
    assert ((batch.plateaus != 0).sum(axis=1) == 1).all()
    return [int(j) for j in (batch.plateaus != 0).argmax(axis=1)]


@pytest.mark.parametrize(
    ("population", "integers"), [(1, 1), (3, 1), (5, 1), (6, 2), (8, 2), (9, 3), (99, 4)]
)
def test_a_batch_holds_as_many_integers_as_fit_and_at_least_one(population: int, integers: int) -> None:
    sweep = sweep_of(Space([Int(0, 3)] * 4), population)
    assert changed(sweep.propose()) == [j for j in range(integers) for _ in range(3)]
    assert sweep.propose().plateaus[:3, 0].tolist() == [1.0, 2.0, 3.0]
    extra = sweep.extra(0, np.random.default_rng(1))
    assert (extra is None) == (integers == 4)
    if extra is not None:
        assert changed(extra) == [integers] * 3


def test_integers_come_in_random_order_each_once() -> None:
    domain = domain_of(Space([Bool()] * 9), 4)
    start = Evaluated(np.zeros(9), np.zeros(9), 0.0, 1.0)
    sweeps = [IntegerSweep(domain, start, np.random.default_rng(seed)) for seed in range(4)]
    assert all(sorted(sweep.queue) == list(range(9)) for sweep in sweeps)
    assert len({tuple(sweep.queue) for sweep in sweeps}) == 4
    nothing = domain_of(Space([Float()]), 4)
    point = Evaluated(np.zeros(1), np.zeros(0), 0.0, 1.0)
    assert IntegerSweep(nothing, point, np.random.default_rng(1)).done


def test_what_was_tried_in_vain_is_not_tried_again() -> None:
    sweep = sweep_of(Space([Int(0, 3)] * 4), 6)
    told(sweep, {})
    assert sweep.queue == [2, 3]
    assert not sweep.done
    told(sweep, {})
    assert sweep.queue == []
    assert sweep.done
    assert sweep.best is sweep.start


def told(sweep: IntegerSweep, values: dict[int, float]) -> Proposals:
    """The batch that was told: points have the value 1 of the start but for these, by place."""
    batch = sweep.propose()
    given = np.array([values.get(i, 1.0) for i in range(len(batch.x))])
    sweep.observe(Results(batch, given, None))
    return batch


def test_after_a_success_what_else_was_better_comes_first_and_what_was_tried_last() -> None:
    sweep = sweep_of(Space([Bool()] * 6), 4)
    told(sweep, {1: 0.9, 3: 0.5})  # integers 0 to 3: the last one wins, 1 was better too
    assert sweep.best.value == 0.5
    assert sweep.best.plateaus.tolist() == [0, 0, 0, 1, 0, 0]
    assert sweep.queue == [1, 4, 5, 0, 2]  # all values of 3 have been tried
    assert not sweep.done
    batch = sweep.propose()
    np.testing.assert_array_equal(batch.plateaus[:, 3], 1.0)  # from there
    assert sweep.start.value == 1.0


@pytest.mark.parametrize(("top", "again"), [(15, False), (16, True)])
def test_an_integer_of_many_values_is_tried_again_where_it_has_moved(top: int, again: bool) -> None:
    sweep = sweep_of(Space([Int(0, top), Bool(), Bool()]), 1)
    told(sweep, {1: 0.5})
    assert sweep.best.plateaus.tolist() == [2.0, 0.0, 0.0]
    assert sweep.queue == ([0, 1, 2] if again else [1, 2])


def test_as_good_is_not_better() -> None:
    sweep = sweep_of(Space([Bool()] * 4), 2)
    told(sweep, {0: 1.0})
    assert sweep.best is sweep.start
    sweep = sweep_of(Space([Bool()] * 4), 3)
    told(sweep, {0: 0.5, 1: 0.5, 2: 1.0})  # of equals the first; and the third was no better
    assert sweep.best.plateaus.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert sweep.queue == [1, 3, 2]


def test_a_sweep_waits_for_all_that_is_no_better() -> None:
    sweep = sweep_of(Space([Bool()] * 4), 4)
    results = Results(sweep.propose(), np.array([1.0, 0.5, 0.1, 0.1]), None)
    for known, ready in (
        ([False] * 4, False),
        ([True, False, False, False], False),  # as good
        ([False, True, False, False], True),
        ([True] * 4, True),
    ):
        assert sweep.ready(results._replace(known=np.array(known))) == ready
    assert sweep.ready(results)


def test_integers_that_are_not_all_known_stay_in_line() -> None:
    sweep = sweep_of(Space([Int(0, 3)] * 4), 6)
    values = np.full(6, 1.0)
    values[0] = 0.5
    known = np.array([True, True, True, True, False, False])
    sweep.observe(Results(sweep.propose(), values, None, known=known))
    assert sweep.best.plateaus.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert sweep.queue == [2, 3, 1]  # once, after what was not tried at all
    sweep = sweep_of(Space([Int(0, 3)] * 2), 6)
    values[0] = 1.0
    sweep.observe(Results(sweep.propose(), values, None, known=known))
    assert sweep.queue == [1]
