"""The polish."""

from __future__ import annotations

import numpy as np
import pytest

from saltus._typing import FloatArray
from saltus.search.newton import Newton
from saltus.search.polish import Polish

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


def test_a_covariance_that_has_collapsed_still_gives_a_polish_and_a_model() -> None:
    domain = domain_of(FLOATS)
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [0.6] * 4, [])
    flat = np.ones((4, 4))  # all variables move together: three of four axes have no length
    for phase in (Newton(domain, point, flat), Polish(domain, point, flat), Polish(domain, point, 0 * flat)):
        play(phase, lambda x: (x**2).sum(axis=1))
        assert phase.best.value <= point.value
