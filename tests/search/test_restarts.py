"""The strategies `saltus` and `saltus-es` as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

from saltus import Bool, Float, Int, Optimizer, Ordinal, Outcome, Space, Stop, _serialize, minimize
from saltus._typing import FloatArray
from saltus.search import restarts
from saltus.search.coordinate_scan import CoordinateScan
from saltus.search.mixed_run import MixedRun
from saltus.search.model_run import SMALLEST_SIDE, ModelRun
from saltus.search.newton import Newton
from saltus.search.proposal import Domain, Evaluated, Proposals, Results
from saltus.search.restarts import DEEPENED, PRIOR, Saltus
from saltus.search.schedule import usual_covariance
from saltus.search.settings import MANY_PHASES, Settings
from saltus.space.encoding import Encoding

from .playing import ALL_KINDS, domain_of, stiff

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


@pytest.mark.parametrize("strategy", MANY_PHASES)
@pytest.mark.parametrize("name", SPACES)
def test_all_spaces(name: str, strategy: str) -> None:
    """An optimum at a random place of the lattice is found exactly, or nearly."""
    space = SPACES[name]
    rng = np.random.default_rng(5)
    candidates = Optimizer(space, seed=rng, strategy="saltus-es").ask()
    best = np.array(candidates[1].params, dtype=float)
    scale = np.maximum(np.abs(best), 1.0)

    def fun(x: FloatArray) -> float:
        return float((((x - best) / scale) ** 2).sum())

    result = minimize(fun, space, seed=1, budget=4000, target=1e-9, strategy=strategy)
    assert result.stop is Stop.TARGET, result


@pytest.mark.parametrize(
    ("strategy", "seed", "budget"),
    [("saltus", 0, 90), *(("saltus-es", seed, 3000) for seed in range(3))],
)
def test_constraints_and_infeasible_regions(strategy: str, seed: int, budget: int) -> None:
    """The optimum lies on a constraint, next to a region without values."""

    def fun(p: Any) -> tuple[float, list[float]]:
        if p["x"] + p["k"] < -3:
            return math.nan, []
        return p["x"] ** 2 + (p["y"] - 1) ** 2 + 0.1 * p["k"], [2 - p["x"] - p["k"]]

    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(-4, 6)})
    result = minimize(fun, space, seed=seed, budget=budget, strategy=strategy)
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


@pytest.mark.parametrize("strategy", MANY_PHASES)
def test_a_batch_is_whole_and_the_order_of_telling_does_not_matter(strategy: str) -> None:
    def final(order: int) -> dict[str, Any]:
        optimizer = Optimizer(ALL_KINDS, seed=4, strategy=strategy, batch=3)
        for _ in range(200 if strategy == "saltus-es" else 30):
            candidates = optimizer.ask()
            assert optimizer.ask() == []
            for c in candidates[::order]:
                optimizer.tell(c, stiff(c.params))
        return optimizer.state()

    assert final(1) == final(-1)


@pytest.mark.parametrize(("scale", "offset"), [(1e-300, 0.0), (1e-30, -1.0), (1e300, 0.0), (1e300, -1.0)])
def test_values_of_any_size(scale: float, offset: float) -> None:
    """The unit of values does not matter, and near the end of all numbers the search goes on."""

    def fun(p: Any) -> tuple[float, list[float]]:
        value = (p["x"] - 1) ** 2 + abs(p["y"]) + (p["k"] - 7) ** 2 / 10 + offset
        return scale * value, [scale * (p["x"] - 3)]

    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(0, 20)})
    result = minimize(fun, space, seed=1, budget=60)
    assert result.params["k"] == 7
    assert result.fun == pytest.approx(scale * offset, abs=1e-3 * scale)


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


@pytest.mark.parametrize(("strategy", "seeds", "evaluations"), [("saltus", 1, 48), ("saltus-es", 3, 500)])
@pytest.mark.parametrize("landscape", range(len(LANDSCAPES)))
def test_no_problem_breaks_the_search(landscape: int, strategy: str, seeds: int, evaluations: int) -> None:
    """Kinks, steps, holes, constraints, noise, nothing at all and numbers without end, over any space."""
    for seed in range(seeds):
        rng = np.random.default_rng([landscape, seed])
        optimizer = Optimizer(random_space(rng), seed=seed, strategy=strategy)
        while optimizer.evaluations < evaluations:
            candidates = optimizer.ask()
            assert candidates
            told = [LANDSCAPES[landscape](np.arcsinh(c.params), rng) for c in candidates]
            optimizer.tell(candidates, [value for value, _ in told], [violation for _, violation in told])
        state = json.loads(json.dumps(optimizer.state(), allow_nan=False))
        assert Optimizer.restore(state).state() == optimizer.state()


def descents(without: tuple[str, ...] = (), seed: int = 1, evaluations: int = 4000) -> list[tuple[str, int]]:
    """How each run begins: the name of its first phase, and the population."""
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10)])
    optimizer = Optimizer(space, seed=seed, strategy="saltus-es", without=without)
    begun: list[tuple[str, int]] = []
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        if optimizer.restarts == len(begun):
            begun.append((optimizer.phase, optimizer.population))
        optimizer.tell(
            candidates, [float((c.params**2).sum() + np.cos(5 * c.params).sum()) for c in candidates]
        )
    return begun


def test_global_runs_with_small_and_large_populations_take_turns_with_local_ones() -> None:
    begun = descents()
    default = begun[0][1]
    assert begun[0][0] == "MixedRun"
    assert {name for name, _ in begun} == {"MixedRun", "CoordinateScan"}
    sizes = sorted({size for _, size in begun})
    assert sizes[0] == default
    assert sizes[1] == 2 * default
    assert all(size & (size - 1) == 0 for size in np.array(sizes) // default)
    assert sum(size == default for _, size in begun) > len(begun) / 2


def test_runs_that_are_left_out_do_not_begin() -> None:
    locals_only = descents(("global runs",))
    assert {size for _, size in locals_only} == {locals_only[0][1]}  # a larger one is global
    globals_only = descents(("local runs",))
    assert {name for name, _ in globals_only} == {"MixedRun"}  # a scan is local
    assert len({size for _, size in globals_only}) > 2
    assert {name for name, _ in descents(("scan",))} == {"MixedRun"}


def test_a_point_of_another_that_is_better_becomes_the_incumbent() -> None:
    """Local runs begin there."""
    space = Space([Float(-5, 5), Float(-5, 5), Int(-10, 10)])
    optimizer = Optimizer(space, seed=1, strategy="saltus-es", without=["global runs", "scan"])
    while optimizer.phase == "MixedRun":
        candidates = optimizer.ask()
        optimizer.tell(candidates, [float((c.params**2).sum()) for c in candidates])
    optimizer.add(np.array([4.0, -4.0, 9]), -100.0)
    while optimizer.restarts == 0:
        candidates = optimizer.ask()
        if optimizer.restarts == 0:
            optimizer.tell(candidates, [float((c.params**2).sum()) for c in candidates])
    np.testing.assert_allclose(optimizer.mean, [4.0, -4.0, 9.0], atol=1e-9)


DOMAIN = domain_of(Space([Float(-5, 5), Float(-5, 5), Int(-10, 10)]))


def search(without: Collection[str] = ()) -> Saltus:
    settings = Settings.checked(3, "saltus-es", 8, without=without)
    return Saltus(replace(DOMAIN, settings=settings), np.zeros(3))


def point(value: float, violation: float = 0.0, plateau: float = 3.0) -> Evaluated:
    x = DOMAIN.proposals(np.array([[0.5, -0.5]]), np.array([[plateau]])).x[0]
    return Evaluated(x, np.array([plateau]), violation, value)


def point_of_floats(value: float) -> Evaluated:
    return Evaluated(np.full(3, value), np.empty(0), 0.0, value)


def counts(**of: int) -> dict[str, int]:
    """Something for every kind of run: nothing, if it is not named."""
    return dict.fromkeys(PRIOR, 0) | of


def ended(saltus: Saltus, best: Evaluated, seed: int = 1, **spent: int) -> str:
    """Let the descent end there, with so much spent since the first; the kind of the next one."""
    saltus.descent.phase.best = best
    saltus.descent.covariance = np.eye(2)
    if spent:
        saltus.spent = counts(**spent)
    saltus.restart(np.random.default_rng(seed))
    return saltus.kind


# so much was spent on all other kinds that the next one is ...
LOCAL = {"small": 10**6, "large": 10**6, "scan": 10**6}
SCAN = {"small": 10**6, "large": 10**6, "local": 10**6}
SMALL = {"local": 10**6, "large": 10**6, "scan": 10**6}
LARGE = {"local": 10**6, "small": 10**6, "scan": 10**6}


def test_at_first_local_runs_and_scans_have_twice_what_each_global_kind_has() -> None:
    spent = {"small": 501, "large": 501, "local": 1000, "scan": 1000}
    for kind in spent:
        assert ended(search(), point(1.0), **spent | {kind: 490}) == kind


def test_after_a_rugged_valley_large_runs_have_their_turn_before_local_ones() -> None:
    saltus = search()
    smooth, rugged = (ended(saltus, point(1.0)) for saltus.rugged in (False, True))
    assert (smooth, rugged) == ("local", "large")
    assert ended(saltus, point(1.0), large=1000, local=400, scan=400, small=400) == "local"


@pytest.mark.parametrize("kind", ["small", "large", "local", "scan"])
def test_the_next_run_is_of_the_kind_that_has_brought_most_for_what_it_cost(kind: str) -> None:
    saltus = search()
    spent = {"small": 500, "large": 500, "local": 1000, "scan": 1000}
    saltus.won[kind] = 3
    share = (PRIOR[kind] + 3) / PRIOR[kind]  # of what it had otherwise
    assert ended(saltus, point(1.0), **spent | {kind: int(spent[kind] * share) - 5}) == kind
    assert ended(saltus, point(1.0), **spent | {kind: int(spent[kind] * share) + 5}) != kind


def test_a_run_has_brought_something_if_it_was_better_than_all_before() -> None:
    saltus = search()
    assert ended(saltus, point(5.0), **SCAN) == "scan"
    assert saltus.won == counts()  # the first run counts for none
    assert ended(saltus, point(4.0), **SMALL) == "small"
    assert saltus.won == counts(scan=1)
    assert ended(saltus, point(4.0), **LOCAL) == "local"
    assert saltus.won == counts(scan=1)
    ended(saltus, point(3.0))
    assert saltus.won == counts(scan=1, local=1)


def test_of_global_runs_larger_ones_double() -> None:
    saltus = search()
    assert (saltus.kind, saltus.population, saltus.restarts, saltus.phases) == ("small", 8, 0, 1)
    for spent, kind, population in ((SMALL, "small", 8), (LARGE, "large", 16), (LARGE, "large", 32)):
        assert ended(saltus, point(1.0), **spent) == kind
        assert saltus.population == population == len(drawn(saltus))
    assert ended(saltus, point(1.0), **SMALL) == "small"
    assert (saltus.population, saltus.restarts, saltus.phases) == (8, 4, 5)


def test_small_global_runs_of_continuous_variables_have_any_size_up_to_half_of_large_ones() -> None:
    encoding = Encoding(Space([Float(-5, 5)] * 3))
    saltus = Saltus(Domain.of(encoding, Settings.checked(3, "saltus")), encoding.m)
    usual = saltus.population
    saltus._open(np.random.default_rng(0))
    assert ended(saltus, point_of_floats(1.0), seed=0, **SMALL) == "small"
    assert saltus.population == usual  # nothing is larger yet
    saltus.large = 16 * usual
    sizes = []
    for seed in range(200):
        assert ended(saltus, point_of_floats(1.0), seed, **SMALL) == "small"
        sizes.append(saltus.population)
        assert saltus.phase.where()[1] == pytest.approx(1.0)
    assert all(size % 2 == 0 for size in sizes)
    assert min(sizes) == usual
    assert 7 * usual < max(sizes) <= 8 * usual
    assert np.median(sizes) < 3 * usual


def drawn(saltus: Saltus) -> FloatArray:
    saltus.phase.draw(np.random.default_rng(1))
    return saltus.phase.propose().x


def test_global_runs_begin_in_the_inner_part_of_the_ranges() -> None:
    shares = []
    for seed in range(200):
        saltus = search()
        ended(saltus, point(1.0), seed, **SMALL)
        m, sd = saltus.phase.where()
        np.testing.assert_array_equal(sd, 1.0)
        shares.append((m - DOMAIN.low) / DOMAIN.span)
    assert 0.2 <= np.min(shares) < 0.22
    assert 0.78 < np.max(shares) <= 0.8


def local(seed: int) -> tuple[FloatArray, FloatArray]:
    """Where a local run begins."""
    saltus = search()
    assert ended(saltus, point(1.0), seed, **LOCAL) == "local"
    return saltus.phase.where()


def test_local_runs_begin_at_the_incumbent_with_small_steps() -> None:
    """A hundredth to a tenth of each range; of integers three tenths of a value to a whole one."""
    shares, cells = [], []
    for seed in range(200):
        m, sd = local(seed)
        np.testing.assert_allclose(m, point(1.0).x)
        share = sd[:2] / DOMAIN.span[:2]
        assert share[0] == pytest.approx(share[1])
        shares.append(share[0])
        cells.append(sd[2] / (DOMAIN.span[2] / 21))
    assert 0.01 <= min(shares) < 0.0105
    assert 0.095 < max(shares) <= 0.1
    assert np.median(shares) == pytest.approx(math.sqrt(0.01 * 0.1), rel=0.2)  # evenly in logarithms
    assert 0.3 <= min(cells) < 0.32
    assert 0.95 < max(cells) <= 1.0
    assert np.median(cells) == pytest.approx(math.sqrt(0.3), rel=0.2)


def test_an_integer_of_many_values_steps_by_a_tenth_of_what_a_continuous_variable_does() -> None:
    domain = domain_of(Space([Float(-5, 5), Int(0, 10**6)]), without=["scan", "global runs"])
    saltus = Saltus(domain, np.zeros(2))
    x = domain.proposals(np.zeros((1, 1)), np.array([[5.0]])).x[0]
    saltus.descent.phase.best = Evaluated(x, np.array([5.0]), 0.0, 1.0)
    saltus.restart(np.random.default_rng(1))
    sd = saltus.phase.where()[1] / domain.span
    assert sd[1] == pytest.approx(0.1 * sd[0])


def test_a_local_run_has_the_incumbent_as_its_goal_and_a_global_one_has_none() -> None:
    saltus = search(without=["scan"])
    ended(saltus, point(1.0), **LOCAL)
    assert saltus.descent.goal == (0.0, 1.0)
    assert cast(MixedRun, saltus.phase).goal == (0.0, 1.0)
    ended(saltus, point(2.0), **SMALL)
    assert saltus.descent.goal == (0.0, 1.0)  # what is no better is not worth a deep search
    assert cast(MixedRun, saltus.phase).goal is None


@pytest.mark.parametrize("found", [True, False])
def test_a_scan_begins_at_the_incumbent_with_the_covariance_of_the_last_descent(found: bool) -> None:
    """Or with the usual one, if that has found none."""
    saltus = search()
    saltus.descent.phase.best = point(1.0)
    saltus.descent.covariance = np.eye(2) if found else None
    saltus.spent = counts(**SCAN)
    saltus.restart(np.random.default_rng(1))
    assert isinstance(saltus.phase, CoordinateScan)
    assert saltus.phase.start.key == (0.0, 1.0)
    covariance = np.eye(2) if found else usual_covariance(DOMAIN)
    np.testing.assert_array_equal(saltus.descent.covariance, covariance)


def test_without_continuous_variables_there_are_no_scans() -> None:
    saltus = Saltus(domain_of(SPACES["no continuous variables"]), np.zeros(4))
    assert saltus._kinds() == ["small", "large"]
    saltus.incumbent = saltus.domain.nowhere()._replace(violation=0.0, value=1.0)
    assert saltus._kinds() == ["local", "small", "large"]


def test_failures_of_local_runs_are_counted_until_one_is_better() -> None:
    saltus = search()
    ended(saltus, point(5.0), **LOCAL)
    assert saltus.failures == 0  # it was a global one
    for kind, value, failures in (
        *(("local", 6.0, 1), ("scan", 5.0, 2), ("local", 4.0, 0)),
        *(("scan", 4.5, 1), ("local", 4.5, 2), ("scan", 3.0, 0), ("local", 4.0, 1)),
    ):
        assert saltus.kind == kind
        ended(saltus, point(value), **LOCAL if kind == "scan" else SCAN)
        assert saltus.failures == failures
    assert saltus.incumbent is not None
    assert saltus.incumbent.value == 3.0


def test_where_nothing_has_succeeded_all_runs_are_global() -> None:
    saltus = search()
    assert ended(saltus, DOMAIN.nowhere(), small=10**6, large=10**5) == "large"
    assert ended(saltus, DOMAIN.nowhere(), small=10**5, large=10**6) == "small"


def test_why_a_descent_ended() -> None:
    for best, stop in (
        (point(1.0), Stop.CONVERGED),
        (point(1.0, 0.5), Stop.CONVERGED),
        (DOMAIN.nowhere(), Stop.INFEASIBLE),
    ):
        saltus = search()
        assert saltus.stop is None
        saltus.phase.best = best
        saltus._end(saltus.phase.best)
        assert saltus.stop is stop
        saltus.restart(np.random.default_rng(1))
        assert saltus.stop is None


def test_the_best_of_points_from_elsewhere_counts_when_the_descent_ends() -> None:
    saltus = search()
    for value in (7.0, 3.0, 5.0):
        saltus.inject(point(value, plateau=value))
    assert saltus.spent == counts()  # the first run is not counted
    assert saltus.stray is not None
    assert saltus.stray.value == 3.0
    ended(saltus, point(4.0))
    assert saltus.incumbent is not None
    assert (saltus.incumbent.value, saltus.incumbent.plateaus.tolist()) == (3.0, [3.0])
    assert saltus.stray is None
    saltus.inject(point(2.5)._replace(x=np.array([1.0, 2.0, math.nan])))
    np.testing.assert_allclose(cast(Evaluated, saltus.stray).x, [1.0, 2.0, point(1.0).x[2]])
    ended(saltus, point(2.5, plateau=9.0))
    assert saltus.incumbent.plateaus.tolist() == [9.0]  # as good is not better


@pytest.mark.parametrize("spent", [SMALL, LARGE, LOCAL])
def test_evaluations_are_counted_for_the_kind_of_run(spent: dict[str, int]) -> None:
    saltus = search()
    kind = ended(saltus, point(1.0), **spent)
    x = drawn(saltus)
    points = saltus.phase.propose()
    saltus.observe(Results(points, (x**2).sum(axis=1), None), np.random.default_rng(1))
    assert saltus.spent == counts(**spent) | {kind: len(x)}
    saltus.inject(point(7.0))
    assert saltus.spent == counts(**spent) | {kind: len(x) + 1}


@pytest.mark.parametrize(
    ("without", "kinds"), [("local runs", {"small", "large"}), ("global runs", {"local", "scan"})]
)
def test_kinds_that_are_left_out(without: str, kinds: set[str]) -> None:
    for spent in (SMALL, LARGE, LOCAL, SCAN):
        saltus = search(without=[without])
        assert ended(saltus, point(1.0), **spent) in kinds


def test_kinds_of_runs_have_these_names() -> None:
    """They are in records of studies."""
    assert list(PRIOR) == ["small", "large", "local", "scan", "evolution", "lattice", "model"]


@pytest.mark.parametrize("kind", ["first", "global", "local"])
def test_every_run_has_the_options_of_the_search(kind: str) -> None:
    domain = domain_of(Space([Float(-5, 5)] * 4 + [Int(-10, 10)]))
    best = domain.proposals(np.zeros((1, 4)), np.array([[3.0]]))

    def run_of(margin: float | None, exact: bool, without: Collection[str]) -> MixedRun:
        settings = Settings.checked(5, "saltus-es", 8, margin, exact, without)
        saltus = Saltus(replace(domain, settings=settings), np.zeros(5))
        if kind != "first":
            spent = SMALL if kind == "global" else LOCAL
            ended(saltus, Evaluated(best.x[0], best.plateaus[0], 0.0, 1.0), **spent)
        assert (saltus.kind == "local") == (kind == "local")
        assert saltus.phase.domain is saltus.domain
        assert saltus.phase.domain.settings == settings
        return cast(MixedRun, saltus.phase)

    told = run_of(0.03, True, ["scaling", "scan"])
    plain = run_of(None, False, ["scan"])
    constants = [cast(Any, run.gaussian).constants for run in (told, plain)]
    papers = 1 / (5 * plain.gaussian.size)
    assert [run.gaussian.integers.alpha for run in (told, plain)] == [0.03, papers]
    assert [c.refresh for c in constants] == [1, 2]  # exact or not
    assert [c.eta_D > 0.0 for c in constants] == [False, True]  # scaling or not
    if kind == "first":
        m, sd = search().phase.where()
        assert (m.tolist(), sd.tolist()) == ([0.0] * 3, [1.0] * 3)


def test_evaluations_and_phases_add_up() -> None:
    saltus = search(without=["newton"])
    assert saltus.descent.domain.settings.without == {"newton"}
    assert ended(saltus, DOMAIN.nowhere(), small=1) == "large"
    before_it = saltus.phases - 1
    rng = np.random.default_rng(1)
    evaluations, begun = 0, [type(saltus.phase)]
    while not saltus.descent.over:
        before = saltus.phase
        saltus.phase.draw(rng)
        points = saltus.phase.propose()
        saltus.observe(Results(points, np.abs(points.x).sum(axis=1), None), rng)
        evaluations += len(points.x)
        if saltus.phase is not before:
            begun.append(type(saltus.phase))
        assert saltus.spent == counts(small=1, large=evaluations)
    assert len(begun) > 3
    assert Newton not in begun
    assert saltus.phases == before_it + len(begun)


def test_of_equal_points_from_elsewhere_the_first_counts() -> None:
    saltus = search()
    for plateau in (4.0, 5.0):
        saltus.inject(point(3.0, plateau=plateau))
    assert cast(Evaluated, saltus.stray).plateaus.tolist() == [4.0]


def test_a_run_beyond_all_bounds_has_diverged() -> None:
    saltus = search()
    saltus.phase = saltus.descent.phase = MixedRun(saltus.domain, np.zeros(3), np.array([1e11, 1.0, 1.0]))
    saltus._end(point(1.0))
    assert saltus.stop is Stop.DIVERGED


def test_a_global_run_begins_elsewhere_along_every_variable() -> None:
    saltus = search()
    ended(saltus, point(1.0), 1, **SMALL)
    shares = (saltus.phase.where()[0] - DOMAIN.low) / DOMAIN.span
    assert len({round(share, 6) for share in shares.tolist()}) == 3


def test_the_steps_of_a_local_run_are_relative_to_the_width_of_a_plateau() -> None:
    """Whatever the unit of the coordinates is."""
    space = Space([Float(-5, 5), Int(0, 9)])
    domain = domain_of(space, without=["scan", "global runs"], encoding=Encoding(space))
    saltus = Saltus(domain, np.zeros(2))
    x = domain.proposals(np.zeros((1, 1)), np.array([[5.0]])).x[0]
    saltus.descent.phase.best = Evaluated(x, np.array([5.0]), 0.0, 1.0)
    saltus.restart(np.random.default_rng(1))
    width = domain.lattice.value(np.array([1.0]))[0] - domain.lattice.value(np.array([0.0]))[0]
    assert not 0.8 < width < 1.2
    assert 0.3 * width <= saltus.phase.where()[1][1] <= 1.0 * width


def test_a_search_that_has_stopped_goes_on_from_its_state() -> None:
    saltus = search()
    ended(saltus, point(5.0), **LOCAL | {"local": 7})
    saltus.won["scan"] = 2
    saltus.inject(point(6.0))
    saltus._end(point(7.0))
    saltus.inject(point(3.0, plateau=8.0))
    state = _serialize.unpack(json.loads(json.dumps(_serialize.pack(saltus.state()), allow_nan=False)))
    other = search()
    other.restore(state)
    assert other.stop is saltus.stop is Stop.CONVERGED
    for name in ("population", "small", "large", "failures", "restarts", "phases", "kind", "spent", "won"):
        assert getattr(other, name) == getattr(saltus, name)
    assert (other.kind, other.failures, other.restarts) == ("local", 1, 1)
    assert other.phase is other.descent.phase
    assert other.descent.domain is other.domain
    assert other.domain.settings == Settings("saltus-es", 8)
    for name, value in (("incumbent", 5.0), ("stray", 3.0)):
        found: Evaluated = getattr(other, name)
        assert found.value == value
        np.testing.assert_array_equal(found.x, getattr(saltus, name).x)
        with pytest.raises(ValueError, match=f"state: {name} must have"):
            search().restore(state | {name: {"x": 1.0}})
        with pytest.raises(ValueError, match="x must be an array of shape"):
            search().restore(state | {name: state[name] | {"x": np.zeros(9)}})
    with pytest.raises(KeyError):
        search().restore(state | {"kind": "tiny"})


def test_a_model_run_that_ends_a_descent_is_not_the_opening_one() -> None:
    """Without continuous variables and without a sweep nothing follows it: the next run is a restart."""
    encoding = Encoding(Space([Int(-20, 20), Int(-20, 20)]))
    settings = Settings.checked(2, "saltus", 8, without=["sweep", "asking"])
    domain, rng = Domain.of(encoding, settings), np.random.default_rng(1)
    saltus = Saltus(domain, encoding.m)
    assert not saltus.opened
    saltus.restart(rng)  # the run from the first mean
    assert saltus.opened
    start = Evaluated(encoding.m, domain.lattice.plateau(encoding.m), 0.0, 3.0)
    run = ModelRun.around(domain, start)
    run.side = SMALLEST_SIDE / 2  # it ends
    saltus.phase = saltus.descent.phase = run
    saltus.observe(Results(Proposals(start.x[None], start.plateaus[None]), np.array([4.0]), None), rng)
    assert saltus.stop is Stop.CONVERGED
    assert saltus.incumbent == start
    assert saltus.phase is run


def test_without_its_model_it_is_saltus_es() -> None:
    seen = []
    for how in ({"strategy": "saltus-es"}, {"strategy": "saltus", "without": ["model", "asking", "lattice"]}):
        optimizer = Optimizer(ALL_KINDS, seed=4, **how)
        points: list[Any] = []
        while len(points) < 600:
            candidates = optimizer.ask()
            points += [c.params for c in candidates]
            optimizer.tell(candidates, [stiff(c.params) for c in candidates])
        seen.append(points)
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("space", "short"),
    [
        (Space([Float(-5, 5), Float(-5, 5), Int(0, 20)]), {"Newton", "Polish", "IntegerSweep"}),
        (Space([Int(0, 9), Int(0, 9), Int(0, 20)]), {"IntegerSweep"}),
    ],
)
def test_a_short_descent_after_the_first_model_run_and_then_the_run_from_the_first_mean(
    space: Space, short: set[str]
) -> None:
    optimizer = Optimizer(space, strategy="saltus", seed=1)
    names: list[str] = []
    while not names or names[-1] != "MixedRun":
        candidates = optimizer.ask()
        if not names or names[-1] != optimizer.phase:
            names.append(optimizer.phase)
        values = [float(np.abs(np.array(c.params) - [1.3, 4.0, 3.0]).sum()) + 1.0 for c in candidates]
        optimizer.tell(candidates, values)
        assert optimizer.evaluations < 500
    assert names[0] == "ModelRun"
    assert set(names[1:-1]) <= short
    assert len(names) > 2
    assert optimizer.restarts == 0


def test_without_integers_a_valley_from_the_first_mean_follows_the_first_model_run() -> None:
    optimizer = Optimizer(Space([Float(-5, 5), Float(-5, 5), Float(0, 20)]), seed=1)
    names: list[str] = []
    while optimizer.evaluations < 600:
        candidates = optimizer.ask()
        if not names or names[-1] != optimizer.phase:
            names.append(optimizer.phase)
        values = [float(np.abs(np.array(c.params) - [1.3, 4.0, 3.0]).sum()) + 1.0 for c in candidates]
        optimizer.tell(candidates, values)
    assert names[:2] == ["ModelRun", "Valley"]
    assert set(names) <= {"ModelRun", "Valley", "CoordinateScan"}


def runs_with_constraints(space: Space, evaluations: int, **options: Any) -> list[tuple[int, str]]:
    """Phases in their order, each with how many evaluations there were before it."""
    optimizer = Optimizer(space, seed=1, **options)
    seen: list[tuple[int, str]] = []
    while optimizer.evaluations < evaluations:
        candidates = optimizer.ask()
        if not seen or seen[-1][1] != optimizer.phase:
            seen.append((optimizer.evaluations, optimizer.phase))
        for candidate in candidates:
            x = np.array(candidate.params, dtype=float)
            optimizer.tell(candidate, Outcome(float(np.abs(x - 1.3).sum()), {"near": 4.0 - float(x.sum())}))
    return seen


def test_with_constraints_model_runs_come_first_and_then_have_half_of_the_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(restarts, "ALONE", 100)  # less than there is, since model runs are dear
    mixed = Space([Float(-5, 5), Int(-5, 5)])
    seen = runs_with_constraints(mixed, 480)
    first = next(before for before, name in seen if name != "ModelRun")
    assert first >= 100
    spent = {True: 0, False: 0}  # by model runs and by others, since model runs take turns
    turns = [phase for phase in seen if phase[0] > first]
    while turns[0][1] != "ModelRun":
        turns.pop(0)
    for (start, name), (end, following) in pairwise(turns):
        spent[name == "ModelRun"] += end - start
        if name == "ModelRun":
            assert following != "ModelRun"
            assert spent[True] >= spent[False]
    assert spent[False] > 0
    assert {name for _, name in runs_with_constraints(mixed, 50, without=["model"])} >= {"MixedRun"}


def test_with_constraints_on_floats_alone_there_is_nothing_but_model_runs_for_long() -> None:
    seen = runs_with_constraints(Space([Float(-5, 5), Float(-5, 5)]), 120)
    assert {name for _, name in seen} == {"ModelRun"}


def test_where_a_short_descent_has_led_is_searched_deeply_when_local_runs_find_nothing() -> None:
    encoding = Encoding(SPACES["uneven"])
    domain = Domain.of(encoding, Settings.checked(encoding.N, "saltus"))
    rng = np.random.default_rng(1)
    saltus = Saltus(domain, encoding.m)
    best = Evaluated(encoding.m, domain.lattice.plateau(encoding.m[domain.n_continuous :]), 0.0, 3.0)
    saltus._end(best)
    assert saltus.shallow
    saltus.restart(rng)  # the run from the first mean
    assert isinstance(saltus.descent.phase, MixedRun)
    saltus._end(best._replace(value=4.0))
    assert saltus.shallow
    saltus.spent, saltus.failures = counts(**LOCAL), DEEPENED - 1
    saltus.descent.over = True
    again = Saltus(domain, encoding.m)
    again.restore(_serialize.unpack(json.loads(json.dumps(_serialize.pack(saltus.state())))))
    assert again.shallow
    again.restart(rng)
    assert not isinstance(again.descent.phase, Newton)
    saltus.failures = DEEPENED
    saltus.restart(rng)
    assert isinstance(saltus.descent.phase, Newton)
    assert saltus.descent.smooth is saltus.descent.phase
    assert saltus.descent.goal is None  # so a deep search is worth it
    assert not saltus.shallow
    saltus._end(best._replace(value=1.0))
    assert not saltus.shallow  # that was no short descent
