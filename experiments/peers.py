"""The peers as runs of the same experiment: CatCMAwM of the package cmaes, and pycma.

They see the same function, and start from the same Gaussian in the coordinates in which it is N(m, I); only
CatCMAwM is left its own first standard deviations of integers, a fifth of the way to the nearer end of the
range, with which it is mostly faster. A run of CatCMAwM also ends when it says so itself, since beyond that
its matrices overflow; pycma goes on to the end of the budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import cma
import numpy as np
from cmaes import CatCMAwM

from experiments.runs import Generation
from saltus._typing import FloatArray
from saltus.problems import Problem
from saltus.space.encoding import Encoding

_NOTHING = np.empty(0)


def catcmawm(
    problem: Problem, encoding: Encoding, population: int, rng: np.random.Generator
) -> Iterator[Generation]:
    """CatCMA with Margin; integers as they are spaced, switches as categories, as it recommends."""
    n_co, lattice = encoding.n_continuous, encoding.lattice
    last = lattice.last.astype(int)
    switches = last.max() == 1
    table = lattice.value(np.minimum(np.arange(last.max() + 1)[:, None], last).astype(float))
    method = CatCMAwM(
        x_space=[[-np.inf, np.inf]] * n_co or None,
        z_space=None if switches else [table[: k + 1, j].tolist() for j, k in enumerate(last)],
        c_space=[2] * lattice.size if switches else None,
        mean=encoding.m[:n_co].copy() if switches else encoding.m.copy(),
        sigma=1.0,
        population_size=population,
        seed=int(rng.integers(2**31)),
    )
    evaluations = 0
    while True:
        asked = [method.ask() for _ in range(population)]
        x = np.array([np.zeros(0) if a.x is None else a.x for a in asked])
        plateaus = np.array([a.c[:, 1] if switches else lattice.plateau(a.z) for a in asked]).astype(float)
        values = problem.fun(encoding.numbers(x, plateaus))
        evaluations += population
        method.tell(list(zip(asked, values.tolist(), strict=True)))
        yield Generation(evaluations, float(values.min()), _NOTHING, _NOTHING, method.should_stop())


def pycma(
    problem: Problem, encoding: Encoding, population: int, rng: np.random.Generator
) -> Iterator[Generation]:
    """Pycma with `integer_variables`, which wants integers that are 1 apart: even grids only."""
    n_co, N, lattice = encoding.n_continuous, encoding.N, encoding.lattice
    zero = lattice.value(np.zeros(lattice.size))
    step = lattice.value(np.ones(lattice.size)) - zero
    start, sds = encoding.m.copy(), np.ones(N)
    start[n_co:] = (start[n_co:] - zero) / step
    sds[n_co:] /= step
    options = {
        "integer_variables": list(range(n_co, N)),
        "CMA_stds": sds,
        "bounds": [
            [-np.inf] * n_co + [-0.5] * lattice.size,
            [np.inf] * n_co + (lattice.last + 0.5).tolist(),
        ],
        "popsize": population,
        "seed": int(rng.integers(1, 2**31)),
        "verbose": -9,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = cma.CMAEvolutionStrategy(start, 1.0, options)
    evaluations = 0
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = method.ask()
            x: FloatArray = np.array(asked)
            plateaus = np.minimum(np.maximum(np.round(x[:, n_co:]), 0.0), lattice.last)
            values = problem.fun(encoding.numbers(x, plateaus))
            evaluations += population
            method.tell(asked, values.tolist())
        yield Generation(evaluations, float(values.min()), _NOTHING, _NOTHING, False)
