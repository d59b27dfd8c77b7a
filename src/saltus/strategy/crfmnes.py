"""CR-FM-NES: a Gaussian with 2N numbers for its shape, for many variables (Nomura and Ono 2022).

The Gaussian is N(m, sigma^2 D (I + v v^T) D) with D diagonal and det D sqrt(1 + v^T v) = 1: a scale for every
variable and one direction in which all of them go together. A candidate costs O(N), and what has to be learnt
has 2N numbers instead of N^2. Step size, regimes and weights are those of DX-NES-IC; D and v follow their
natural gradient, which `natural_gradient` solves for in O(N), and also an evolution path, since a pair of
candidates does not tell in which direction the mean goes on. docs/crfmnes.md derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from . import dxnesic
from .dxnesic import Regime
from .integers import Integers, IntegerState
from .linalg import row_norms2
from .mirrored import Mirrored, Origins
from .ranking import Ranking

MIRRORED = True
LEAST = 1.0  # v^T v, once v is not 0 any more
DAMPING = 0.2  # of D, for each length of v: there a small change of D is a large one of the shape
LONGEST_TURN = 0.5  # of a step of v, relative to its length
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Constants:
    """DX-NES-IC's, and the learning rates of the shape."""

    base: dxnesic.Constants
    N: int
    population: int
    eta: float  # of the candidates
    c_1: float  # of the path
    slower: float  # v is learnt that much more slowly than D: an error of every variable adds up to one of v
    c_c: float  # how fast the path forgets
    path_gain: float  # sqrt(c_c (2 - c_c) mu_eff)


