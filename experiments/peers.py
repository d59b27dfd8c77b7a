"""The peers as runs of the same experiment: CMAwM and CatCMAwM of the package cmaes, and pycma.

They start from the same Gaussian, in the coordinates in which it is N(m, I), and see the same function.
A run of CatCMAwM also ends when it says so itself, since beyond that its matrices overflow; pycma goes on to
the end of the budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import cma
import numpy as np
from cmaes import CatCMAwM, CMAwM

from experiments.runs import Generation, beyond_limits
from saltus.problems import Problem
from saltus.space import Frame
from saltus.strategy import FloatArray

_NOTHING = np.empty(0)


def cmawm(problem: Problem, frame: Frame, population: int, rng: np.random.Generator) -> Iterator[Generation]:
    """CMA-ES with Margin on whole numbers; the paper's limits of the covariance matrix end a run."""
    n_co, N = frame.n_co, frame.N
    ends = frame.lattice.value(np.zeros(N - n_co)), frame.lattice.value(frame.lattice.last)
    bounds = np.array([[-np.inf, np.inf]] * n_co + list(zip(*ends, strict=True)))
    steps = np.array([0.0] * n_co + [1.0] * (N - n_co))
    seed = int(rng.integers(2**31))
    method = CMAwM(frame.m.copy(), 1.0, bounds, steps, population_size=population, seed=seed)
    evaluations = 0
    while True:
        asked = [method.ask() for _ in range(population)]
        x = np.array([encoded for encoded, _ in asked])
        values = problem.fun(frame.numbers(x, frame.lattice.plateau(x[:, n_co:])))
        evaluations += population
        method.tell([(raw, v) for (_, raw), v in zip(asked, values.tolist(), strict=True)])
        failed = beyond_limits(method._cma._sigma, np.linalg.eigvalsh(method._cma._C))
        yield Generation(evaluations, float(values.min()), _NOTHING, _NOTHING, failed)


def catcmawm(
    problem: Problem, frame: Frame, population: int, rng: np.random.Generator
) -> Iterator[Generation]:
    """CatCMA with Margin; integers as they are spaced, switches as categories, as it recommends."""
    n_co, lattice = frame.n_co, frame.lattice
    last = lattice.last.astype(int)
    switches = last.max() == 1
    table = lattice.value(np.minimum(np.arange(last.max() + 1)[:, None], last).astype(float))
    method = CatCMAwM(
        x_space=[[-np.inf, np.inf]] * n_co or None,
        z_space=None if switches else [table[: k + 1, j].tolist() for j, k in enumerate(last)],
        c_space=[2] * lattice.size if switches else None,
        mean=frame.m[:n_co] if switches else frame.m.copy(),
        sigma=1.0,
        population_size=population,
        seed=int(rng.integers(2**31)),
    )
    evaluations = 0
    while True:
        asked = [method.ask() for _ in range(population)]
        x = np.array([np.zeros(0) if a.x is None else a.x for a in asked])
        plateaus = np.array([a.c[:, 1] if switches else lattice.plateau(a.z) for a in asked]).astype(float)
        values = problem.fun(frame.numbers(x, plateaus))
        evaluations += population
        method.tell(list(zip(asked, values.tolist(), strict=True)))
        yield Generation(evaluations, float(values.min()), _NOTHING, _NOTHING, method.should_stop())


def pycma(problem: Problem, frame: Frame, population: int, rng: np.random.Generator) -> Iterator[Generation]:
    """Pycma with `integer_variables`, which wants integers that are 1 apart: even grids only."""
    n_co, N, lattice = frame.n_co, frame.N, frame.lattice
    zero = lattice.value(np.zeros(lattice.size))
    step = lattice.value(np.ones(lattice.size)) - zero
    start, sds = frame.m.copy(), np.ones(N)
    start[n_co:] = (start[n_co:] - zero) / step
    sds[n_co:] /= step
    options = {
        "integer_variables": list(range(n_co, N)),
        "CMA_stds": sds,
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
            values = problem.fun(frame.numbers(x, plateaus))
            evaluations += population
            method.tell(asked, values.tolist())
        yield Generation(evaluations, float(values.min()), _NOTHING, _NOTHING, False)
