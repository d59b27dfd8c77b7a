"""Known problems with known optima: the paper's four functions, and engineering designs.

Each problem is a function to minimise, its space and its best value. The paper's functions take a 1-D array,
or one row a point and give all values at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .space import Space
from .strategy import FloatArray
from .variables import Float, Int


@dataclass(frozen=True)
class Problem:
    """A function, the space it is defined on and the best value known for it."""

    name: str
    fun: Callable[[Any], Any]
    space: Space
    best: float

    def start(self, rng: np.random.Generator) -> FloatArray:
        """The paper's first mean: uniform in [1, 3], and 0.5 for switches."""
        switches = [isinstance(v, Int) and v.high - v.low == 1 for v in self.space.variables]
        return np.where(switches, 0.5, rng.uniform(1.0, 3.0, len(self.space)))


def _half_integers(N: int, low: int = -10, high: int = 10) -> Space:
    """The paper's space: N/2 unbounded continuous variables, then N/2 integers."""
    if N < 2 or N % 2:
        raise ValueError(f"N must be even and at least 2, got {N}")
    return Space([Float()] * (N // 2) + [Int(low, high)] * (N // 2))


def n_int_tablet(N: int) -> Problem:
    """Sum of squared integers plus continuous variables that count 10,000 times as much."""

    def fun(x: FloatArray) -> Any:
        return (x[..., N // 2 :] ** 2).sum(-1) + ((100.0 * x[..., : N // 2]) ** 2).sum(-1)

    return Problem("NIntTablet", fun, _half_integers(N), 0.0)


def reversed_ellipsoid_int(N: int) -> Problem:
    """An ellipsoid of condition 10^6 whose stiff axes are the continuous variables."""
    axes = np.roll(_ellipsoid_axes(N), N // 2)

    def fun(x: FloatArray) -> Any:
        return ((axes * x) ** 2).sum(-1)

    return Problem("ReversedEllipsoidInt", fun, _half_integers(N), 0.0)


def ellipsoid_int(N: int) -> Problem:
    """An ellipsoid of condition 10^6 whose stiff axes are the integers."""
    axes = _ellipsoid_axes(N)

    def fun(x: FloatArray) -> Any:
        return ((axes * x) ** 2).sum(-1)

    return Problem("EllipsoidInt", fun, _half_integers(N), 0.0)


def sphere_one_max(N: int) -> Problem:
    """A sphere of continuous variables, and switches that should all be 1."""

    def fun(x: FloatArray) -> Any:
        return (x[..., : N // 2] ** 2).sum(-1) + N // 2 - x[..., N // 2 :].sum(-1)

    return Problem("SphereOneMax", fun, _half_integers(N, 0, 1), 0.0)


PAPER = (n_int_tablet, reversed_ellipsoid_int, ellipsoid_int, sphere_one_max)


def _ellipsoid_axes(N: int) -> FloatArray:
    return np.asarray(1000.0 ** (np.arange(N) / (N - 1)))


def pressure_vessel() -> Problem:
    """The cheapest cylindrical vessel with two hemispherical heads that holds 1,296,000 cubic inches.

    Plates come in multiples of 1/16 inch. Of Sandgren (1990); best value as in Coello (2002) and later.
    """

    def fun(p: dict[str, Any]) -> tuple[float, list[float]]:
        shell, head = 0.0625 * p["shell"], 0.0625 * p["head"]
        radius, length = p["radius"], p["length"]
        cost = (
            0.6224 * shell * radius * length
            + 1.7781 * head * radius**2
            + 3.1661 * shell**2 * length
            + 19.84 * shell**2 * radius
        )
        volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
        return cost, [
            0.0193 * radius - shell,
            0.00954 * radius - head,
            (1_296_000 - volume) / 1_296_000,
            (length - 240) / 240,
        ]

    space = Space(
        {
            "shell": Int(1, 99),
            "head": Int(1, 99),
            "radius": Float(10, 200),
            "length": Float(10, 200),
        }
    )
    return Problem("PressureVessel", fun, space, 6059.714335)


def speed_reducer() -> Problem:
    """The lightest gear box: face width, module, teeth, two shafts' lengths and diameters.

    Of Golinski (1970); bounds and best value as usual since Mezura-Montes and Coello (2005).
    """

    def fun(p: dict[str, Any]) -> tuple[float, list[float]]:
        b, m, z = p["face"], p["module"], p["teeth"]
        l1, l2, d1, d2 = p["length1"], p["length2"], p["diameter1"], p["diameter2"]
        weight = (
            0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
            - 1.508 * b * (d1**2 + d2**2)
            + 7.4777 * (d1**3 + d2**3)
            + 0.7854 * (l1 * d1**2 + l2 * d2**2)
        )
        return weight, [
            27 / (b * m**2 * z) - 1,
            397.5 / (b * m**2 * z**2) - 1,
            1.93 * l1**3 / (m * z * d1**4) - 1,
            1.93 * l2**3 / (m * z * d2**4) - 1,
            math.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (110 * d1**3) - 1,
            math.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (85 * d2**3) - 1,
            m * z / 40 - 1,
            5 * m / b - 1,
            b / (12 * m) - 1,
            (1.5 * d1 + 1.9) / l1 - 1,
            (1.1 * d2 + 1.9) / l2 - 1,
        ]

    space = Space(
        {
            "face": Float(2.6, 3.6),
            "module": Float(0.7, 0.8),
            "teeth": Int(17, 28),
            "length1": Float(7.3, 8.3),
            "length2": Float(7.3, 8.3),
            "diameter1": Float(2.9, 3.9),
            "diameter2": Float(5.0, 5.5),
        }
    )
    return Problem("SpeedReducer", fun, space, 2994.471066)
