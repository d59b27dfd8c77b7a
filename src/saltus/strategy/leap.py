"""Leap and bias: the paper's own treatment of integers (Sections 4.2 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from ..space.lattice import Lattice
from .integers import IntegerState, quantile
from .rounding import Round

# A mean keeps this distance from a threshold, relative to the range: nearer, the last digit would decide.
_CLOSEST = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Leap(Round):
    """Keep the Gaussian on a boundary of two plateaus; leap to the next when it would be trapped.

    With `bias`, the mean moves twice as far along coordinates on one boundary when it moves away from
    that boundary, towards the centre of the better plateau. What it remembers is l_close(m), the closest
    threshold, and Res, the number of thresholds that the Gaussian lay on before it leapt.
    """

    bias: bool = True

    def start(self, lattice: Lattice, alpha: float, m: FloatArray, sd: FloatArray) -> IntegerState:
        """The boundary that the first mean stands on."""
        ci = quantile(alpha) * sd
        return lattice.close(m), lattice.resolution(m, ci)

    def bias_step(self, state: IntegerState, m: FloatArray, step: FloatArray) -> FloatArray:
        """Lines 14-19 of Algorithm 1: eta_m is 2 where the step leads away from the only threshold."""
        if not self.bias:
            return step
        close, res = state
        away = (step < 0.0) == (m < close)  # l. 16
        away &= res <= 1.0
        return np.add(step, step, out=step, where=away)  # l. 14, l. 17: eta_m = 2 there, 1 elsewhere

    def correct_mean(
        self, lattice: Lattice, alpha: float, state: IntegerState, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, IntegerState]:
        """Lines 26-36 of Algorithm 1: leap, or correct the mean on an outer plateau."""
        ci = quantile(alpha) * sd
        res = lattice.resolution(m, ci)
        trapped = res == 0.0  # l. 27
        if np.count_nonzero(trapped):
            plateau = lattice.plateau(m)
            back = m <= state[0]  # l. 30
            back |= plateau == lattice.last  # l. 28: the topmost plateau has a threshold below only,
            back &= plateau > 0.0  # the lowest one above only
            threshold = lattice.threshold(plateau - back)
            reach = np.maximum(ci, _CLOSEST * lattice.largest)
            leapt = threshold + np.where(back, reach, -reach)  # l. 29, l. 31, l. 33
            m = np.where(trapped, leapt, m)
        return m, (lattice.close(m), res)
