"""CMA-ES with active covariance update: the second core, and with Margin the paper's baseline.

Default parameters as in Hansen's tutorial (arXiv:1604.00772); tags such as `eq. 47` are its equations.
The Gaussian is N(m, sigma^2 C). With C = V diag(axes) V^T, every candidate is m + sigma V sqrt(axes) z, so
what the tutorial writes with C^(-1/2) is a product with V here. V is refreshed when C has changed
enough, about every N/lambda generations (`exact=True`: every one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .integers import Integers, IntegerState
from .linalg import eigh, row_norms2
from .ranking import Ranking

MIRRORED = False
_TINY = 1e-8
_LEAST = 1e-14  # eigenvalue of a first matrix, relative to the largest


@dataclass(frozen=True, slots=True)
class Constants:
    """What depends on the dimension and the population alone."""

    N: int
    population: int
    weights: FloatArray
    weights_sum: float
    mu_eff: float
    c_1: float
    c_mu: float
    c_c: float
    c_sigma: float
    d_sigma: float
    epsilon: float  # E||N(0, I)||
    refresh: int  # generations between two refreshes of V


class State(NamedTuple):
    """The Gaussian and its evolution paths; C is V diag(axes) V^T as of the last refresh."""

    m: FloatArray
    integer_state: IntegerState  # what the treatment of integers remembers
    sigma: float
    C: FloatArray
    sd: FloatArray  # standard deviation along each coordinate
    V: FloatArray
    axes: FloatArray
    p_sigma: FloatArray
    p_c: FloatArray
    generation: int
    age: int  # generations since V was refreshed

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of C, as of the last refresh of V."""
        return self.axes

    @property
    def covariance(self) -> FloatArray:
        """Of the Gaussian: sigma^2 C."""
        return np.asarray(self.sigma**2 * self.C)


class Population(NamedTuple):
    """A generation: the drawn z, y = V sqrt(axes) z and the points x = m + sigma y."""

    z: FloatArray
    y: FloatArray
    x: FloatArray

    @property
    def distances(self) -> FloatArray:
        """||z|| of every candidate."""
        return np.sqrt(row_norms2(self.z))


def constants(N: int, population: int, *, exact: bool = False) -> Constants:
    """The tutorial's defaults for this dimension and population."""
    w = math.log((population + 1) / 2) - np.log(np.arange(1, population + 1))  # eq. 49
    good, bad = w[: population // 2], w[population // 2 :]
    mu_eff = float(good.sum() ** 2 / (good @ good))
    mu_eff_bad = float(bad.sum() ** 2 / (bad @ bad))
    c_1 = 2 / ((N + 1.3) ** 2 + mu_eff)  # eq. 57
    c_mu = min(1 - c_1 - 1e-8, 2 * (mu_eff - 2 + 1 / mu_eff) / ((N + 2) ** 2 + mu_eff))  # eq. 58
    alpha_bad = min(
        1 + c_1 / c_mu,  # eq. 50
        1 + 2 * mu_eff_bad / (mu_eff + 2),  # eq. 51
        (1 - c_1 - c_mu) / (N * c_mu),  # eq. 52
    )
    c_sigma = (mu_eff + 2) / (N + mu_eff + 5)  # eq. 55
    weights = np.where(w >= 0, w / w[w > 0].sum(), alpha_bad * w / -w[w < 0].sum())  # eq. 53
    return Constants(
        N=N,
        population=population,
        weights=weights,
        weights_sum=float(weights.sum()),
        mu_eff=mu_eff,
        c_1=c_1,
        c_mu=c_mu,
        c_c=(4 + mu_eff / N) / (N + 4 + 2 * mu_eff / N),  # eq. 56
        c_sigma=c_sigma,
        d_sigma=1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (N + 1)) - 1) + c_sigma,  # eq. 55
        epsilon=math.sqrt(N) * (1 - 1 / (4 * N) + 1 / (21 * N * N)),
        refresh=1 if exact else math.ceil(0.5 / (N * (c_1 + c_mu))),
    )


def start(
    c: Constants, m: FloatArray, integers: Integers, sigma: float = 1.0, C: FloatArray | None = None
) -> State:
    """The first Gaussian: N(m, sigma^2 C), C is the identity unless it is given."""
    V, axes = np.eye(c.N), np.ones(c.N)
    if C is None:
        C = np.eye(c.N)
    else:
        eigenvalues, V = eigh(C)
        axes = np.maximum(eigenvalues, _LEAST * eigenvalues[-1])
        C = (V * axes) @ V.T
    sd = sigma * np.sqrt(C.diagonal())
    return State(
        m=m.copy(),
        integer_state=integers.start(m, sd),
        sigma=sigma,
        C=C,
        sd=sd,
        V=V,
        axes=axes,
        p_sigma=np.zeros(c.N),
        p_c=np.zeros(c.N),
        generation=0,
        age=0,
    )


