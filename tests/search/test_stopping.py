"""Every stopping rule fires where it should, and not before."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Optimizer, Space, Stop, order
from saltus.problems import reversed_ellipsoid_int
from saltus.search.proposal import Evaluated
from saltus.search.stopping import RunLog, stop_reason
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, Round, dxnesic


def run(fun: Callable[[Any], float], space: Space, *, limit: int = 60000, **kwargs: Any) -> Optimizer:
    optimizer = Optimizer(space, **{"strategy": "dx-nes-ici", **kwargs})
    while optimizer.stop is None and optimizer.evaluations < limit:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [fun(c.params) for c in candidates])
    return optimizer


@pytest.mark.parametrize(
    "strategy", ["saltus-es", "dx-nes-ici", "cma-es-margin", "cma-es+leap+bias", "dx-nes-ic"]
)
@pytest.mark.parametrize("offset", [0.0, 1e3, -1e-9])
def test_an_integer_problem_stops_at_its_optimum(strategy: str, offset: float) -> None:
    space = Space([Int(-10, 10)] * 3 + [Bool()] * 2)
    optimizer = run(lambda x: float(((x - 1) ** 2).sum()) + offset, space, strategy=strategy, seed=1)
    assert optimizer.stop in (Stop.FLAT, Stop.CONVERGED)
    if strategy != "dx-nes-ic":
        assert optimizer.best is not None
        assert optimizer.best.value == offset
    assert optimizer.evaluations < 5000


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici", "cma-es-margin"])
def test_a_mixed_problem_stops_when_all_has_converged(strategy: str, offset: float) -> None:
    space = Space([Float(-4, 4)] * 3 + [Int(-10, 10)] * 3)
    optimizer = run(lambda x: float(((x - 1) ** 2).sum()) + offset, space, strategy=strategy, seed=2)
    assert optimizer.stop in (Stop.FLAT, Stop.CONVERGED)
    assert optimizer.best is not None
    assert optimizer.best.value - offset < 1e-8


def test_a_continuous_problem_converges() -> None:
    optimizer = run(lambda x: float(x @ x), Space([Float(-3, 5)] * 4), seed=1)
    assert optimizer.stop is Stop.CONVERGED
    assert optimizer.best is not None
    assert optimizer.best.value < 1e-20
    far = run(lambda x: float(((x - 1e9) ** 2).sum()), Space([Float(init=1e9 + 5, scale=1)] * 2), seed=1)
    assert far.stop in (Stop.CONVERGED, Stop.FLAT)  # the digits of 1e9 run out first


def test_small_values_are_not_flat() -> None:
    """An absolute tolerance would stop a function whose values are all tiny."""
    optimizer = run(lambda x: 1e-30 * float(x @ x), Space([Float(-3, 5)] * 4), seed=1)
    assert optimizer.stop is Stop.CONVERGED
    assert optimizer.best is not None
    assert optimizer.best.value < 1e-50


@pytest.mark.parametrize("top", [100, 1000])
def test_an_optimum_next_to_the_end_of_a_wide_range_is_found(top: int) -> None:
    """Beyond the end all points are alike; the search must come back and become narrow."""
    for seed in range(4):
        space = Space([Int(0, top)] * 3)
        optimizer = run(lambda x: float(np.abs(x - (top - 1)).sum()), space, seed=seed)
        assert optimizer.best is not None
        assert optimizer.best.value == 0


def test_flat() -> None:
    optimizer = run(lambda x: 7.0, Space([Float(-3, 5), Int(0, 9)]), seed=1)
    assert optimizer.stop is Stop.FLAT
    assert optimizer.evaluations < 1000


@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici"])
def test_infeasible_everywhere(strategy: str) -> None:
    optimizer = run(lambda x: math.inf, Space([Float(-3, 5), Int(0, 9)]), seed=1, strategy=strategy)
    assert optimizer.stop is Stop.INFEASIBLE


def test_a_search_that_finds_its_way_to_feasible_points_is_not_infeasible() -> None:
    log = RunLog.start(3, 8, Integers(3, Lattice([]), 0.1, Round()))
    for value in [math.nan] * 5 + [3.0 - 0.01 * i for i in range(200)]:
        log = log.after(Evaluated(np.empty(0), np.empty(0), *order.key(value)))
    assert log.flat == 0
    for value in (math.nan, 2.0, math.nan, 2.0):
        log = log.after(Evaluated(np.empty(0), np.empty(0), *order.key(value)))
        assert log.flat == 0


@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici"])
def test_unbounded_objective(strategy: str) -> None:
    optimizer = run(lambda x: float(x.sum()), Space([Float()] * 3), seed=1, strategy=strategy)
    assert optimizer.stop is Stop.DIVERGED


@pytest.mark.parametrize(("axes", "reason"), [([1.0, 1.0, 1e-15], Stop.CONDITION), ([1.0, 1.0, 1e-13], None)])
def test_the_papers_limit_of_the_condition_number(axes: list[float], reason: Stop | None) -> None:
    integers = Integers(3, Lattice([]), 0.1, Round())
    state = dxnesic.start(dxnesic.constants(3, 8), np.zeros(3), integers)
    state = state._replace(axes=np.array(axes))
    assert stop_reason(RunLog.start(3, 8, integers), state, integers) is reason


def test_integers_that_move_slowly_are_waited_for() -> None:
    """The continuous variables converge long before the last integer has leapt home."""
    N = 20
    problem = reversed_ellipsoid_int(N)
    space = Space([Float(-10, 10)] * (N // 2) + [Int(-10, 10)] * (N // 2))
    sigma = [4.0] * (N // 2) + [4.2] * (N // 2)
    for seed in (2, 9, 13, 19):
        rng = np.random.default_rng([seed, N])
        optimum = np.concatenate((rng.uniform(-8, 8, N // 2), rng.integers(-8, 9, N // 2)))
        optimizer = Optimizer(space, strategy="saltus-es", seed=seed, sigma=sigma)
        while optimizer.best is None or optimizer.best.value > 1e-10:
            candidates = optimizer.ask()
            optimizer.tell(candidates, problem.fun(np.array([c.params for c in candidates]) - optimum))
            assert optimizer.stop is None


@pytest.mark.parametrize(
    ("sd", "flat", "reason"),
    [
        (0.01, 1.0, Stop.FLAT),
        (0.01, 0.99, None),
        (0.1, 1.0, Stop.FLAT),  # on one threshold, ...
        (0.6, 1.0, None),  # ... on two
        (3.0, 1.0, None),
        (3.0, 1.01, None),
        (3.0, 3.99, None),
        (3.0, 4.0, Stop.FLAT),
    ],
)
def test_equal_values_are_endured_longer_while_the_gaussian_is_wide(
    sd: float, flat: float, reason: Stop | None
) -> None:
    """Beyond the end of an integer's range values are equal while the Gaussian still shrinks."""
    integers = Integers(0, Lattice([(0.0, 1.0, 21)] * 2), 0.05, Round())
    state = dxnesic.start(dxnesic.constants(2, 8), np.full(2, 9.4), integers, sd)._replace(age=1)
    log = RunLog.start(2, 8, integers)
    log = log._replace(flat=int(flat * log.patience), level=3.0)
    assert (integers.resolution(state.m, state.sd).max() > 1) == (sd > 0.5)
    assert stop_reason(log, state, integers) is reason
    failed = log._replace(level=math.inf)
    assert stop_reason(failed, state, integers) is (None if reason is None else Stop.INFEASIBLE)


