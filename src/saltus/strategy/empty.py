"""A core without coordinates, for spaces of categories alone: there is nothing that a Gaussian could move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .integers import Integers, IntegerState
from .mirrored import Origins
from .ranking import Ranking

MIRRORED = False


class Constants(NamedTuple):
    """What it has to know."""

    population: int


class State(NamedTuple):
    """Nothing, in the form of a Gaussian."""

    m: FloatArray
    integer_state: IntegerState = ()
    sigma: float = 1.0

    @property
    def sd(self) -> FloatArray:
        """Of no coordinates."""
        return self.m

    @property
    def eigenvalues(self) -> FloatArray:
        """Of nothing that could become ill-conditioned."""
        return np.ones(1)

    @property
    def covariance(self) -> FloatArray:
        """Of no coordinates."""
        return np.zeros((0, 0))

    @property
    def age(self) -> int:
        """There is no eigenbasis to refresh."""
        return 0


class Population(NamedTuple):
    """Candidates without coordinates."""

    x: FloatArray

    @property
    def distances(self) -> FloatArray:
        """All are where the mean is."""
        return np.zeros(len(self.x))


def constants(N: int, population: int, *, exact: bool = False) -> Constants:
    """For such a population."""
    return Constants(population)


def start(c: Constants, m: FloatArray, integers: Integers) -> State:
    """Nothing."""
    return State(m)


def draw(c: Constants, rng: np.random.Generator) -> FloatArray:
    """As many rows as candidates, without anything in them."""
    return np.empty((c.population, 0))


def sample(c: Constants, s: State, z: FloatArray) -> Population:
    """The candidates."""
    return Population(z)


def update(c: Constants, s: State, population: Population, ranking: Ranking, integers: Integers) -> State:
    """Nothing has changed."""
    return s


def embed(s: State, x: FloatArray, origins: Origins) -> Population:
    """Points as a population."""
    return Population(x)
