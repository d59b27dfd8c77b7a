"""The model of what a memory holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import Float, Int, Space, _serialize, order
from saltus._typing import FloatArray
from saltus.order import Failure, Outcome
from saltus.search import surrogate
from saltus.search.proposal import Domain
from saltus.search.settings import Settings
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
    assert list(leader.model.fits) == ["40"]
    monkeypatch.setattr(surrogate, "fit", None)
    for nonsense in (np.zeros(3), np.full(len(theta), math.nan)):
        follower.model.foretell("40", nonsense)
        assert not follower.model.fits
    follower.model.foretell("39", theta + 1)
    for key, other in leader.model.fits.items():
        follower.model.foretell(key, other)
    assert follower.model.about(middle).theta is theta
    assert follower.model.fitted == 40
    for count in range(100):
        follower.model.foretell(str(count), theta)
    assert list(follower.model.fits) == [str(count) for count in range(100 - MOST_FITS, 100)]


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


def told(constraints: int, named: bool = True, failing: bool = False) -> Domain:
    """Points of a bowl under planes, some of which fail."""
    domain = modelled(Encoding(SPACE))
    u = domain.model.cube.snapped(np.random.default_rng(2).random((40, 3)))
    g = u[:, np.arange(constraints) % 3] - 0.5 - 0.1 * np.arange(constraints)
    values = ((u - 0.4) ** 2).sum(axis=1)
    details, violations = {}, np.maximum(g, 0.0).sum(axis=1)
    for i, row in enumerate(g.tolist()):
        if failing and u[i, 1] > 0.7:
            values[i], violations[i] = math.nan, 0.0
            details[i] = Outcome(math.nan, failure=Failure.EXCEPTION)
        elif named:
            details[i] = Outcome(values[i], {f"plane {k}": amount for k, amount in enumerate(row)})
    numbers = Encoding(SPACE).numbers(*domain.model.cube.points(u))
    domain.memory.extend(range(len(u)), numbers, values.tolist(), violations.tolist(), details)
    return domain


LOW, HIGH = np.array([[0.3125, 0.2, 0.2]]), np.array([[0.9375, 0.95, 0.95]])


@pytest.mark.parametrize(("constraints", "models"), [(1, 1), (3, 3), (4, 4), (5, 1), (9, 1)])
def test_each_constraint_has_a_model_and_many_share_their_parameters(constraints: int, models: int) -> None:
    model = told(constraints).model
    assert model.limited
    assert model.constrained
    assert not model.nameless
    assert not model.failing
    limits = model.limits_about(LOW[0])
    assert len(limits) == models
    assert sum(one.weights.shape[1] for one in limits) == constraints
    low, high = (math.exp(sum(float(one.log_feasible(at)[0]) for one in limits)) for at in (LOW, HIGH))
    assert high < 0.2 < 0.8 < low
    values, g = model.outcomes()
    assert g.shape == (40, constraints)
    assert np.isfinite(values).all()


def test_of_a_total_violation_there_is_one_model() -> None:
    model = told(2, named=False).model
    assert model.nameless
    assert model.constrained
    assert model.outcomes()[1].shape == (40, 0)
    (one,) = model.limits_about(LOW[0])
    assert one.log_feasible(HIGH)[0] < math.log(0.2)
    assert one.log_feasible(LOW)[0] > math.log(0.6)


def test_what_fails_is_learnt_and_does_not_spoil_the_values() -> None:
    model = told(0, named=False, failing=True).model
    assert model.limited
    assert model.failing
    assert not model.constrained
    (one,) = model.limits_about(LOW[0])
    assert one.log_feasible(HIGH)[0] < math.log(0.3)
    assert one.log_feasible(LOW)[0] > math.log(0.8)
    fitted = model.about(LOW[0])
    assert len(fitted.z) < 40
    assert fitted.mean(LOW)[0] < fitted.mean(HIGH)[0]
    both = told(2, failing=True).model.limits_about(LOW[0])
    assert [one.weights.shape[1] for one in both] == [1, 1, 1]


def test_where_everything_has_failed_there_is_still_a_model() -> None:
    domain = modelled(Encoding(SPACE))
    domain.memory.extend([0, 1], np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 4.0]]), [math.nan] * 2, [0.0] * 2)
    assert np.isfinite(domain.model.about(LOW[0]).mean(HIGH)).all()
    assert domain.model.limits_about(LOW[0])[0].log_feasible(HIGH)[0] < math.log(0.5)


def test_models_of_constraints_are_saved_as_their_parameters() -> None:
    domain, again = told(3, failing=True), told(3, failing=True)
    first = domain.model.limits_about(LOW[0])
    again.model.restore(_serialize.unpack(_serialize.pack(domain.model.state())))
    second = again.model.limits_about(LOW[0])
    for a, b in zip(first, second, strict=True):
        assert a.theta.tolist() == b.theta.tolist()
        np.testing.assert_array_equal(a.weights, b.weights)
    assert again.model.limits_fitted == 40
    surer = domain.model.limits_about(LOW[0], HIGH)  # of failures: a plane is known to the last digits anyway
    assert surer[-1].predict(HIGH)[1][0] < first[-1].predict(HIGH)[1][0]


def test_without_constraints_and_failures_there_is_nothing_to_limit() -> None:
    model = filled(10).model
    assert [model.limited, model.constrained, model.failing, model.nameless] == [False] * 4
    assert model.limits_about(LOW[0]) == []


def test_models_of_constraints_can_be_left_out() -> None:
    settings_of = Settings.checked(3, "saltus", without=["limits"])
    domain = told(3)
    without = Domain.of(Encoding(SPACE), settings_of, domain.memory)
    assert domain.model.limited
    assert not without.model.limited
    assert without.model.limits_about(LOW[0]) == []
    assert np.isfinite(without.model.about(LOW[0]).mean(HIGH)).all()
