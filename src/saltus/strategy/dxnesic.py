"""DX-NES-IC: the natural evolution strategy that the paper builds on, and its Algorithm 1.

Tags such as `l. 9` are line numbers of the paper's Algorithm 1. The Gaussian is N(m, sigma^2 B B^T) with
det B = 1. B is kept as B = V W, where the columns of V are eigenvectors of B B^T: emphasizeExpansion then
only scales rows of W, and every other step is an update of low rank, so a generation costs
O(N^2 lambda). V itself is refreshed every N/2 generations (`exact=True`: every one, as in the paper).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import FloatArray
from .integers import Integers
from .linalg import eigh, expm1_factors, expm1_symmetric, row_norms2, shortening
from .ranking import Ranking

MIRRORED = True  # candidates come in pairs m +- sigma B z: the population is even


class Phase(Enum):
    """The search phase, with the factor of its learning rate of B."""

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


class HasSize(Protocol):
    """Constants of this core, or of one that is made from it."""

    @property
    def N(self) -> int:
        """The dimension."""

    @property
    def population(self) -> int:
        """Candidates a generation."""


class State(NamedTuple):
    """The Gaussian and its evolution path; B = V W."""

    m: FloatArray
    memory: Any  # what the treatment of integers remembers
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


class Cloud(NamedTuple):
    """A generation: the drawn half of z, the same in the axes of V and through B, and all points x.

    Behind those of pairs, z may be of lone points, without a mirror image: first `own` of the present
    Gaussian, then those of older ones, and last `foreign` that somebody else has chosen.
    """

    z: FloatArray
    along_axes: FloatArray
    y: FloatArray
    x: FloatArray
    own: int = 0
    foreign: int = 0

    @property
    def pairs(self) -> int:
        """How many z have a mirror image: x are one side of each, the other side, and the lone points."""
        return len(self.x) - len(self.z)

    @property
    def distances(self) -> FloatArray:
        """||z|| of every candidate."""
        return self.for_each(np.sqrt(row_norms2(self.z)))

    def for_each(self, numbers: FloatArray) -> FloatArray:
        """Numbers of all candidates, from those of z."""
        return np.concatenate((numbers[: self.pairs], numbers))


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
    c: Constants,
    m: FloatArray,
    integers: Integers,
    sigma: float = 1.0,
    B: FloatArray | None = None,
) -> State:
    """The first Gaussian: N(m, sigma^2 B B^T) with B = I unless given."""  # l. 1
    V, W = np.eye(c.N), np.eye(c.N) if B is None else B
    if B is not None:
        V, W = _turned_to_axes(V, W)
    variance = (V * V) @ row_norms2(W)
    sd = sigma * np.sqrt(variance)
    return State(
        m=m.copy(),
        memory=integers.start(m, sd),
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


def draw(c: HasSize, rng: np.random.Generator) -> FloatArray:
    """The random half of a generation; the other half is its mirror image."""
    return rng.standard_normal((c.population // 2, c.N))  # l. 4


def spread(c: Constants, s: State, z: FloatArray) -> Cloud:
    """The candidates of a generation: m + sigma B z, then m - sigma B z."""
    along_axes = z @ s.W.T
    y = along_axes @ s.V.T
    step = s.sigma * y
    x = np.concatenate((step, -step))
    x += s.m  # l. 5
    return Cloud(z, along_axes, y, x)


def placed(c: HasSize, s: State, x: FloatArray, pairs: int, own: int, foreign: int) -> Cloud:
    """Points of older Gaussians, or of nobody's, as a generation of the present one.

    They are one side of so many pairs, their other side, and lone points as `Cloud` has them.
    """
    return from_steps(s, (x - s.m) / s.sigma, x, pairs, own, foreign)


def from_steps(s: Any, y: FloatArray, x: FloatArray, pairs: int, own: int, foreign: int) -> Cloud:
    """A generation from its y, as far as that goes: no z is longer than one seldom is.

    What a pair says is in the difference of its sides; where its middle lies is left out.
    """
    y = np.concatenate(((y[:pairs] - y[pairs : 2 * pairs]) / 2, y[2 * pairs :]))
    along_axes = y @ s.V
    z = np.linalg.solve(s.W, along_axes.T).T
    share = shortening(z)
    return Cloud(z * share, along_axes * share, y * share, x, own, foreign)


def update(c: Constants, s: State, cloud: Cloud, ranking: Ranking, integers: Integers) -> State:
    """Lines 9 to 36 of Algorithm 1."""
    signal = weigh(c, s, cloud, ranking)  # l. 9-10
    phase, pair = signal.phase, signal.pair
    eta_sigma, eta_B = learning_rates(c, phase, ranking.feasible)  # l. 11

    G_sigma = float(pair @ signal.gram.diagonal()) / c.N  # l. 12
    B_G_delta = signal.difference @ cloud.y  # l. 13, already through B

    m = s.m + integers.biased(s.memory, s.m, s.sigma * B_G_delta)  # l. 14-19, l. 22
    sigma = s.sigma * math.exp(eta_sigma / 2 * G_sigma)  # l. 20
    W, variance = exponential_step(s, cloud, signal.gram, eta_B / 2 * pair, eta_B / 2 * G_sigma)  # l. 21

    axes = row_norms2(W)
    growth = axes / s.axes  # 1 + tau
    gamma = expansion(c, s.gamma, growth)
    V, age = s.V, s.age + 1
    if phase is Phase.MOVE:  # l. 23-25, emphasizeExpansion
        stretch, root = stretched(c, gamma, growth)
        # exact while V is fresh; between refreshes it leaves out what W W^T has off its diagonal
        variance = (variance + (V * V) @ ((stretch**2 - 1.0) * axes)) / root**2
        stretch /= root
        sigma *= root
        W *= stretch[:, None]
        axes = axes * stretch**2
    if age >= c.refresh:
        V, W = _turned_to_axes(V, W)
        axes = row_norms2(W)
        variance, age = (V * V) @ axes, 0
    sd = sigma * np.sqrt(variance)
    m, memory = integers.corrected(s.memory, m, sd)  # l. 26-36
    return State(m, memory, sigma, V, W, variance, sd, axes, signal.p_sigma, gamma, signal.long_paths, age)


class Signal(NamedTuple):
    """What the ranking says: the phase, and weights of the drawn half of the candidates."""

    phase: Phase
    p_sigma: FloatArray
    long_paths: int
    gram: FloatArray  # Z Z^T
    difference: FloatArray  # weight of z less that of its mirror image: G_delta = difference Z
    pair: FloatArray  # both added up; the weights sum to zero, so G_M = Z^T diag(pair) Z


def weigh(c: Constants, s: Any, cloud: Cloud, ranking: Ranking) -> Signal:
    """Lines 9 and 10: the evolution path, the phase that its length tells, and the weights of the phase."""
    z = cloud.z
    difference, pair = _per_z(ranking.weighted(c.w_rank), cloud)  # instead of sorting the candidates
    told = cloud.pairs or len(z)  # where there are pairs, lone points say nothing about the path
    p_sigma = (1 - c.c_sigma) * s.p_sigma + c.path_gain * (difference[:told] @ z[:told])  # l. 9
    gram = z @ z.T
    path_length = math.sqrt(p_sigma @ p_sigma)
    long_paths = s.long_paths + 1 if path_length >= c.epsilon else 0
    phase = _phase(c, path_length, long_paths)
    if phase is Phase.MOVE:
        difference, pair = _per_z(_distance_weights(c, cloud, gram, ranking), cloud)  # l. 10
    return Signal(phase, p_sigma, long_paths, gram, difference, pair)


def _per_z(w: FloatArray, cloud: Cloud) -> tuple[FloatArray, FloatArray]:
    """Weights of z in first and second moments, from those of the candidates."""
    k = cloud.pairs
    up, down = w[:k], w[k : 2 * k]  # mirrored: z_{k + i} = -z_i
    if 2 * k == len(w):
        return up - down, up + down
    lone = w[2 * k :]
    first = lone.copy()
    # Weights have the sum 0, as the mean of z is 0. That of z from elsewhere is not, and they count in full;
    # but where most are of older Gaussians, that would hold the mean back where those were.
    drawn = len(lone) - cloud.foreign
    late = slice(cloud.own if 2 * cloud.own >= drawn else drawn, None)
    first[late] += 1.0 / len(w)
    if not k:
        return first, lone
    pair = up + down
    return np.concatenate((up - down, first)), np.concatenate((pair - pair.mean(), np.zeros(len(lone))))


def expansion(c: Constants, gamma: float, growth: FloatArray) -> float:
    """The factor of emphasizeExpansion, from that of the last generation and the growth of each axis."""
    largest = float(np.maximum.reduce(growth))
    target = math.sqrt(1 + c.d_gamma * (largest - 1))
    return max(1.0, (1 - c.c_gamma) * gamma + c.c_gamma * target)


def stretched(c: Constants, gamma: float, growth: FloatArray) -> tuple[FloatArray, float]:
    """Q of emphasizeExpansion along each axis, and det(Q)^(1/N)."""
    grew = growth > 1.0
    return np.where(grew, gamma, 1.0), gamma ** (np.count_nonzero(grew) / c.N)


def _phase(c: Constants, path_length: float, long_paths: int) -> Phase:
    if long_paths >= 5:
        return Phase.MOVE
    return Phase.STAGNATION if path_length >= 0.1 * c.epsilon else Phase.CONVERGENCE


def _distance_weights(c: Constants, cloud: Cloud, gram: FloatArray, ranking: Ranking) -> FloatArray:
    """calculateWeights while moving: of two equally good candidates, the farther one counts more."""
    alpha = c.h_inv * math.sqrt(min(1.0, c.population / c.N) * ranking.feasible / c.population)
    distance = np.sqrt(gram.diagonal())  # ||z||
    factor = np.exp(alpha * (distance - c.epsilon))  # relative to a typical ||z||: no overflow
    w = ranking.weighted(c.w_hat)
    w *= cloud.for_each(factor)
    w /= np.add.reduce(w)
    w -= 1.0 / c.population
    return w


def learning_rates(c: Constants, phase: Phase, feasible: int) -> tuple[float, float]:
    """calculateLearningRate: eta_sigma and eta_B."""
    N = c.N
    eta_B = phase.value * N * math.tanh(0.02 * feasible) / (47 * N * N + 6400)
    if phase is Phase.MOVE:
        return 1.0, eta_B
    if phase is Phase.STAGNATION:
        return math.tanh((0.024 * feasible + 0.7 * N + 20) / (N + 12)), eta_B
    return 2 * math.tanh((0.025 * feasible + 0.75 * N + 10) / (N + 4)), eta_B


def exponential_step(
    s: Any, cloud: Any, gram: FloatArray, a: FloatArray, trace: float
) -> tuple[FloatArray, FloatArray]:
    """W exp(Z^T diag(a) Z - trace I), and the diagonal of B B^T after the same step."""
    z = cloud.z
    shrink = math.exp(-trace)
    lone = cloud.pairs < len(z)  # then both of a pair may be there, and z are not independent
    if 2 * len(z) > z.shape[1] or lone:  # population > N: the N x N exponential is the cheaper and safer one
        W = shrink * (s.W + s.W @ expm1_symmetric((z.T * a) @ z))
        return W, row_norms2(s.V @ W)
    T, e = expm1_factors(a, gram)
    e_column = e[:, None]
    W = (T @ cloud.along_axes).T @ (e_column * (T @ z))
    W += s.W
    W *= shrink
    y = T @ cloud.y
    y *= y
    return W, shrink * shrink * (s.variance + (e * (e + 2.0)) @ y)


def _turned_to_axes(V: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same B = V W, with V an eigenbasis of B B^T again."""
    _, turn = eigh(W @ W.T)
    return V @ turn, turn.T @ W
