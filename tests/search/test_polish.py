"""The polish."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest

from saltus import Float, Space, order
from saltus._typing import FloatArray
from saltus.search.newton import Newton
from saltus.search.polish import Polish
from saltus.search.proposal import Results
from saltus.strategy import default_population, scaled

from .playing import FLOATS, MIXED, domain_of, evaluated, play


def test_polish_finds_the_bottom_of_a_kink() -> None:
    domain = domain_of(MIXED)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x[:, :2] - 1.5).sum(axis=1) + 7.0)

    point = evaluated(domain, fun, [0.0, 0.0], [1.0, 2.0, 3.0])
    polish = Polish(domain, point, np.eye(2))
    coarse = play(polish, fun)
    polish.deepen(None)
    deep = play(polish, fun)
    assert coarse < deep
    assert polish.best.value == pytest.approx(7.0, abs=1e-9)
    assert polish.best.plateaus.tolist() == [1.0, 2.0, 3.0]


def test_a_polish_that_cannot_reach_its_goal_ends_soon() -> None:
    domain = domain_of(MIXED)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x[:, :2] - 1.5).sum(axis=1) + 7.0)

    point = evaluated(domain, fun, [0.0, 0.0], [1.0, 2.0, 3.0])
    free, bound = Polish(domain, point, np.eye(2), (0.0, 7.5)), Polish(domain, point, np.eye(2), (0.0, 6.5))
    assert play(bound, fun) < 0.5 * play(free, fun)


def ripples(x: FloatArray) -> FloatArray:
    """Valleys one apart, of which those far away are deeper only very far away."""
    z = x[:, :2]
    return np.asarray((np.abs(z) + 10 * (1 - np.cos(2 * np.pi * z))).sum(axis=1) + 7.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_deep_polish_that_was_led_out_of_its_valley_begins_again_ten_times_narrower(seed: int) -> None:
    domain = domain_of(MIXED)
    point = evaluated(domain, ripples, [0.01, -0.02], [1.0, 2.0, 3.0])
    polish = Polish(domain, point, np.diag([1.0, 4.0]))
    polish.deepen(None)
    play(polish, ripples, seed)
    assert polish.best.value == pytest.approx(7.0, abs=1e-9)


def test_a_polish_begins_again_once_and_only_a_deep_one_that_has_found_nothing() -> None:
    for goal, first, restarts in ((None, 200.0, 0), (order.WORST, 50.0, 0), (order.WORST, 200.0, 1)):
        polish = polish_of(100.0, goal)
        told(polish, first)
        generation = 1
        while not polish.done:
            told(polish, 200.0)
            generation += 1
            assert generation < 200
        assert polish.narrow == bool(restarts)


def test_a_covariance_that_has_collapsed_still_gives_a_polish_and_a_model() -> None:
    domain = domain_of(FLOATS)
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [0.6] * 4, [])
    flat = np.ones((4, 4))  # all variables move together: three of four axes have no length
    for phase in (Newton(domain, point, flat), Polish(domain, point, flat), Polish(domain, point, 0 * flat)):
        play(phase, lambda x: (x**2).sum(axis=1))
        assert phase.best.value <= point.value


DOMAIN = domain_of(MIXED)  # two continuous variables


def polish_of(
    value: float = 100.0, goal: tuple[float, float] | None = None, covariance: FloatArray | None = None
) -> Polish:
    point = evaluated(DOMAIN, lambda x: np.full(len(x), value), [1.0, -2.0], [1.0, 2.0, 3.0])
    return Polish(DOMAIN, point, np.eye(2) if covariance is None else covariance, goal)


def told(polish: Polish, value: float, violation: float = 0.0) -> None:
    """A generation whose best point has this value; the Gaussian stays about as it is."""
    polish.draw(np.random.default_rng(polish.generations))
    points = polish.propose()
    values = np.full(len(points.x), value + 1.0)
    values[polish.generations % len(values)] = value
    polish.observe(Results(points, values, np.full(len(values), violation) if violation else None))


def test_the_gaussian_of_a_polish_is_that_of_the_run_with_the_integers_fixed() -> None:
    covariance = np.array([[4.0, 1.5], [1.5, 1.0]])
    polish = polish_of(covariance=covariance)
    np.testing.assert_allclose(polish.gaussian.state.covariance, covariance)
    assert polish.gaussian.state.m.tolist() == [1.0, -2.0]
    assert polish.gaussian.size == default_population(2) == 6
    m, sd = polish.where()
    assert m.tolist() == polish.start.x.tolist()
    np.testing.assert_allclose(sd, [2.0, 1.0, 0.0, 0.0, 0.0])
    polish.draw(np.random.default_rng(1))
    points = polish.propose()
    np.testing.assert_array_equal(points.plateaus, np.tile([1.0, 2.0, 3.0], (6, 1)))
    told(polish, 5.0)
    assert polish.where()[0][:2].tolist() == polish.gaussian.state.m.tolist() != [1.0, -2.0]


def test_a_polish_learns_faster_than_a_mixed_run() -> None:
    """There are fewer variables: its least learning rate is half as large again."""
    constants = cast(Any, polish_of().gaussian).constants
    assert constants.least_eta_A == pytest.approx(1.5 * scaled.constants(2, 6).least_eta_A)


def test_a_direction_without_any_length_keeps_a_little() -> None:
    together = polish_of(covariance=np.ones((2, 2))).gaussian.state
    assert together.eigenvalues.min() == pytest.approx(1e-12, rel=1e-3)
    nowhere = polish_of(covariance=np.diag([1.0, 0.0])).gaussian.state
    np.testing.assert_allclose(nowhere.sd, [1.0, 1e-12 * math.sqrt(1e-12)], rtol=1e-3)


def test_only_points_with_the_same_integers_are_learnt_from() -> None:
    polish = polish_of()
    assert polish.accepts(np.array([1.0, 2.0, 3.0]))
    assert not polish.accepts(np.array([1.0, 2.0, 4.0]))
    assert polish.waits_for_pairs


@pytest.mark.parametrize(("last", "ends"), [(49.6, True), (49.4, False)])
def test_a_coarse_polish_ends_when_five_generations_gain_less_than_a_hundredth(
    last: float, ends: bool
) -> None:
    """Of all the gain: 50 of 100, and then less than half a unit, or a little more."""
    polish = polish_of(100.0)
    for value in (50.0, 60.0, 60.0, 60.0, 60.0):
        told(polish, value)
        assert not polish.done
    told(polish, last)
    assert polish.done == ends


def test_a_deep_polish_ends_when_three_times_the_gain_of_ten_generations_is_not_enough() -> None:
    for goal, ends in ((-30.5, False), (-31.5, True)):
        polish = polish_of(1e9, (0.0, 1e8))
        for value in (1e6, *range(10, -1, -1)):
            told(polish, float(value))
            assert not polish.done  # better than its goal
        polish.deepen((0.0, goal))
        told(polish, -1.0)
        assert polish.done == ends
        assert polish.trail == [float(value) for value in range(9, -2, -1)]


def test_a_deep_polish_has_six_generations_before_it_is_judged() -> None:
    polish = polish_of(100.0, (0.0, -1e9))
    for generation in range(6):
        assert not polish.done
        told(polish, 10.0 - generation)
    assert polish.done


def test_a_polish_that_is_better_than_its_goal_goes_on() -> None:
    polish = polish_of(100.0, (0.0, 50.0))
    for generation in range(18):
        told(polish, 40.0 - 1e-9 * generation)
        assert not polish.done


def test_deeper_means_as_far_as_it_goes_unless_there_is_a_goal() -> None:
    polish = polish_of()
    polish.done = True
    polish.deepen(None)
    assert polish.goal == order.WORST
    assert not polish.done
    polish.deepen((0.0, 3.0))
    assert polish.goal == (0.0, 3.0)


def test_a_polish_ends_when_the_best_of_each_generation_stays_the_same() -> None:
    polish = polish_of(100.0, order.WORST)
    assert polish.window == 10 + 10 * 2 // 6
    told(polish, 40.0)
    for _ in range(polish.window - 1):
        assert not polish.done
        told(polish, 40.0 + 0.9e-13 * 40.0)
    assert polish.done
    polish = polish_of(100.0, order.WORST)
    for generation in range(3 * polish.window):
        told(polish, 40.0 + 1.1e-13 * 40.0 * (generation % 2))
        assert not polish.done
    assert len(polish.bests) == polish.window


@pytest.mark.parametrize(("other", "ends"), [(100.0 + 1e-12, True), (100.0 + 1e-10, False)])
def test_a_polish_ends_on_a_plateau(other: float, ends: bool) -> None:
    """A generation that is as good as the start throughout tells nothing."""
    polish = polish_of(100.0, order.WORST)
    polish.draw(np.random.default_rng(1))
    points = polish.propose()
    values = np.full(len(points.x), 100.0)
    values[0] = other
    polish.observe(Results(points, values, None))
    assert polish.done == ends


def test_while_something_is_violated_a_polish_goes_on_for_long() -> None:
    polish = polish_of(100.0)
    polish.best = polish.best._replace(violation=0.5)
    polish.generations = 100 * polish.window - 1
    told(polish, 3.0, 0.6)
    assert not polish.done
    told(polish, 4.0, 0.6)
    assert polish.done


def test_a_polish_ends_when_it_cannot_move() -> None:
    for sd, ends in ((0.9e-12, True), (1e-9, False)):
        polish = polish_of(100.0, order.WORST, sd**2 * np.eye(2))
        polish.gaussian = polish._gaussian(sd, None)
        told(polish, 1.0)
        assert polish.done == ends


def test_the_best_of_a_polish_is_the_best_of_all_generations() -> None:
    polish = polish_of(100.0)
    told(polish, 100.0)
    assert polish.best is polish.start  # as good is not better
    told(polish, 50.0)
    told(polish, 60.0)
    assert polish.best.value == 50.0
    assert (polish.generations, polish.trail, polish.bests) == (3, [100.0, 50.0, 50.0], [100.0, 50.0, 60.0])


def test_zero_again_and_again_is_the_same_value_too() -> None:
    polish = polish_of(100.0, order.WORST)
    for _ in range(polish.window):
        assert not polish.done
        told(polish, 0.0)
    assert polish.done


@pytest.mark.parametrize(("n", "window"), [(1, 12), (2, 13), (10, 20), (40, 35)])
def test_the_window_is_ten_generations_and_ten_evaluations_for_each_variable(n: int, window: int) -> None:
    domain = domain_of(Space([Float()] * n))
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [1.0] * n, [])
    assert Polish(domain, point, np.eye(n)).window == window
