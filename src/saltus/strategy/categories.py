"""Categories beside a Gaussian: a probability for each value of each, moved by its natural gradient.

Pure functions, as those of a core; docs/categories.md derives them. Rows of the arrays are categories,
columns are values, and zeros stand where a category has fewer values than another. A generation is ranked
once: the Gaussian and the categories learn from the same ranking.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, Mask
from .ranking import Ranking

RATE = 0.5  # of the way to the probabilities that the better candidates suggest
MARGIN = 0.25  # of the candidates have some category with another value than its likeliest, at least


class Constants(NamedTuple):
    """What depends on the categories and the population alone."""

    population: int
    exists: Mask  # a row for each category, a column for each value
    least: FloatArray  # the probability that each value keeps
    weights: FloatArray  # by rank; their sum is 1


class State(NamedTuple):
    """The probability of each value."""

    p: FloatArray

    @property
    def mode(self) -> FloatArray:
        """The likeliest value of each category."""
        return np.asarray(self.p.argmax(axis=1), dtype=np.float64)

    @property
    def doubt(self) -> FloatArray:
        """How likely each category is to have another value than that."""
        return np.asarray(1.0 - self.p.max(axis=1))


def constants(sizes: tuple[int, ...], population: int, margin: float | None = None) -> Constants:
    """For categories with so many values each, of which all but the likeliest share at least the margin."""
    margin = MARGIN / len(sizes) if margin is None else margin
    count = np.array(sizes)[:, None]
    exists = np.arange(max(sizes)) < count
    w = np.maximum(0.0, math.log(population / 2 + 1) - np.log(np.arange(1, population + 1)))
    # with few values, all of them alike may be less than that
    least = np.where(exists, np.minimum(margin / (count - 1), 1 / count), 0.0)
    return Constants(population, exists, least, w / w.sum())


def start(c: Constants, about: FloatArray | None = None, share: float = 0.0) -> State:
    """All values alike; or around these ones, from which each category differs with this probability."""
    count = c.exists.sum(axis=1, keepdims=True)
    if about is None:
        return State(c.exists / count)
    p = np.where(c.exists, share / (count - 1), 0.0)
    p[np.arange(len(p)), about.astype(np.intp)] = 1.0 - share
    return State(kept(c, p))


def draw(c: Constants, rng: np.random.Generator) -> FloatArray:
    """All that is random about a generation: numbers from 0 to 1, of each category one in each stratum."""
    shape = c.population, len(c.exists)
    strata = np.argsort(rng.random(shape), axis=0)
    return np.asarray((strata + rng.random(shape)) / c.population)


def sample(c: Constants, s: State, u: FloatArray) -> FloatArray:
    """The values that such numbers stand for, one row for each candidate."""
    values = (u[:, :, None] >= np.cumsum(s.p, axis=1)).sum(axis=2)
    return np.asarray(np.minimum(values, c.exists.sum(axis=1) - 1), dtype=np.float64)


def update(c: Constants, s: State, values: FloatArray, ranking: Ranking, drawn: bool) -> State:
    """The probabilities after a ranked generation.

    Args:
        c: for as many candidates as there are.
        s: the probabilities before.
        values: of each candidate, one row each.
        ranking: of the candidates; equal ones share their weights.
        drawn: whether they were drawn from these very probabilities. Then their shares in the generation
            stand for those: the same on average, with less noise.
    """
    w = ranking.weighted(c.weights, equals_share=True)
    chosen = values[:, :, None] == np.arange(c.exists.shape[1])
    gradient = np.tensordot(w, chosen, axes=1) - (chosen.mean(axis=0) if drawn else s.p)
    return State(kept(c, s.p + RATE * gradient))


def kept(c: Constants, p: FloatArray) -> FloatArray:
    """Probabilities of which none is below the least; what is above it pays in proportion."""
    above = np.maximum(p - c.least, 0.0)
    total = above.sum(axis=1, keepdims=True)
    left = 1.0 - c.least.sum(axis=1, keepdims=True)
    # where nothing is above, all values are alike
    return np.asarray(c.least + above * left / np.where(total > 0.0, total, 1.0))
