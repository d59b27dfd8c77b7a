"""A counter with clerks for three parts of the day: wages, and the patience of the customers. It is noisy."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from saltus import Float, Int, Space

SPACE = Space({"morning": Int(1, 12), "noon": Int(1, 12), "evening": Int(1, 12), "express": Float(0, 1)})
ARRIVALS = (0.5, 1.4, 0.8)  # customers a minute
PART = 180.0  # minutes


def day(p: Mapping[str, float], chance: np.random.Generator) -> float:
    """What a day costs: wages, and the minutes that customers wait, squared.

    `express` is the share of short errands that a machine takes over, at a price that grows.
    """
    wages, waiting = 0.0, 0.0
    for clerks, rate in zip((p["morning"], p["noon"], p["evening"]), ARRIVALS, strict=True):
        free = [0.0] * int(clerks)
        now = 0.0
        while (now := now + chance.exponential(1 / rate)) < PART:
            errand = chance.exponential(4.0)
            if errand < 2.0 and chance.random() < p["express"]:
                continue
            begin = max(now, free[0])
            waiting += (begin - now) ** 2
            heapq.heapreplace(free, begin + errand)
        wages += 60.0 * clerks
    return wages + 0.5 * waiting + 300.0 * p["express"] ** 2
