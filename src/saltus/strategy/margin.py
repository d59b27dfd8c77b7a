"""Margin: CMA-ES with Margin's treatment of integers (the paper's baseline, Section 3.1)."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..space.lattice import Lattice
from .integers import IntegerState, quantile
from .rounding import Round

_SMALLEST_SD = 1e-100  # a run that goes on long after it has converged must not magnify to infinity


class Margin(Round):
    """Magnify the evaluated spread so that each neighbouring plateau keeps a probability of alpha / 2.

    The Gaussian is updated on the points before magnification. On an outer plateau, where there is one
    neighbour only, the mean is moved instead until that neighbour has probability alpha.

    Equal candidates share their weights, as in the code that the authors of CMA-ES with Margin published: a
    trapped run, whose values are all equal in the end, shrinks and stops instead of drifting until its budget
    is spent. Without it the paper's figures do not come out (docs/results.md).
    """

    equals_share = True

    def start(self, lattice: Lattice, alpha: float, m: FloatArray, sd: FloatArray) -> IntegerState:
        """What it remembers is the magnification A of each coordinate."""
        return (np.ones(lattice.size),)

    def plateaus(self, lattice: Lattice, state: IntegerState, m: FloatArray, x: FloatArray) -> FloatArray:
        """The plateau of each candidate after magnification."""
        return lattice.plateau(m + state[0] * (x - m))

    def correct_mean(
        self, lattice: Lattice, alpha: float, state: IntegerState, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, IntegerState]:
        """The mean and the magnification that keep both margins."""
        from scipy.special import ndtr

        (A,) = state
        sd = np.maximum(sd, _SMALLEST_SD)
        spread = A * sd
        plateau = lattice.plateau(m)
        low = lattice.threshold(np.maximum(plateau - 1.0, 0.0))
        up = lattice.threshold(np.minimum(plateau, lattice.last - 1.0))
        outer = low == up  # only one threshold around
        p_low, p_up = ndtr((low - m) / spread), ndtr((m - up) / spread)

        # outer plateau: at most this far from the threshold
        reach = quantile(alpha) * spread
        held = np.where(plateau == 0.0, np.maximum(m, up - reach), np.minimum(m, low + reach))

        # inner plateau: raise both margins to alpha / 2, take the difference from what exceeds it
        raised_low, raised_up = np.maximum(p_low, alpha / 2), np.maximum(p_up, alpha / 2)
        total = 1.0 + (raised_low - p_low) + (raised_up - p_up)
        share = (1.0 - total) / (total - 1.5 * alpha)
        c_low = _distance(raised_low + share * (raised_low - alpha / 2))
        c_up = _distance(raised_up + share * (raised_up - alpha / 2))
        width = c_low + c_up
        balanced = (low * c_up + up * c_low) / width
        return np.where(outer, held, balanced), (np.where(outer, A, (up - low) / (width * sd)),)


def _distance(tail: FloatArray) -> FloatArray:
    """Standard deviations from the mean at which a normal tail has this probability."""
    from scipy.special import ndtri

    return np.asarray(-ndtri(np.minimum(np.maximum(tail, 1e-10), 0.5 - 1e-10)))
