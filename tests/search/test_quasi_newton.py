"""Quasi-Newton: where it finds the bottom, and where it says that the function is not smooth."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from saltus import Float, Int, Space, _serialize
from saltus._typing import FloatArray
from saltus.search.proposal import Domain, Evaluated, Results
from saltus.search.quasi_newton import QuasiNewton, inverse_times

from .playing import Values, domain_of, evaluated, play

N = 60
DOMAIN = domain_of(Space([Float() for _ in range(N)]))
STEEP = np.logspace(0, 4, N)


def ellipsoid(x: FloatArray) -> FloatArray:
    return np.asarray((STEEP * (x - 0.7) ** 2).sum(axis=1) + 3.0)


def rosenbrock(x: FloatArray) -> FloatArray:
    valley = 100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2
    return np.asarray(valley.sum(axis=1) + 3.0)


def search(fun: Values, start: float = 0.0, *, pace: float = 0.0, coarse: bool = False) -> QuasiNewton:
    point = evaluated(DOMAIN, fun, [start] * N, [])
    return QuasiNewton(DOMAIN, point, np.ones(N), pace, coarse)


def test_along_the_axes_it_needs_three_measurements() -> None:
    phase = search(ellipsoid)
    assert play(phase, ellipsoid) < 6 * N
    assert not phase.failed
    assert phase.best.value == pytest.approx(3.0, abs=1e-9)


def test_it_finds_the_bottom_of_a_turned_bowl_and_of_a_curved_valley() -> None:
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((N, N)))[0]

    def bowl(x: FloatArray) -> FloatArray:
        return np.asarray((np.logspace(0, 2, N) * ((x - 1.0) @ turn) ** 2).sum(axis=1) + 3.0)

    for fun, most in ((bowl, 100), (rosenbrock, 300)):
        phase = search(fun)
        assert play(phase, fun) < most * N
        assert not phase.failed
        assert phase.best.value == pytest.approx(3.0, abs=1e-9)


def test_it_follows_curvature_that_bfgs_would_have_found() -> None:
    rng = np.random.default_rng(2)
    H = np.diag(rng.uniform(1, 5, 6)) + 0.1
    moves = rng.standard_normal((4, 6))
    changes = moves @ H
    diagonal = rng.uniform(1, 5, 6)
    inverse = np.diag(1 / diagonal)
    inverse *= (moves[-1] @ changes[-1]) / (changes[-1] @ inverse @ changes[-1])
    for s, y in zip(moves, changes, strict=True):
        left = np.eye(6) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    gradient = rng.standard_normal(6)
    found = inverse_times(gradient, moves, changes, diagonal)
    np.testing.assert_allclose(found, inverse @ gradient)
    np.testing.assert_allclose(inverse_times(gradient, moves[:0], changes[:0], diagonal), gradient / diagonal)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.random.default_rng(4).standard_normal(len(x)),
        lambda x: (x**2 - 10 * np.cos(20 * x)).sum(axis=1),
        lambda x: 0.0 * x[:, 0],
        lambda x: np.floor(3 * np.abs(x - 2)).sum(axis=1),
        lambda x: np.full(len(x), 1e308) * x[:, 0],
    ],
)
def test_where_it_is_not_smooth_that_is_noticed_soon(fun: Values) -> None:
    start = evaluated(DOMAIN, fun, np.random.default_rng(3).uniform(-2, 2, N).tolist(), [])
    phase = QuasiNewton(DOMAIN, start, np.ones(N), coarse=False)
    assert play(phase, fun) < 6 * N
    assert phase.failed


def test_it_gives_up_where_something_is_violated_or_fails() -> None:
    for values, violations in ((math.nan, None), (math.inf, None), (1.0, 0.5)):
        phase = search(ellipsoid)
        batch = phase.propose()
        all_violations = None if violations is None else np.full(len(batch.x), violations)
        phase.observe(Results(batch, np.full(len(batch.x), values), all_violations))
        assert phase.failed
        assert phase.done


def test_it_must_be_faster_than_the_run_before() -> None:
    slow = search(rosenbrock, pace=1e6)
    play(slow, rosenbrock)
    assert slow.failed
    assert slow.steps == 5
    fast = search(rosenbrock, pace=1e-6)
    play(fast, rosenbrock)
    assert not fast.failed


def test_it_does_not_go_on_for_ever() -> None:
    """On a sum of kinks it is slow, and nothing tells that it is not getting anywhere."""

    def kinks(x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(np.sin(40 * x)).sum(axis=1))

    start = evaluated(DOMAIN, kinks, np.random.default_rng(3).uniform(-2, 2, N).tolist(), [])
    phase = QuasiNewton(DOMAIN, start, np.ones(N), coarse=False)
    assert play(phase, kinks) < 405 * N
    assert phase.failed


def test_the_value_of_the_first_point_need_not_be_known() -> None:
    start = Evaluated(np.full(N, 0.1), np.zeros(0), 0.0, math.nan)
    phase = QuasiNewton(DOMAIN, start, np.ones(N), coarse=False)
    assert phase.best.key == DOMAIN.nowhere().key
    batch = phase.propose()
    np.testing.assert_array_equal(batch.x[0], start.x)
    assert len(batch.x) == 2 * N + 1
    phase.observe(Results(batch, ellipsoid(batch.x), None))
    known = search(ellipsoid, 0.1)
    known.observe(Results(known.propose(), ellipsoid(known.propose().x), None))
    np.testing.assert_array_equal(phase.propose().x, known.propose().x)
    assert phase.first_value == known.first_value


def test_a_coarse_search_goes_on_when_it_is_deepened() -> None:
    phase = search(rosenbrock, coarse=True)
    first = play(phase, rosenbrock)
    assert not phase.failed
    coarse = phase.best.value
    assert 1e-3 < coarse < 1e3
    phase.deepen(None)
    assert play(phase, rosenbrock) > first
    assert phase.best.value == pytest.approx(3.0, abs=1e-9)


def test_slopes_have_one_side_and_both_every_tenth_step() -> None:
    phase = search(rosenbrock)
    sizes = []
    while phase.steps < 21:
        if len(phase.propose().x) >= N:  # slopes, not lengths of a step
            sizes.append((phase.steps, len(phase.propose().x) // N))
        phase.observe(Results(phase.propose(), rosenbrock(phase.propose().x), None))
    assert dict(sizes) == {k: 2 if k % 10 == 0 else 1 for k in range(21)}


def restored(domain: Domain, phase: QuasiNewton) -> QuasiNewton:
    state = _serialize.unpack(json.loads(json.dumps(_serialize.pack(phase.state()))))
    return QuasiNewton.restored(domain, state)


def test_it_is_saved_and_restored_in_the_middle() -> None:
    phase, other = search(rosenbrock), search(rosenbrock)
    for _ in range(90):
        other = restored(DOMAIN, other)
        batch = phase.propose()
        np.testing.assert_array_equal(other.propose().x, batch.x)
        for one in (phase, other):
            one.observe(Results(batch, rosenbrock(batch.x), None))
    assert phase.steps > 20
    assert len(phase.moves) > 10
    state = _serialize.unpack(_serialize.pack(phase.state()))
    with pytest.raises(ValueError, match="changes must be an array of shape"):
        QuasiNewton.restored(DOMAIN, state | {"changes": phase.changes[1:]})


def test_integers_stay_as_they_are_and_where_it_looks_is_the_centre() -> None:
    domain = domain_of(Space([*(Float() for _ in range(N)), Int(0, 9)]))

    def fun(x: FloatArray) -> FloatArray:
        return ellipsoid(x[:, :N])

    start = evaluated(domain, fun, [0.0] * N, [4.0])
    phase = QuasiNewton(domain, start, np.full(N, 0.5), coarse=False)
    m, sd = phase.where()
    np.testing.assert_array_equal(m, start.x)
    assert sd.tolist() == [0.025] * N + [0.0]
    play(phase, fun)
    assert phase.best.plateaus.tolist() == [4.0]
    assert phase.best.value == pytest.approx(3.0, abs=1e-9)
