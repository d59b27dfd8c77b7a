"""The pressure vessel of Sandgren (1990): what it costs, and which rules it breaks."""

from __future__ import annotations

import math
from collections.abc import Mapping

PLATE = 1 / 16  # inches: plates come in multiples of this
VOLUME = 1_296_000  # cubic inches that the vessel must hold


def cost(params: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Material, forming and welding in dollars; and the constraints, of which those above 0 are violated."""
    shell, head = PLATE * params["shell"], PLATE * params["head"]
    radius, length = params["radius"], params["length"]
    dollars = (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )
    volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
    return dollars, {
        "pressure on the shell": 0.0193 * radius - shell,
        "pressure on the heads": 0.00954 * radius - head,
        "volume": (VOLUME - volume) / VOLUME,
        "length": (length - 240) / 240,
    }
