"""A motor that turns a load through a soft shaft, and its controller: how well does it follow a step?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from saltus import Bool, Categorical, Float, Ordinal, Space

SPACE = Space(
    {
        "kind": Categorical(["PI", "PID", "PID on output"]),  # whether, and of what, a derivative is taken
        "gain": Float(0.01, 10, log=True),
        "integral": Float(0.01, 20, log=True),  # seconds
        "derivative": Float(0.001, 2, log=True, when={"kind": ["PID", "PID on output"]}),
        "smooth": Float(0.001, 0.5, log=True, when={"kind": ["PID", "PID on output"]}),
        "period": Ordinal([0.005, 0.01, 0.02, 0.05]),  # seconds between two samples
        "anti_windup": Bool(),
    }
)
STEP, SECONDS, LIMIT = 0.0025, 6.0, 1.0  # of the simulation; the motor's torque is limited


def simulate(p: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, the angle of the load (it should be 1, and is pushed after 3 s), and the torque."""
    count, every = int(SECONDS / STEP), round(p["period"] / STEP)
    angle, torque = np.zeros(count), np.zeros(count)
    a1 = v1 = a2 = v2 = 0.0  # motor and load: angles and speeds
    summed = slope = drive = 0.0
    before = 1.0 if p["kind"] == "PID" else 0.0
    for i in range(count):
        if i % every == 0:
            error = 1.0 - a2
            if p["kind"] != "PI":
                seen = error if p["kind"] == "PID" else -a2
                part = p["smooth"] / (p["smooth"] + p["period"])
                slope = part * slope + (1 - part) * (seen - before) / p["period"]
                before = seen
            wanted = p["gain"] * (error + summed / p["integral"] + p.get("derivative", 0.0) * slope)
            drive = min(LIMIT, max(-LIMIT, wanted))
            if not p["anti_windup"] or drive == wanted:
                summed += error * p["period"]
        shaft = 40.0 * (a1 - a2) + 0.3 * (v1 - v2)
        push = -0.3 if i * STEP > 3.0 else 0.0
        v1 += STEP * (drive - shaft - 0.2 * v1) / 0.1
        v2 += STEP * (shaft - 0.1 * v2 + push) / 0.3
        a1, a2 = a1 + STEP * v1, a2 + STEP * v2
        if abs(a2) > 1e3:
            break  # unstable: the rest stays 0, and costs what it costs
        angle[i], torque[i] = a2, drive
    return np.arange(count) * STEP, angle, torque


def cost(p: Mapping[str, Any]) -> tuple[float, dict[str, float]]:
    """The error over time, plus a little for a torque that chatters; and an overshoot of at most 5 %."""
    _, angle, torque = simulate(p)
    error = STEP * np.abs(1.0 - angle).sum()
    chatter = np.abs(np.diff(torque)).sum()
    return float(error + 0.01 * chatter), {"overshoot": float(angle[: int(3 / STEP)].max() - 1.05)}
