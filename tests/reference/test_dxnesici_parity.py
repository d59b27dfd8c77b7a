"""The paper's strategy follows the authors' package, generation by generation, with the same z."""

from __future__ import annotations

import numpy as np
import pytest
from dxnesici import DXNESICI

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice
from saltus.strategy import STRATEGIES, Integers, dxnesic, rank

from .fixtures import (
    SWITCH,
    UNEVEN,
    WHOLE,
    Objective,
    ellipsoid,
    one_max,
    paper_start,
    reversed_ellipsoid,
    shifted,
    tablet,
)

GENERATIONS = 300


def well_separated(N: int, rng: np.random.Generator) -> FloatArray:
    """A matrix with determinant 1 whose B B^T has well separated eigenvalues.

    From the identity, the first generations leave eigenvalues of B B^T equal up to round-off, and
    eigenvectors of equal eigenvalues are arbitrary: the authors' gamma then depends on the last bit.
    """
    turn = np.linalg.qr(rng.standard_normal((N, N)))[0]
    return np.asarray(turn * np.exp(np.linspace(-0.4, 0.4, N)))


def follow(
    monkeypatch: pytest.MonkeyPatch,
    objective: Objective,
    grid: FloatArray,
    N: int,
    population: int,
    B: FloatArray,
) -> list[dict[str, float]]:
    """Run both side by side; return the largest relative difference of each symbol by generation.

    Both get the same z, and theirs gets our rank of each candidate as its value, after a check that it
    is the same candidate: near the optimum ties and the last bit of x would decide otherwise.
    """
    rng = np.random.default_rng(N)
    n_co, alpha = N // 2, 1 / (N * population)
    m = paper_start(N, grid, rng)
    evaluated: list[tuple[FloatArray, float]] = []

    def same_candidate(x: FloatArray) -> float:
        expected, value = evaluated.pop(0)
        np.testing.assert_allclose(x[:, 0], expected, rtol=1e-8, atol=1e-8)
        return value

    theirs = DXNESICI(
        n_co,
        [grid.tolist() for _ in range(N - n_co)],
        same_candidate,
        m.reshape(-1, 1).copy(),
        1.0,
        population,
        alpha,
    )
    theirs.b, theirs.bbT = B.copy(), B @ B.T

    lattice = Lattice([grid] * (N - n_co))
    integers = Integers(n_co, lattice, alpha, STRATEGIES["dx-nes-ici"].treatment)
    c = dxnesic.constants(N, population, exact=True)
    ours = dxnesic.start(c, m, integers, B=B)
    differences = []
    for _ in range(GENERATIONS):
        z = rng.standard_normal((population // 2, N))
        monkeypatch.setattr(np.random, "randn", lambda *shape, z=z: z.T)
        generation = dxnesic.sample(c, ours, z)
        x = generation.x.copy()
        x[:, n_co:] = lattice.value(integers.plateaus(ours.integer_state, ours.m, generation.x))
        values = np.array([objective(row) for row in x])
        ranking = rank(values, None, generation, integers)
        ours = dxnesic.update(c, ours, generation, ranking, integers)
        evaluated.extend(zip(x, ranking.order.argsort().tolist(), strict=True))
        theirs.next_generation()
        pairs = {
            "m": (ours.m, theirs.m[:, 0]),
            "sigma": (ours.sigma, theirs.sigma),
            "B": (ours.B, theirs.b),
            "p_sigma": (ours.p_sigma, theirs.p_sigma[:, 0]),
            "gamma": (ours.gamma, theirs.gamma[0]),
        }
        differences.append(
            {k: float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for k, (a, b) in pairs.items()}
        )
    return differences


# the code is the same for every dimension: one for each problem, both for each grid
@pytest.mark.parametrize(
    ("objective", "grid", "N"),
    [
        (tablet, WHOLE, 20),
        (reversed_ellipsoid, WHOLE, 10),
        (ellipsoid, WHOLE, 20),
        (one_max, SWITCH, 10),
        (one_max, SWITCH, 20),
        (tablet, UNEVEN, 10),
        (ellipsoid, UNEVEN, 20),
    ],
)
def test_follows_the_authors_code(
    monkeypatch: pytest.MonkeyPatch, objective: Objective, grid: FloatArray, N: int
) -> None:
    B = well_separated(N, np.random.default_rng(1))
    for g, difference in enumerate(
        follow(monkeypatch, shifted(objective, 0.37), grid, N, population=12, B=B)
    ):
        assert max(difference.values()) < 1e-8, f"generation {g}: {difference}"


def test_follows_the_authors_code_from_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more pairs than dimensions the first update already separates the eigenvalues."""
    N = 10
    for g, difference in enumerate(
        follow(monkeypatch, shifted(ellipsoid, 0.37), WHOLE, N, population=2 * N + 2, B=np.eye(N))
    ):
        assert max(difference.values()) < 1e-8, f"generation {g}: {difference}"