def draw(c: Constants, rng: np.random.Generator) -> FloatArray:
    """The random numbers of a generation."""
    return rng.standard_normal((c.population, c.N))  # eq. 38


def sample(c: Constants, s: State, z: FloatArray) -> Population:
    """The candidates of a generation."""
    y = (z * np.sqrt(s.axes)) @ s.V.T  # eq. 39
    return Population(z, y, s.m + s.sigma * y)  # eq. 40


def update(c: Constants, s: State, population: Population, ranking: Ranking, integers: Integers) -> State:
    """One step of the Gaussian from a ranked generation."""
    w = ranking.weighted(c.weights, integers.equals_share)  # instead of sorting the candidates
    w_good = np.maximum(w, 0.0)

    y_w = w_good @ population.y  # eq. 41
    m = s.m + integers.bias_step(s.integer_state, s.m, s.sigma * y_w)  # eq. 42

    gain = math.sqrt(c.c_sigma * (2 - c.c_sigma) * c.mu_eff)
    p_sigma = (1 - c.c_sigma) * s.p_sigma + gain * (s.V @ (w_good @ population.z))  # eq. 43
    path_length = math.sqrt(p_sigma @ p_sigma)
    sigma = s.sigma * math.exp(c.c_sigma / c.d_sigma * (path_length / c.epsilon - 1))  # eq. 44

    generation = s.generation + 1
    expected = math.sqrt(1 - (1 - c.c_sigma) ** (2 * (generation + 1)))
    h_sigma = path_length / expected < (1.4 + 2 / (c.N + 1)) * c.epsilon
    gain = math.sqrt(c.c_c * (2 - c.c_c) * c.mu_eff)
    p_c = (1 - c.c_c) * s.p_c + (gain * y_w if h_sigma else 0.0)  # eq. 45
    w_active = np.where(w >= 0, w, w * c.N / (row_norms2(population.z) + _TINY))  # eq. 46
    stalled = 0.0 if h_sigma else c.c_c * (2 - c.c_c)
    keep = 1 + c.c_1 * stalled - c.c_1 - c.c_mu * c.weights_sum
    C = (population.y.T * (c.c_mu * w_active)) @ population.y
    C += (c.c_1 * p_c)[:, None] * p_c
    C += keep * s.C  # eq. 47

    V, axes, age = s.V, s.axes, s.age + 1
    if age >= c.refresh:
        eigenvalues, V = eigh(C)
        axes, age = np.where(eigenvalues < 0, _TINY, eigenvalues), 0
        C = (V * axes) @ V.T
    sd = sigma * np.sqrt(C.diagonal())
    m, integer_state = integers.correct_mean(s.integer_state, m, sd)
    return State(m, integer_state, sigma, C, sd, V, axes, p_sigma, p_c, generation, age)


def moved(c: Constants, s: State, m: FloatArray) -> State:
    """The Gaussian with a mean that somebody else has found, and paths that have seen the move.

    As one candidate that lies there would, the move counts in the paths with the length of a rare draw at
    most (Hansen, "Injecting external solutions into CMA-ES", 2011): so step size and covariance follow.
    """
    y = (m - s.m) / s.sigma
    z = s.V.T @ y / np.sqrt(s.axes)
    longest = math.sqrt(c.N) + 2 * c.N / (c.N + 2)
    clip = min(1.0, longest / max(math.sqrt(z @ z), _TINY))
    p_sigma = (1 - c.c_sigma) * s.p_sigma + math.sqrt(c.c_sigma * (2 - c.c_sigma)) * clip * (s.V @ z)
    p_c = (1 - c.c_c) * s.p_c + math.sqrt(c.c_c * (2 - c.c_c)) * clip * y
    return s._replace(m=m.copy(), p_sigma=p_sigma, p_c=p_c)


def reshaped(s: State, shape: FloatArray, share: float) -> State:
    """The Gaussian whose covariance has gone that share of the way to another one.

    Args:
        s: the Gaussian.
        shape: the other covariance, in coordinates in which the present one is the identity.
        share: from 0, the present one, to 1.
    """
    axes = s.V * np.sqrt(s.axes)
    eigenvalues, V = eigh((1 - share) * (axes @ axes.T) + share * (axes @ shape @ axes.T))
    eigenvalues = np.maximum(eigenvalues, _LEAST * eigenvalues[-1])
    C = (V * eigenvalues) @ V.T
    return s._replace(C=C, V=V, axes=eigenvalues, sd=s.sigma * np.sqrt(C.diagonal()), age=0)
