"""Which phase follows which, on small landscapes that are made for it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Space, _serialize
from saltus._typing import FloatArray
from saltus.order import Key
from saltus.search.coordinate_scan import CoordinateScan
from saltus.search.integer_neighbours import IntegerNeighbours, affordable
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.mixed_run import MixedRun
from saltus.search.newton import Newton
from saltus.search.phase import Phase
from saltus.search.polish import Polish
from saltus.search.proposal import Evaluated, Proposals, Results
from saltus.search.schedule import PHASES, WIDEST_SHARE, Descent, deviations, within_range
from saltus.search.settings import Settings
from saltus.space.encoding import Encoding

from .playing import domain_of

Landscape = Callable[[FloatArray], float]  # of a point in the user's units

MIXED = Space([Float(-5, 5), Int(-10, 10), Int(0, 5)])
FLOATS = Space([Float(-5, 5), Float(-5, 5)])
INTEGERS = Space([Int(-10, 10), Int(0, 5)])


class Journey:
    """A descent from the first Gaussian to its end, and the names of its phases."""

    def __init__(
        self,
        space: Space,
        fun: Landscape,
        goal: float | None = None,
        without: tuple[str, ...] = (),
        first: FloatArray | None = None,
    ) -> None:
        """With a first point it begins with a scan there."""
        self.encoding = encoding = Encoding(space)
        self.domain = domain = domain_of(space, without=without, encoding=encoding)
        self.fun, self.rng, self.spent = fun, np.random.default_rng(1), 0
        key: Key | None = None if goal is None else (0.0, goal)
        start: MixedRun | CoordinateScan = MixedRun(domain, encoding.m, 1.0, key)
        covariance = None
        if first is not None:
            x, plateaus = encoding.located(first)
            point = domain.with_values(Proposals(x, plateaus))
            start = CoordinateScan(domain, Evaluated(*point, 0.0, fun(first)), self.rng)
            covariance = 0.01 * np.eye(domain.n_continuous)
        self.descent = Descent(domain, start, key, covariance)
        self.names = [type(start).__name__]
        self.begun = 1

    def step(self) -> None:
        descent = self.descent
        before, deep = descent.phase, descent.deep
        before.draw(self.rng)
        points = before.propose()
        values = np.array([self.fun(x) for x in self.encoding.numbers(*points)])
        before.observe(Results(points, values, None))
        self.spent += len(values)
        assert self.spent < 20_000
        self.begun += descent.advance(self.rng)
        if descent.phase is not before or descent.deep != deep:
            self.names.append("deep " * descent.deep + type(descent.phase).__name__)

    def end(self) -> list[str]:
        while not self.descent.over:
            self.step()
        return self.names


def bowl(x: FloatArray) -> float:
    """Smooth, and no parabola: a coarse search does not end exactly at the bottom."""
    t = x - [1.3, 4.0, 3.0][: len(x)]
    return float((t**2).sum() + 0.01 * t[0] ** 3 * np.exp(-(t[0] ** 2))) + 2.0


def kink(x: FloatArray) -> float:
    return float(np.abs(x - [1.3, 4.0, 3.0][: len(x)]).sum()) + 2.0


def test_a_smooth_valley() -> None:
    assert affordable(Journey(MIXED, bowl).domain)
    names = Journey(MIXED, bowl).end()
    assert names == [
        "MixedRun",
        "Newton",
        "IntegerSweep",
        "IntegerNeighbours",
        "deep Newton",
        "deep CoordinateScan",
    ]


def test_a_kink_is_polished_and_has_no_neighbours() -> None:
    names = Journey(MIXED, kink).end()
    assert names == [
        "MixedRun",
        "Newton",
        "Polish",
        "IntegerSweep",
        "deep Polish",
        "deep CoordinateScan",
    ]


def test_without_integers_there_is_no_sweep() -> None:
    assert Journey(FLOATS, bowl).end() == ["MixedRun", "Newton", "deep Newton", "deep CoordinateScan"]
    expected = ["MixedRun", "Newton", "Polish", "deep Polish", "deep CoordinateScan"]
    assert Journey(FLOATS, kink).end() == expected


def test_without_continuous_variables_the_sweep_is_the_end() -> None:
    assert Journey(INTEGERS, bowl).end() == ["MixedRun", "IntegerSweep"]


def test_a_deep_search_continues_the_coarse_one() -> None:
    """It is the same phase, and no other one has begun."""
    journey = Journey(FLOATS, kink)
    journey.end()
    assert journey.begun == len(journey.names) - 1


def test_what_is_no_better_than_the_goal_is_not_worth_a_deep_search() -> None:
    assert Journey(MIXED, bowl, goal=2.0 - 1e-9).end()[-1] == "IntegerSweep"
    assert Journey(MIXED, bowl, goal=2.0 + 1e-3).end()[-1] == "deep CoordinateScan"


def test_a_run_that_is_hopeless_is_the_end() -> None:
    assert Journey(FLOATS, bowl, goal=-1e9).end() == ["MixedRun"]
    assert Journey(MIXED, lambda x: math.nan).end() == ["MixedRun"]


def test_a_run_that_diverges_is_the_end() -> None:
    journey = Journey(Space([Float(), Float()]), lambda x: float(-x.sum()))
    assert journey.end() == ["MixedRun"]
    assert isinstance(journey.descent.phase, MixedRun)
    assert journey.descent.phase.diverged


def test_after_a_sweep_that_found_something_the_coarse_search_begins_again() -> None:
    def narrow(x: FloatArray) -> float:
        if x[2] == 0:  # far away, and only for a sweep that tries every value of this integer
            return float(1e-3 * (x[0] - 2.0) ** 2 + (x[1] - 4.0) ** 2)
        return bowl(x)

    names = Journey(MIXED, narrow).end()
    first = names.index("IntegerSweep")
    assert names[first + 1 : first + 3] == ["Newton", "IntegerSweep"]
    assert names[-1] == "deep CoordinateScan"


def far_valley(x: FloatArray) -> float:
    """A narrow valley that no Gaussian sees, and a scan of 30 points does."""
    return min(bowl(x), float(10 * np.abs(x[0] + 4.0) + ((x[1:] - [4.0, 3.0][: len(x) - 1]) ** 2).sum()))


def test_a_scan_that_finds_another_valley_is_followed_by_another_descent_but_by_no_other_scan() -> None:
    names = Journey(MIXED, far_valley, first=np.array([1.3, 4.0, 3.0])).end()
    assert names[:2] == ["CoordinateScan", "Newton"]
    assert names.count("CoordinateScan") + names.count("deep CoordinateScan") == 1
    assert names[-1] in ("deep Polish", "deep Newton")


def test_a_scan_that_finds_nothing_is_the_end() -> None:
    assert Journey(MIXED, bowl, first=np.array([1.3, 4.0, 3.0])).end() == ["CoordinateScan"]


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("newton", {"Newton", "IntegerNeighbours", "deep Newton"}),
        ("sweep", {"IntegerSweep", "IntegerNeighbours"}),
        ("neighbours", {"IntegerNeighbours"}),
        ("deep", {"deep Newton"}),
        ("scan", {"deep CoordinateScan", "CoordinateScan"}),
    ],
)
def test_a_phase_that_is_left_out_is_not_there(name: str, phases: set[str]) -> None:
    all_names, names = Journey(MIXED, bowl).end(), Journey(MIXED, bowl, without=(name,)).end()
    assert set(all_names) & phases
    assert not set(names) & phases
    others = [each for each in all_names if each not in phases]
    if name == "newton":
        others = ["MixedRun", "Polish", "IntegerSweep", "deep Polish", "deep CoordinateScan"]
    elif name == "deep":
        others[-1] = "CoordinateScan"
    assert names == others


def test_all_phases_left_out_together() -> None:
    without = ("newton", "sweep", "neighbours", "deep", "scan")
    assert Journey(MIXED, bowl, without=without).end() == ["MixedRun", "Polish"]


@pytest.mark.parametrize("fun", [bowl, kink, far_valley])
def test_a_descent_goes_on_from_its_state_after_every_batch(fun: Landscape) -> None:
    journey = Journey(MIXED, fun)

    def saved(descent: Descent) -> Any:
        return json.loads(json.dumps(_serialize.pack(descent.state()), allow_nan=False))

    while not journey.descent.over:
        journey.step()
        state = saved(journey.descent)
        again = Descent.restored(journey.domain, _serialize.unpack(state))
        assert saved(again) == state
        assert again.phase is again.smooth or journey.descent.phase is not journey.descent.smooth
        journey.descent = again
    assert journey.names == Journey(MIXED, fun).end()


def test_the_state_of_a_phase_that_is_no_coarse_search_is_refused() -> None:
    journey = Journey(MIXED, bowl)
    while journey.names[-1] != "IntegerSweep":
        journey.step()
    state = _serialize.unpack(_serialize.pack(journey.descent.state()))
    with pytest.raises(ValueError, match="smooth must be Newton, QuasiNewton or Polish, got IntegerSweep"):
        Descent.restored(journey.domain, state | {"smooth": state["phase"]})


def test_the_phases_are_those_of_the_diagram() -> None:
    descent = {"MixedRun", "Newton", "Polish", "IntegerSweep", "IntegerNeighbours", "CoordinateScan"}
    others = {"ModelRun", "IntegerEvolution", "QuasiNewton", "Valley", "CategoryPairs", "SparedCategories"}
    assert set(PHASES) == others | descent | {"LatticeRun"}


def coupled(x: FloatArray) -> float:
    """The integer cannot change unless the continuous variable follows."""
    return float(1e4 * (x[0] - 0.3 * x[1]) ** 2 + (x[1] - 4.0) ** 2 + 1.0)


VALLEY = Space([Float(-5, 5), Int(-10, 10)])


class Station:
    """A descent on a plane with one integer whose present phase is done, at a point of value 5."""

    def __init__(
        self, goal: float | None = None, without: tuple[str, ...] = (), space: Space = VALLEY
    ) -> None:
        self.encoding = encoding = Encoding(space)
        self.domain = domain = domain_of(space, without=without, encoding=encoding)
        first = MixedRun(domain, encoding.m, 1.0)
        key = None if goal is None else (0.0, goal)
        covariance = np.eye(domain.n_continuous)
        self.descent = Descent(domain, first, key, covariance)
        self.point = self.at(5.0)
        self.model = self.solved()

    def at(self, value: float, plateau: float = 9.0) -> Evaluated:
        plateaus = np.full((1, self.domain.lattice.size), plateau)
        points = self.domain.proposals(np.zeros((1, self.domain.n_continuous)), plateaus)
        return Evaluated(points.x[0], points.plateaus[0], 0.0, value)

    def solved(self) -> Newton:
        """A coarse search that has come to the bottom of a parabola."""
        model = Newton(self.domain, self.point, np.eye(self.domain.n_continuous))
        while not model.done:
            points = model.propose()
            n = self.domain.n_continuous
            model.observe(Results(points, 5.0 + (points.x[:, :n] ** 2).sum(axis=1), None))
        assert not model.failed
        return model

    def after(self, phase: Phase, better: float | None = None) -> Phase:
        """What follows a phase that ends, at a better point or where it began."""
        self.descent.phase = phase
        if better is not None:
            phase.best = self.at(better)
        phase.done = True
        self.begun = self.descent.advance(np.random.default_rng(1))
        return self.descent.phase

    def sweep(self) -> IntegerSweep:
        return IntegerSweep(self.domain, self.point, np.random.default_rng(1))


def test_neighbours_follow_a_valley_one_after_the_other() -> None:
    journey = Journey(VALLEY, coupled)
    names = journey.end()
    assert names.count("IntegerNeighbours") > 1
    assert journey.descent.phase.best.value == pytest.approx(1.0, abs=1e-6)
    plain = Journey(VALLEY, coupled, without=("neighbours",))
    assert "IntegerNeighbours" not in plain.end()


def test_a_neighbour_that_wins_has_neighbours_of_its_own() -> None:
    station = Station()
    neighbours = IntegerNeighbours(station.domain, station.model)
    neighbours.winner = winner = station.model.elsewhere(station.at(3.0, 8.0))
    winner.steps = 1
    station.descent.smooth = station.model
    following = station.after(neighbours, better=3.0)
    assert isinstance(following, IntegerNeighbours)
    assert following is not neighbours
    assert following.winner is station.descent.smooth is winner
    assert following.start.plateaus.tolist() == [8.0]
    assert station.begun == 1
    state = station.descent.state()
    assert state["smooth"] == "winner"  # kept once
    again = Descent.restored(
        station.domain, _serialize.unpack(json.loads(json.dumps(_serialize.pack(state))))
    )
    assert isinstance(again.phase, IntegerNeighbours)
    assert again.smooth is again.phase.winner


def test_a_deep_search_that_has_nothing_left_to_do_is_followed_at_once() -> None:
    """Two phases begin: the deep search, and the scan."""
    station = Station(without=("neighbours",))
    station.descent.smooth = station.model
    station.model.steps = 2  # it has not only begun at the bottom
    assert isinstance(station.after(station.sweep()), CoordinateScan)
    assert station.begun == 2
    assert station.descent.scanned is True


@pytest.mark.parametrize(("goal", "worth_it"), [(None, True), (5.1, True), (5.0, False), (4.9, False)])
def test_only_what_is_better_than_the_goal_is_searched_deeply(goal: float | None, worth_it: bool) -> None:
    for space in (VALLEY, FLOATS):
        station = Station(goal, ("neighbours",), space)
        station.descent.smooth = station.model
        station.after(station.sweep() if space is VALLEY else station.model)
        assert station.descent.deep == worth_it
        assert station.descent.over == (not worth_it)
        following = Station(goal, (), VALLEY)
        following.descent.smooth = following.model
        assert isinstance(following.after(following.sweep()), IntegerNeighbours) == worth_it


@pytest.mark.parametrize("space", [VALLEY, FLOATS])
def test_without_a_deep_search_the_scan_follows(space: Space) -> None:
    station = Station(None, ("deep", "neighbours"), space)
    station.descent.smooth = station.model
    following = station.after(station.sweep() if space is VALLEY else station.model)
    assert isinstance(following, CoordinateScan)
    assert not station.descent.deep


def test_a_deep_polish_has_the_goal_of_the_descent() -> None:
    station = Station(6.0)
    failed = station.solved()
    failed.failed = True
    assert isinstance(coarse := station.after(failed), Polish)
    assert coarse.goal is None
    assert station.descent.smooth is coarse
    assert station.after(station.sweep()) is coarse  # deep now
    assert coarse.goal == (0.0, 6.0)
    assert station.descent.deep
    failed = station.solved()
    failed.failed = True
    assert isinstance(deep := station.after(failed), Polish)
    assert deep is not coarse
    assert deep.goal == (0.0, 6.0)


@pytest.mark.parametrize(
    ("failed", "steps", "there"), [(False, 1, True), (True, 1, False), (False, 0, False)]
)
def test_there_are_neighbours_where_a_model_has_held(failed: bool, steps: int, there: bool) -> None:
    station = Station()
    station.descent.smooth = station.model
    station.model.failed, station.model.steps = failed, steps
    assert isinstance(station.after(station.sweep()), IntegerNeighbours) == there


def test_there_is_one_scan_in_a_descent() -> None:
    station = Station()
    station.descent.deep = True
    scan = station.after(station.model)
    assert isinstance(scan, CoordinateScan)
    assert isinstance(station.after(scan, better=4.0), Newton)
    assert not station.descent.deep
    station.descent.deep = True
    station.after(station.model)
    assert station.descent.over


def test_the_goal_and_all_else_of_a_descent_come_back_from_its_state() -> None:
    for goal in (None, 6.0):
        station = Station(goal)
        station.descent.smooth, station.descent.deep, station.descent.scanned = station.model, True, True
        state = _serialize.unpack(json.loads(json.dumps(_serialize.pack(station.descent.state()))))
        domain = domain_of(VALLEY, without=["scan"], encoding=station.encoding)
        again = Descent.restored(domain, state)
        assert again.goal == station.descent.goal == (None if goal is None else (0.0, goal))
        assert (again.deep, again.scanned, again.over) == (True, True, False)
        assert again.domain is again.phase.domain is domain
        assert again.domain.settings == Settings("saltus-es", 8, without=frozenset(["scan"]))
        assert again.covariance is not None
        np.testing.assert_array_equal(again.covariance, np.eye(1))
        assert isinstance(again.smooth, Newton)
        assert again.smooth.domain is domain


def test_after_a_run_that_is_wider_than_a_range_newton_steps_still_find_the_bottom() -> None:
    """As when late results have widened a Gaussian: mirrored at the bounds, a parabola is none."""
    encoding = Encoding(Space([Float(-5, 5), Float(-5, 5), Int(-10, 10)]))
    domain = domain_of(encoding.space, encoding=encoding)
    sd = np.array([1.4, 0.01]) * domain.span[:2]
    wide = np.array([[1.0, 0.5], [0.5, 1.0]]) * np.outer(sd, sd)

    def value(points: Proposals) -> FloatArray:
        x = encoding.numbers(*points)
        return np.asarray((x[:, 0] - 1.3) ** 2 + 1e4 * (x[:, 1] - 1.3) ** 2)

    def lowest(covariance: FloatArray) -> float:
        start = domain.with_values(Proposals(*encoding.located(np.array([1.4, 1.301, 0.0]))))
        batch = Proposals(start.x[None], start.plateaus[None])
        newton = Newton(domain, Results(batch, value(batch), None).point(0), covariance)
        for _ in range(2):  # coarse, then deep
            while not newton.done:
                points = newton.propose()
                newton.observe(Results(points, value(points), None))
            if not newton.failed:
                newton.deepen(None)
        return newton.best.value

    assert lowest(wide) > 1e-3
    assert lowest(within_range(domain, wide)) < 1e-9


def test_a_covariance_is_narrowed_where_it_is_wider_than_a_range_and_nowhere_else() -> None:
    domain = domain_of(Space([Float(-5, 5), Float(), Float(-5, 5), Int(0, 9)]))
    sd = np.array([2.0, 5.0, 0.01]) * domain.span[:3]
    correlations = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
    covariance = correlations * np.outer(sd, sd)
    narrow = within_range(domain, covariance)
    expected = np.array([WIDEST_SHARE * domain.span[0], sd[1], sd[2]])  # the second one has no bounds
    np.testing.assert_allclose(deviations(narrow), expected)
    np.testing.assert_allclose(narrow / np.outer(expected, expected), correlations)
    rows = np.array([sd, [0.5, 0.1, 0.2]])  # as of many variables: scales and a direction
    of_many = within_range(domain, rows)
    np.testing.assert_allclose(of_many[1], rows[1])
    assert deviations(of_many)[0] == pytest.approx(WIDEST_SHARE * domain.span[0])
    assert within_range(domain, narrow) is narrow or np.allclose(within_range(domain, narrow), narrow)


def test_a_descent_goes_on_from_a_mixed_run_no_wider_than_the_ranges() -> None:
    station = Station()
    run = station.descent.phase
    assert isinstance(run, MixedRun)
    gaussian: Any = run.gaussian
    gaussian.state = gaussian.state._replace(sigma=100.0, sd=gaussian.state.sd * 100)
    run.best, run.done = station.point, True
    station.descent.advance(np.random.default_rng(1))
    assert station.descent.covariance is not None
    widest = WIDEST_SHARE * station.domain.span[: station.domain.n_continuous]
    assert (deviations(station.descent.covariance) <= widest * (1 + 1e-9)).all()