def test_patience_is_longer_where_a_better_neighbour_is_rare() -> None:
    none = RunLog.start(20, 10, Integers(20, Lattice([]), 0.1, Round()))
    some = RunLog.start(20, 10, Integers(10, Lattice([(0.0, 1.0, 5)] * 10), 0.01, Round()))
    assert none.patience == 10 + 60
    assert some.patience == 10 + 60 + 50


@pytest.mark.parametrize("stop", Stop)
def test_every_reason_is_in_whole_sentences(stop: Stop) -> None:
    for sentence in re.split(r"(?<=\.) ", stop.value):
        assert re.fullmatch(r"[A-Z][a-z]+\b[^.]*[^. ]\.", sentence)
        assert not re.search(r"[A-Z]{2}", sentence)


def test_only_what_broke_the_search_off_was_not_planned() -> None:
    assert {stop for stop in Stop if not stop.planned} == {Stop.INTERRUPTED, Stop.FAILING}


CONTINUOUS = Integers(2, Lattice([]), 0.1, Round())
MIXED = Integers(1, Lattice([(0.0, 1.0, 21)]), 0.05, Round())


def found(value: float, violation: float = 0.0, plateau: float | None = None) -> Evaluated:
    plateaus = np.empty(0) if plateau is None else np.array([plateau])
    return Evaluated(np.empty(0), plateaus, violation, value)


