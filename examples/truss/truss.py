"""The ten-bar truss: how heavy it is, and how far it bends: a finite-element code of one page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from saltus import Ordinal, Space

# cross sections that can be bought, in square inches (the 42 of the literature)
SECTIONS = [
    1.62, 1.80, 1.99, 2.13, 2.38, 2.62, 2.63, 2.88, 2.93, 3.09, 3.13, 3.38, 3.47, 3.55,
    3.63, 3.84, 3.87, 3.88, 4.18, 4.22, 4.49, 4.59, 4.80, 4.97, 5.12, 5.74, 7.22, 7.97,
    11.50, 13.50, 13.90, 14.20, 15.50, 16.00, 16.90, 18.80, 19.90, 22.00, 22.90, 26.50, 30.00, 33.50,
]  # fmt: skip
NODES = 360.0 * np.array(
    [[2, 1], [2, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
)  # inches; the last two are in the wall
BARS = np.array([[4, 2], [2, 0], [5, 3], [3, 1], [3, 2], [1, 0], [4, 3], [5, 2], [2, 1], [3, 0]])
LOADS = {3: -1e5, 7: -1e5}  # pounds, downwards, at the two lower free nodes
STIFFNESS, DENSITY, STRESS, SAG = 1e7, 0.1, 25_000.0, 2.0

SPACE = Space({f"bar{i}": Ordinal(SECTIONS) for i in range(10)})


def solve(areas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each node moves, and the stress in each bar."""
    along = NODES[BARS[:, 1]] - NODES[BARS[:, 0]]
    length = np.linalg.norm(along, axis=1)
    ends = np.zeros((10, 12))
    for bar, (first, second) in enumerate(BARS):
        ends[bar, 2 * first : 2 * first + 2] = -along[bar] / length[bar]
        ends[bar, 2 * second : 2 * second + 2] = along[bar] / length[bar]
    whole = ends.T @ ((STIFFNESS * areas / length)[:, None] * ends)
    force = np.zeros(12)
    force[list(LOADS)] = list(LOADS.values())
    moved = np.zeros(12)
    moved[:8] = np.linalg.solve(whole[:8, :8], force[:8])
    return moved.reshape(6, 2), STIFFNESS * (ends @ moved) / length


def weight(params: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Pounds; and by how much the limits of stress and sag are exceeded: those above 0 are violated."""
    areas = np.array([params[f"bar{i}"] for i in range(10)])
    length = np.linalg.norm(NODES[BARS[:, 1]] - NODES[BARS[:, 0]], axis=1)
    moved, stress = solve(areas)
    return float(DENSITY * areas @ length), {
        "stress": float(np.abs(stress).max() / STRESS - 1),
        "sag": float(np.abs(moved).max() / SAG - 1),
    }
