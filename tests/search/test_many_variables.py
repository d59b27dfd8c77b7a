"""More than 50 variables: no model, slopes instead of curvatures; more than 200: no N x N matrices."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Optimizer, Space, _serialize
from saltus._typing import FloatArray
from saltus.search.coordinate_scan import CoordinateScan
from saltus.search.mixed_run import MixedRun
from saltus.search.newton import Newton
from saltus.search.polish import Polish
from saltus.search.proposal import Domain, Results
from saltus.search.quasi_newton import QuasiNewton
from saltus.search.schedule import coarse, deviations, opening, usual_covariance
from saltus.strategy import crfmnes

from .playing import domain_of, evaluated, play

MANY = Space([Float(-5, 5) for _ in range(60)])
MIXED = Space([*(Float(-5, 5) for _ in range(55)), *(Int(-10, 10) for _ in range(20))])
VERY_MANY = Space([*(Float(-5, 5) for _ in range(205)), *(Int(-10, 10) for _ in range(20))])
MOSTLY_INTEGERS = Space([*(Float(-5, 5) for _ in range(60)), *(Int(0, 3) for _ in range(150))])


def sphere(x: FloatArray) -> FloatArray:
    return np.asarray(((x - 0.5) ** 2).sum(axis=1))


def rugged(x: FloatArray) -> FloatArray:
    return np.asarray((x**2 + 10 - 10 * np.cos(2 * np.pi * x)).sum(axis=1))


def mixed_run(domain: Domain, generations: int) -> MixedRun:
    """After some generations on a function whose variables go together."""
    run = MixedRun(domain, np.zeros(domain.N), 1.0)
    rng = np.random.default_rng(1)
    for _ in range(generations):
        run.draw(rng)
        x = run.gaussian.sample()
        run.gaussian.update(sphere(x) + x.sum(axis=1) ** 2, None)
    return run


@pytest.mark.parametrize("space", [VERY_MANY, MOSTLY_INTEGERS])
def test_the_shape_of_the_continuous_ones_given_the_integers(space: Space) -> None:
    run = mixed_run(domain_of(space), 30)
    assert isinstance(run.gaussian.state, crfmnes.State)
    n, C = run.domain.n_continuous, run.gaussian.state.covariance
    expected = C[:n, :n] - C[:n, n:] @ np.linalg.solve(C[n:, n:], C[n:, :n])
    found = run.conditional()
    assert found.shape == ((2, n) if n > 200 else (n, n))
    np.testing.assert_allclose(crfmnes.matrix(*found) if n > 200 else found, expected, rtol=1e-6)
    np.testing.assert_allclose(deviations(found), np.sqrt(expected.diagonal()), rtol=1e-6)


def test_without_scaling_there_are_scales_alone() -> None:
    run = mixed_run(domain_of(VERY_MANY, without=["scaling"]), 2)
    n, C = run.domain.n_continuous, run.gaussian.state.covariance
    assert not isinstance(run.gaussian.state, crfmnes.State)
    variances = np.diag(C[:n, :n] - C[:n, n:] @ np.linalg.solve(C[n:, n:], C[n:, :n]))
    np.testing.assert_allclose(run.conditional(), [np.sqrt(variances), np.zeros(n)])


def test_a_polish_goes_on_with_the_shape_of_the_run() -> None:
    domain = domain_of(Space([Float(-5, 5) for _ in range(201)]))
    shape = mixed_run(domain, 30).conditional() * [[0.1], [1.0]]
    point = evaluated(domain, sphere, [1.0] * 201, [])
    polish = Polish(domain, point, shape)
    np.testing.assert_allclose(polish.gaussian.state.covariance, crfmnes.matrix(*shape))
    play(polish, sphere)
    assert polish.best.value < 0.5 * point.value
    again = Polish.restored(domain, _serialize.unpack(_serialize.pack(polish.state())))
    assert isinstance(again.gaussian.state, crfmnes.State)


def test_the_first_search_of_many_continuous_variables_is_by_slopes() -> None:
    for space, without, expected in (
        (MANY, [], True),
        (MANY, ["newton"], False),
        (MIXED, [], False),
        (Space([Float(-5, 5)] * 50), [], False),
    ):
        domain = domain_of(space, without=without)
        found = opening(domain, np.zeros(domain.N))
        assert (found is not None) == expected
        shape = usual_covariance(domain)
        kind = type(coarse(domain, domain.nowhere(), shape))
        assert kind is (Polish if without else QuasiNewton if domain.n_continuous > 50 else Newton)


def phases(
    fun: Any, space: Space, count: int, strategy: str = "saltus-es", restored: bool = False
) -> list[str]:
    """The first phases of a search, which may be saved and restored in each of them."""
    optimizer, names = Optimizer(space, seed=1, strategy=strategy), [""]
    while len(names) <= count:
        if optimizer.stop is not None:
            optimizer.restart()
        candidates = optimizer.ask()
        if optimizer.phase != names[-1]:
            names.append(optimizer.phase)
            if restored:
                optimizer.tell(candidates[0], float(fun(candidates[0].params[None])[0]))
                again = Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))
                assert again.state() == optimizer.state()
                optimizer, candidates = again, again.pending
        optimizer.tell(candidates, [float(v) for v in fun(np.array([c.params for c in candidates]))])
    return names[1:]


@pytest.mark.parametrize("strategy", ["saltus-es", "saltus"])
def test_slopes_come_before_the_first_run(strategy: str) -> None:
    """The model of `saltus` is not asked about many variables."""
    assert phases(sphere, MANY, 2, strategy, restored=True) == ["QuasiNewton", "MixedRun"]


def test_slopes_come_after_a_run() -> None:
    assert phases(rugged, MANY, 3) == ["QuasiNewton", "MixedRun", "QuasiNewton"]
    assert phases(sphere, MIXED, 3) == ["MixedRun", "QuasiNewton", "IntegerSweep"]


def test_where_the_first_steps_have_failed_a_run_begins_at_once() -> None:
    def kinks(x: FloatArray) -> FloatArray:
        return np.asarray(np.floor(3 * np.abs(x)).sum(axis=1))

    assert phases(kinks, MANY, 2) == ["QuasiNewton", "MixedRun"]


def test_a_scan_of_many_variables_ends_if_the_first_lines_lead_nowhere() -> None:
    domain = domain_of(MANY)
    at_the_bottom = CoordinateScan(
        domain, evaluated(domain, sphere, [0.5] * 60, []), np.random.default_rng(1)
    )
    assert play(at_the_bottom, sphere) < 10 * 54 + 1
    assert len(at_the_bottom.order) == 50
    elsewhere = CoordinateScan(domain, evaluated(domain, sphere, [1.0] * 60, []), np.random.default_rng(1))
    play(elsewhere, sphere)
    assert not elsewhere.order


def test_a_run_of_many_variables_remembers_enough_to_have_a_pace() -> None:
    domain = domain_of(MANY, population=20)
    run = MixedRun(domain, np.zeros(60), 1.0)
    assert run.pace == 0.0
    rng = np.random.default_rng(1)
    values: list[float] = []
    while len(values) < 30:
        run.draw(rng)
        batch = run.propose()
        run.observe(Results(batch, sphere(batch.x), None))
        values.append(run.best.value)
    assert len(run.trail) == 16  # of 5 evaluations for each variable, and the one before
    assert run.pace == pytest.approx((values[-16] - values[-1]) / 300)
