"""What a core sees of the integers: the lattice, the margin and the treatment, as one object.

Coordinates are ordered as in the paper: the continuous ones first, the integers last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .lattice import FloatArray, Lattice
from .leap import quantile, resolution
from .rounding import Round


@dataclass(frozen=True, slots=True)
class Integers:
    """The integer coordinates `first`, `first + 1`, ... and how they are treated."""

    first: int  # N_co
    lattice: Lattice
    alpha: float
    treatment: Round

    @property
    def equals_share(self) -> bool:
        """Whether equal candidates share their weights in CMA-ES."""
        return self.treatment.equals_share and self.lattice.size > 0

    def start(self, m: FloatArray, sd: FloatArray) -> Any:
        """What the treatment remembers at the first generation."""
        if not self.lattice.size:
            return None
        i = self.first
        return self.treatment.start(self.lattice, self.alpha, m[i:], sd[i:])

    def plateaus(self, memory: Any, m: FloatArray, x: FloatArray) -> FloatArray:
        """Encoding_f of the integer coordinates: the plateau of each candidate."""
        i = self.first
        if not self.lattice.size:
            return x[:, i:]
        return self.treatment.plateaus(self.lattice, memory, m[i:], x[:, i:])

    def resolution(self, m: FloatArray, sd: FloatArray) -> FloatArray:
        """How many thresholds the Gaussian lies on, along each integer coordinate."""
        i = self.first
        return resolution(self.lattice, m[i:], quantile(self.alpha) * sd[i:])

    def overshoot(self, x: FloatArray) -> FloatArray:
        """How far each candidate lies beyond the ends of its integers' ranges, added up."""
        x = x[:, self.first :]
        inside = np.minimum(np.maximum(x, self.lattice.low), self.lattice.high)
        return np.asarray(np.abs(x - inside).sum(axis=1))

    def biased(self, memory: Any, m: FloatArray, step: FloatArray) -> FloatArray:
        """The step of the mean, lengthened where the treatment says so."""
        if self.lattice.size:
            i = self.first
            step[i:] = self.treatment.biased(memory, m[i:], step[i:])
        return step

    def corrected(self, memory: Any, m: FloatArray, sd: FloatArray) -> tuple[FloatArray, Any]:
        """The mean after an update, and what the treatment remembers for the next one."""
        if self.lattice.size:
            i = self.first
            m[i:], memory = self.treatment.corrected(self.lattice, self.alpha, memory, m[i:], sd[i:])
        return m, memory
