"""Cores and strategies in a loop, and what tests of all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import GaussianState, Integers, MovingGaussian, cmaes, crfmnes, dxnesic, rank, scaled

NO_INTEGERS = Lattice([])
CORES: dict[str, Any] = {"dxnesic": dxnesic, "scaled": scaled, "crfmnes": crfmnes, "cmaes": cmaes}
DIAGONAL = (scaled, crfmnes)  # the axes of the coordinates matter to them: they have a D
Objective = Callable[[FloatArray], float]


def run(
    core: Any,
    fun: Objective,
    integers: Integers,
    m: FloatArray,
    generations: int,
    *,
    population: int = 12,
    seed: int = 0,
    sd: float = 1.0,
) -> Any:
    """The state of a core after some generations."""
    rng = np.random.default_rng(seed)
    c = core.constants(len(m), population)
    s = core.start(c, m, integers, sd)
    for _ in range(generations):
        drawn = core.sample(c, s, core.draw(c, rng))
        plateaus = integers.plateaus(s.integer_state, s.m, drawn.x)
        values = np.array([fun(x) for x in rounded(integers, drawn.x, plateaus)])
        s = core.update(c, s, drawn, rank(values, None, drawn, integers), integers)
    return s


def move(gaussian: MovingGaussian, fun: Objective, generations: int, seed: int = 0) -> GaussianState:
    """The state of a strategy's Gaussian after some more generations."""
    rng = np.random.default_rng(seed)
    for _ in range(generations):
        gaussian.draw(rng)
        x = gaussian.sample()
        points = rounded(gaussian.integers, x, gaussian.plateaus(x))
        gaussian.update(np.array([fun(point) for point in points]), None)
    return gaussian.state


def rounded(integers: Integers, x: FloatArray, plateaus: FloatArray) -> FloatArray:
    """Points as they are evaluated: integers have the values of their plateaus."""
    x = x.copy()
    x[:, integers.n_continuous :] = integers.lattice.value(plateaus)
    return x


def ellipsoid(x: FloatArray) -> float:
    return float((10 ** np.linspace(0, 4, len(x)) * (x - 0.7) ** 2).sum())


def leaves(state: Any) -> dict[str, bytes]:
    """The bytes of every number and array of a state, by the name of its field."""
    found: dict[str, bytes] = {}
    for name, value in state._asdict().items():
        parts = value if name == "integer_state" else (value,)
        found |= {f"{name} {i}": np.asarray(part).tobytes() for i, part in enumerate(parts)}
    return found