def test_an_empty_log_knows_nothing() -> None:
    log = RunLog.start(7, 8, Integers(3, Lattice([(0.0, 1.0, 5)] * 4), 0.03, Round()))
    assert log.patience == 10 + 27 + 21  # 210 / 8 and 5 / 0.24, rounded up
    assert math.isnan(log.level)
    assert (log.flat, log.best, log.unchanged) == (0, order.WORST, 0)
    assert log.plateaus.tolist() == [-1.0] * 4  # unlike those of any point


def test_values_are_the_same_if_they_differ_by_less_than_their_last_digits() -> None:
    log = RunLog.start(2, 8, CONTINUOUS).after(found(1000.0))
    assert (log.level, log.flat) == (1000.0, 0)
    for count in (1, 2, 3):
        log = log.after(found(1000.0 + 0.9e-10))
        assert (log.level, log.flat) == (1000.0, count)  # the first of them: they cannot creep away
    assert log.after(found(1000.0 - 0.9e-10)).flat == 4
    for other in (1000.0 + 1.1e-10, 1000.0 - 1.1e-10, -1000.0, 0.0):
        after = log.after(found(other))
        assert (after.level, after.flat) == (other, 0)
    assert RunLog.start(2, 8, CONTINUOUS).after(found(0.0)).after(found(0.0)).flat == 1
    assert RunLog.start(2, 8, CONTINUOUS).after(found(0.0)).after(found(1e-300)).flat == 0


def test_while_something_is_violated_the_violation_is_what_stays_the_same() -> None:
    log = RunLog.start(2, 8, CONTINUOUS).after(found(1.0, 0.5))
    assert log.level == 0.5
    assert log.after(found(7.0, 0.5)).flat == 1
    assert log.after(found(1.0, 0.4)).flat == 0
    assert log.after(found(*reversed(order.WORST))).flat == 0


def test_the_integers_of_the_best_point_are_followed() -> None:
    log = RunLog.start(2, 8, MIXED).after(found(5.0, plateau=3.0))
    assert (log.best, log.plateaus.tolist(), log.unchanged) == ((0.0, 5.0), [3.0], 0)
    log = log.after(found(4.0, plateau=3.0))
    assert (log.best, log.plateaus.tolist(), log.unchanged) == ((0.0, 4.0), [3.0], 1)
    for value in (4.0, 4.5):  # no better: what the best has still counts
        log = log.after(found(value, plateau=9.0))
    assert (log.best, log.plateaus.tolist(), log.unchanged) == ((0.0, 4.0), [3.0], 3)
    log = log.after(found(3.0, plateau=9.0))
    assert (log.best, log.plateaus.tolist(), log.unchanged) == ((0.0, 3.0), [9.0], 0)
    assert log.patience == RunLog.start(2, 8, MIXED).patience


