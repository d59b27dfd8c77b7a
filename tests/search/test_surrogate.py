"""The model of what a memory holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import Float, Int, Space, _serialize, order
from saltus._typing import FloatArray
from saltus.search import surrogate
from saltus.search.proposal import Domain
from saltus.search.surrogate import MOST_FITS, merits
from saltus.space.encoding import Encoding
from tests.search.playing import modelled

SPACE = Space([Int(0, 7), Float(-5, 5), Float(1, 100, log=True)])


def filled(count: int, seed: int = 1) -> Domain:
    domain = modelled(Encoding(SPACE))
    rng = np.random.default_rng(seed)
    u = domain.model.cube.snapped(rng.random((count, 3)))
    numbers = Encoding(SPACE).numbers(*domain.model.cube.points(u))
    domain.memory.extend(range(count), numbers, ((u - 0.4) ** 2).sum(axis=1).tolist(), [0.0] * count)
    return domain


def test_it_knows_what_the_memory_holds() -> None:
    domain = filled(30)
    x, y = domain.model.known()
    assert x.shape == (30, 3)
    np.testing.assert_allclose(((x - 0.4) ** 2).sum(axis=1), y, atol=1e-6)
    model = domain.model.about(x[y.argmin()])
    at = np.array([[0.4375, 0.4, 0.4], [0.9375, 0.9, 0.9]])
    near, far = model.mean(at)
    assert near < far


def test_new_parameters_come_after_a_few_percent_more_points() -> None:
    domain = filled(60)
    middle = np.full(3, 0.5)
    first = domain.model.about(middle).theta
    for id in (60, 61):
        domain.memory.extend([id], np.array([[1.0, 2.0, 30.0 + id]]), [3.0], [0.0])
        assert domain.model.about(middle).theta is first
        assert domain.model.fitted == 60
    domain.memory.extend([62], np.array([[1.0, 2.0, 99.0]]), [3.0], [0.0])
    assert domain.model.about(middle).theta is not first
    assert domain.model.fitted == 63


def test_saved_it_is_the_same_and_costs_no_fit() -> None:
    domain, again = filled(40), filled(40)
    middle = np.full(3, 0.5)
    theta = domain.model.about(middle).theta
    again.model.restore(_serialize.unpack(_serialize.pack(domain.model.state())))
    model = again.model.about(middle)
    assert model.theta.tolist() == theta.tolist()
    at = np.random.default_rng(2).random((5, 3))
    assert model.mean(at).tolist() == domain.model.about(middle).mean(at).tolist()


def test_what_is_found_in_passing_leaves_no_trace() -> None:
    domain, plain = filled(60), filled(60)
    middle = np.full(3, 0.5)
    for each in (domain, plain):
        each.model.about(middle)
        each.memory.extend([60, 61, 62], np.full((3, 3), 2.0), [3.0] * 3, [0.0] * 3)
    before = _serialize.pack(domain.model.state())
    passing = domain.model.about(middle, in_passing=True).theta
    assert passing.tolist() != domain.model.state()["theta"].tolist()
    assert _serialize.pack(domain.model.state()) == before
    assert domain.model.about(middle, in_passing=True).theta is passing  # found once
    assert domain.model.about(middle).theta.tolist() == plain.model.about(middle).theta.tolist()


def test_parameters_that_are_foretold_are_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, follower = filled(40), filled(40)
    middle = np.full(3, 0.5)
    theta = leader.model.about(middle).theta
    assert list(leader.model.fits) == [40]
    monkeypatch.setattr(surrogate, "fit", None)
    for nonsense in (np.zeros(3), np.full(len(theta), math.nan)):
        follower.model.foretell(40, nonsense)
        assert not follower.model.fits
    follower.model.foretell(39, theta + 1)
    for count, other in leader.model.fits.items():
        follower.model.foretell(count, other)
    assert follower.model.about(middle).theta is theta
    assert follower.model.fitted == 40
    for count in range(100):
        follower.model.foretell(count, theta)
    assert list(follower.model.fits) == list(range(100 - MOST_FITS, 100))


def test_it_is_believed_where_it_has_been_right_on_enough_pairs_lately() -> None:
    surrogate = filled(5).model
    assert not surrogate.agrees((10, 10), 20, 0.6)  # too few
    assert surrogate.agrees((20, 20), 20, 0.6)
    assert not surrogate.agrees((10, 20), 20, 0.6)  # a quarter of them was wrong
    surrogate.note((-10, 10))
    surrogate.note((10, 10))
    assert surrogate.agrees((4, 10), 20, 0.6)  # the last generation helps out, the one before does not
    assert not surrogate.agrees((4, 9), 20, 0.6)  # now it does
    again = filled(5).model
    again.restore(_serialize.unpack(_serialize.pack(surrogate.state())))
    assert again.agrees((4, 10), 20, 0.6)
    assert not again.agrees((4, 9), 20, 0.6)
    for _ in range(20):
        surrogate.note((0, 0))
    assert not surrogate.agrees((15, 15), 16, 0.6)  # what is long ago does not count


def test_what_is_under_way_makes_it_surer_and_nothing_else() -> None:
    domain = filled(25)
    at = np.array([[0.9375, 0.95, 0.05]])
    before, after = domain.model.about(at[0]), domain.model.about(at[0], at)
    assert after.predict(at).sd[0] < before.predict(at).sd[0]
    assert abs(after.mean(at)[0] - before.mean(at)[0]) < 1e-9


def test_the_order_in_memory_does_not_matter() -> None:
    domain, other = filled(20), modelled(Encoding(SPACE))
    rows = np.random.default_rng(3).permutation(20)
    for row in rows.tolist():
        other.memory.extend([row], domain.memory.x[[row]], [domain.memory.values[row]], [0.0])
    for a, b in zip(domain.model.known(), other.model.known(), strict=True):
        np.testing.assert_array_equal(a, b)


numbers = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([math.nan, math.inf, -1e308, 1e308]))
amounts = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.sampled_from([math.inf, math.nan]))


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, amounts), min_size=1, max_size=8))
def test_merits_are_finite_and_in_order(outcomes: list[tuple[float, float]]) -> None:
    values, violations = (np.array(part) for part in zip(*outcomes, strict=True))
    merit: FloatArray = merits(values, violations)
    assert np.isfinite(merit).all()
    keys = [order.key(*outcome) for outcome in outcomes]
    for i, a in enumerate(keys):
        for j, b in enumerate(keys):
            if a[0] < b[0] or (a[0] == b[0] == 0 and a < b):
                assert merit[i] <= merit[j]
