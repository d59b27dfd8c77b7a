"""Integer vectors next to a point."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Space, _serialize
from saltus._typing import FloatArray
from saltus.search.integer_neighbours import IntegerNeighbours, affordable
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.newton import Newton
from saltus.search.proposal import Results

from .playing import domain_of, evaluated, play


def test_neighbours_follow_a_stiff_valley() -> None:
    """One integer cannot change alone: the continuous variable has to follow, a hundred times as stiff."""
    domain = domain_of(Space([Float(), Int(0, 15)]))

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(1e4 * (x[:, 0] - 0.3 * x[:, 1]) ** 2 + (x[:, 1] - 11) ** 2)

    point = evaluated(domain, fun, [0.9], [3.0])
    sweep = IntegerSweep(domain, point, np.random.default_rng(1))
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


@pytest.mark.parametrize(
    ("continuous", "integers", "worth_it"),
    [(1, 1, True), (2, 9, True), (2, 3, True), (10, 2, True), (11, 4, False), (4, 5, True), (4, 6, False)],
)
def test_neighbours_are_affordable_at_ten_evaluations_for_each_variable(
    continuous: int, integers: int, worth_it: bool
) -> None:
    """A gradient and the point itself, for both neighbours along each integer."""
    domain = domain_of(Space([Float()] * continuous + [Int(0, 9)] * integers))
    assert affordable(domain) == worth_it
    assert worth_it == (2 * integers * (2 * continuous + 1) <= 10 * (continuous + integers))


DOMAIN = domain_of(Space([Float(), Int(0, 5), Int(0, 5)]))


def bowl(x: FloatArray) -> FloatArray:
    return np.asarray((x[:, 0] - 0.5) ** 2 + (x[:, 1] - 4.0) ** 2 + (x[:, 2] - 5.0) ** 2 + 1.0)


def model_at(plateaus: list[float]) -> Newton:
    model = Newton(DOMAIN, evaluated(DOMAIN, bowl, [0.0], plateaus), np.eye(1))
    play(model, bowl)
    return model


def first_points(phase: IntegerNeighbours) -> list[list[float]]:
    """The plateaus of each neighbour, and that each has a point and a gradient."""
    points = phase.propose()
    rows: list[list[float]] = points.plateaus.tolist()
    assert rows == [row for row in rows[::3] for _ in range(3)]
    return rows[::3]


def test_neighbours_differ_by_one_plateau_within_the_range() -> None:
    inside = IntegerNeighbours(DOMAIN, model_at([2.0, 3.0]))
    assert first_points(inside) == [[1.0, 3.0], [2.0, 2.0], [3.0, 3.0], [2.0, 4.0]]
    corner = IntegerNeighbours(DOMAIN, model_at([0.0, 5.0]))
    assert first_points(corner) == [[0.0, 4.0], [1.0, 5.0]]
    np.testing.assert_allclose(corner.propose().x[::3, 0], corner.start.x[0])  # the same continuous ones
    assert not corner.done


def test_each_search_gets_its_own_results_and_the_best_wins() -> None:
    phase = IntegerNeighbours(DOMAIN, model_at([2.0, 1.0]))
    model = phase.winner
    assert phase.best is phase.start is model.best
    points = phase.propose()
    phase.observe(Results(points, bowl(points.x), None))
    assert phase.best.plateaus.tolist() == phase.winner.best.plateaus.tolist() == [2.0, 2.0]
    assert phase.winner is not model
    assert phase.best.value == pytest.approx(4.0 + 9.0 + 1.0, abs=0.1)
    assert phase.start.plateaus.tolist() == [2.0, 1.0]


def test_a_neighbour_without_hope_is_given_up() -> None:
    """When ten times what its next step promises would not be enough; the others go on."""
    phase = IntegerNeighbours(DOMAIN, model_at([2.0, 3.0]))
    best = phase.best.value
    for one in phase.crowd:
        one.observe = lambda results: None  # type: ignore[method-assign]
        one.centre = one.centre._replace(value=best + 10.0)
        one.best = one.best._replace(value=best + 10.0)
    for one, promised in zip(phase.crowd, (0.5, 0.999, 1.0, 1.001), strict=True):
        one.promised = promised
    last = phase.crowd[-1]
    points = phase.propose()
    phase.observe(Results(points, np.zeros(len(points.x)), None))
    assert phase.crowd == [last]
    assert not phase.done
    last.done = True
    points = phase.propose()
    phase.observe(Results(points, np.zeros(len(points.x)), None))
    assert phase.done


def test_neighbours_as_good_as_the_point_are_not_better() -> None:
    phase = IntegerNeighbours(DOMAIN, model_at([2.0, 3.0]))
    model = phase.winner
    points = phase.propose()
    phase.observe(Results(points, np.full(len(points.x), phase.start.value), None))
    assert phase.winner is model
    assert phase.best is phase.start


@pytest.mark.parametrize("batches", [0, 1])
def test_a_winner_that_goes_on_is_restored_as_one_of_the_crowd(batches: int) -> None:
    def bumpy(x: FloatArray) -> FloatArray:
        return bowl(x) + 0.01 * (x[:, 0] - 2.0 * x[:, 1]) ** 4

    phase = IntegerNeighbours(DOMAIN, model_at([2.0, 3.0]))
    for _ in range(batches):
        points = phase.propose()
        phase.observe(Results(points, bumpy(points.x) - 100.0, None))
    other = IntegerNeighbours.restored(
        DOMAIN, _serialize.unpack(json.loads(json.dumps(_serialize.pack(phase.state()))))
    )
    assert len(other.crowd) == len(phase.crowd)
    places = [[one is each.winner for one in each.crowd] for each in (phase, other)]
    assert places[0] == places[1]
    assert any(places[0]) == (batches == 1)
    assert other.winner.best.value == phase.winner.best.value
    np.testing.assert_array_equal(other.propose().x, phase.propose().x)
