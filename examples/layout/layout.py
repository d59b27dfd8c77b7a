"""Wind turbines on a grid of places: how much power do their wakes cost? All variables are integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from saltus import Int, Space

TURBINES, PLACES, PITCH = 9, 16, 150.0  # metres between two places
RADIUS, SPREAD, LOSS = 40.0, 0.06, 1 / 3  # of a rotor; how fast a wake widens; a = 1/3
SPACE = Space({f"{axis}{i}": Int(0, PLACES - 1) for i in range(TURBINES) for axis in "xy"})
ANGLES = np.deg2rad(np.arange(0, 360, 15))
ROSE = 1 + 1.5 * np.exp(-((np.rad2deg(ANGLES) - 240) ** 2) / 40**2)  # wind comes mostly from the south-west
ROSE /= ROSE.sum()


def places(p: Mapping[str, float]) -> np.ndarray:
    """Where the turbines stand, in metres."""
    return PITCH * np.array([[p[f"x{i}"], p[f"y{i}"]] for i in range(TURBINES)], dtype=float)


def speeds(at: np.ndarray, angles: np.ndarray = ANGLES) -> np.ndarray:
    """The share of the free wind at each turbine (columns), for each direction (rows): Jensen's wakes."""
    toward = -np.stack([np.sin(angles), np.cos(angles)], axis=1)
    apart = at[None, :, :] - at[:, None, :]
    down = np.einsum("ijk,ak->aij", apart, toward)  # how far j is downwind of i
    aside = np.sqrt(np.maximum((apart**2).sum(-1)[None] - down**2, 0))
    wide = RADIUS + SPREAD * np.maximum(down, 0)
    lost = np.where((down > 1) & (aside < wide), 2 * LOSS * (RADIUS / wide) ** 2, 0.0)
    return 1 - np.sqrt((lost**2).sum(axis=1))


def wasted(p: Mapping[str, float]) -> float:
    """The share of the power that is lost in wakes; NaN, infeasible, if two stand nearer than 300 m."""
    at = places(p)
    apart = np.sqrt(((at[:, None] - at[None]) ** 2).sum(-1)) + 1e9 * np.eye(TURBINES)
    if apart.min() < 300:
        return float("nan")
    return float(1 - (ROSE[:, None] * np.maximum(speeds(at), 0) ** 3).sum() / TURBINES)
