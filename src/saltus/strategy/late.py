"""How a core learns from points that it did not draw: of an older Gaussian, or of nobody's.

Evaluations that come late, and points that somebody else has chosen, are taken as if the present Gaussian had
drawn them, at the place where they lie now, but no farther out than a rare draw would be. `embed_dxnesic`,
`embed_scaled` and `embed_cmaes` make a population of such points for each core; its `update` then does what
it always does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .._typing import FloatArray
from . import cmaes, dxnesic, scaled
from .integers import Integers
from .linalg import row_norms2

_TINY = 1e-300  # a plateau less probable than this is as good as out of reach


class Origins(NamedTuple):
    """Where the rows of a matrix of points come from.

    First one side of `pairs` mirrored pairs, then their other side, then points without a mirror image: `own`
    of the present Gaussian, then of older ones, and last `foreign` that somebody else has chosen.
    """

    pairs: int
    own: int
    foreign: int


@dataclass(slots=True)
class LatePopulation(dxnesic.Population):
    """A population in which some points are late or foreign: z is of pairs, then of lone points."""

    origins: Origins

    def of_each(self, of_z: FloatArray) -> FloatArray:
        """For every candidate what is known of its z."""
        pairs = self.origins.pairs
        return np.concatenate((of_z[:pairs], of_z[:pairs], of_z[pairs:]))

    def moments(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights of z in sums over z and over z z^T, from the weights of all candidates.

        Weights have the sum 0, as the mean of z is 0. That of z from elsewhere is not, so they count in full;
        but where most are of older Gaussians, that would hold the mean back where those were.
        """
        k, own, foreign = self.origins
        up, down, lone = w[:k], w[k : 2 * k], w[2 * k :]
        if not len(lone):
            return up - down, up + down
        first = lone.copy()
        drawn = len(lone) - foreign
        late = slice(own if 2 * own >= drawn else drawn, None)
        first[late] += 1.0 / len(w)
        if not k:
            return first, lone
        pair = up + down
        return np.concatenate((up - down, first)), np.concatenate((pair - pair.mean(), np.zeros(len(lone))))

    def path_step(self, first: FloatArray) -> FloatArray:
        """The sum over z for the evolution path: where there are pairs, lone points say nothing about it."""
        told = self.origins.pairs or len(self.z)
        return np.asarray(first[:told] @ self.z[:told])

    @property
    def independent(self) -> bool:
        """With lone points both of a pair may be there under different names."""
        return self.origins.pairs == len(self.z)


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


def embed_dxnesic(s: dxnesic.State, x: FloatArray, origins: Origins) -> LatePopulation:
    """Points as a population of DX-NES-IC's present Gaussian."""
    return _mirrored(s, (x - s.m) / s.sigma, x, origins)


def embed_scaled(s: scaled.State, x: FloatArray, origins: Origins) -> LatePopulation:
    """Points as a population of the present Gaussian with diagonal scaling."""
    return _mirrored(s, (x - s.m) / (s.sigma * s.D), x, origins)


def _mirrored(s: _Axes, y: FloatArray, x: FloatArray, origins: Origins) -> LatePopulation:
    """What a pair says is in the difference of its sides; where its middle lies is left out."""
    k = origins.pairs
    y = np.concatenate(((y[:k] - y[k : 2 * k]) / 2, y[2 * k :]))
    along_axes = y @ s.V
    z = np.asarray(np.linalg.solve(s.W, along_axes.T).T, dtype=np.float64)
    clip = clip_factors(z)
    return LatePopulation(z * clip, along_axes * clip, y * clip, x, origins)


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
