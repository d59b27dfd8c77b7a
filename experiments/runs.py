"""One run of the paper's experiment: its settings, its measure of success, its failures.

sigma = 1 and alpha = 1 / (N lambda). A run succeeds with a value below 1e-10, and fails after N * 10^4
evaluations, when the smallest eigenvalue of the covariance matrix falls below 1e-30 or its condition number
exceeds 10^14 (looked at when the eigenbasis is fresh), or when a peer's own stopping rule ends it.

The loop is not that of `execution/driver.py`, but works on the search itself, a batch at a time as arrays:
`Optimizer` with the same seed makes the same run (a test compares them), with about a quarter more time for
its candidates, and the driver would add its evaluations one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from experiments.harness import Trial
from saltus._typing import FloatArray
from saltus.problems import Problem
from saltus.search import SEARCHES, Domain, Results, Search, Settings
from saltus.search.settings import MANY_PHASES
from saltus.search.single_run import Single
from saltus.search.stopping import LARGEST_CONDITION
from saltus.space.encoding import Encoding

TARGET = 1e-10
BUDGET = 10**4  # evaluations per dimension
SMALLEST_EIGENVALUE = 1e-30


class Generation(NamedTuple):
    """Where a run is after a generation."""

    evaluations: int
    value: float  # the best of the generation
    m: FloatArray
    sd: FloatArray
    failed: bool


def generations(
    problem: Problem,
    encoding: Encoding,
    strategy: str,
    population: int,
    rng: np.random.Generator,
    exact: bool = False,
) -> Iterator[Generation]:
    """A run without end, from the Gaussian of the encoding; the default strategy begins again by itself."""
    settings = Settings.checked(encoding.N, strategy, population, exact=exact)
    domain = Domain.of(encoding, settings)
    search = SEARCHES[strategy](domain, encoding.m)
    evaluations = 0
    while True:
        if strategy in MANY_PHASES and search.stop is not None:
            search.restart(rng)
        search.phase.draw(rng)
        points = search.phase.propose()
        x = encoding.numbers(*points)
        values = problem.fun(x)
        if strategy in MANY_PHASES:  # the others do not look at it
            domain.memory.extend(range(evaluations, evaluations + len(values)), x, values, None)
        evaluations += len(values)
        search.observe(Results(points, values, None), rng)
        yield Generation(
            evaluations, float(np.minimum.reduce(values)), *search.phase.where(), _failed(search)
        )


def _failed(search: Search) -> bool:
    """Whether the covariance matrix ends a run of the paper; the default strategy never fails."""
    if not isinstance(search, Single):
        return False
    state = search.phase.gaussian.state
    return state.age == 0 and beyond_limits(state.sigma, state.eigenvalues)


def beyond_limits(sigma: float, eigenvalues: FloatArray) -> bool:
    """Whether the covariance matrix, sigma^2 times one with these eigenvalues, ends a run."""
    smallest, largest = float(eigenvalues.min()), float(eigenvalues.max())
    return sigma**2 * smallest < SMALLEST_EIGENVALUE or largest > LARGEST_CONDITION * smallest


def until_the_end(run: Iterator[Generation], N: int) -> Trial:
    """Success or failure of a run in N dimensions."""
    best = math.inf
    for g in run:
        best = min(best, g.value)
        if best < TARGET or g.failed or g.evaluations >= N * BUDGET:
            return Trial(best < TARGET, g.evaluations, best)
    raise AssertionError("a run has no end of its own")


def paper_trial(
    problem: Problem, population: int, *, seed: int, strategy: str = "dx-nes-ici", exact: bool = False
) -> Trial:
    """One run at the paper's settings: from the problem's start, sigma = 1."""
    rng = np.random.default_rng(seed)
    encoding = Encoding(problem.space, problem.start(rng), 1.0)
    return until_the_end(generations(problem, encoding, strategy, population, rng, exact), encoding.N)
