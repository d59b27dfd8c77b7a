"""What a core is: it moves a Gaussian over the relaxed space, one ranked generation after the other.

A core is a module of pure functions (`dxnesic`, `scaled`, `crfmnes`, `cmaes`): constants that depend on the
dimension and the population alone, a frozen state, and the four steps of a generation. `Core` is their
protocol; it knows no space, no objective and no search. `Gaussian` (gaussian.py) holds a core, its constants
and its state as one object.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from .._typing import FloatArray
from .integers import Integers, IntegerState
from .ranking import Ranking


class Population(Protocol):
    """A generation: its points, one row each, and whatever the core remembers of how they were made."""

    @property
    def x(self) -> FloatArray:
        """The points in the coordinates of the strategy, integers not rounded."""

    @property
    def distances(self) -> FloatArray:
        """||z|| of every point: how far it is from the mean, in standard deviations."""


class GaussianState(Protocol):
    """What every core knows about its Gaussian; its own fields come besides."""

    @property
    def m(self) -> FloatArray:
        """The mean, in the internal coordinates: continuous ones first, integers last."""

    @property
    def sd(self) -> FloatArray:
        """The standard deviation along each coordinate."""

    @property
    def sigma(self) -> float:
        """The step size: the covariance is sigma^2 times a matrix with these `eigenvalues`."""

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of the covariance without sigma^2, as of the last refresh of the eigenbasis."""

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix of the Gaussian, sigma^2 included, in the internal coordinates."""

    @property
    def age(self) -> int:
        """Generations since that refresh."""

    @property
    def integer_state(self) -> IntegerState:
        """What the treatment of integers wants to know again at the next generation."""


C = TypeVar("C")
S = TypeVar("S", bound=GaussianState)
P = TypeVar("P", bound=Population)


class Core(Protocol[C, S, P]):
    """The functions of a core. C are its constants, S its state, P its population."""

    @property
    def MIRRORED(self) -> bool:
        """Whether candidates come in pairs m + y, m - y: the population is even then."""

    def constants(self, N: int, population: int, *, exact: bool = False) -> C:
        """What depends on the dimension and the population alone; `exact` refreshes the eigenbasis always."""

    def start(self, c: C, m: FloatArray, integers: Integers, /) -> S:
        """The first Gaussian, N(m, I)."""

    def draw(self, c: C, rng: np.random.Generator, /) -> FloatArray:
        """All that is random about a generation: z, one row for each candidate, or for each pair of them."""

    def sample(self, c: C, s: S, z: FloatArray, /) -> P:
        """The generation that z makes; z with a single row makes one more candidate, or one more pair."""

    def update(self, c: C, s: S, population: P, ranking: Ranking, integers: Integers, /) -> S:
        """The Gaussian after a ranked generation."""
