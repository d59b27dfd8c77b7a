"""Round: integers are rounded for evaluation and nothing else is done about their plateaus."""

from __future__ import annotations

from typing import ClassVar

from .._typing import FloatArray
from ..space.lattice import Lattice
from .integers import IntegerState


class Round:
    """The simplest treatment of integers, and the base of the others."""

    equals_share: ClassVar[bool] = False  # whether equal candidates share their weights in CMA-ES

    def start(self, lattice: Lattice, alpha: float, m: FloatArray, sd: FloatArray) -> IntegerState:
        """What the treatment remembers from generation to generation: nothing."""
        return ()

    def plateaus(self, lattice: Lattice, state: IntegerState, m: FloatArray, x: FloatArray) -> FloatArray:
        """The plateau that each candidate lies on."""
        return lattice.plateau(x)

    def bias_step(self, state: IntegerState, m: FloatArray, step: FloatArray) -> FloatArray:
        """The step as it is."""
        return step

    def correct_mean(
        self, lattice: Lattice, alpha: float, state: IntegerState, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, IntegerState]:
        """The mean as it is."""
        return m, state
