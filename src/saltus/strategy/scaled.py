"""DX-NES-IC with diagonal scaling: it learns the scale of every variable faster than their correlations.

The Gaussian is N(m, sigma^2 D A A^T D) with D diagonal. A is learnt as DX-NES-IC learns B, of which
there are N^2 numbers; D has only N, so its learning rate may be much larger. Its step is the exact natural
gradient of log D: with y_i = A z_i, C = A A^T and g = sum_i w_i y_i * (C^-1 y_i), elementwise, it solves
(I + C * C^-1) d = g. Both g and the matrix stay the same when rows of A are scaled, so the rows of A are
given unit length, and D what they had, only when the eigenbasis is refreshed.

C^-1 and the factor of that matrix are those of the last refresh: a generation costs O(N^2 lambda) like
one of DX-NES-IC.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from . import dxnesic
from .dxnesic import Population, Regime
from .integers import Integers, IntegerState
from .linalg import eigh, lapack, row_norms2
from .mirrored import Origins
from .ranking import Ranking

MIRRORED = dxnesic.MIRRORED

# DX-NES-IC's learning rate of B is made for large N; the least one of A is this times (3 + ln N) / N^1.5
LEAST_RATE = 0.3
CONVERGENCE_RATE = 1 / 14  # while converging, that much of the least rate ...
CONVERGENCE_SCALING = 0.1  # ... and that much of the rate of D


@dataclass(frozen=True, slots=True)
class Constants:
    """DX-NES-IC's, and the learning rates of D and A."""

    base: dxnesic.Constants
    N: int
    population: int
    eta_D: float
    least_eta_A: float
    refresh: int


