"""The search where values are noisy."""

from __future__ import annotations

import numpy as np
import pytest

from saltus import Float, Int, Space, _serialize
from saltus._typing import FloatArray
from saltus.search.noisy_run import MOST, STUCK, Noisy, NoisyRun, places
from saltus.search.proposal import Results
from saltus.search.stopping import Stop
from saltus.space.encoding import Encoding

from .playing import domain_of, modelled

SPACE = Space([Float(-5, 5)] * 3 + [Int(0, 20)])


def values(x: FloatArray) -> FloatArray:
    return np.asarray((x * x).sum(axis=1))


def played(run: NoisyRun, noise: float, generations: int, seed: int = 0) -> NoisyRun:
    rng = np.random.default_rng(seed)
    for _ in range(generations):
        run.draw(rng)
        points = run.propose()
        seen = values(points.x) + noise * rng.normal(size=len(points.x))
        run.observe(Results(points, seen, None))
    return run


def test_some_points_of_a_generation_are_evaluated_twice() -> None:
    domain = domain_of(SPACE, population=20)
    run = NoisyRun(domain, np.full(4, 3.0))
    run.draw(np.random.default_rng(1))
    x, plateaus = run.propose()
    assert run.repeats == 2
    assert len(x) == 22
    assert np.array_equal(x[:2], x[2:4])
    assert np.array_equal(plateaus[:2], plateaus[2:4])
    assert np.array_equal(run.propose().x, x)


def test_places_leave_out_a_points_own_value() -> None:
    generation = np.array([1.0, 2.0, 2.0, 4.0])
    assert places(generation, generation, generation) == pytest.approx([-1.0, 0.0, 0.0, 1.0])
    assert places(np.array([3.0]), generation, generation[:1]) == pytest.approx([1 / 3])
    assert places(np.array([9.0]), generation, generation[3:]) == pytest.approx([1.0])


def test_without_noise_all_is_believed_and_the_population_stays() -> None:
    run = played(NoisyRun(domain_of(SPACE), np.full(4, 3.0)), 0.0, 30)
    assert run.reliability == pytest.approx(1.0)
    assert run.size == run.gaussian.size == 8


def test_noise_makes_the_population_grow_up_to_a_limit() -> None:
    run = played(NoisyRun(domain_of(SPACE), np.full(4, 3.0)), 1e6, 60)
    assert run.reliability < 0.3
    assert 30 < run.size <= MOST * 8


def test_a_lucky_value_does_not_move_it_further_than_any_other() -> None:
    """Only the order counts: how far a value is off makes no difference."""
    means = []
    for luck in (-1.0, -1e12):
        run = NoisyRun(domain_of(SPACE), np.full(4, 3.0))
        run.draw(np.random.default_rng(1))
        points = run.propose()
        seen = values(points.x)
        seen[5] = luck
        run.observe(Results(points, seen, None))
        means.append(run.where()[0])
    assert np.array_equal(means[0], means[1])


def test_a_run_is_saved_and_restored_with_its_population() -> None:
    domain = domain_of(SPACE)
    run = played(NoisyRun(domain, np.full(4, 3.0)), 100.0, 20)
    run.draw(np.random.default_rng(7))
    again = NoisyRun.restored(domain, _serialize.unpack(_serialize.pack(run.state())))
    assert again.size == run.size
    assert np.array_equal(again.propose().x, run.propose().x)


def test_points_stay_within_the_bounds() -> None:
    domain = modelled(Encoding(Space([Float(0, 1)] * 2)))
    run = NoisyRun(domain, domain.high.copy())
    run.draw(np.random.default_rng(1))
    x = run.propose().x
    assert (x <= domain.high + 1e-12).all()
    assert (x >= domain.low - 1e-12).all()
    assert np.isclose(x, domain.high).any()
    run.observe(Results(run.propose(), values(x), None))
    assert np.isfinite(run.where()[0]).all()


def test_what_has_failed_ranks_last_and_never_becomes_the_best() -> None:
    run = NoisyRun(domain_of(SPACE), np.full(4, 3.0))
    rng = np.random.default_rng(1)
    for _ in range(20):
        run.draw(rng)
        points = run.propose()
        seen = np.where(points.x[:, 0] > 3.0, np.nan, values(points.x))
        run.observe(Results(points, seen, None))
    assert run.where()[0][0] < 3.0
    assert np.isfinite(run.best.value)


def test_a_run_that_sees_nothing_ends_and_the_next_is_larger() -> None:
    domain = domain_of(SPACE)
    search = Noisy(domain, np.full(4, 3.0))
    rng = np.random.default_rng(1)
    for _ in range(STUCK):
        assert search.stop is None
        search.phase.draw(rng)
        points = search.phase.propose()
        search.observe(Results(points, np.ones(len(points.x)), None), rng)
    assert search.stop is Stop.CONVERGED
    end = search.centres()[0]
    search.restart(rng)
    assert search.restarts == 1
    assert search.phases == 2
    assert search.population == 16
    assert np.array_equal(search.centres()[1], end)
    again = Noisy(domain, np.zeros(4))
    again.restore(_serialize.unpack(_serialize.pack(search.state())))
    assert np.array_equal(again.centres(), search.centres())
