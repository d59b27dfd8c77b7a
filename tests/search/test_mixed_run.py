"""The run over all variables."""

from __future__ import annotations

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.mixed_run import MixedRun
from saltus.search.proposal import Results
from saltus.space.encoding import Encoding

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
