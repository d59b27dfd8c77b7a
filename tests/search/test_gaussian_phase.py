"""What single runs, mixed runs and the polish share: the price of violations, and who is waited for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Optimizer, Space
from saltus._typing import FloatArray
from saltus.search.gaussian_phase import PRICE_PACE, VIOLATED_SHARE
from saltus.search.mixed_run import MixedRun
from saltus.search.polish import Polish
from saltus.search.proposal import Evaluated, Results
from saltus.search.settings import Settings
from saltus.search.single_run import SingleRun
from saltus.strategy import STRATEGIES

from .playing import domain_of

DOMAIN = domain_of(Space([Float(), Float(), Int(0, 9)]))


def mixed_run() -> MixedRun:
    return MixedRun(DOMAIN, np.array([0.0, 0.0, 4.4]), 1.0)


def polish() -> Polish:
    return Polish(DOMAIN, Evaluated(np.array([0.0, 0.0, 4.0]), np.array([4.0]), 0.0, 9.0), np.eye(2))


def generation(phase: Any, violated: float, value: Any = None, amount: float = 1.0) -> FloatArray:
    """Let a generation of which this share is violated pass; its values."""
    phase.draw(np.random.default_rng(1))
    points = phase.propose()
    count = len(points.x)
    values = np.arange(float(count)) if value is None else np.full(count, value)
    violations = np.where(np.arange(count) < violated * count, amount, 0.0)
    phase.observe(Results(points, values, violations))
    return values


@pytest.mark.parametrize("make", [mixed_run, polish])
def test_the_price_rises_and_falls_with_the_share_of_violations(make: Any) -> None:
    phase = make()
    assert phase.price == 0.0
    values = generation(phase, 0.5, amount=2.0)
    assert phase.price == np.ptp(values) / 2.0  # as much as all values differ
    price = phase.price
    generation(phase, 1.0)
    assert phase.price == pytest.approx(price * math.exp(0.3 * 0.3))
    price = phase.price
    for share in (0.0, 0.5):
        generation(phase, share)
    assert phase.price == pytest.approx(price * math.exp(0.3 * -0.7) * math.exp(0.3 * -0.2))
    assert (PRICE_PACE, VIOLATED_SHARE) == (0.3, 0.7)


def test_there_is_no_price_before_anything_is_feasible_or_where_something_fails() -> None:
    for share, value in ((1.0, None), (0.5, math.nan), (0.5, math.inf)):
        phase = mixed_run()
        generation(phase, share, value)
        assert phase.price == 0.0
    phase = mixed_run()
    generation(phase, 0.5, amount=math.inf)
    assert phase.price == 0.0


def test_the_systems_of_the_paper_have_no_price() -> None:
    run = SingleRun(replace(DOMAIN, settings=Settings("dx-nes-ici", 8)), np.array([0.0, 0.0, 4.4]), 8)
    generation(run, 0.5)
    assert run.price == 0.0


def test_without_a_price_all_that_is_violated_ranks_behind_what_is_feasible() -> None:
    """However good its values are and however small its violations."""
    run = SingleRun(replace(DOMAIN, settings=Settings("dx-nes-ici", 8)), np.array([0.0, 0.0, 4.4]), 8)
    run.draw(np.random.default_rng(1))
    points = run.propose()
    violations = np.where(points.x[:, 0] < 0, 1e-3, 0.0)
    run.observe(Results(points, points.x[:, 0].copy(), violations))
    assert run.gaussian.state.m[0] > 0


def test_a_small_violation_that_is_worth_it_ranks_before_what_is_feasible() -> None:
    """The Gaussian moves there, though the best is a feasible point."""
    free, priced = mixed_run(), mixed_run()
    for phase, amount in ((free, 1e3), (priced, 1e-3)):
        phase.draw(np.random.default_rng(1))
        points = phase.propose()
        left = points.x[:, 0] < 0
        violations = np.where(left, amount, 0.0)
        violations[np.argmax(points.x[:, 0])] = 1e3  # this costs as much as all values differ
        phase.observe(Results(points, points.x[:, 0].copy(), violations))
    assert priced.gaussian.state.m[0] < 0 < free.gaussian.state.m[0]
    assert priced.best.violation == 0.0


def asynchronous(space: Space, **options: Any) -> Optimizer:
    return Optimizer(space, asynchronous=True, **options)


def halves(optimizer: Optimizer, size: int) -> tuple[list[Any], list[Any]]:
    """One side of each of as many pairs as a generation has points, and their other sides."""
    asked = optimizer.ask(2 * size)
    half = size // 2
    one = asked[:half] + asked[size::2]
    other = asked[half:size] + asked[size + 1 :: 2]
    assert len(one) == len(other) == size
    return one, other


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_side_of_a_pair_waits_for_the_other_in_a_single_run(strategy: str) -> None:
    """Near the optimum both are about equally good, and only together they say so."""
    optimizer = asynchronous(Space([Float(-5, 5)] * 6), strategy=strategy, population=8, seed=1)
    one, other = halves(optimizer, 8)
    optimizer.tell(one, [float(c.params @ c.params) for c in one])
    assert optimizer.settle() == (not STRATEGIES[strategy].mirrored)
    if not STRATEGIES[strategy].mirrored:
        return
    assert optimizer.generation == 0
    optimizer.tell(other[:3], [1.0] * 3)
    assert not optimizer.settle()  # six of eight are in pairs
    optimizer.tell(other[3], 1.0)
    assert optimizer.settle()
    assert optimizer.generation == 1


def test_one_side_of_a_pair_waits_for_the_other_in_a_polish() -> None:
    optimizer = asynchronous(Space([Float(-5, 5)] * 4), seed=1, without=["newton", "valley"])
    while optimizer.phase != "Polish":
        (c,) = optimizer.ask()
        optimizer.tell(c, float(np.abs(c.params - 1).sum()))
        optimizer.settle()
    size, before = optimizer.population, optimizer.generation
    one, other = halves(optimizer, size)
    optimizer.tell(one, [float(np.abs(c.params - 1).sum()) for c in one])
    assert not optimizer.settle()
    optimizer.tell(other[: size // 2], [float(np.abs(c.params - 1).sum()) for c in other[: size // 2]])
    assert optimizer.settle()
    assert optimizer.generation == before + 1


def test_a_mixed_run_does_not_wait_for_pairs() -> None:
    optimizer = asynchronous(Space([Float(-5, 5)] * 4), strategy="saltus-es", seed=1)
    assert optimizer.phase == "MixedRun"
    one, _ = halves(optimizer, optimizer.population)
    optimizer.tell(one, [1.0 + c.params @ c.params for c in one])
    assert optimizer.settle()


def test_a_gaussian_beyond_all_bounds_has_diverged() -> None:
    phase = mixed_run()
    assert not phase.diverged
    grown = MixedRun(DOMAIN, np.array([0.0, 0.0, 4.4]), np.array([1e11, 1.0, 1.0]))
    generation(grown, 0.0)
    assert grown.diverged
    assert grown.done


@pytest.mark.parametrize("phase_of", [mixed_run, polish])
def test_zero_violations_are_none(phase_of: Callable[[], MixedRun | Polish]) -> None:
    """What was violated may be left out, for instance because its mirror image is not known yet."""
    one, other = phase_of(), phase_of()
    for phase, zeros in ((one, True), (other, False)):
        phase.draw(np.random.default_rng(1))
        points = phase.propose()
        values = np.arange(len(points.x), dtype=float)
        phase.observe(Results(points, values, np.zeros(len(values)) if zeros else None))
        assert phase.price == 0.0
    np.testing.assert_array_equal(one.gaussian.state.m, other.gaussian.state.m)


@pytest.mark.parametrize(("largest", "diverged"), [(0.99e10, False), (1e10, True), (math.nan, True)])
def test_the_bound_is_ten_billion_first_standard_deviations(largest: float, diverged: bool) -> None:
    phase = mixed_run()
    gaussian: Any = phase.gaussian
    gaussian.state = gaussian.state._replace(sd=np.array([1.0, largest, 1.0]))
    assert phase.diverged == diverged


def test_values_near_the_end_of_all_numbers_have_a_price_or_none_but_are_no_error() -> None:
    phase = mixed_run()
    phase.draw(np.random.default_rng(1))
    points = phase.propose()
    values, violations = np.array([-1.7e308, 1.7e308] * 4), np.array([1.0, 0.0] * 4)
    phase.observe(Results(points, values, violations))
    assert phase.best.violation == 0.0
    phase = mixed_run()
    phase.draw(np.random.default_rng(1))
    values, violations = np.array([1.7e308, 1.0] * 4), np.array([1.7e308, 0.0] * 4)
    phase.observe(Results(phase.propose(), values, violations))  # their sum is not a number any more
    assert phase.price == 0.0
