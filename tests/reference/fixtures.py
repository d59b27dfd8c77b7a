"""The paper's functions written out once more, with offsets: an error that vanishes at 0 must not hide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from saltus._typing import FloatArray

Objective = Callable[[FloatArray], float]
WHOLE = np.arange(-10.0, 11.0)
UNEVEN = np.array([-9.0, -4.5, -4.0, -1.0, -0.25, 0.0, 0.5, 2.0, 3.5, 10.0])
SWITCH = np.array([0.0, 1.0])


def tablet(x: FloatArray) -> float:
    half = len(x) // 2
    return float((x[half:] ** 2).sum() + ((100 * x[:half]) ** 2).sum())


def reversed_ellipsoid(x: FloatArray) -> float:
    return ellipsoid(np.roll(x, len(x) // 2))


def ellipsoid(x: FloatArray) -> float:
    return float(((1000 ** np.linspace(0, 1, len(x)) * x) ** 2).sum())


def one_max(x: FloatArray) -> float:
    half = len(x) // 2
    return float((x[:half] ** 2).sum() + half - x[half:].sum())


def shifted(f: Objective, continuous: float = 0.0, integer: float = 0.0) -> Objective:
    return lambda x: f(x - np.where(np.arange(len(x)) < len(x) // 2, continuous, integer))


def paper_start(N: int, grid: FloatArray, rng: np.random.Generator) -> FloatArray:
    m = rng.uniform(1, 3, N)
    if len(grid) == 2:
        m[N // 2 :] = 0.5
    return m
