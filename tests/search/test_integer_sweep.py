"""The sweep over single integers."""

from __future__ import annotations

import numpy as np

from saltus import Bool, Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.proposal import Evaluated, Proposals, Results

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
