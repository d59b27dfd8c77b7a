"""The science: a core that moves a Gaussian, times a way to treat integers.

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

Read `dxnesic.py` first, beside the paper's Algorithm 1, then `leap.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Protocol

from .._typing import FloatArray
from ..space.lattice import Lattice
from . import cmaes, dxnesic, scaled
from .core import C, Core, GaussianState, P, S
from .gaussian import Embed, Gaussian, MovingGaussian
from .integers import Integers, Treatment
from .late import embed_cmaes, embed_dxnesic, embed_scaled
from .leap import Leap
from .margin import Margin
from .ranking import Ranking, rank
from .rounding import Round

__all__ = [
    "STRATEGIES",
    "AnyStrategy",
    "Gaussian",
    "GaussianState",
    "Integers",
    "Leap",
    "MovingGaussian",
    "Ranking",
    "Round",
    "Strategy",
    "cmaes",
    "default_population",
    "dxnesic",
    "integers_of",
    "rank",
    "scaled",
]


def default_population(N: int) -> int:
    """4 + floor(3 ln N), made even.

    >>> [default_population(N) for N in (1, 2, 20, 80)]
    [4, 6, 12, 18]
    """
    population = 4 + math.floor(3 * math.log(N))
    return population + population % 2


def integers_of(
    lattice: Lattice, n_continuous: int, population: int, margin: float | None, treatment: Treatment
) -> Integers:
    """The integers of a run; without a margin alpha is the paper's 1 / (N population)."""
    alpha = 1 / ((n_continuous + lattice.size) * population) if margin is None else margin
    return Integers(n_continuous, lattice, alpha, treatment)


@dataclass(frozen=True)
class Strategy(Generic[C, S, P]):
    """A core, how it learns from points that it did not draw, and a treatment of integers."""

    core: Core[C, S, P]
    embed: Embed[S, P]
    treatment: Treatment

    @property
    def mirrored(self) -> bool:
        """Whether candidates come in pairs: the population must be even."""
        return self.core.MIRRORED

    def gaussian(
        self, integers: Integers, m: FloatArray, population: int, *, exact: bool = False
    ) -> Gaussian[C, S, P]:
        """The Gaussian N(m, I) of this strategy, before its first generation."""
        core, N = self.core, len(m)
        return Gaussian(
            core,
            self.embed,
            integers,
            population,
            lambda size: core.constants(N, size, exact=exact),
            lambda c: core.start(c, m, integers),
        )


class AnyStrategy(Protocol):
    """A `Strategy` of whichever core."""

    @property
    def treatment(self) -> Treatment:
        """What is done about plateaus."""

    @property
    def mirrored(self) -> bool:
        """Whether the population must be even."""

    def gaussian(
        self, integers: Integers, m: FloatArray, population: int, *, exact: bool = False
    ) -> MovingGaussian:
        """The first Gaussian."""


_BIASED, _LEAP, _ROUND = Leap(bias=True), Leap(bias=False), Round()

_DX_NES_ICI = Strategy(dxnesic, embed_dxnesic, _BIASED)
_DX_NES_ICI_D = Strategy(scaled, embed_scaled, _BIASED)
_DX_NES_IC_LEAP = Strategy(dxnesic, embed_dxnesic, _LEAP)
_DX_NES_IC = Strategy(dxnesic, embed_dxnesic, _ROUND)
_CMA_ES_MARGIN = Strategy(cmaes, embed_cmaes, Margin())
_CMA_ES = Strategy(cmaes, embed_cmaes, _ROUND)
_CMA_ES_LEAP = Strategy(cmaes, embed_cmaes, _LEAP)
_CMA_ES_LEAP_BIAS = Strategy(cmaes, embed_cmaes, _BIASED)

STRATEGIES: dict[str, AnyStrategy] = {
    "dx-nes-ici": _DX_NES_ICI,
    "dx-nes-ici+d": _DX_NES_ICI_D,
    "dx-nes-ic+leap": _DX_NES_IC_LEAP,
    "dx-nes-ic": _DX_NES_IC,
    "cma-es-margin": _CMA_ES_MARGIN,
    "cma-es": _CMA_ES,
    "cma-es+leap": _CMA_ES_LEAP,
    "cma-es+leap+bias": _CMA_ES_LEAP_BIAS,
}
