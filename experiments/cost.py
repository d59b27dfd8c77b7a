"""Microseconds per generation (ask + tell) of Saltus and its peers, in one process and one BLAS thread.

python -m experiments.cost [--dims 10 20 ...] [--json FILE]

Half of the variables are integers with 21 values; the objective is not timed. The methods take turns, so
that a busy machine slows all of them alike; each figure is the median over the rounds.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded

import argparse
import json
import math
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import cma
import numpy as np
from cmaes import CatCMAwM, CMAwM
from dxnesici import DXNESICI

import saltus
from saltus.problems import ellipsoid_int
from saltus.strategy import default_population

DIMS = (10, 20, 40, 80, 160, 320, 1000)
PEERS_UP_TO = 320
# what Saltus should reach: how many times faster than dxnesici, and than every other peer
GOALS = {20: 8.0, 80: 15.0, 320: 60.0}
PEER_GOAL = 4.0
GROWTH_GOAL = 2.3
MANY_GOAL = 0.2  # a generation of CR-FM-NES at N = 1000, beside one of dx-nes-ici
SCALING_GOAL = 1.5  # a generation of the default, beside one of dx-nes-ici

Seconds = Iterator[float]  # an endless stream: the time of one more generation
clock = time.perf_counter


def run_saltus(N: int, strategy: str) -> Seconds:
    """Saltus, through its public interface."""
    problem = ellipsoid_int(N)
    optimizer = saltus.Optimizer(problem.space, strategy=strategy, mean=2.0, sigma=1.0, seed=1)
    while True:
        t = clock()
        candidates = optimizer.ask()
        t = clock() - t
        values = problem.fun(np.array([c.params for c in candidates])).tolist()
        t -= clock()
        optimizer.tell(candidates, values)
        yield t + clock()


def run_dxnesici(N: int) -> Seconds:
    """The authors' package, which evaluates inside: the objective's time is taken off."""
    fun = ellipsoid_int(N).fun
    spent = 0.0

    def objective(x: Any) -> float:
        nonlocal spent
        t = clock()
        value = float(fun(x[:, 0]))
        spent += clock() - t
        return value

    population = default_population(N)
    domain = [list(range(-10, 11)) for _ in range(N // 2)]
    np.random.seed(1)  # noqa: NPY002  # the package draws from the global generator
    method = DXNESICI(N // 2, domain, objective, np.full((N, 1), 2.0), 1.0, population, 1 / (N * population))
    while True:
        spent = 0.0
        t = clock()
        method.next_generation()
        yield clock() - t - spent


def run_cmawm(N: int) -> Seconds:
    """CMA-ES with Margin of the package cmaes."""
    fun = ellipsoid_int(N).fun
    half = N // 2
    bounds = np.array([[-math.inf, math.inf]] * half + [[-10, 10]] * half)
    steps = np.array([0.0] * half + [1.0] * half)
    population = default_population(N)
    method = CMAwM(np.full(N, 2.0), 1.0, bounds, steps, population_size=population, seed=1)
    while True:
        t = clock()
        asked = [method.ask() for _ in range(population)]
        t = clock() - t
        values = fun(np.array([x for x, _ in asked])).tolist()
        t -= clock()
        method.tell([(raw, value) for (_, raw), value in zip(asked, values, strict=True)])
        yield t + clock()


def run_catcmawm(N: int) -> Seconds:
    """CatCMA with Margin of the package cmaes."""
    fun = ellipsoid_int(N).fun
    half = N // 2
    population = default_population(N)
    method = CatCMAwM(
        x_space=np.array([[-100.0, 100.0]] * half),
        z_space=np.array([list(range(-10, 11))] * half),
        mean=np.full(N, 2.0),
        sigma=1.0,
        population_size=population,
        seed=1,
    )
    while True:
        t = clock()
        asked = [method.ask() for _ in range(population)]
        t = clock() - t
        values = fun(np.array([np.concatenate((a.x, a.z)) for a in asked])).tolist()
        t -= clock()
        method.tell(list(zip(asked, values, strict=True)))
        yield t + clock()


def run_pycma(N: int) -> Seconds:
    """Pycma with its integer handling."""
    fun = ellipsoid_int(N).fun
    options = {
        "integer_variables": list(range(N // 2, N)),
        "popsize": default_population(N),
        "seed": 1,
        "verbose": -9,
    }
    method = cma.CMAEvolutionStrategy(np.full(N, 2.0), 1.0, options)
    while True:
        t = clock()
        asked = method.ask()
        t = clock() - t
        values = fun(np.array(asked)).tolist()
        t -= clock()
        method.tell(asked, values)
        yield t + clock()


METHODS: dict[str, Callable[[int], Seconds]] = {
    "saltus dx-nes-ici": lambda N: run_saltus(N, "dx-nes-ici"),
    "saltus dx-nes-ici+d": lambda N: run_saltus(N, "dx-nes-ici+d"),
    "saltus cr-fm-nes": lambda N: run_saltus(N, "cr-fm-nes+leap+bias"),
    "saltus cma-es-margin": lambda N: run_saltus(N, "cma-es-margin"),
    "dxnesici": run_dxnesici,
    "CMAwM": run_cmawm,
    "CatCMAwM": run_catcmawm,
    "pycma": run_pycma,
}


def measure(N: int, rounds: int) -> dict[str, float]:
    """Median microseconds per generation of each method; a round is a stretch of generations of each."""
    methods = {k: v for k, v in METHODS.items() if N <= PEERS_UP_TO or k.startswith("saltus")}
    streams = {name: start(N) for name, start in methods.items()}
    # long enough that a round holds every step that is taken only now and then: the refresh of an
    # eigenbasis, every N/2 generations in ours, about every N/20 in pycma, every one in the others
    stretch = {name: max(8, N // 2) if name.startswith("saltus") else 4 for name in methods}
    stretch["pycma"] = max(8, N // 8)
    for name, stream in streams.items():
        for _ in range(stretch[name]):
            next(stream)
    times: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name, stream in streams.items():
            times[name].append(statistics.fmean(next(stream) for _ in range(stretch[name])))
    return {name: 1e6 * statistics.median(t) for name, t in times.items()}


def table(results: dict[int, dict[str, float]]) -> list[str]:
    """The figures, their ratios and whether they reach the goals."""
    lines = ["| N | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
    for N, row in results.items():
        own = row["saltus dx-nes-ici"]
        cells = ["" if name not in row else f"{row[name]:.0f} (x{row[name] / own:.1f})" for name in METHODS]
        lines.append(f"| {N} | " + " | ".join(cells) + " |")
    lines.append("")
    for N, row in results.items():
        own = row["saltus dx-nes-ici"]
        ratio = row["saltus dx-nes-ici+d"] / own
        lines.append(f"N={N}: diagonal scaling {ratio:.2f}x, goal {SCALING_GOAL:g}x: {ratio <= SCALING_GOAL}")
        if N in GOALS:
            ratio = row["dxnesici"] / own
            lines.append(f"N={N}: {ratio:.1f}x faster than dxnesici, goal {GOALS[N]:g}x: {ratio >= GOALS[N]}")
        peers = {k: v / own for k, v in row.items() if k in ("CMAwM", "CatCMAwM", "pycma")}
        if peers:
            nearest = min(peers, key=lambda k: peers[k])
            reached = peers[nearest] >= PEER_GOAL
            lines.append(
                f"N={N}: {peers[nearest]:.1f}x faster than {nearest}, the nearest peer, "
                f"goal {PEER_GOAL:g}x: {reached}"
            )
    if 1000 in results:
        ratio = results[1000]["saltus cr-fm-nes"] / results[1000]["saltus dx-nes-ici"]
        lines.append(
            f"N=1000: CR-FM-NES {ratio:.2f}x of dx-nes-ici, goal {MANY_GOAL:g}x: {ratio <= MANY_GOAL}"
        )
    if 320 in results and 1000 in results:
        growth = math.log(results[1000]["saltus dx-nes-ici"] / results[320]["saltus dx-nes-ici"], 1000 / 320)
        lines.append(
            f"growth from N=320 to 1000: N^{growth:.2f}, goal N^{GROWTH_GOAL}: {growth <= GROWTH_GOAL}"
        )
    return lines


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=list(DIMS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own
    results = {}
    for N in arguments.dims:
        results[N] = measure(N, arguments.rounds if N < 300 else max(3, arguments.rounds // 3))
        own = results[N]["saltus dx-nes-ici"]
        print(f"N={N}: {own:.0f} us a generation", flush=True)
    print("\nmicroseconds a generation (times slower than saltus dx-nes-ici)\n")
    print("\n".join(table(results)))
    if arguments.json:
        document = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "saltus": saltus.__version__,
            "microseconds": results,
        }
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
