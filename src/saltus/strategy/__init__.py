"""The science: a core that moves a Gaussian, times a way to treat integers.

| name | core | integers |
|---|---|---|
| `dx-nes-ici` | DX-NES-IC | Leap with bias: the paper's proposal |
| `dx-nes-ici+d` | DX-NES-IC with diagonal scaling | Leap with bias |
| `dx-nes-ic+leap` | DX-NES-IC | Leap |
| `dx-nes-ic` | DX-NES-IC | Round |
| `cr-fm-nes` | CR-FM-NES, for many variables | Round |
| `cr-fm-nes+leap` | CR-FM-NES | Leap |
| `cr-fm-nes+leap+bias` | CR-FM-NES | Leap with bias |
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
from . import cmaes, crfmnes, dxnesic, scaled
from .core import C, Core, GaussianState, P, S
from .gaussian import Embed, Gaussian, MovingGaussian, no_gaussian, with_categories
from .integers import Integers, Treatment
from .late import embed_cmaes, embed_crfmnes, embed_dxnesic, embed_scaled
from .leap import Leap
from .margin import Margin
from .ranking import Ranking, rank
from .rounding import Round

__all__ = [
    "STRATEGIES",
    "AnyStrategy",
    "Strategy",
    "cmaes",
    "crfmnes",
    "default_population",
    "dxnesic",
    "scaled",
]
__all__ += ["Gaussian", "GaussianState", "Integers", "Leap", "MovingGaussian", "Ranking", "Round"]
__all__ += ["integers_of", "no_gaussian", "no_integers", "rank", "with_categories"]


def default_population(N: int) -> int:
    """4 + floor(3 ln N), made even.

    >>> [default_population(N) for N in (1, 2, 20, 80)]
    [4, 6, 12, 18]
    """
    population = 4 + math.floor(3 * math.log(N))
    return population + population % 2


def integers_of(
    lattice: Lattice,
    n_continuous: int,
    population: int,
    margin: float | None,
    treatment: Treatment,
    n_categories: int = 0,
) -> Integers:
    """The integers of a run; without a margin alpha is the paper's 1 / (N population)."""
    N = n_continuous + lattice.size + n_categories
    alpha = 1 / (N * population) if margin is None else margin
    return Integers(n_continuous, lattice, alpha, treatment)


def no_integers(n: int) -> Integers:
    """The integers of a run over n continuous coordinates alone: there are none."""
    return Integers(n, Lattice([]), 0.5, Round())


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
    ) -> MovingGaussian:
        """The Gaussian N(m, I) of this strategy, before its first generation."""
        core, N = self.core, len(m)
        if not N:
            return no_gaussian(integers, population)
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


def _strategy(core: Core[C, S, P], embed: Embed[S, P], treatment: Treatment) -> AnyStrategy:
    """A strategy, of which all that is left to know is what any has."""
    return Strategy(core, embed, treatment)


STRATEGIES: dict[str, AnyStrategy] = {
    "dx-nes-ici": _strategy(dxnesic, embed_dxnesic, Leap(bias=True)),
    "dx-nes-ici+d": _strategy(scaled, embed_scaled, Leap(bias=True)),
    "dx-nes-ic+leap": _strategy(dxnesic, embed_dxnesic, Leap(bias=False)),
    "dx-nes-ic": _strategy(dxnesic, embed_dxnesic, Round()),
    "cr-fm-nes": _strategy(crfmnes, embed_crfmnes, Round()),
    "cr-fm-nes+leap": _strategy(crfmnes, embed_crfmnes, Leap(bias=False)),
    "cr-fm-nes+leap+bias": _strategy(crfmnes, embed_crfmnes, Leap(bias=True)),
    "cma-es-margin": _strategy(cmaes, embed_cmaes, Margin()),
    "cma-es": _strategy(cmaes, embed_cmaes, Round()),
    "cma-es+leap": _strategy(cmaes, embed_cmaes, Leap(bias=False)),
    "cma-es+leap+bias": _strategy(cmaes, embed_cmaes, Leap(bias=True)),
}
