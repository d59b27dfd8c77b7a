"""Newton: where it finds the bottom, and where it says that there is no model."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from saltus import Float, Space
from saltus._typing import FloatArray
from saltus.search.newton import Newton
from saltus.search.proposal import Evaluated, Results

from .playing import FLOATS, Values, domain_of, evaluated, play, quadratic, rotated, told_by


def test_newton_solves_a_rotated_quadratic_in_a_few_batches() -> None:
    domain, H = domain_of(FLOATS), rotated(4)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(0.5 * np.einsum("ki,ij,kj->k", x - 1, H, x - 1) + 3.0)

    newton = Newton(domain, evaluated(domain, fun, [0.7] * 4, []), 0.01 * np.eye(4))
    spent = play(newton, fun)
    newton.deepen(None)
    spent += play(newton, fun)
    assert not newton.failed
    assert newton.best.value == pytest.approx(3.0, abs=1e-12)
    assert spent < 120


def test_newton_needs_no_cross_differences_along_the_axes() -> None:
    domain = domain_of(FLOATS)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(((x - 1) ** 2 * [1.0, 1e2, 1e4, 1e6]).sum(axis=1))

    newton = Newton(domain, evaluated(domain, fun, [0.0] * 4, []), np.eye(4))
    assert play(newton, fun) <= 8 + 9 + 9
    assert newton.best.value < 1e-12


@pytest.mark.parametrize(
    "shape", [lambda x: np.abs(x - 1), lambda x: np.abs(np.sin(40 * x)), lambda x: 0.0 * x]
)
def test_newton_says_where_there_is_no_model(shape: Values) -> None:
    domain = domain_of(FLOATS)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(shape(x).sum(axis=1))

    newton = Newton(domain, evaluated(domain, fun, [0.6, 0.3, 0.1, 0.45], []), np.eye(4))
    spent = play(newton, fun)
    assert newton.failed
    assert spent < 300


def test_newton_gives_up_where_something_is_violated_or_fails() -> None:
    domain = domain_of(FLOATS)
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [0.6] * 4, [])
    for values, violations in ((np.full(8, np.nan), None), (np.full(8, 2.0), np.arange(8.0))):
        newton = Newton(domain, point, np.eye(4))
        newton.observe(Results(newton.propose(), values, violations))
        assert newton.done
        assert newton.failed
        assert newton.best is point


@pytest.mark.parametrize("missing", [[1], [4], [2, 6], [1, 2, 3], [4, 5, 6]])
def test_newton_does_without_one_side_of_an_axis(missing: list[int]) -> None:
    """On a quadratic function the missing side is known from the other one and the curvature."""
    domain = domain_of(Space([Float()] * 3))
    x = np.full(3, 2.0)
    newton = Newton(domain, Evaluated(x, np.empty(0), 0.0, float(quadratic(x[None])[0])), np.eye(3))
    newton.radius = 0.5  # several steps
    newton.observe(told_by(newton.propose(), quadratic))
    whole, part = newton, copy.deepcopy(newton)
    told = told_by(whole.propose(), quadratic)
    known = np.full(7, True)
    known[missing] = False
    some = told._replace(values=np.where(known, told.values, np.nan), known=known)
    assert part.ready(some)
    part.observe(some)
    whole.observe(told)
    assert not part.failed
    np.testing.assert_allclose(part.trial, whole.trial, rtol=1e-9)
    np.testing.assert_allclose(part.gradient, whole.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(part.hessian, whole.hessian, rtol=1e-6, atol=1e-6)


def test_newton_needs_the_middle_and_a_side_of_every_axis() -> None:
    domain = domain_of(Space([Float()] * 3))
    x = np.full(3, 2.0)
    newton = Newton(domain, Evaluated(x, np.empty(0), 0.0, float(quadratic(x[None])[0])), np.eye(3))
    told = told_by(newton.propose(), quadratic)
    known = np.full(6, True)
    known[2] = False
    assert not newton.ready(told._replace(known=known))  # the curvature is not known yet
    newton.radius = 0.5
    newton.observe(told)
    told = told_by(newton.propose(), quadratic)
    for missing in ([0], [1, 4], [2, 5], [0, 1]):
        known = np.full(7, True)
        known[missing] = False
        assert not newton.ready(told._replace(known=known))
