"""The systems of the paper, one run after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus import Optimizer, Stop
from saltus.problems import PAPER, n_int_tablet

from ..test_optimizer import SPACE, trace


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
