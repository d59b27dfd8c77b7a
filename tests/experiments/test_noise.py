"""Noisy problems: their noise, and their values without it."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.noise import KINDS, NoiseFree, kind, noisy
from experiments.suites import NOISY, SUITES, best_point, optimum, problem

D = 5
SAME = {101: 1, 104: 8, 113: 7, 119: 14, 122: 17, 128: 21}  # objectives that bbob has, too


@pytest.mark.parametrize("function", SAME)
def test_without_noise_they_are_those_of_bbob(function: int) -> None:
    twin = problem(D, SAME[function], 2, "bbob")
    best = optimum(twin)
    x = np.linspace(-4, 3, D)
    for noise in range(3):
        assert NoiseFree(D, function + noise, 2)(x) == pytest.approx(float(twin(x)) - best, abs=1e-9)


def test_the_optimum_is_0_above_itself() -> None:
    for function in SUITES[NOISY].functions[::3]:
        assert NoiseFree(D, function, 1)(best_point(problem(D, function, 1, NOISY))) == 0.0


@pytest.mark.parametrize("function", [101, 103, 107, 109])
def test_the_noise_is_that_of_coco(function: int) -> None:
    coco, x = problem(D, function, 1, NOISY), np.full(D, 1.5)
    above = NoiseFree(D, function, 1)(x)
    fopt = optimum(problem(D, 1, 1, "bbob"))
    rng = np.random.default_rng(1)
    theirs = np.quantile([float(coco(x)) - fopt for _ in range(2000)], [0.25, 0.5, 0.75])
    ours = np.quantile([noisy(above, function, D, rng) for _ in range(2000)], [0.25, 0.5, 0.75])
    assert ours == pytest.approx(theirs, rel=0.1)


def test_uniform_noise_is_worst_near_the_optimum() -> None:
    rng = np.random.default_rng(1)
    seen = [[noisy(above, 108, D, rng) / above for _ in range(500)] for above in (1e-6, 1.0, 1e6)]
    near, middle, far = (np.median(s) for s in seen)
    assert near > 10 * middle > 100 * far
    assert min(min(s) for s in seen) < 0.1  # and it can look better than it is


def test_each_kind_comes_ten_times() -> None:
    kinds = [kind(f) for f in SUITES[NOISY].functions]
    assert [kinds.count(name) for name in KINDS] == [10, 10, 10]
