"""The run over all variables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.mixed_run import MixedRun, _uncertainty
from saltus.search.proposal import Results
from saltus.search.settings import Settings
from saltus.space.encoding import Encoding
from saltus.strategy import Leap

from .playing import domain_of


def test_a_mixed_run_ends_when_its_integers_have_settled() -> None:
    space = Space([Float(-5, 5)] * 3 + [Int(-10, 10)] * 3)
    encoding = Encoding(space)
    domain = domain_of(space, encoding=encoding)

    def fun(x: FloatArray) -> FloatArray:
        best = encoding.encode(np.array([1.0, 2.0, -2.0, 4.0, -6.0, 7.0]))
        return np.asarray(((x - best) ** 2).sum(axis=1))

    run = MixedRun(domain, encoding.m, 1.0)
    rng = np.random.default_rng(1)
    while not run.done:
        run.draw(rng)
        batch = run.propose()
        run.observe(Results(batch, fun(batch.x), None))
    assert encoding.numbers(run.best.x[None], run.best.plateaus[None])[0, 3:].tolist() == [4.0, -6.0, 7.0]
    assert run.conditional().shape == (3, 3)


def told(run: MixedRun, value: float, plateaus: list[float] | None = None) -> None:
    """A generation that is all equal but for its first point."""
    run.draw(np.random.default_rng(1))
    points = run.propose()
    if plateaus is not None:
        points = points._replace(plateaus=np.tile(plateaus, (len(points.x), 1)))
    values = np.full(len(points.x), value)
    values[0] -= 1e-6
    run.observe(Results(points, values, None))


def wide_run(goal: float | None = None) -> MixedRun:
    domain = domain_of(Space([Float(), Int(0, 20)]), 6)
    key = None if goal is None else (0.0, goal)
    return MixedRun(domain, np.array([0.0, 9.5]), np.array([1.0, 5.0]), key)


def test_integers_have_settled_when_the_best_ones_stay_the_same_for_its_patience() -> None:
    run = wide_run()
    assert run.patience == 5 + 5 * 2 // 6
    for generation in range(run.patience + 1):
        assert not run.done
        told(run, 10.0 - generation, [7.0])
    assert run.done


def test_a_better_integer_vector_begins_the_wait_anew() -> None:
    run = wide_run()
    for generation in range(30):
        told(run, 10.0 - generation, [float(generation % 2)])
        assert not run.done
    assert run.best.value == pytest.approx(-19.0)


def test_a_run_far_from_its_goal_is_given_up() -> None:
    for goal, hopeless in ((-1e6, True), (-50.0, False), (1e6, False)):
        run = wide_run(goal)
        for generation in range(12):
            told(run, 10.0 - generation, [float(generation % 2)])
        assert run.hopeless() == run.done == hopeless


def test_a_run_without_any_value_is_given_up_after_its_patience() -> None:
    run = wide_run()
    for _ in range(run.patience):
        assert not run.done
        told(run, np.nan)
    told(run, np.nan)
    assert run.done
    assert run.hopeless()


def test_without_scaling_scales_are_learnt_as_slowly_as_correlations() -> None:
    space = Space([Float()] * 10)
    runs = [MixedRun(domain_of(space, without=parts), np.ones(10), 1.0) for parts in ((), ("scaling",))]
    for run in runs:
        rng = np.random.default_rng(1)
        for _ in range(30):
            run.draw(rng)
            batch = run.propose()
            run.observe(Results(batch, (batch.x**2 * np.logspace(0, 4, 10)).sum(axis=1), None))
    spreads = [run.gaussian.state.sd.max() / run.gaussian.state.sd.min() for run in runs]
    assert spreads[0] > 1.5 * spreads[1]


def test_the_conditional_covariance_is_that_of_the_gaussian_given_the_integers() -> None:
    domain = domain_of(Space([Float(), Float(), Int(-10, 10)]))
    run = MixedRun(domain, np.array([1.0, 2.0, 0.4]), 1.0)
    rng = np.random.default_rng(1)
    for _ in range(12):
        run.draw(rng)
        batch = run.propose()
        run.observe(Results(batch, ((batch.x @ [[1.0, 2, 0], [0, 1, 3], [1, 0, 1]]) ** 2).sum(axis=1), None))
    C = run.gaussian.state.covariance
    np.testing.assert_allclose(run.conditional(), np.linalg.inv(np.linalg.inv(C)[:2, :2]), rtol=1e-6)


@pytest.mark.parametrize(("n", "population", "patience"), [(2, 6, 6), (30, 8, 23), (3, 16, 5), (16, 16, 10)])
def test_patience_is_five_generations_and_five_evaluations_for_each_variable(
    n: int, population: int, patience: int
) -> None:
    domain = domain_of(Space([Float()] * (n - 1) + [Int(0, 20)]))
    assert MixedRun(domain, np.zeros(n), 1.0, population=population).patience == patience


def many_variables(sd: float, m: float = 9.5) -> MixedRun:
    """Of ten variables, with a patience of 13."""
    domain = domain_of(Space([Float()] * 7 + [Int(0, 20)] * 3), 6)
    run = MixedRun(domain, np.array([0.0] * 7 + [m] * 3), np.array([1.0] * 7 + [sd] * 3))
    assert run.patience == 13
    return run


@pytest.mark.parametrize(("sd", "generations"), [(0.01, 6), (3.0, 14)])
def test_a_gaussian_that_is_sure_of_its_integers_waits_for_five_generations_only(
    sd: float, generations: int
) -> None:
    run = many_variables(sd, m=9.0)
    for generation in range(generations):
        assert not run.done
        told(run, 10.0 - generation, [7.0, 7.0, 7.0])
    assert run.done


def test_how_sure_it_is_adds_up_the_probabilities_of_other_values() -> None:
    domain = domain_of(Space([Float(), Int(0, 20), Int(0, 20), Int(0, 20)]))
    run = MixedRun(domain, np.array([0.0, 9.0, 0.0, 20.0]), 1.0)
    g = run.gaussian.state
    for sd, expected in ((0.5 / 1.2815515655, 0.4), (0.5 / 2.3263478740, 0.04)):
        # on either side of an inner value, on one side of an outer one
        state = g._replace(sd=np.array([1e9, sd, sd, sd]))  # type: ignore[attr-defined]
        assert _uncertainty(domain, state) == pytest.approx(expected)


def without_integers(sd: float = 0.5) -> MixedRun:
    return MixedRun(domain_of(Space([Float(), Float()]), 6), np.zeros(2), sd)


def test_without_integers_a_run_ends_when_it_has_shrunk_to_a_tenth() -> None:
    run = without_integers()
    assert run.first_sd == 0.5
    while not run.done:
        before = run.gaussian.state.sigma
        assert before >= 0.1 * run.first_sd
        run.draw(np.random.default_rng(1))
        batch = run.propose()
        run.observe(Results(batch, (batch.x**2).sum(axis=1), None))
    assert run.gaussian.state.sigma < 0.05


def test_without_integers_a_run_ends_when_nothing_is_better_for_ten_times_its_patience() -> None:
    run = without_integers()
    told(run, -1.0)
    generations = 0
    while not run.done:
        run.gaussian = without_integers().gaussian  # it does not shrink
        told(run, 1.0)
        generations += 1
    assert generations == run.unchanged == 10 * run.patience
    run = without_integers()
    for generation in range(12):
        told(run, -float(generation))  # each is better than the last
        assert run.unchanged == 0


def test_a_goal_is_compared_with_ten_times_the_gain_of_ten_generations() -> None:
    """Value 0 after a gain of 10: what is more than 100 below is out of reach."""
    for goal, hopeless in ((-99.0, False), (-101.0, True)):
        run = wide_run(goal)
        for generation in range(11):
            told(run, 10.0 + 1e-6 - generation, [float(generation % 2)])
            assert run.hopeless() == run.done == (hopeless and generation == 10)


def test_only_the_last_generations_count_for_the_pace() -> None:
    run = wide_run(-1000.0)
    for generation, value in enumerate([1e6, *(100.0 - i for i in range(11))]):
        told(run, value, [float(generation % 2)])
    assert len(run.trail) == 11
    assert run.hopeless()


@pytest.mark.parametrize(("violation", "goal_violation"), [(0.5, 0.0), (0.0, 0.5)])
def test_while_something_is_violated_no_pace_is_measured(violation: float, goal_violation: float) -> None:
    run = wide_run()
    run.goal = (goal_violation, -1e9)
    for generation in range(15):
        told(run, 10.0 - 0.1 * generation, [float(generation % 2)])
        run.best = run.best._replace(violation=violation)
    assert not run.hopeless()


def test_without_integers_the_conditional_covariance_is_the_whole_one() -> None:
    run = without_integers()
    told(run, 1.0)
    np.testing.assert_array_equal(run.conditional(), run.gaussian.state.covariance)


def test_a_mixed_run_learns_from_any_point() -> None:
    assert wide_run().accepts(np.array([3.0]))


def test_a_run_is_scaled_and_lazy_with_the_papers_margin_unless_it_is_told_otherwise() -> None:
    domain = domain_of(Space([Float()] * 6 + [Int(0, 20)] * 2))
    settings = Settings("saltus-es", 8, margin=0.03, exact=True, without=frozenset(["scaling"]))
    plain = MixedRun(domain, np.zeros(8), 1.0)
    other = MixedRun(replace(domain, settings=settings), np.zeros(8), 1.0)
    constants = [cast(Any, run.gaussian).constants for run in (plain, other)]
    assert [run.gaussian.integers.alpha for run in (plain, other)] == [1 / 64, 0.03]
    assert [c.refresh for c in constants] == [4, 1]
    assert constants[0].eta_D > 0.0 == constants[1].eta_D
    assert [run.gaussian.integers.treatment for run in (plain, other)] == [Leap(bias=True)] * 2
    assert [run.gaussian.size for run in (plain, other)] == [8, 8]
    assert plain.goal is None


def test_without_integers_a_run_without_any_value_is_given_up_after_its_patience_too() -> None:
    run = without_integers()
    generations = 0
    while not run.done:
        told(run, np.nan)
        generations += 1
    assert generations == run.patience + 1
    assert run.hopeless()


def test_a_goal_above_zero_can_be_out_of_reach_too() -> None:
    run = wide_run(5.0)
    for generation in range(11):
        told(run, 1000.0 - generation, [float(generation % 2)])
    assert run.hopeless()
