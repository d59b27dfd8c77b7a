"""How a core learns from points that it did not draw: of an older Gaussian, or of nobody's.

Evaluations that come late, and points that somebody else has chosen, are taken as if the present Gaussian had
drawn them, at the place where they lie now, but no farther out than a rare draw would be. `embed_dxnesic`,
`embed_scaled`, `embed_crfmnes` and `embed_cmaes` make a population of such points for each core; its `update`
then does what it always does.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from .._typing import FloatArray
from . import cmaes, crfmnes, dxnesic, scaled
from .integers import Integers
from .linalg import row_norms2
from .mirrored import Mirrored, Origins

_TINY = 1e-300  # a plateau less probable than this is as good as out of reach


def clip_factors(z: FloatArray) -> FloatArray:
    """What to multiply each row with, so that its length is at most that of a rare draw from N(0, I).

    The limit is that of Hansen's "Injecting external solutions into CMA-ES" (2011).
    """
    N = z.shape[1]
    longest = math.sqrt(N) + 2 * N / (N + 2)
    lengths = np.sqrt(np.maximum(row_norms2(z), 1.0))
    return np.asarray(np.minimum(1.0, longest / lengths))[:, None]


class _Axes(Protocol):
    @property
    def V(self) -> FloatArray: ...
    @property
    def W(self) -> FloatArray: ...


def embed_dxnesic(s: dxnesic.State, x: FloatArray, origins: Origins) -> dxnesic.Population:
    """Points as a population of DX-NES-IC's present Gaussian."""
    return _mirrored(s, (x - s.m) / s.sigma, x, origins)


def embed_scaled(s: scaled.State, x: FloatArray, origins: Origins) -> dxnesic.Population:
    """Points as a population of the present Gaussian with diagonal scaling."""
    return _mirrored(s, (x - s.m) / (s.sigma * s.D), x, origins)


def embed_crfmnes(s: crfmnes.State, x: FloatArray, origins: Origins) -> Mirrored:
    """Points as a population of CR-FM-NES' present Gaussian."""
    y = _one_side((x - s.m) / (s.sigma * s.D), origins)
    z = crfmnes.shaped(s.v, y, -0.5)
    clip = clip_factors(z)
    return Mirrored(z * clip, y * clip, x, origins)


def _one_side(y: FloatArray, origins: Origins) -> FloatArray:
    """What a pair says is in the difference of its sides; where its middle lies is left out."""
    k = origins.pairs
    return np.concatenate(((y[:k] - y[k : 2 * k]) / 2, y[2 * k :]))


def _mirrored(s: _Axes, y: FloatArray, x: FloatArray, origins: Origins) -> dxnesic.Population:
    y = _one_side(y, origins)
    along_axes = y @ s.V
    z = np.asarray(np.linalg.solve(s.W, along_axes.T).T, dtype=np.float64)
    clip = clip_factors(z)
    return dxnesic.Population(z * clip, y * clip, x, origins, along_axes * clip)


def embed_cmaes(s: cmaes.State, x: FloatArray, origins: Origins) -> cmaes.Population:
    """Points as a population of CMA-ES' present Gaussian: it knows no pairs."""
    y = (x - s.m) / s.sigma
    z = y @ s.V / np.sqrt(s.axes)
    clip = clip_factors(z)
    return cmaes.Population(z * clip, y * clip, x)


def sample_missing_integers(
    integers: Integers,
    x: FloatArray,
    plateaus: FloatArray,
    m: FloatArray,
    sd: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Points whose unknown integer coordinates (NaN) are drawn from N(m, sd^2), each within its plateau.

    A point that somebody else has chosen has a value there and no coordinate.
    """
    from scipy.special import ndtr, ndtri

    i = integers.n_continuous
    unknown = np.isnan(x[:, i:])
    if not unknown.any():
        return x
    m, sd = m[i:], sd[i:]
    low, high = integers.lattice.ends_of(plateaus)
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
