"""DX-NES-IC, the core that the paper builds on: its Algorithm 1, line by line.

Read `update` beside the paper; tags such as `l. 9` are line numbers of Algorithm 1. The Gaussian is
N(m, sigma^2 B B^T) with det B = 1. B is kept as B = V W, where the columns of V are eigenvectors of B B^T:
emphasizeExpansion then only scales rows of W, and every other step is an update of low rank, so a generation
costs O(N^2 lambda). V itself is refreshed every N/2 generations (`exact=True`: every one, as in the paper).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .integers import Integers, IntegerState
from .linalg import eigh, expm1_factors, expm1_symmetric, row_norms2
from .mirrored import Mirrored, Origins
from .ranking import Ranking

MIRRORED = True  # candidates come in pairs m +- sigma B z: the population is even


class Regime(Enum):
    """What the length of the evolution path says, with the factor of the learning rate of B."""

    MOVE = 180.0
    STAGNATION = 168.0
    CONVERGENCE = 12.0


@dataclass(frozen=True, slots=True)
class Constants:
    """What depends on the dimension and the population alone (paper, Table 1)."""

    N: int
    population: int
    w_hat: FloatArray
    w_rank: FloatArray
    mu_eff: float
    c_sigma: float
    path_gain: float  # sqrt(c_sigma (2 - c_sigma) mu_eff)
    epsilon: float  # E||N(0, I)||
    h_inv: float
    c_gamma: float
    d_gamma: float
    refresh: int  # generations between two refreshes of V


class State(NamedTuple):
    """The Gaussian and its evolution path; B = V W."""

    m: FloatArray
    integer_state: IntegerState  # what the treatment of integers remembers
    sigma: float
    V: FloatArray
    W: FloatArray
    variance: FloatArray  # diagonal of B B^T
    sd: FloatArray  # standard deviation along each coordinate: sigma sqrt(variance)
    axes: FloatArray  # squared lengths of the rows of W: B B^T along the columns of V
    p_sigma: FloatArray
    gamma: float
    long_paths: int  # generations in a row with ||p_sigma|| >= epsilon
    age: int  # generations since V was refreshed

    @property
    def B(self) -> FloatArray:
        """The normalised transformation matrix."""
        return np.asarray(self.V @ self.W)

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of B B^T, as of the last refresh of V."""
        return self.axes

    @property
    def covariance(self) -> FloatArray:
        """Of the Gaussian: sigma^2 B B^T."""
        rows = self.sigma * self.B
        return np.asarray(rows @ rows.T)


@dataclass(slots=True)
class Population(Mirrored):
    """A generation, with z in the axes of V; the second half of x has z_{lambda/2 + i} = -z_i."""

    along_axes: FloatArray


@cache
def h_inv(N: int) -> float:
    """The a that solves (1 + a^2) exp(a^2 / 2) / 0.24 = 10 + N, in logarithms: no overflow at any N.

    >>> round(h_inv(40), 3)
    1.574
    """
    from scipy.optimize import brentq  # here: to import it takes longer than all the rest, and few need it

    def excess(a: float) -> float:
        return math.log1p(a * a) + a * a / 2 - math.log(0.24 * (10 + N))

    return float(brentq(excess, 0.0, 100.0, xtol=1e-15))