class State(NamedTuple):
    """The Gaussian and its evolution path; A = V W."""

    m: FloatArray
    integer_state: IntegerState  # what the treatment of integers remembers
    sigma: float
    D: FloatArray
    V: FloatArray
    W: FloatArray
    variance: FloatArray  # diagonal of A A^T
    sd: FloatArray  # standard deviation along each coordinate: sigma D sqrt(variance)
    axes: FloatArray  # squared lengths of the rows of W: A A^T along the columns of V
    inverse: FloatArray  # C^-1, as of the last refresh, ...
    fisher: FloatArray  # ... the Cholesky factor of I + C * C^-1 ...
    damping: float  # ... and max(1, sqrt(cond C) - 1)
    p_sigma: FloatArray
    gamma: float
    long_paths: int
    age: int  # generations since the last refresh

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of A A^T, as of the last refresh."""
        return self.axes

    @property
    def covariance(self) -> FloatArray:
        """Of the Gaussian."""
        rows = (self.sigma * self.D)[:, None] * (self.V @ self.W)
        return np.asarray(rows @ rows.T)


def constants(
    N: int, population: int, *, exact: bool = False, scaling: bool = True, least_rate: float = LEAST_RATE
) -> Constants:
    """The recommended values for this dimension and population; without scaling D stays as it is."""
    pace = 3 + math.log(N)
    return Constants(
        base=dxnesic.constants(N, population, exact=exact),
        N=N,
        population=population,
        eta_D=pace / (5 * math.sqrt(N)) if scaling else 0.0,
        least_eta_A=least_rate * pace / N**1.5,
        refresh=1 if exact else max(1, N // 2),
    )


def start(
    c: Constants, m: FloatArray, integers: Integers, sd: FloatArray | float = 1.0, A: FloatArray | None = None
) -> State:
    """The first Gaussian: standard deviations sd, and correlations A A^T (none unless given)."""
    D = np.full(c.N, 1.0) * sd
    if A is None:
        A = np.eye(c.N)
    sigma, D, V, W, axes, follows = _refreshed(1.0, D, A)
    variance = np.ones(c.N)
    sd = sigma * D
    return State(
        m=m.copy(),
        integer_state=integers.start(m, sd),
        sigma=sigma,
        D=D,
        V=V,
        W=W,
        variance=variance,
        sd=sd,
        axes=axes,
        inverse=follows.inverse,
        fisher=follows.fisher,
        damping=follows.damping,
        p_sigma=np.zeros(c.N),
        gamma=1.0,
        long_paths=0,
        age=0,
    )


def draw(c: Constants, rng: np.random.Generator) -> FloatArray:
    """The random half of a generation; the other half is its mirror image."""
    return rng.standard_normal((c.population // 2, c.N))


def sample(c: Constants, s: State, z: FloatArray) -> Population:
    """The candidates of a generation: m + sigma D A z, then m - sigma D A z; y is A z."""
    along_axes = z @ s.W.T
    y = along_axes @ s.V.T
    step = y * (s.sigma * s.D)
    x = np.concatenate((step, -step))
    x += s.m
    return Population(z, y, x, Origins(len(z), 0, 0), along_axes)


def update(c: Constants, s: State, population: Population, ranking: Ranking, integers: Integers) -> State:
    """As DX-NES-IC's, with a step of D after that of A."""
    first, second = population.moments(ranking.weighted(c.base.w_rank))
    path = population.path_step(first)
    p_sigma, long_paths, regime = dxnesic.evolution_path(c.base, s.p_sigma, s.long_paths, path)
    gram = population.z @ population.z.T
    if regime is Regime.MOVE:
        weights = dxnesic.calculate_weights(c.base, population, gram.diagonal(), ranking)
        first, second = population.moments(weights)
    eta_sigma, eta_A = dxnesic.calculate_learning_rate(c.base, regime, ranking.feasible)
    converging = regime is Regime.CONVERGENCE
    eta_A = max(eta_A, c.least_eta_A * (CONVERGENCE_RATE if converging else 1.0))
    G_sigma = float(second @ gram.diagonal()) / c.N

    step = first @ population.y
    step *= s.sigma * s.D
    m = s.m + integers.bias_step(s.integer_state, s.m, step)
    sigma = s.sigma * math.exp(eta_sigma / 2 * G_sigma)
    half = eta_A / 2
    W, variance = dxnesic.exponential_step(
        s.V, s.W, s.variance, population, gram, half * second, half * G_sigma
    )
    axes = row_norms2(W)
    growth = axes / s.axes
    gamma = dxnesic.expansion(c.base, s.gamma, growth)
    if regime is Regime.MOVE:
        sigma, W, variance, axes = dxnesic.emphasize_expansion(gamma, growth, sigma, s.V, W, variance, axes)

    d = _solved(s.fisher, second @ (population.y * (population.y @ s.inverse)))
    d -= np.add.reduce(d) / c.N
    d *= c.eta_D * (CONVERGENCE_SCALING if converging else 1.0) / s.damping
    D = s.D * np.exp(d)

    V, age, follows = s.V, s.age + 1, Follows(s.inverse, s.fisher, s.damping)
    if age >= c.refresh:
        sigma, D, V, W, axes, follows = _refreshed(sigma, D, V @ W)
        variance, age = np.ones(c.N), 0
    sd = sigma * D * np.sqrt(variance)
    within = integers.within(sd)
    D, sd = D * within, sd * within
    m, integer_state = integers.correct_mean(s.integer_state, m, sd)
    shape = D, V, W, variance, sd, axes
    return State(m, integer_state, sigma, *shape, *follows, p_sigma, gamma, long_paths, age)


class Follows(NamedTuple):
    """What follows from A at a refresh and is kept until the next one; `State` says what each is."""

    inverse: FloatArray
    fisher: FloatArray
    damping: float


def _refreshed(
    sigma: float, D: FloatArray, A: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, Follows]:
    """The same Gaussian, with rows of A of length 1 and D of geometric mean 1, and what follows from A."""
    lengths = np.sqrt(row_norms2(A))
    A = A / lengths[:, None]
    D = D * lengths
    mean = math.exp(float(np.add.reduce(np.log(D))) / len(D))
    C = A @ A.T
    axes, V = eigh(C)
    axes = np.maximum(axes, np.finfo(float).eps * axes[-1])  # only rounding makes them smaller
    W = V.T @ A
    inverse = (V / axes) @ V.T
    fisher = C * inverse
    fisher.flat[:: len(D) + 1] += 1.0
    factor, failed = lapack().dpotrf(fisher, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance matrix is not positive definite: not finite?")
    damping = max(1.0, math.sqrt(axes[-1] / axes[0]) - 1.0)
    return sigma * mean, D / mean, V, W, axes, Follows(inverse, factor, damping)


def _solved(factor: FloatArray, g: FloatArray) -> FloatArray:
    return np.asarray(lapack().dpotrs(factor, g, lower=1)[0])
