"""Phases played to their end, and functions to play on."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from saltus import Bool, Float, Int, Ordinal, Space
from saltus._typing import FloatArray
from saltus.search.phase import Phase
from saltus.search.proposal import Domain, Evaluated, Proposals, Results
from saltus.search.settings import Settings
from saltus.space.encoding import Encoding

Values = Callable[[FloatArray], FloatArray]


def domain_of(
    space: Space, population: int = 8, without: Collection[str] = (), encoding: Encoding | None = None
) -> Domain:
    """Without a model."""
    encoding = encoding or Encoding(space, sigma=1.0)
    settings = Settings.checked(encoding.N, "saltus-es", population, without=without)
    return Domain.of(encoding, settings)


def modelled(encoding: Encoding, population: int = 8, batch: int = 1) -> Domain:
    """A domain with a model of its memory, which is empty."""
    return Domain.of(encoding, Settings.checked(encoding.N, "saltus", population, batch=batch))


def evaluated(domain: Domain, fun: Values, x: list[float], plateaus: list[float]) -> Evaluated:
    batch = domain.proposals(np.array([x]).reshape(1, domain.n_continuous), np.array([plateaus]))
    return Results(batch, fun(batch.x), None).point(0)


def play(phase: Phase, fun: Values, seed: int = 0, limit: int = 100_000) -> int:
    """Run a phase to its end; how many evaluations it took."""
    rng = np.random.default_rng(seed)
    spent = 0
    while not phase.done:
        phase.draw(rng)
        batch = phase.propose()
        assert batch.x.shape == (len(batch.plateaus), phase.domain.N)
        np.testing.assert_array_equal(
            phase.domain.lattice.plateau(batch.x[:, phase.domain.n_continuous :]), batch.plateaus
        )
        phase.observe(Results(batch, fun(batch.x), None))
        spent += len(batch.x)
        assert spent < limit
    return spent


FLOATS = Space([Float() for _ in range(4)])


MIXED = Space([Float(), Float(), Int(0, 3), Int(0, 7), Int(0, 30)])


def rotated(n: int, condition: float = 1e6) -> FloatArray:
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))[0]
    return np.asarray((turn * np.logspace(0, math.log10(condition), n)) @ turn.T)


def stiff(p: Any) -> float:
    """Smooth, stiff and rotated in the continuous variables; all kinds of integers; never equal to zero."""
    x = np.array([p["a"], p["b"]])
    valley = 100 * (x[0] - x[1] + 0.1 * p["k"]) ** 2 + (x[1] - 1) ** 2
    return float(valley + (p["k"] - 7) ** 2 + abs(p["g"] - 0.5) + (not p["s"]) + 1.0)


def rough(p: Any) -> float:
    """The same with kinks, holes and a violated half space: Newton fails."""
    if p["a"] > 4:
        return math.nan
    return stiff(p) + float(abs(p["a"] - 0.3) + abs(p["b"]))


ALL_KINDS = Space(
    {"a": Float(-5, 5), "b": Float(), "k": Int(0, 20), "g": Ordinal([0.1, 0.5, 3.0]), "s": Bool()}
)


def told_by(batch: Proposals, fun: Callable[[FloatArray], FloatArray]) -> Results:
    return Results(batch, fun(batch.x), None)


def quadratic(x: FloatArray) -> FloatArray:
    return np.asarray(((x - 0.3) ** 2 * np.array([1.0, 4.0, 9.0])).sum(1)) + 2.0