def constants(N: int, population: int, *, exact: bool = False) -> Constants:
    """The recommended values for this dimension and population."""
    rank = np.arange(1, population + 1)
    w_hat = np.maximum(0.0, math.log(population / 2 + 1) - np.log(rank))
    w = w_hat / w_hat.sum()
    mu_eff = 1.0 / float(w @ w)
    c_sigma = (mu_eff + 2) / (N + mu_eff + 5) / (2 * math.log(N + 1))
    return Constants(
        N=N,
        population=population,
        w_hat=w_hat,
        w_rank=w - 1.0 / population,
        mu_eff=mu_eff,
        c_sigma=c_sigma,
        path_gain=math.sqrt(c_sigma * (2 - c_sigma) * mu_eff),
        epsilon=math.sqrt(N) * (1 - 1 / (4 * N) + 1 / (21 * N * N)),
        h_inv=h_inv(N),
        c_gamma=1 / (3 * (N - 1)) if N > 1 else 0.0,
        d_gamma=min(1.0, N / population),
        refresh=1 if exact else max(1, N // 2),
    )


def start(
    c: Constants, m: FloatArray, integers: Integers, sigma: float = 1.0, B: FloatArray | None = None
) -> State:
    """The first Gaussian: N(m, sigma^2 B B^T) with B = I unless given."""  # l. 1
    V, W = np.eye(c.N), np.eye(c.N) if B is None else B
    if B is not None:
        V, W = _turned_to_axes(V, W)
    variance = (V * V) @ row_norms2(W)
    sd = sigma * np.sqrt(variance)
    return State(
        m=m.copy(),
        integer_state=integers.start(m, sd),
        sigma=sigma,
        V=V,
        W=W,
        variance=variance,
        sd=sd,
        axes=row_norms2(W),
        p_sigma=np.zeros(c.N),
        gamma=1.0,
        long_paths=0,
        age=0,
    )


def draw(c: Constants, rng: np.random.Generator) -> FloatArray:
    """The random half of a generation; the other half is its mirror image."""
    return rng.standard_normal((c.population // 2, c.N))  # l. 4


def sample(c: Constants, s: State, z: FloatArray) -> Population:
    """The candidates of a generation: m + sigma B z, then m - sigma B z."""
    along_axes = z @ s.W.T
    y = along_axes @ s.V.T
    step = s.sigma * y
    x = np.concatenate((step, -step))
    x += s.m  # l. 5
    return Population(z, y, x, Origins(len(z), 0, 0), along_axes)


def update(c: Constants, s: State, population: Population, ranking: Ranking, integers: Integers) -> State:
    """Lines 9 to 36 of Algorithm 1."""
    first, second = population.moments(ranking.weighted(c.w_rank))  # l. 8: weights instead of sorting
    path = population.path_step(first)
    p_sigma, long_paths, regime = evolution_path(c, s.p_sigma, s.long_paths, path)  # l. 9
    gram = population.z @ population.z.T
    if regime is Regime.MOVE:
        first, second = population.moments(
            calculate_weights(c, population, gram.diagonal(), ranking)
        )  # l. 10
    eta_sigma, eta_B = calculate_learning_rate(c, regime, ranking.feasible)  # l. 11
    # the weights sum to 0, so G_M = Z^T diag(second) Z
    G_sigma = float(second @ gram.diagonal()) / c.N  # l. 12
    B_G_delta = first @ population.y  # l. 13, already through B

    m = s.m + integers.bias_step(s.integer_state, s.m, s.sigma * B_G_delta)  # l. 14-19, l. 22
    sigma = s.sigma * math.exp(eta_sigma / 2 * G_sigma)  # l. 20
    half = eta_B / 2  # l. 21
    W, variance = exponential_step(
        s.V, s.W, s.variance, population, gram, half * second, half * G_sigma
    )  # l. 21
    axes = row_norms2(W)
    growth = axes / s.axes  # 1 + tau
    gamma = expansion(c, s.gamma, growth)
    if regime is Regime.MOVE:  # l. 23
        sigma, W, variance, axes = emphasize_expansion(gamma, growth, sigma, s.V, W, variance, axes)  # l. 24

    V, age = s.V, s.age + 1
    if age >= c.refresh:
        V, W = _turned_to_axes(V, W)
        axes = row_norms2(W)
        variance, age = (V * V) @ axes, 0
    sd = sigma * np.sqrt(variance)
    m, integer_state = integers.correct_mean(s.integer_state, m, sd)  # l. 26-36
    return State(m, integer_state, sigma, V, W, variance, sd, axes, p_sigma, gamma, long_paths, age)


def evolution_path(
    c: Constants, p_sigma: FloatArray, long_paths: int, step: FloatArray
) -> tuple[FloatArray, int, Regime]:
    """Line 9: p_sigma, for how many generations in a row it has been long, and the regime that this tells."""
    p_sigma = (1 - c.c_sigma) * p_sigma + c.path_gain * step
    length = math.sqrt(p_sigma @ p_sigma)
    long_paths = long_paths + 1 if length >= c.epsilon else 0
    if long_paths >= 5:
        return p_sigma, long_paths, Regime.MOVE
    return p_sigma, long_paths, Regime.STAGNATION if length >= 0.1 * c.epsilon else Regime.CONVERGENCE


def calculate_weights(c: Constants, population: Mirrored, norms2: FloatArray, ranking: Ranking) -> FloatArray:
    """Line 10, while moving (else w_rank): of two equally good candidates the farther one counts more.

    `norms2` are the squared lengths of the rows of z.
    """
    alpha = c.h_inv * math.sqrt(min(1.0, c.population / c.N) * ranking.feasible / c.population)
    distance = np.sqrt(norms2)  # ||z||
    factor = np.exp(alpha * (distance - c.epsilon))  # relative to a typical ||z||: no overflow
    w = ranking.weighted(c.w_hat)
    w *= population.of_each(factor)
    w /= np.add.reduce(w)
    w -= 1.0 / c.population
    return w


def calculate_learning_rate(c: Constants, regime: Regime, feasible: int) -> tuple[float, float]:
    """calculateLearningRate: eta_sigma and eta_B."""
    N = c.N
    eta_B = regime.value * N * math.tanh(0.02 * feasible) / (47 * N * N + 6400)
    if regime is Regime.MOVE:
        return 1.0, eta_B
    if regime is Regime.STAGNATION:
        return math.tanh((0.024 * feasible + 0.7 * N + 20) / (N + 12)), eta_B
    return 2 * math.tanh((0.025 * feasible + 0.75 * N + 10) / (N + 4)), eta_B


def exponential_step(
    V: FloatArray,
    W: FloatArray,
    variance: FloatArray,
    population: Population,
    gram: FloatArray,
    a: FloatArray,
    trace: float,
) -> tuple[FloatArray, FloatArray]:
    """Line 21: W exp(Z^T diag(a) Z - trace I), and the diagonal of B B^T after the same step."""
    z = population.z
    shrink = math.exp(-trace)
    if 2 * len(z) > z.shape[1] or not population.independent:  # the N x N exponential is cheaper and safer
        W = shrink * (W + W @ expm1_symmetric((z.T * a) @ z))
        return W, row_norms2(V @ W)
    T, e = expm1_factors(a, gram)
    after = (T @ population.along_axes).T @ (e[:, None] * (T @ z))
    after += W
    after *= shrink
    y = T @ population.y
    y *= y
    return after, shrink * shrink * (variance + (e * (e + 2.0)) @ y)


def expansion(c: Constants, gamma: float, growth: FloatArray) -> float:
    """Gamma of emphasizeExpansion: it follows the axis that grew most, in every generation and regime."""
    largest = float(np.maximum.reduce(growth))
    target = math.sqrt(1 + c.d_gamma * (largest - 1))
    return max(1.0, (1 - c.c_gamma) * gamma + c.c_gamma * target)


def emphasize_expansion(
    gamma: float,
    growth: FloatArray,
    sigma: float,
    V: FloatArray,
    W: FloatArray,
    variance: FloatArray,
    axes: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Line 24: Q stretches the axes that grew; sigma, W, the diagonal of B B^T and `axes` after it."""
    grew = growth > 1.0
    Q = np.where(grew, gamma, 1.0)
    root = gamma ** (np.count_nonzero(grew) / len(Q))  # det(Q)^(1/N)
    # exact while V is fresh; between refreshes it leaves out what W W^T has off its diagonal
    variance = (variance + (V * V) @ ((Q**2 - 1.0) * axes)) / root**2
    Q /= root
    return sigma * root, W * Q[:, None], variance, axes * Q**2


def _turned_to_axes(V: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same B = V W, with V an eigenbasis of B B^T again."""
    _, turn = eigh(W @ W.T)
    return V @ turn, turn.T @ W
