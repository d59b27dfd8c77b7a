"""CMA-ES with Margin follows `cmaes.CMAwM`, generation by generation, on the same points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cmaes import CMAwM

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import STRATEGIES, Integers, cmaes, rank

from .fixtures import (
    SWITCH,
    WHOLE,
    Objective,
    ellipsoid,
    one_max,
    paper_start,
    reversed_ellipsoid,
    shifted,
    tablet,
)

GENERATIONS = 300


# the code is the same for every dimension: one for each problem, both for each grid
@pytest.mark.parametrize(
    ("objective", "grid", "N"),
    [
        (tablet, WHOLE, 20),
        (reversed_ellipsoid, WHOLE, 10),
        (ellipsoid, WHOLE, 20),
        (one_max, SWITCH, 10),
        (one_max, SWITCH, 20),
    ],
)
def test_follows_cmawm(objective: Objective, grid: FloatArray, N: int) -> None:
    # theirs recovers y from x - m, which loses digits unless the continuous optimum is at 0
    objective = shifted(objective, integer=3.0)
    rng = np.random.default_rng(N)
    n_co, population = N // 2, 12
    m = paper_start(N, grid, rng)
    bounds = np.array([[-math.inf, math.inf]] * n_co + [[grid[0], grid[-1]]] * (N - n_co))
    steps = np.array([0.0] * n_co + [1.0] * (N - n_co))
    theirs = CMAwM(m.copy(), 1.0, bounds, steps, population_size=population)

    lattice = Lattice([grid] * (N - n_co))
    integers = Integers(n_co, lattice, 1 / (N * population), STRATEGIES["cma-es-margin"].treatment)
    c = cmaes.constants(N, population, exact=True)
    ours = cmaes.start(c, m, integers)
    for g in range(GENERATIONS):
        generation = cmaes.sample(c, ours, cmaes.draw(c, rng))
        x = generation.x.copy()
        x[:, n_co:] = lattice.value(integers.plateaus(ours.integer_state, ours.m, generation.x))
        for raw, encoded in zip(generation.x, x, strict=True):
            np.testing.assert_array_equal(theirs._encode_discrete_params(raw[n_co:]), encoded[n_co:])
        ranking = rank(np.array([objective(row) for row in x]), None, generation, integers)
        ranking = ranking._replace(groups=None)  # theirs gives equals different weights
        ours = cmaes.update(c, ours, generation, ranking, integers)
        places = ranking.order.argsort().tolist()  # no ties, whatever the last bit of a value is
        theirs.tell(list(zip(generation.x, places, strict=True)))
        pairs = {
            "m": (ours.m, theirs.mean),
            "sigma": (ours.sigma, theirs._cma._sigma),
            "C": (ours.C, theirs._cma._C),
            "p_sigma": (ours.p_sigma, theirs._cma._p_sigma),
            "p_c": (ours.p_c, theirs._cma._pc),
            "A": (ours.integer_state[0], theirs._A[n_co:]),
        }
        for name, (a, b) in pairs.items():
            difference = np.max(np.abs(a - b)) / np.max(np.abs(b))
            # rounding errors have grown by then, with some versions of NumPy beyond 1e-8
            tolerance = 1e-8 if g < 200 else 1e-6
            assert difference < tolerance, f"generation {g}: {name} differs by {difference}"
