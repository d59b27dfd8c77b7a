"""Leap and bias: the paper's own treatment of integers (Sections 4.2 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._typing import FloatArray
from ..space.lattice import Lattice
from .rounding import Round

# A mean keeps this distance from a threshold, relative to the range: nearer, the last digit would decide.
_CLOSEST = 16 * float(np.finfo(np.float64).eps)


@cache
def quantile(alpha: float) -> float:
    """The point that a standard normal variable exceeds with probability alpha."""
    return -float(ndtri(alpha))


def resolution(lattice: Lattice, m: FloatArray, ci: FloatArray) -> FloatArray:
    """Res_j: the number of thresholds in [m_j - CI_j, m_j + CI_j)."""
    count = lattice.plateau(m + ci)
    count -= lattice.plateau(m - ci)
    return count


class Boundary(NamedTuple):
    """Where the mean stands."""

    close: FloatArray  # l_close(m), the closest threshold
    settled: NDArray[np.bool_]  # Res <= 1: it is the only one


@dataclass(frozen=True)
class Leap(Round):
    """Keep the Gaussian on a boundary of two plateaus; leap to the next when it would be trapped.

    With `bias`, the mean moves twice as far along coordinates on one boundary when it moves away from
    that boundary, towards the centre of the better plateau.
    """

    bias: bool = True

    def start(self, lattice: Lattice, alpha: float, m: FloatArray, sd: FloatArray) -> Boundary:
        """The boundary that the first mean stands on."""
        return Boundary(lattice.close(m), resolution(lattice, m, quantile(alpha) * sd) <= 1.0)

    def biased(self, memory: Boundary, m: FloatArray, step: FloatArray) -> FloatArray:
        """Lines 14-19 of Algorithm 1: eta_m is 2 where the step leads away from the only threshold."""
        if not self.bias:
            return step
        away = (step < 0.0) == (m < memory.close)  # l. 16
        away &= memory.settled
        return np.add(step, step, out=step, where=away)  # l. 14, l. 17: eta_m = 2 there, 1 elsewhere

    def corrected(
        self, lattice: Lattice, alpha: float, memory: Boundary, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, Boundary]:
        """Lines 26-36 of Algorithm 1: leap, or correct the mean on an outer plateau."""
        ci = quantile(alpha) * sd
        thresholds = resolution(lattice, m, ci)
        trapped = thresholds == 0.0  # l. 27
        if np.count_nonzero(trapped):
            plateau = lattice.plateau(m)
            back = m <= memory.close  # l. 30
            back |= plateau == lattice.last  # l. 28: the topmost plateau has a threshold below only,
            back &= plateau > 0.0  # the lowest one above only
            threshold = lattice.threshold(plateau - back)
            reach = np.maximum(ci, _CLOSEST * lattice.largest)
            leapt = threshold + np.where(back, reach, -reach)  # l. 29, l. 31, l. 33
            m = np.where(trapped, leapt, m)
        return m, Boundary(lattice.close(m), thresholds <= 1.0)
