"""The systems of the paper, one run after the other."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from saltus import Float, Int, Optimizer, Space, Stop, _serialize, order
from saltus._typing import FloatArray
from saltus.problems import PAPER, n_int_tablet
from saltus.search.proposal import Results
from saltus.search.settings import Settings
from saltus.search.single_run import Single, SingleRun

from ..optimizer.playing import SPACE, trace
from .playing import domain_of


def test_restart_doubles_the_population_and_keeps_the_best() -> None:
    optimizer = Optimizer(SPACE, strategy="dx-nes-ici", seed=1)
    trace(optimizer, 20)
    best, population = optimizer.best, optimizer.population
    optimizer.ask(1)
    with pytest.raises(RuntimeError, match="between generations"):
        optimizer.restart()
    optimizer.tell(optimizer.pending + optimizer.ask(), [1e9] * population)
    optimizer.restart()
    assert (optimizer.population, optimizer.best, optimizer.restarts) == (2 * population, best, 1)
    assert len(optimizer.ask()) == 2 * population


@pytest.mark.parametrize("make", PAPER)
def test_the_papers_functions_are_solved_at_twenty_dimensions(make: Any) -> None:
    """A few runs at the paper's settings must all succeed, at about the paper's cost."""
    problem = make(20)
    population, paper = {
        "NIntTablet": (6, 3111),
        "ReversedEllipsoidInt": (10, 5202),
        "EllipsoidInt": (12, 6306),
        "SphereOneMax": (8, 1962),
    }[problem.name]
    spent = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        optimizer = Optimizer(
            problem.space,
            strategy="dx-nes-ici",
            population=population,
            mean=problem.start(rng),
            sigma=1.0,
            seed=rng,
        )
        while optimizer.best is None or optimizer.best.value >= 1e-10:
            candidates = optimizer.ask()
            optimizer.tell(candidates, problem.fun(np.array([c.params for c in candidates])))
            assert optimizer.evaluations < 20e4
        spent.append(optimizer.evaluations)
    assert 0.8 * paper < np.mean(spent) < 1.25 * paper


def test_without_leap_the_search_is_trapped() -> None:
    problem = n_int_tablet(20)
    optimizer = Optimizer(problem.space, strategy="dx-nes-ic", population=6, mean=2.0, sigma=1.0, seed=1)
    while optimizer.stop is None:
        candidates = optimizer.ask()
        optimizer.tell(candidates, problem.fun(np.array([c.params for c in candidates])))
    assert optimizer.stop in (Stop.FLAT, Stop.CONVERGED)
    assert optimizer.best is not None
    assert optimizer.best.value >= 1


DOMAIN = domain_of(Space([Float(-5, 5), Float(0, 100), Int(-10, 10)]))


def single(strategy: str = "dx-nes-ici") -> Single:
    return Single(replace(DOMAIN, settings=Settings(strategy, 8)), np.array([0.5, -0.5, 1.0]))


def told(search: Single, values: FloatArray, violations: FloatArray | None = None) -> Results:
    search.phase.draw(np.random.default_rng(1))
    results = Results(search.phase.propose(), values, violations)
    search.observe(results, np.random.default_rng(1))
    return results


def test_a_search_begins_with_a_run_from_the_given_mean() -> None:
    search = single()
    assert (search.population, search.restarts, search.phases, search.stop) == (8, 0, 1, None)
    assert isinstance(search.phase, SingleRun)
    m, sd = search.phase.where()
    assert (m.tolist(), sd.tolist()) == ([0.5, -0.5, 1.0], [1.0] * 3)
    assert search.phase.domain is search.domain
    assert search.phase.done is False  # it goes on for ever
    assert search.phase.priced is False  # the paper's systems know no price of violations
    assert search.phase.best.key == order.WORST
    assert search.phase.accepts(np.array([4.0]))


@pytest.mark.parametrize(("strategy", "waits"), [("dx-nes-ici", True), ("cma-es", False)])
def test_strategies_with_pairs_wait_for_both_sides(strategy: str, waits: bool) -> None:
    assert single(strategy).phase.waits_for_pairs == waits


def test_the_best_of_a_run_is_the_best_of_all_generations() -> None:
    search = single()
    first = told(search, np.array([5.0, 4.0, 3.0, 9.0, 9.0, 9.0, 9.0, 9.0]))
    assert search.phase.best.value == 3.0
    np.testing.assert_array_equal(search.phase.best.x, first.points.x[2])
    told(search, np.full(8, 3.0))
    np.testing.assert_array_equal(search.phase.best.x, first.points.x[2])  # as good is not better
    told(search, np.arange(8.0) - 1.0, np.ones(8))
    assert search.phase.best.key == (0.0, 3.0)
    assert search.phase.log.best == (0.0, 3.0)


def test_another_run_begins_anywhere_in_the_ranges_with_twice_the_population() -> None:
    shares = []
    for seed in range(100):
        search = single()
        search.restart(np.random.default_rng(seed))
        assert (search.population, search.restarts, search.phases, search.stop) == (16, 1, 2, None)
        shares.append((search.phase.where()[0] - DOMAIN.low) / DOMAIN.span)
    assert 0.0 <= np.min(shares) < 0.05
    assert 0.95 < np.max(shares) <= 1.0


def test_without_a_margin_alpha_is_the_papers_and_every_run_has_the_same_options() -> None:
    assert single().phase.gaussian.integers.alpha == 1 / (3 * 8)
    domain = domain_of(Space([Float(-5, 5)] * 6 + [Int(0, 9)] * 2))
    settings = Settings("dx-nes-ici", 8)
    special = settings._replace(margin=0.01, exact=True)
    search = Single(replace(domain, settings=special), np.zeros(8))
    for restarts in range(3):
        assert search.phase.gaussian.integers.alpha == 0.01
        assert cast(Any, search.phase.gaussian).constants.refresh == 1
        assert (search.restarts, search.population) == (restarts, 8 * 2**restarts)
        search.restart(np.random.default_rng(1))
    plain = Single(replace(domain, settings=settings), np.zeros(8))
    assert cast(Any, plain.phase.gaussian).constants.refresh == 4


@pytest.mark.parametrize("generations", [1, 400])
def test_a_search_goes_on_from_its_state(generations: int) -> None:
    """Also when it has stopped."""
    search, other = single(), single()
    search.restart(np.random.default_rng(3))
    for _ in range(generations):
        told(search, np.full(16, 2.0))
    assert (search.stop is Stop.FLAT) == (generations == 400)
    search.phase.draw(np.random.default_rng(4))
    other.restore(_serialize.unpack(json.loads(json.dumps(_serialize.pack(search.state())))))
    assert (other.population, other.restarts, other.stop) == (16, 1, search.stop)
    assert other.phase.best.key == search.phase.best.key
    assert other.phase.log[:4] == search.phase.log[:4]
    np.testing.assert_array_equal(other.phase.propose().x, search.phase.propose().x)
    assert _serialize.pack(other.state()) == _serialize.pack(search.state())


def test_a_state_that_does_not_fit_is_refused() -> None:
    good = _serialize.unpack(_serialize.pack(single().state()))
    for bad, words in (
        ({"best": {"x": 1.0}}, "best must have"),
        ({"log": {"flat": 1}}, "log must have"),
    ):
        with pytest.raises(ValueError, match=f"state: {words}"):
            single().restore(good | bad)
