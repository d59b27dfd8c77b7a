"""Round: integers are rounded for evaluation and nothing else is done about their plateaus."""

from __future__ import annotations

from typing import Any, ClassVar

from .._typing import FloatArray
from ..space.lattice import Lattice


class Round:
    """The simplest treatment of integers, and the base of the others.

    A treatment sees the integer coordinates alone: their mean m and the standard deviations sd of the
    Gaussian along them. What it wants to know again at the next generation is its memory.
    """

    equals_share: ClassVar[bool] = False  # whether equal candidates share their weights in CMA-ES

    def start(self, lattice: Lattice, alpha: float, m: FloatArray, sd: FloatArray) -> Any:
        """The memory at the first generation: nothing, an array or a named tuple of arrays."""
        return None

    def plateaus(self, lattice: Lattice, memory: Any, m: FloatArray, x: FloatArray) -> FloatArray:
        """The plateau of each candidate, one row a candidate."""
        return lattice.plateau(x)

    def biased(self, memory: Any, m: FloatArray, step: FloatArray) -> FloatArray:
        """The step of the mean, possibly lengthened along some coordinates."""
        return step

    def corrected(
        self, lattice: Lattice, alpha: float, memory: Any, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, Any]:
        """The mean after an update of the Gaussian, and the memory for the next one."""
        return m, memory
