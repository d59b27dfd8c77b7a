"""Known problems with known optima: the paper's four functions, and engineering designs.

Each problem is a function to minimise, its space and its best value. The paper's functions take a 1-D array,
or one row a point and give all values at once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import FloatArray
from .space import Space
from .space.variables import Float, Int, Ordinal


@dataclass(frozen=True)
class Problem:
    """A function to minimise, the space that it is defined on and the best value known for it.

    Attributes:
        name: as in the literature.
        fun: takes a point of the space, and returns a value, or a value and constraints: as for `minimize`.
        space: the variables.
        best: the best feasible value known.

    >>> problem = gear_train()
    >>> math.isclose(problem.fun({"a": 16, "b": 19, "c": 43, "d": 49}), problem.best, rel_tol=1e-6)
    True
    """

    name: str
    fun: Callable[[Any], Any]
    space: Space
    best: float

    def start(self, rng: np.random.Generator) -> FloatArray:
        """The paper's first mean, one number for each variable: uniform in [1, 3], and 0.5 for switches."""
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
    return _ellipsoid("ReversedEllipsoidInt", N, shift=N // 2)


def ellipsoid_int(N: int) -> Problem:
    """An ellipsoid of condition 10^6 whose stiff axes are the integers."""
    return _ellipsoid("EllipsoidInt", N)


def _ellipsoid(name: str, N: int, shift: int = 0) -> Problem:
    axes = np.roll(1000.0 ** (np.arange(N) / (N - 1)), shift)

    def fun(x: FloatArray) -> Any:
        return ((axes * x) ** 2).sum(-1)

    return Problem(name, fun, _half_integers(N), 0.0)


def sphere_one_max(N: int) -> Problem:
    """A sphere of continuous variables, and switches that should all be 1."""

    def fun(x: FloatArray) -> Any:
        return (x[..., : N // 2] ** 2).sum(-1) + N // 2 - x[..., N // 2 :].sum(-1)

    return Problem("SphereOneMax", fun, _half_integers(N, 0, 1), 0.0)


PAPER = (n_int_tablet, reversed_ellipsoid_int, ellipsoid_int, sphere_one_max)


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

    plates, inches = Int(1, 99), Float(10, 200)
    space = Space({"shell": plates, "head": plates, "radius": inches, "length": inches})
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


def gear_train() -> Problem:
    """Four gears whose ratio comes nearest to 1/6.931. Of Sandgren (1990); the best of all is known."""

    def fun(p: dict[str, Any]) -> float:
        return float((1 / 6.931 - p["a"] * p["b"] / (p["c"] * p["d"])) ** 2)

    return Problem("GearTrain", fun, Space({name: Int(12, 60) for name in "abcd"}), 2.700857148886513e-12)


def welded_beam() -> Problem:
    """The cheapest beam welded to a wall that carries 6000 pounds at its end.

    Of Rao (1996); constraints and best value as in Coello (2000) and later. All variables are continuous.
    """

    def fun(p: dict[str, Any]) -> tuple[float, list[float]]:
        h, l, t, b = p["weld"], p["length"], p["height"], p["width"]  # noqa: E741  # its usual name
        load, arm, E, G = 6000.0, 14.0, 30e6, 12e6
        cost = 1.10471 * h**2 * l + 0.04811 * t * b * (14 + l)
        radius = math.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
        inertia = 2 * math.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
        primary = load / (math.sqrt(2) * h * l)
        secondary = load * (arm + l / 2) * radius / inertia
        shear = math.sqrt(primary**2 + primary * secondary * l / radius + secondary**2)
        buckling = 4.013 * E * t * b**3 / (6 * arm**2) * (1 - t / (2 * arm) * math.sqrt(E / (4 * G)))
        return cost, [
            shear / 13600 - 1,
            6 * load * arm / (b * t**2) / 30000 - 1,
            h - b,
            (0.10471 * h**2 + 0.04811 * t * b * (14 + l)) / 5 - 1,
            0.125 - h,
            4 * load * arm**3 / (E * t**3 * b) / 0.25 - 1,
            1 - buckling / load,
        ]

    thin, thick = Float(0.1, 2), Float(0.1, 10)
    space = Space({"weld": thin, "length": thick, "height": thick, "width": thin})
    return Problem("WeldedBeam", fun, space, 1.724852308597)


def coil_spring() -> Problem:
    """The lightest helical spring: coils, wire (as it is sold) and diameter.

    Of Sandgren (1990); the constraint that holds with equality for every design is left out.
    """
    wires = (
        *(0.009, 0.0095, 0.0104, 0.0118, 0.0128, 0.0132, 0.014, 0.015, 0.0162, 0.0173, 0.018, 0.02, 0.023),
        *(0.025, 0.028, 0.032, 0.035, 0.041, 0.047, 0.054, 0.063, 0.072, 0.08, 0.092, 0.105, 0.12, 0.135),
        *(0.148, 0.162, 0.177, 0.192, 0.207, 0.225, 0.244, 0.263, 0.283, 0.307, 0.331, 0.362, 0.394),
        *(0.4375, 0.5),
    )

    def fun(p: dict[str, Any]) -> tuple[float, list[float]]:
        coils, wire, diameter = p["coils"], p["wire"], p["diameter"]
        most, preload = 1000.0, 300.0
        ratio = diameter / wire
        stiffness = 11.5e6 * wire**4 / (8 * coils * diameter**3)
        curvature = (4 * ratio - 1) / (4 * ratio - 4) + 0.615 / ratio if ratio > 1.01 else 1e3
        return math.pi**2 * diameter * wire**2 * (coils + 2) / 4, [
            8 * curvature * most * diameter / (math.pi * wire**3) / 189000 - 1,
            (most / stiffness + 1.05 * (coils + 2) * wire) / 14 - 1,
            (0.2 - wire) / 0.2,
            diameter / 3 - 1,
            1 - ratio / 3,
            preload / stiffness / 6 - 1,
            1 - (most - preload) / stiffness / 1.25,
        ]

    space = Space({"coils": Int(1, 70), "wire": Ordinal(wires), "diameter": Float(0.6, 3)})
    return Problem("CoilSpring", fun, space, 2.658559166)


def concrete_beam() -> Problem:
    """The cheapest beam of reinforced concrete: steel (as bars are sold), width and depth.

    Of Amir and Hasegawa (1989); the best of all is known.
    """
    bars = (6.0, 6.16, 6.32, 6.6, 7.0, 7.11, 7.2, 7.8, 7.9, 8.0, 8.4)

    def fun(p: dict[str, Any]) -> tuple[float, list[float]]:
        steel, width, depth = p["steel"], p["width"], p["depth"]
        return 29.4 * steel + 0.6 * width * depth, [
            width / depth / 4 - 1,
            (180 + 7.375 * steel**2 / depth) / (steel * width) - 1,
        ]

    space = Space({"steel": Ordinal(bars), "width": Int(28, 40), "depth": Float(5, 10)})
    return Problem("ConcreteBeam", fun, space, 359.208)


ENGINEERING = (pressure_vessel, speed_reducer, gear_train, welded_beam, coil_spring, concrete_beam)
