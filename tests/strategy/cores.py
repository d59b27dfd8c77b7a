"""Cores that tests of every one of them run, and a loop around a core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import Integers, cmaes, dxnesic, rank

NO_INTEGERS = Lattice([])


CORES = [dxnesic, cmaes]


def run(
    core: Any,
    fun: Callable[[FloatArray], float],
    integers: Integers,
    m: FloatArray,
    generations: int,
    *,
    population: int = 12,
    seed: int = 0,
    sigma: float = 1.0,
) -> Any:
    """The state after some generations."""
    rng = np.random.default_rng(seed)
    c = core.constants(len(m), population)
    s = core.start(c, m, integers, sigma)
    n_co = integers.n_continuous
    for _ in range(generations):
        population = core.sample(c, s, core.draw(c, rng))
        x = population.x.copy()
        x[:, n_co:] = integers.lattice.value(integers.plateaus(s.integer_state, s.m, population.x))
        s = core.update(
            c, s, population, rank(np.array([fun(row) for row in x]), None, population, integers), integers
        )
    return s


def ellipsoid(x: FloatArray) -> float:
    return float((10 ** np.linspace(0, 4, len(x)) * (x - 0.7) ** 2).sum())
