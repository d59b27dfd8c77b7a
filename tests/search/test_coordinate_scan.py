"""The scan along each coordinate."""

from __future__ import annotations

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.coordinate_scan import CoordinateScan
from saltus.search.proposal import Results

from .playing import Values, domain_of, evaluated, play


def test_a_scan_finds_the_far_valley() -> None:
    domain = domain_of(Space([Float(-10, 10), Float(-10, 10), Int(0, 3)]))
    valleys = np.array([7.3, -6.1])

    def fun(x: FloatArray) -> FloatArray:
        local = 1.0 + 0.01 * x[:, :2] ** 2
        return np.asarray(np.minimum(local, 0.1 + (x[:, :2] - valleys) ** 2).sum(axis=1))

    lines = CoordinateScan(domain, evaluated(domain, fun, [0.0, 0.0], [1.0]), np.random.default_rng(1))
    spent = play(lines, fun)
    np.testing.assert_allclose(lines.best.x[:2], valleys, atol=0.1)
    assert spent <= 2 * (30 + 4 * 6)


DOMAIN = domain_of(Space([Float(-10, 10), Float(0, 5), Int(0, 3)]))


def scan_of(value: float = 9.0) -> CoordinateScan:
    point = evaluated(DOMAIN, lambda x: np.full(len(x), value), [1.0, 2.0], [2.0])
    return CoordinateScan(DOMAIN, point, np.random.default_rng(1))


def places(scan: CoordinateScan) -> FloatArray:
    """Where the points of the batch lie on the current line, from 0 at its low end to 1."""
    scan.draw(np.random.default_rng(2))
    x, j = scan.propose().x, scan.order[0]
    return np.asarray((x[:, j] - DOMAIN.low[j]) / (DOMAIN.high[j] - DOMAIN.low[j]))


def told(scan: CoordinateScan, fun: Values) -> None:
    """A batch whose values depend on the places on the line."""
    t = places(scan)
    scan.observe(Results(scan.propose(), fun(t), None))


def test_a_line_has_one_point_in_each_thirtieth_of_the_range_and_changes_nothing_else() -> None:
    scan = scan_of()
    j = scan.order[0]
    assert np.floor(places(scan) * 30).tolist() == list(range(30))
    assert len(np.unique(np.round(places(scan) * 30 % 1, 6))) == 30  # each at a random place of its own
    batch = scan.propose()
    np.testing.assert_array_equal(np.delete(batch.x, j, axis=1), np.tile(np.delete(scan.best.x, j), (30, 1)))
    np.testing.assert_array_equal(batch.plateaus, np.full((30, 1), 2.0))


def test_lines_come_in_random_order_each_once() -> None:
    domain = domain_of(Space([Float(0, 1)] * 8))
    point = evaluated(domain, lambda x: x.sum(axis=1), [0.5] * 8, [])
    orders = [CoordinateScan(domain, point, np.random.default_rng(seed)).order for seed in range(4)]
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    nothing = domain_of(Space([Int(0, 3)]))
    point = evaluated(nothing, lambda x: x.sum(axis=1), [], [1.0])
    assert CoordinateScan(nothing, point, np.random.default_rng(1)).done


def test_nothing_is_proposed_before_it_is_drawn() -> None:
    with pytest.raises(RuntimeError, match="draw before propose"):
        scan_of().propose()


def test_the_three_best_minima_are_refined_by_four_halvings() -> None:
    scan = scan_of()
    line = scan.order[0]
    t = places(scan)
    bottoms = {5: 2.0, 12: 1.0, 20: 3.0, 25: 4.0}  # the last one is not among the best three
    values = np.full(30, 9.5)
    for i, value in bottoms.items():
        values[i] = value
    scan.observe(Results(scan.propose(), values, None))
    for halving in (1, 2, 3, 4):
        h = 0.5**halving / 30
        np.testing.assert_allclose(places(scan), [t[i] + side for i in (12, 5, 20) for side in (-h, h)])
        assert scan.order[0] == line
        scan.observe(Results(scan.propose(), np.full(6, 9.0), None))  # none is better: the minima stay
    assert scan.order[0] != line
    assert len(places(scan)) == 30  # the next line begins
    assert not scan.done


def test_a_better_side_is_refined_in_place_of_its_minimum() -> None:
    scan = scan_of()
    t = places(scan)
    values = np.linspace(9.0, 8.0, 30)  # downhill: the only minimum is the last point
    scan.observe(Results(scan.propose(), values, None))
    h = 1 / 60
    np.testing.assert_allclose(places(scan), [t[29] - h, t[29] + h])
    told(scan, lambda t: np.array([7.0, 8.5]))
    np.testing.assert_allclose(places(scan), [t[29] - h - h / 2, t[29] - h + h / 2])
    told(scan, lambda t: np.array([7.5, 6.0]))
    np.testing.assert_allclose(places(scan), [t[29] - h / 2 - h / 4, t[29] - h / 2 + h / 4])


def test_of_equal_neighbours_the_first_is_the_minimum() -> None:
    scan = scan_of()
    t = places(scan)
    values = np.abs(np.arange(30) - 7.5)
    scan.observe(Results(scan.propose(), values, None))
    np.testing.assert_allclose(places(scan), [t[7] - 1 / 60, t[7] + 1 / 60])


def test_a_line_without_any_value_is_left_at_once() -> None:
    scan = scan_of()
    line = scan.order[0]
    told(scan, lambda t: np.full(30, np.nan))
    assert scan.order[0] != line
    told(scan, lambda t: np.full(30, np.nan))
    assert scan.done
    assert scan.best is scan.start


def test_the_next_line_goes_through_the_best_point() -> None:
    scan = scan_of(9.0)
    line = scan.order[0]
    told(scan, lambda t: np.where(t > 0.9, 9.0, 9.5))
    assert scan.best is scan.start  # as good is not better
    while scan.order[0] == line:
        told(scan, lambda t: np.full(len(t), 8.0))
    assert scan.best.value == 8.0
    places(scan)
    np.testing.assert_array_equal(scan.propose().x[:, line], np.full(30, scan.best.x[line]))
    assert scan.start.value == 9.0
