"""The pieces of the default strategy, one by one and together."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Optimizer, Ordinal, Space, Stop, minimize
from saltus._typing import FloatArray
from saltus.search.coordinate_scan import CoordinateScan
from saltus.search.integer_neighbours import IntegerNeighbours, affordable
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.mixed_run import MixedRun
from saltus.search.newton import Newton
from saltus.search.phase import Phase
from saltus.search.polish import Polish
from saltus.search.proposal import Domain, Evaluated, Proposals, Results
from saltus.search.schedule import PHASES
from saltus.space.encoding import Encoding

Values = Callable[[FloatArray], FloatArray]


def domain_of(space: Space) -> Domain:
    frame = Encoding(space, sigma=1.0)
    return Domain(frame.n_continuous, frame.lattice, *frame.ends())


def evaluated(domain: Domain, fun: Values, x: list[float], plateaus: list[float]) -> Evaluated:
    batch = domain.proposals(np.array([x]).reshape(1, domain.n_continuous), np.array([plateaus]))
    return Results(batch, fun(batch.x), None).point(0)


def play(phase: Phase, fun: Values, seed: int = 0, limit: int = 100_000) -> int:
    """Run a phase to its end; how many evaluations it took."""
    rng = np.random.default_rng(seed)
    spent = 0
    while not phase.done:
        phase.draw(rng)
        batch = phase.propose()
        assert batch.x.shape == (len(batch.plateaus), phase.domain.N)
        np.testing.assert_array_equal(
            phase.domain.lattice.plateau(batch.x[:, phase.domain.n_continuous :]), batch.plateaus
        )
        phase.observe(Results(batch, fun(batch.x), None))
        spent += len(batch.x)
        assert spent < limit
    return spent


FLOATS = Space([Float() for _ in range(4)])
MIXED = Space([Float(), Float(), Int(0, 3), Int(0, 7), Int(0, 30)])


def rotated(n: int, condition: float = 1e6) -> FloatArray:
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))[0]
    return np.asarray((turn * np.logspace(0, math.log10(condition), n)) @ turn.T)


def test_newton_solves_a_rotated_quadratic_in_a_few_batches() -> None:
    domain, H = domain_of(FLOATS), rotated(4)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(0.5 * np.einsum("ki,ij,kj->k", x - 1, H, x - 1) + 3.0)

    newton = Newton(domain, evaluated(domain, fun, [0.7] * 4, []), 0.01 * np.eye(4))
    spent = play(newton, fun)
    newton.deepen(None)
    spent += play(newton, fun)
    assert not newton.failed
    assert newton.best.value == pytest.approx(3.0, abs=1e-12)
    assert spent < 120


def test_newton_needs_no_cross_differences_along_the_axes() -> None:
    domain = domain_of(FLOATS)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(((x - 1) ** 2 * [1.0, 1e2, 1e4, 1e6]).sum(axis=1))

    newton = Newton(domain, evaluated(domain, fun, [0.0] * 4, []), np.eye(4))
    assert play(newton, fun) <= 8 + 9 + 9
    assert newton.best.value < 1e-12


@pytest.mark.parametrize(
    "shape", [lambda x: np.abs(x - 1), lambda x: np.abs(np.sin(40 * x)), lambda x: 0.0 * x]
)
def test_newton_says_where_there_is_no_model(shape: Values) -> None:
    domain = domain_of(FLOATS)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(shape(x).sum(axis=1))

    newton = Newton(domain, evaluated(domain, fun, [0.6, 0.3, 0.1, 0.45], []), np.eye(4))
    spent = play(newton, fun)
    assert newton.failed
    assert spent < 300


def test_newton_gives_up_where_something_is_violated_or_fails() -> None:
    domain = domain_of(FLOATS)
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [0.6] * 4, [])
    for values, violations in ((np.full(8, np.nan), None), (np.full(8, 2.0), np.arange(8.0))):
        newton = Newton(domain, point, np.eye(4))
        newton.observe(Results(newton.propose(), values, violations))
        assert newton.done
        assert newton.failed
        assert newton.best is point


def test_polish_finds_the_bottom_of_a_kink() -> None:
    domain = domain_of(MIXED)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x[:, :2] - 1.5).sum(axis=1) + 7.0)

    point = evaluated(domain, fun, [0.0, 0.0], [1.0, 2.0, 3.0])
    polish = Polish(domain, point, np.eye(2))
    coarse = play(polish, fun)
    polish.deepen(None)
    deep = play(polish, fun)
    assert coarse < deep
    assert polish.best.value == pytest.approx(7.0, abs=1e-9)
    assert polish.best.plateaus.tolist() == [1.0, 2.0, 3.0]


def test_a_polish_that_cannot_reach_its_goal_ends_soon() -> None:
    domain = domain_of(MIXED)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x[:, :2] - 1.5).sum(axis=1) + 7.0)

    point = evaluated(domain, fun, [0.0, 0.0], [1.0, 2.0, 3.0])
    free, bound = Polish(domain, point, np.eye(2), (0.0, 7.5)), Polish(domain, point, np.eye(2), (0.0, 6.5))
    assert play(bound, fun) < 0.5 * play(free, fun)


def test_sweep_ends_where_no_single_integer_helps() -> None:
    domain = domain_of(MIXED)

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(((x[:, 2:] - [2, 6, 17]) ** 2).sum(axis=1))

    sweep = IntegerSweep(
        domain, evaluated(domain, fun, [0.3, -0.4], [0.0, 0.0, 0.0]), 8, np.random.default_rng(1)
    )
    spent = play(sweep, fun)
    assert sweep.best.plateaus.tolist() == [2.0, 6.0, 17.0]
    assert sweep.best.x[:2].tolist() == [0.3, -0.4]
    assert spent < 120
    again = IntegerSweep(domain, sweep.best, 8, np.random.default_rng(1))
    assert play(again, fun) == 3 + 7 + 2 * 5 - 1  # 17 - 32 and 17 + 16 are outside
    assert again.best is sweep.best


def test_a_batch_of_a_sweep_fills_a_population() -> None:
    domain = domain_of(Space([Bool() for _ in range(20)] + [Float()]))
    point = evaluated(domain, lambda x: x.sum(axis=1), [0.0], [0.0] * 20)
    assert len(IntegerSweep(domain, point, 8, np.random.default_rng(1)).propose().x) == 8


def test_lines_find_the_far_valley() -> None:
    domain = domain_of(Space([Float(-10, 10), Float(-10, 10), Int(0, 3)]))
    valleys = np.array([7.3, -6.1])

    def fun(x: FloatArray) -> FloatArray:
        local = 1.0 + 0.01 * x[:, :2] ** 2
        return np.asarray(np.minimum(local, 0.1 + (x[:, :2] - valleys) ** 2).sum(axis=1))

    lines = CoordinateScan(domain, evaluated(domain, fun, [0.0, 0.0], [1.0]), np.random.default_rng(1))
    spent = play(lines, fun)
    np.testing.assert_allclose(lines.best.x[:2], valleys, atol=0.1)
    assert spent <= 2 * (30 + 4 * 6)


def test_neighbours_follow_a_stiff_valley() -> None:
    """One integer cannot change alone: the continuous variable has to follow, a hundred times as stiff."""
    domain = domain_of(Space([Float(), Int(0, 15)]))

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(1e4 * (x[:, 0] - 0.3 * x[:, 1]) ** 2 + (x[:, 1] - 11) ** 2)

    point = evaluated(domain, fun, [0.9], [3.0])
    sweep = IntegerSweep(domain, point, 8, np.random.default_rng(1))
    play(sweep, fun)
    assert sweep.best is point
    assert affordable(domain)
    model: Any = Newton(domain, point, 1e-4 * np.eye(1))
    play(model, fun)
    rounds = 0
    while True:
        phase = IntegerNeighbours(domain, model)
        play(phase, fun)
        if phase.winner is model:
            break
        model, rounds = phase.winner, rounds + 1
    assert rounds == 8
    assert phase.best.plateaus.tolist() == [11.0]
    assert phase.best.value == pytest.approx(0.0, abs=1e-9)


def test_a_mixed_run_ends_when_its_integers_have_settled() -> None:
    space = Space([Float(-5, 5)] * 3 + [Int(-10, 10)] * 3)
    frame = Encoding(space)
    domain = Domain(frame.n_continuous, frame.lattice, *frame.ends())

    def fun(x: FloatArray) -> FloatArray:
        best = frame.encode(np.array([1.0, 2.0, -2.0, 4.0, -6.0, 7.0]))
        return np.asarray(((x - best) ** 2).sum(axis=1))

    run = MixedRun(domain, 8, None, frame.m, 1.0)
    rng = np.random.default_rng(1)
    while not run.done:
        run.draw(rng)
        batch = run.propose()
        run.observe(Results(batch, fun(batch.x), None))
    assert frame.numbers(run.best.x[None], run.best.plateaus[None])[0, 3:].tolist() == [4.0, -6.0, 7.0]
    assert run.conditional().shape == (3, 3)


def stiff(p: Any) -> float:
    """Smooth, stiff and rotated in the continuous variables; all kinds of integers; never equal to zero."""
    x = np.array([p["a"], p["b"]])
    valley = 100 * (x[0] - x[1] + 0.1 * p["k"]) ** 2 + (x[1] - 1) ** 2
    return float(valley + (p["k"] - 7) ** 2 + abs(p["g"] - 0.5) + (not p["s"]) + 1.0)


def rough(p: Any) -> float:
    """The same with kinks, holes and a violated half space: Newton fails."""
    if p["a"] > 4:
        return math.nan
    return stiff(p) + float(abs(p["a"] - 0.3) + abs(p["b"]))


ALL_KINDS = Space(
    {"a": Float(-5, 5), "b": Float(), "k": Int(0, 20), "g": Ordinal([0.1, 0.5, 3.0]), "s": Bool()}
)


@pytest.mark.parametrize("fun", [stiff, rough])
def test_every_piece_is_saved_and_restored_in_the_middle_of_a_batch(fun: Callable[[Any], float]) -> None:
    optimizer = Optimizer(ALL_KINDS, seed=3)
    checked: dict[str, int] = {}
    while optimizer.evaluations < 2000:
        candidates = optimizer.ask()
        kind = optimizer.phase
        half = candidates[: len(candidates) // 2]
        if half:
            optimizer.tell(half, [fun(c.params) for c in half])
        others = []
        if checked.get(kind, 0) < 8:
            checked[kind] = checked.get(kind, 0) + 1
            others = [Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))]
            assert others[0].state() == optimizer.state()
        for one in (optimizer, *others):
            left = one.pending
            one.tell(left, [fun(c.params) for c in left])
        for other in others:
            assert other.state() == optimizer.state()
            assert other.ask() == optimizer.ask()
            assert other.state() == optimizer.state()
            optimizer = other  # go on with the restored one
            candidates = optimizer.pending
            optimizer.tell(candidates, [fun(c.params) for c in candidates])
    expected = set(PHASES) - ({"Polish"} if fun is stiff else {"IntegerNeighbours"})
    assert set(checked) >= expected


SPACES = {
    "no continuous variables": Space([Int(-3, 12), Bool(), Bool(), Ordinal([0.0, 1.0, 10.0])]),
    "no integers": Space([Float(-5, 5), Float(), Float(0, None), Float(1e-3, 1e3, log=True)]),
    "one float": Space([Float(-3, 9)]),
    "one integer": Space([Int(-3, 9)]),
    "one switch": Space([Bool()]),
    "many values": Space([Int(0, 10**6), Int(-(10**6), 10**6), Float(-5, 5)]),
    "uneven": Space([Ordinal([1.0, 1.1, 7.0, 100.0]), Int(1, 1000, log=True), Float(-2, 2)]),
    "fixed": Space([Int(3, 3), Float(2, 2), Float(-4, 4), Int(0, 9)]),
}


@pytest.mark.parametrize("name", SPACES)
def test_all_spaces(name: str) -> None:
    """An optimum at a random place of the lattice is found exactly, or nearly."""
    space = SPACES[name]
    rng = np.random.default_rng(5)
    candidates = Optimizer(space, seed=rng).ask()
    best = np.array(candidates[1].params, dtype=float)
    scale = np.maximum(np.abs(best), 1.0)

    def fun(x: FloatArray) -> float:
        return float((((x - best) / scale) ** 2).sum())

    result = minimize(fun, space, seed=1, budget=4000, target=1e-9)
    assert result.stop is Stop.TARGET, result


@pytest.mark.parametrize("seed", range(3))
def test_constraints_and_infeasible_regions(seed: int) -> None:
    """The optimum lies on a constraint, next to a region without values."""

    def fun(p: Any) -> tuple[float, list[float]]:
        if p["x"] + p["k"] < -3:
            return math.nan, []
        return p["x"] ** 2 + (p["y"] - 1) ** 2 + 0.1 * p["k"], [2 - p["x"] - p["k"]]

    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(-4, 6)})
    result = minimize(fun, space, seed=seed, budget=3000)
    assert result.fun == pytest.approx(0.2, abs=1e-3)
    assert result.params == {"x": pytest.approx(0.0, abs=0.05), "y": pytest.approx(1.0, abs=0.05), "k": 2}


def test_the_search_goes_on_where_everything_fails_at_first() -> None:
    result = minimize(
        lambda x: float(((x - 4) ** 2).sum()) if x[0] > 3 else math.inf,
        Space([Float(-5, 5), Int(-5, 5)]),
        mean=[-4.0, -4.0],
        sigma=[0.1, 1.0],
        seed=1,
        budget=3000,
        target=1e-6,
    )
    assert result.stop is Stop.TARGET


def test_a_batch_is_whole_and_the_order_of_telling_does_not_matter() -> None:
    def final(order: int) -> dict[str, Any]:
        optimizer = Optimizer(ALL_KINDS, seed=4)
        for _ in range(200):
            candidates = optimizer.ask()
            assert optimizer.ask() == []
            for c in candidates[::order]:
                optimizer.tell(c, stiff(c.params))
        return optimizer.state()

    assert final(1) == final(-1)


def test_told_puts_violations_and_failures_last() -> None:
    batch = Proposals(np.zeros((4, 1)), np.zeros((4, 0)))
    told = Results(batch, np.array([1.0, 0.0, np.nan, 5.0]), np.array([0.5, 0.2, 0.0, 0.0]))
    assert [told.key(i) for i in range(4)] == [(0.5, 1.0), (0.2, 0.0), (math.inf, math.inf), (0.0, 5.0)]
    assert told.first() == 3
    assert not told.clean
    assert Results(batch, np.array([np.nan, np.inf, 3.0, 3.0]), None).first() == 2


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e300])
@pytest.mark.parametrize("offset", [0.0, -1.0])
def test_values_of_any_size(scale: float, offset: float) -> None:
    """The unit of values does not matter, and near the end of all numbers the search goes on."""

    def fun(p: Any) -> tuple[float, list[float]]:
        value = (p["x"] - 1) ** 2 + abs(p["y"]) + (p["k"] - 7) ** 2 / 10 + offset
        return scale * value, [scale * (p["x"] - 3)]

    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(0, 20)})
    result = minimize(fun, space, seed=1, budget=2000)
    assert result.params["k"] == 7
    assert result.fun == pytest.approx(scale * offset, abs=1e-4 * scale)


def test_a_covariance_that_has_collapsed_still_gives_a_polish_and_a_model() -> None:
    domain = domain_of(FLOATS)
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [0.6] * 4, [])
    flat = np.ones((4, 4))  # all variables move together: three of four axes have no length
    for phase in (Newton(domain, point, flat), Polish(domain, point, flat), Polish(domain, point, 0 * flat)):
        play(phase, lambda x: (x**2).sum(axis=1))
        assert phase.best.value <= point.value


def random_space(rng: np.random.Generator) -> Space:
    grid = np.unique(np.round(rng.uniform(-5, 5, 12), 3)).tolist()
    kinds = [
        Float(-5, 5),
        Float(),
        Float(0, None),
        Float(1e-3, 10, log=True),
        Int(0, int(10 ** rng.uniform(0.4, 6))),
        Int(1, 500, log=True),
        Ordinal(grid),
        Bool(),
    ]
    return Space([kinds[i] for i in rng.integers(0, len(kinds), rng.integers(1, 8))])


LANDSCAPES: list[Callable[[FloatArray, np.random.Generator], tuple[float, float]]] = [
    lambda u, rng: (float(((u - 0.3) ** 2).sum()), 0.0),
    lambda u, rng: (float(np.floor(5 * np.abs(u)).sum()), 0.0),
    lambda u, rng: (math.nan if u.sum() > 1 else float((u**2).sum()), 0.0),
    lambda u, rng: (float(u.sum()), max(0.0, 1.0 - float(u.sum()))),
    lambda u, rng: (7.0, 0.0),
    lambda u, rng: (float(rng.standard_normal()), max(0.0, float(rng.standard_normal()))),
    lambda u, rng: (math.exp(min(700.0, float((np.sinh(u) ** 2).sum()))), 1e300 * max(0.0, float(u[0]))),
]


@pytest.mark.parametrize("landscape", range(len(LANDSCAPES)))
def test_no_problem_breaks_the_search(landscape: int) -> None:
    """Kinks, steps, holes, constraints, noise, nothing at all and numbers without end, over any space."""
    for seed in range(6):
        rng = np.random.default_rng([landscape, seed])
        optimizer = Optimizer(random_space(rng), seed=seed)
        while optimizer.evaluations < 800:
            candidates = optimizer.ask()
            assert candidates
            told = [LANDSCAPES[landscape](np.arcsinh(c.params), rng) for c in candidates]
            optimizer.tell(candidates, [value for value, _ in told], [violation for _, violation in told])
        state = json.loads(json.dumps(optimizer.state(), allow_nan=False))
        assert Optimizer.restore(state).state() == optimizer.state()
