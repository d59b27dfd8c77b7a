"""A generation of mirrored pairs, and of points besides that its Gaussian did not draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .linalg import row_norms2


class Origins(NamedTuple):
    """Where the rows of a matrix of points come from.

    First one side of `pairs` mirrored pairs, then their other side, then points without a mirror image: `own`
    of the present Gaussian, then of older ones, and last `foreign` that somebody else has chosen.
    """

    pairs: int
    own: int
    foreign: int


@dataclass(slots=True)
class Mirrored:
    """A generation: z of pairs, then of lone points, the same through the shape (y), and all points x.

    The other side of a pair is its mirror image: x has both, z and y have one. A generation that was drawn
    is made of pairs alone (`Origins.pairs` of them); others come from `late.py`.
    """

    z: FloatArray
    y: FloatArray
    x: FloatArray
    origins: Origins

    @property
    def distances(self) -> FloatArray:
        """||z|| of every candidate."""
        return self.of_each(np.sqrt(row_norms2(self.z)))

    def of_each(self, of_z: FloatArray) -> FloatArray:
        """For every candidate what is known of its z."""
        pairs = self.origins.pairs
        return np.concatenate((of_z[:pairs], of_z))

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
        """Whether the z are linearly independent, unless there are more than N of them.

        With lone points both of a pair may be there under different names.
        """
        return self.origins.pairs == len(self.z)
