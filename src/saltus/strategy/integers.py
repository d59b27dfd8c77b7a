"""What a core sees of the integers: the lattice, the margin and the treatment, as one object.

Coordinates are ordered as in the paper: the continuous ones first, the integers last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from .._typing import FloatArray
from ..space.lattice import Lattice
from .leap import quantile, resolution
from .rounding import Round

_TINY = 1e-300  # a plateau less probable than this is as good as out of reach


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

    def imagined(
        self, x: FloatArray, plateaus: FloatArray, m: FloatArray, sd: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Points with the integer coordinates that are not known (NaN) drawn from the Gaussian, each within
        its plateau: a point that someone else has chosen has a value there and no coordinate.
        """
        i = self.first
        unknown = np.isnan(x[:, i:])
        if not unknown.any():
            return x
        lattice, m, sd = self.lattice, m[i:], sd[i:]
        low = np.where(plateaus > 0, lattice.threshold(np.maximum(plateaus - 1.0, 0.0)), -np.inf)
        high = np.where(
            plateaus < lattice.last, lattice.threshold(np.minimum(plateaus, lattice.last - 1.0)), np.inf
        )
        a, b = (low - m) / sd, (high - m) / sd
        above = a > 0  # mirrored into the lower tail, where probabilities near 0 have all their digits
        a, b = np.where(above, -b, a), np.where(above, -a, b)
        p, q = ndtr(a), ndtr(b)
        z = ndtri(p + rng.random(a.shape) * (q - p))
        z = np.clip(np.where(q - p > _TINY, z, np.where(b < 0, b, a)), a, b)
        # a point exactly on the lower threshold would belong to the plateau below
        drawn = np.clip(m + sd * np.where(above, -z, z), np.nextafter(low, np.inf), high)
        x = x.copy()
        x[:, i:] = np.where(unknown, drawn, x[:, i:])
        return x

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
