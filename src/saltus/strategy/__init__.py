"""The science: a core that moves a Gaussian, times a way to treat integers. Imports nothing else of ours.

| name | core | integers |
|---|---|---|
| `dx-nes-ici` | DX-NES-IC | Leap with bias: the paper's proposal |
| `dx-nes-ici+d` | DX-NES-IC with diagonal scaling | Leap with bias |
| `dx-nes-ic+leap` | DX-NES-IC | Leap |
| `dx-nes-ic` | DX-NES-IC | Round |
| `cma-es-margin` | CMA-ES | Margin: the paper's baseline |
| `cma-es` | CMA-ES | Round |
| `cma-es+leap` | CMA-ES | Leap |
| `cma-es+leap+bias` | CMA-ES | Leap with bias |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._typing import FloatArray
from ..space.lattice import Lattice
from . import cmaes, dxnesic, scaled
from .integers import Integers
from .leap import Leap
from .margin import Margin
from .ranking import Ranking, rank
from .rounding import Round

__all__ = [
    "STRATEGIES",
    "FloatArray",
    "Integers",
    "Lattice",
    "Leap",
    "Ranking",
    "Round",
    "Strategy",
    "cmaes",
    "default_population",
    "dxnesic",
    "rank",
    "scaled",
]


@dataclass(frozen=True)
class Strategy:
    """A core (a module with constants, start, draw, spread, update) and a treatment of integers."""

    core: Any
    treatment: Round


STRATEGIES = {
    "dx-nes-ici": Strategy(dxnesic, Leap(bias=True)),
    "dx-nes-ici+d": Strategy(scaled, Leap(bias=True)),
    "dx-nes-ic+leap": Strategy(dxnesic, Leap(bias=False)),
    "dx-nes-ic": Strategy(dxnesic, Round()),
    "cma-es-margin": Strategy(cmaes, Margin()),
    "cma-es": Strategy(cmaes, Round()),
    "cma-es+leap": Strategy(cmaes, Leap(bias=False)),
    "cma-es+leap+bias": Strategy(cmaes, Leap(bias=True)),
}


def default_population(N: int) -> int:
    """4 + floor(3 ln N), made even.

    >>> [default_population(N) for N in (1, 2, 20, 80)]
    [4, 6, 12, 18]
    """
    population = 4 + math.floor(3 * math.log(N))
    return population + population % 2