def reason(
    integers: Integers, *, sd: float = 1.0, m: float = 0.0, log: RunLog | None = None, **fields: Any
) -> Stop | None:
    """Of a Gaussian of these standard deviations in two dimensions."""
    c = dxnesic.constants(2, 8)
    state = dxnesic.start(c, np.full(2, m), integers, sd)._replace(**fields)
    return stop_reason(log or RunLog.start(2, 8, integers), state, integers)


def test_a_run_has_converged_when_no_continuous_variable_can_move_any_more() -> None:
    assert reason(CONTINUOUS, sd=1e-12) is Stop.CONVERGED
    assert reason(CONTINUOUS, sd=1.001e-12) is None
    assert reason(CONTINUOUS, sd=1e-12, age=1) is None  # looked at when the eigenbasis is fresh
    assert reason(CONTINUOUS, sd=1e-12, age=0) is Stop.CONVERGED
    eps = np.finfo(float).eps
    assert reason(CONTINUOUS, sd=1e-12 + 1e6 * eps, m=-1e6) is Stop.CONVERGED  # the digits of m run out
    assert reason(CONTINUOUS, sd=1e-12 + 1.01e6 * eps, m=1e6) is None


def test_one_variable_that_moves_is_enough_to_go_on() -> None:
    c = dxnesic.constants(2, 8)
    state = dxnesic.start(c, np.zeros(2), CONTINUOUS, 1e-13)._replace(sd=np.array([1e-13, 1e-3]))
    assert stop_reason(RunLog.start(2, 8, CONTINUOUS), state, CONTINUOUS) is None


def test_integers_must_have_settled_too() -> None:
    log = RunLog.start(2, 8, MIXED)
    settled = log._replace(unchanged=log.patience)
    waiting = log._replace(unchanged=log.patience - 1)
    assert reason(MIXED, sd=1e-13, m=5.0, log=settled) is Stop.CONVERGED
    assert reason(MIXED, sd=1e-13, m=5.0, log=waiting) is None


@pytest.mark.parametrize(("spread", "stops"), [(0.1, True), (0.5, True), (0.6, False), (9.0, False)])
def test_an_integer_on_several_plateaus_has_not_settled(spread: float, stops: bool) -> None:
    """On one threshold it has, that is where Leap keeps it; on two (0.6) it has not."""
    log = RunLog.start(2, 8, MIXED)
    log = log._replace(unchanged=log.patience)
    c = dxnesic.constants(2, 8)
    state = dxnesic.start(c, np.array([0.0, 5.4]), MIXED, 1e-13)._replace(sd=np.array([1e-13, spread]))
    assert stop_reason(log, state, MIXED) is (Stop.CONVERGED if stops else None)


def test_a_run_diverges_beyond_all_bounds() -> None:
    assert reason(CONTINUOUS, sd=0.99e10) is None
    for sd in (1e10, 1e300, math.inf, math.nan):
        assert reason(CONTINUOUS, sd=sd) is Stop.DIVERGED
    assert reason(CONTINUOUS, sd=1e300, age=1) is None


def test_the_condition_number_has_its_limit() -> None:
    assert reason(CONTINUOUS, axes=np.array([1e14, 1.0])) is None
    assert reason(CONTINUOUS, axes=np.array([1.0, np.nextafter(1e14, np.inf)])) is Stop.CONDITION
    assert reason(CONTINUOUS, axes=np.array([1.0, 1.001e14]), age=1) is None


def test_without_integers_equal_values_are_endured_for_the_patience() -> None:
    log = RunLog.start(2, 8, CONTINUOUS)._replace(level=1.0)
    assert reason(CONTINUOUS, log=log._replace(flat=log.patience - 1)) is None
    assert reason(CONTINUOUS, log=log._replace(flat=log.patience)) is Stop.FLAT
    assert reason(CONTINUOUS, log=log._replace(flat=log.patience), age=3) is Stop.FLAT
