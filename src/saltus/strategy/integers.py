"""What a core sees of the integers: the lattice, the margin and the treatment, as one object.

Coordinates are ordered as in the paper: the continuous ones first, the integers last. A treatment says what
is done about plateaus: it is one class, in a file of its own (`rounding.py`, `leap.py`, `margin.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from .._typing import FloatArray
from ..space.lattice import Lattice

LARGEST_SHARE = 0.3  # of its range: the widest standard deviation of an integer, where a core bounds it

IntegerState = tuple[FloatArray, ...]  # what a treatment remembers, an array for each kind of thing


@cache
def quantile(alpha: float) -> float:
    """The point that a standard normal variable exceeds with probability alpha."""
    from scipy.special import ndtri

    return -float(ndtri(alpha))


class Treatment(Protocol):
    """A way to treat integers. It sees the integer coordinates alone: their mean m, their deviations sd.

    alpha is the least probability that a neighbouring plateau should keep.
    """

    @property
    def equals_share(self) -> bool:
        """Whether equal candidates share their weights in CMA-ES."""

    def start(self, lattice: Lattice, alpha: float, m: FloatArray, sd: FloatArray) -> IntegerState:
        """What it remembers at the first generation; () if nothing."""

    def plateaus(self, lattice: Lattice, state: IntegerState, m: FloatArray, x: FloatArray) -> FloatArray:
        """Encoding_f: the plateau that each candidate is evaluated on, one row a candidate."""

    def bias_step(self, state: IntegerState, m: FloatArray, step: FloatArray) -> FloatArray:
        """The step of the mean, possibly lengthened along some coordinates."""

    def correct_mean(
        self, lattice: Lattice, alpha: float, state: IntegerState, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, IntegerState]:
        """The mean after an update of the Gaussian, and what to remember for the next one."""


@dataclass(frozen=True, slots=True)
class Integers:
    """The integer coordinates `n_continuous`, `n_continuous + 1`, ... and how they are treated."""

    n_continuous: int  # N_co
    lattice: Lattice
    alpha: float
    treatment: Treatment

    @property
    def equals_share(self) -> bool:
        """Whether equal candidates share their weights in CMA-ES."""
        return self.treatment.equals_share and self.lattice.size > 0

    def start(self, m: FloatArray, sd: FloatArray) -> IntegerState:
        """What the treatment remembers at the first generation."""
        if not self.lattice.size:
            return ()
        i = self.n_continuous
        return self.treatment.start(self.lattice, self.alpha, m[i:], sd[i:])

    def plateaus(self, state: IntegerState, m: FloatArray, x: FloatArray) -> FloatArray:
        """Encoding_f of the integer coordinates: the plateau of each candidate."""
        i = self.n_continuous
        if not self.lattice.size:
            return x[:, i:]
        return self.treatment.plateaus(self.lattice, state, m[i:], x[:, i:])

    def resolution(self, m: FloatArray, sd: FloatArray) -> FloatArray:
        """How many thresholds the Gaussian lies on, along each integer coordinate."""
        i = self.n_continuous
        return self.lattice.resolution(m[i:], quantile(self.alpha) * sd[i:])

    def within(self, sd: FloatArray) -> FloatArray:
        """What to multiply sd with, so that no integer's exceeds `LARGEST_SHARE` of its range."""
        factors = np.ones(len(sd))
        if self.lattice.size:
            i = self.n_continuous
            widest = LARGEST_SHARE * (self.lattice.high - self.lattice.low)
            factors[i:] = np.minimum(1.0, widest / sd[i:])
        return factors

    def overshoot(self, x: FloatArray) -> FloatArray:
        """How far each candidate lies beyond the ends of its integers' ranges, added up."""
        x = x[:, self.n_continuous :]
        inside = np.minimum(np.maximum(x, self.lattice.low), self.lattice.high)
        return np.asarray(np.abs(x - inside).sum(axis=1))

    def bias_step(self, state: IntegerState, m: FloatArray, step: FloatArray) -> FloatArray:
        """The step of the mean, lengthened where the treatment says so."""
        if self.lattice.size:
            i = self.n_continuous
            step[i:] = self.treatment.bias_step(state, m[i:], step[i:])
        return step

    def correct_mean(
        self, state: IntegerState, m: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, IntegerState]:
        """The mean after an update, and what the treatment remembers for the next one."""
        if self.lattice.size:
            i = self.n_continuous
            m[i:], state = self.treatment.correct_mean(self.lattice, self.alpha, state, m[i:], sd[i:])
        return m, state