class State(NamedTuple):
    """The Gaussian and its evolution paths."""

    m: FloatArray
    integer_state: IntegerState  # what the treatment of integers remembers
    sigma: float
    D: FloatArray
    v: FloatArray
    sd: FloatArray  # standard deviation along each coordinate: sigma D sqrt(1 + v^2)
    p_sigma: FloatArray
    p_c: FloatArray
    long_paths: int

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of I + v v^T."""
        values = np.ones(len(self.v))
        values[-1] += self.v @ self.v
        return values

    @property
    def covariance(self) -> FloatArray:
        """Of the Gaussian."""
        return matrix(self.sigma * self.D, self.v)

    def conditional(self, n: int) -> FloatArray:
        """The first n coordinates given the others: two rows, their scales sigma D and their v."""
        others = self.v[n:]
        return np.stack((self.sigma * self.D[:n], self.v[:n] / math.sqrt(1.0 + others @ others)))

    @property
    def age(self) -> int:
        """There is no eigenbasis to refresh."""
        return 0


def constants(N: int, population: int, *, exact: bool = False) -> Constants:
    """The recommended values for this dimension and population; every generation is exact."""
    base = dxnesic.constants(N, population)
    mu = base.mu_eff
    c_c = (4 + mu / N) / (N + 4 + 2 * mu / N)
    return Constants(
        base=base,
        N=N,
        population=population,
        eta=(3 + math.log(N)) / (5 * math.sqrt(N)),
        c_1=1 / (3 * N),
        slower=1 / math.sqrt(N),
        c_c=c_c,
        path_gain=math.sqrt(c_c * (2 - c_c) * mu),
    )


def start(
    c: Constants,
    m: FloatArray,
    integers: Integers,
    scales: FloatArray | float = 1.0,
    v: FloatArray | None = None,
) -> State:
    """The first Gaussian: N(m, D (I + v v^T) D) with these scales as D, and no direction unless given."""
    zero = np.zeros(c.N)
    v = zero if v is None else v
    D = np.full(c.N, 1.0) * scales
    sigma = math.exp(float(np.add.reduce(np.log(D)) + 0.5 * math.log1p(v @ v)) / c.N)
    sd = D * np.sqrt(1.0 + v * v)
    return State(
        m=m.copy(),
        integer_state=integers.start(m, sd),
        sigma=sigma,
        D=D / sigma,
        v=v,
        sd=sd,
        p_sigma=zero,
        p_c=zero,
        long_paths=0,
    )


def draw(c: Constants, rng: np.random.Generator) -> FloatArray:
    """The random half of a generation; the other half is its mirror image."""
    return rng.standard_normal((c.population // 2, c.N))


def shaped(v: FloatArray, z: FloatArray, power: float = 0.5) -> FloatArray:
    """(I + v v^T)^power z, of each row of z."""
    vv = float(v @ v)
    if not vv:
        return z
    return np.asarray(z + np.multiply.outer(z @ v, ((1.0 + vv) ** power - 1.0) / vv * v))


def sample(c: Constants, s: State, z: FloatArray) -> Mirrored:
    """The candidates of a generation: m + sigma D y, then m - sigma D y."""
    y = shaped(s.v, z)
    step = y * (s.sigma * s.D)
    x = np.concatenate((step, -step))
    x += s.m
    return Mirrored(z, y, x, Origins(len(z), 0, 0))


def update(c: Constants, s: State, population: Mirrored, ranking: Ranking, integers: Integers) -> State:
    """One step of the Gaussian from a ranked generation."""
    first, second = population.moments(ranking.weighted(c.base.w_rank))
    path = population.path_step(first)
    p_sigma, long_paths, regime = dxnesic.evolution_path(c.base, s.p_sigma, s.long_paths, path)
    norms2 = row_norms2(population.z)
    if regime is Regime.MOVE:
        weights = dxnesic.calculate_weights(c.base, population, norms2, ranking)
        first, second = population.moments(weights)
    eta_sigma, _ = dxnesic.calculate_learning_rate(c.base, regime, ranking.feasible)

    step = first @ population.y
    step *= s.sigma * s.D
    m = s.m + integers.bias_step(s.integer_state, s.m, step)
    sigma = s.sigma * math.exp(eta_sigma / 2 * float(second @ norms2) / c.N)

    p_c = (1 - c.c_c) * s.p_c + c.path_gain * shaped(s.v, path)
    v = s.v if s.v.any() else _lengthened(p_c)  # where v is 0 its gradient is, too
    turn, d = natural_gradient(v, np.vstack((population.y, p_c)), np.append(c.eta * second, c.c_1))
    turn *= c.slower
    d /= max(1.0, DAMPING * math.sqrt(v @ v))
    longest = LONGEST_TURN * math.sqrt(v @ v)
    v = _lengthened(v + turn * min(1.0, longest / math.sqrt(max(float(turn @ turn), _TINY))))
    # sigma alone says how large the Gaussian is: det D sqrt(1 + v^T v) stays the same
    growth = np.add.reduce(d) + 0.5 * (math.log1p(v @ v) - math.log1p(s.v @ s.v))
    D = s.D * np.exp(d - growth / c.N)

    sd = sigma * D * np.sqrt(1.0 + v * v)
    within = integers.within(sd)
    D, sd = D * within, sd * within
    m, integer_state = integers.correct_mean(s.integer_state, m, sd)
    return State(m, integer_state, sigma, D, v, sd, p_sigma, p_c, long_paths)


def _lengthened(v: FloatArray) -> FloatArray:
    """The same direction, with v^T v at least `LEAST`."""
    return v * max(1.0, math.sqrt(LEAST / max(float(v @ v), _TINY)))


def matrix(scales: FloatArray, v: FloatArray) -> FloatArray:
    """D (I + v v^T) D, with these scales as D."""
    C = np.outer(scales * v, scales * v)
    C.flat[:: len(v) + 1] += scales**2
    return C


def natural_gradient(v: FloatArray, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The natural gradient of sum_i w_i log p(y_i) for v and for log D, where y comes from N(0, I + v v^T).

    The names are those of docs/crfmnes.md. t is how much of what v and D have to do with one another is taken
    into account: all of it, unless a single variable is a large part of v. Then they could replace one
    another there, and the Fisher matrix would be singular.
    """
    vv = float(v @ v)
    per_length = 1 / math.sqrt(vv) if vv else 0.0
    e = v * per_length
    q = e * e
    largest = float(np.maximum.reduce(q))
    t = 1.0 if largest <= 0.25 else (1 + vv + vv * vv * largest) / ((2 + vv) ** 2 * largest)
    coupling = math.sqrt(t)
    total = float(np.add.reduce(w))
    h = (w * (y @ e)) @ y
    s = float(h @ e)

    g = w @ (y * y) - total - vv / (1 + vv) * e * h
    g -= coupling * e * ((2 + vv) / (1 + vv) * h - (s + total) * e)
    E = 2 + (vv * vv - t * (2 + vv) ** 2) / (1 + vv) * q
    k = (t * (vv * vv + 2 * vv + 2) - vv * vv) / (1 + vv)
    d, share = g / E, q / E
    d -= share * (k * float(q @ d) / (1 + k * float(q @ share)))

    turn = h - (s + (1 + vv) * total) / 2 * e - coupling * ((2 + vv) * e * d - float(q @ d) * e)
    return turn * per_length, d
