"""Newton: where it finds the bottom, and where it says that there is no model."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.newton import Newton
from saltus.search.proposal import Evaluated, Results

from .playing import FLOATS, Values, domain_of, evaluated, play, quadratic, rotated, told_by


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


@pytest.mark.parametrize("missing", [[1], [4], [2, 6], [1, 2, 3], [4, 5, 6]])
def test_newton_does_without_one_side_of_an_axis(missing: list[int]) -> None:
    """On a quadratic function the missing side is known from the other one and the curvature."""
    domain = domain_of(Space([Float()] * 3))
    x = np.full(3, 2.0)
    newton = Newton(domain, Evaluated(x, np.empty(0), 0.0, float(quadratic(x[None])[0])), np.eye(3))
    newton.radius = 0.5  # several steps
    newton.observe(told_by(newton.propose(), quadratic))
    whole, part = newton, copy.deepcopy(newton)
    told = told_by(whole.propose(), quadratic)
    known = np.full(7, True)
    known[missing] = False
    some = told._replace(values=np.where(known, told.values, np.nan), known=known)
    assert part.ready(some)
    part.observe(some)
    whole.observe(told)
    assert not part.failed
    np.testing.assert_allclose(part.trial, whole.trial, rtol=1e-9)
    np.testing.assert_allclose(part.gradient, whole.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(part.hessian, whole.hessian, rtol=1e-6, atol=1e-6)


def test_newton_needs_the_middle_and_a_side_of_every_axis() -> None:
    domain = domain_of(Space([Float()] * 3))
    x = np.full(3, 2.0)
    newton = Newton(domain, Evaluated(x, np.empty(0), 0.0, float(quadratic(x[None])[0])), np.eye(3))
    told = told_by(newton.propose(), quadratic)
    known = np.full(6, True)
    known[2] = False
    assert not newton.ready(told._replace(known=known))  # the curvature is not known yet
    newton.radius = 0.5
    newton.observe(told)
    told = told_by(newton.propose(), quadratic)
    for missing in ([0], [1, 4], [2, 5], [0, 1]):
        known = np.full(7, True)
        known[missing] = False
        assert not newton.ready(told._replace(known=known))


LINE = domain_of(Space([Float()]))
PLANE = domain_of(Space([Float(), Float(), Int(0, 5)]))


def parabola(x: FloatArray, bottom: float = 2.0, depth: float = 3.0) -> FloatArray:
    return np.asarray(2.0 * (x[:, 0] - bottom) ** 2 + depth)


def on_a_line(fun: Values, sd: float = 1.0) -> Newton:
    return Newton(LINE, evaluated(LINE, fun, [0.0], []), np.array([[sd**2]]))


def batch(newton: Newton, fun: Values) -> list[float]:
    """The first coordinates of the next batch, which is told."""
    points = newton.propose()
    newton.observe(Results(points, fun(points.x), None))
    return [round(x, 12) for x in points.x[:, 0].tolist()]


def test_the_first_batch_is_half_a_standard_deviation_to_both_sides_of_every_axis() -> None:
    """The point itself is known."""
    covariance = np.array([[5.0, 2.0], [2.0, 2.0]])  # variances 6 and 1, along (2, 1) and (1, -2)
    newton = Newton(PLANE, evaluated(PLANE, lambda x: x[:, 0], [1.0, -1.0], [4.0]), covariance)
    points = newton.propose()
    away = points.x[:, :2] - [1.0, -1.0]
    np.testing.assert_allclose(away[2:], -away[:2])
    np.testing.assert_allclose(away[:2].T @ away[:2] / 0.25, covariance)  # columns are axes
    assert away[0] @ away[1] == pytest.approx(0.0)
    np.testing.assert_array_equal(points.x[:, 2], 4.0)
    np.testing.assert_array_equal(points.plateaus, 4.0)
    m, sd = newton.where()
    assert m.tolist() == [1.0, -1.0, 4.0]
    np.testing.assert_allclose(sd, [0.5 * math.sqrt(5), 0.5 * math.sqrt(2), 0.0])


def test_a_parabola_is_solved_by_one_step_with_the_next_differences_around_it() -> None:
    """From the better side, a tenth of the step apart; there the model promises nothing more."""
    newton = on_a_line(parabola)
    assert batch(newton, parabola) == [0.5, -0.5]
    assert not newton.done
    assert newton.promised == pytest.approx(2.0 * 1.5**2)
    assert batch(newton, parabola) == [2.0, 2.15, 1.85]
    assert newton.done
    assert not newton.failed
    assert newton.best.value == 3.0


def test_steps_are_four_standard_deviations_at_most_and_longer_after_good_ones() -> None:
    def far(x: FloatArray) -> FloatArray:
        return parabola(x, bottom=1000.0)

    newton = on_a_line(far, sd=2.0)
    assert batch(newton, far) == [1.0, -1.0]
    assert batch(newton, far) == [9.0, 9.8, 8.2]  # from 1.0; differences of 0.4
    assert batch(newton, far) == [33.8, 34.6, 33.0]  # from 9.8; never wider than before
    assert batch(newton, far) == pytest.approx([106.6, 107.4, 105.8])


def test_a_first_step_that_does_not_keep_its_promise_is_no_model() -> None:
    """In one variable, where there are no cross differences to blame."""
    for gain, failed in ((0.49, True), (0.5, True), (0.51, False), (1.99, False), (2.0, True), (2.01, True)):
        newton = on_a_line(parabola)
        batch(newton, parabola)
        value = newton.centre.value - gain * newton.promised
        points = newton.propose()
        newton.observe(Results(points, np.array([value, value + 1.0, value + 1.0]), None))
        assert newton.failed == failed


def tilted(x: FloatArray) -> FloatArray:
    """Its axes are not those of the covariance: the cross term is unknown at first."""
    u, v = x[:, 0] - 1.0, x[:, 1] - 1.0
    return np.asarray(u**2 + v**2 + 1.8 * u * v + 5.0)


def on_a_plane(fun: Values, x: list[float], covariance: FloatArray | None = None) -> Newton:
    covariance = np.diag([1.0, 1.0001]) if covariance is None else covariance
    return Newton(PLANE, evaluated(PLANE, fun, x, [2.0]), covariance)


def test_cross_differences_are_measured_once_when_the_model_fails_without_them() -> None:
    newton = on_a_plane(tilted, [3.0, 3.0])
    sizes = []
    while not newton.done:
        points = newton.propose()
        sizes.append(len(points.x))
        newton.observe(Results(points, tilted(points.x), None))
    assert sizes == [4, 5, 1, 5]  # differences, a step that fails, one cross difference, a step
    assert not newton.failed
    assert newton.best.value == pytest.approx(5.0, abs=1e-9)
    H = newton.basis.T @ np.array([[2.0, 1.8], [1.8, 2.0]]) @ newton.basis
    np.testing.assert_allclose(newton.hessian, H, rtol=1e-4, atol=1e-4)


def test_a_cross_difference_is_one_point_for_each_pair_of_axes() -> None:
    newton = on_a_plane(tilted, [3.0, 3.0])
    for _ in range(2):
        points = newton.propose()
        newton.observe(Results(points, tilted(points.x), None))
    assert newton.crossing
    corner = newton.propose().x
    sides = newton.probed.x[:2] + (newton.basis * newton.arms).T
    np.testing.assert_allclose(corner[0, :2] - newton.probed.x[:2], (sides - newton.probed.x[:2]).sum(axis=0))


@pytest.mark.parametrize(("n", "crossed"), [(1, True), (2, False), (50, False), (51, True)])
def test_with_one_variable_or_too_many_there_are_no_cross_differences(n: int, crossed: bool) -> None:
    domain = domain_of(Space([Float()] * n))
    point = evaluated(domain, lambda x: (x**2).sum(axis=1), [1.0] * n, [])
    assert Newton(domain, point, np.eye(n)).crossed == crossed


def neighbour(value: float = math.nan) -> Newton:
    """A search elsewhere on a plane that knows the curvature of a parabola around (1, 1)."""
    model = on_a_plane(quadratic_here, [3.0, 3.0])
    play(model, quadratic_here)
    x = np.array([2.0, 2.0, 3.0])
    return model.elsewhere(Evaluated(x, np.array([3.0]), 0.0, value))


def quadratic_here(x: FloatArray) -> FloatArray:
    return np.asarray((x[:, 0] - 1.0) ** 2 + 4.0 * (x[:, 1] - 1.0) ** 2 + 5.0)


def test_a_search_elsewhere_begins_with_the_curvature_and_small_differences() -> None:
    newton = neighbour()
    points = newton.propose()
    assert len(points.x) == 5  # with the point itself, whose value is not known
    assert points.x[0].tolist() == [2.0, 2.0, 3.0]
    np.testing.assert_allclose(np.abs(points.x[1:, :2] - 2.0).sum(axis=1), 0.1, rtol=1e-3)
    np.testing.assert_array_equal(points.plateaus, 3.0)
    newton.observe(Results(points, quadratic_here(points.x), None))
    trial = newton.propose()
    np.testing.assert_allclose(trial.x[0, :2], 1.0, atol=1e-9)
    assert newton.best.value == pytest.approx(quadratic_here(points.x).min())
    assert len(neighbour(5.0).propose().x) == 4


def test_a_search_elsewhere_is_no_part_of_the_one_that_it_came_from() -> None:
    model = on_a_plane(quadratic_here, [3.0, 3.0])
    play(model, quadratic_here)
    before = model.hessian.copy()
    other = model.elsewhere(Evaluated(np.array([2.0, 2.0, 3.0]), np.array([3.0]), 0.0, math.nan))
    play(other, lambda x: quadratic_here(x) + 0.3 * np.sin(3 * x[:, 0]))
    np.testing.assert_array_equal(model.hessian, before)


def test_after_a_step_that_failed_the_next_one_is_a_quarter_as_long_and_the_fifth_in_a_row_is_the_last() -> (
    None
):
    newton = neighbour()
    points = newton.propose()
    newton.observe(Results(points, quadratic_here(points.x), None))
    for rejections in range(1, 6):
        longest = np.abs(newton.step).max()
        points = newton.propose()
        centre = newton.centre.value
        newton.observe(Results(points, np.full(5, centre), None))  # as good is not better
        assert newton.failed == newton.done == (rejections == 5)
        assert newton.radius == pytest.approx(0.25 * longest)
        assert newton.centre.value == centre
        if not newton.done:
            assert np.abs(newton.step).max() <= newton.radius * (1 + 1e-12)


def test_a_success_forgets_the_failures_before_it() -> None:
    newton = neighbour()
    points = newton.propose()
    newton.observe(Results(points, quadratic_here(points.x), None))
    for _ in range(3):
        newton.observe(Results(newton.propose(), np.full(5, newton.centre.value), None))
    assert newton.rejections == 3
    points = newton.propose()
    newton.observe(Results(points, quadratic_here(points.x), None))
    assert newton.rejections == 0


def test_a_search_that_never_arrives_ends_after_thirty_steps() -> None:
    """Down a hillside that gets ever steeper, every step keeps its promise."""

    def ridge(x: FloatArray) -> FloatArray:
        return np.asarray(-((x[:, 0] - 0.1) ** 2))

    newton = on_a_line(ridge)
    assert play(newton, ridge) == 2 + 30 * 3
    assert newton.failed


def test_without_curvature_there_is_no_model() -> None:
    newton = on_a_line(lambda x: -x[:, 0])
    batch(newton, lambda x: -x[:, 0])
    assert newton.failed


def test_a_coarse_search_ends_when_little_is_left_to_gain_and_a_deep_one_goes_on() -> None:
    """Less than a hundredth of what was gained."""

    def quartic(x: FloatArray) -> FloatArray:
        return np.asarray((x[:, 0] - 1.0) ** 2 + 0.02 * (x[:, 0] - 1.0) ** 4)

    newton = on_a_line(quartic, sd=0.3)
    coarse = play(newton, quartic)
    assert not newton.failed
    gain = newton.first_value - newton.centre.value
    first = newton.best.value
    newton.deepen(None)
    assert not newton.done
    assert newton.promised < 0.01 * gain
    assert play(newton, quartic) > 0
    assert newton.best.value < first
    assert newton.best.value < 1e-20
    assert coarse < 15


@pytest.mark.parametrize("off", [0.0, 1e-13])
def test_the_tip_of_a_kink_is_no_minimum_for_a_deep_search(off: float) -> None:
    """Differences across it are those of a parabola, so it is looked at from a sixteenth of them."""

    def kink(x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x[:, 0] - off) + 7.0)

    newton = on_a_line(kink)
    assert batch(newton, kink) == [0.5, -0.5]
    assert newton.done
    assert not newton.failed
    newton.deepen(None)
    assert not newton.done
    m, sd = newton.where()
    assert (m[0], sd[0]) == (0.0, 0.5 / 16)
    assert batch(newton, kink) == [0.5 / 16, -0.5 / 16]
    assert newton.done
    assert newton.failed


def test_the_bottom_of_a_parabola_is_one_from_nearer_too() -> None:
    def bowl(x: FloatArray) -> FloatArray:
        return parabola(x, bottom=0.0)

    newton = on_a_line(bowl)
    batch(newton, bowl)
    newton.deepen(None)
    assert batch(newton, bowl) == [0.5 / 16, -0.5 / 16]
    assert newton.done
    assert not newton.failed
    newton.deepen(None)  # whoever comes back has not learnt anything new
    assert play(newton, bowl) <= 2


def test_what_steps_have_led_to_or_what_cannot_be_heard_is_not_looked_at_again() -> None:
    newton = on_a_line(parabola)
    play(newton, parabola)
    newton.deepen(None)
    assert newton.done
    high = on_a_line(lambda x: parabola(x, bottom=0.0, depth=1e12))
    batch(high, lambda x: parabola(x, bottom=0.0, depth=1e12))
    high.deepen(None)
    assert high.done
    assert not high.failed


def test_differences_are_not_smaller_than_the_rounding_of_the_value_allows() -> None:
    """A second difference of 1e4 rounding errors, whatever the step."""
    value = 1e10

    def high(x: FloatArray) -> FloatArray:
        return parabola(x, bottom=0.51, depth=value)

    newton = on_a_line(high)
    batch(newton, high)
    newton.deepen(None)
    curvature = 4.0
    audible = math.sqrt(1e4 * np.finfo(float).eps * value / curvature)
    assert 1e-4 < audible < 0.5
    assert newton.step[0] == pytest.approx(0.01, rel=0.01)
    assert newton.h[0] == pytest.approx(audible, rel=0.01)


def test_a_ridge_is_left_downhill() -> None:
    """Negative curvature: the step goes down all the same, to the end of the radius."""

    def ridge(x: FloatArray) -> FloatArray:
        return np.asarray(-((x[:, 0] - 0.1) ** 2))

    newton = on_a_line(ridge)
    assert batch(newton, ridge) == [0.5, -0.5]
    assert newton.centre.x.tolist() == [-0.5]
    assert newton.step[0] < 0


def test_axes_without_any_length_get_the_smallest() -> None:
    newton = on_a_plane(quadratic_here, [3.0, 3.0], np.zeros((2, 2)))
    np.testing.assert_allclose(np.abs(newton.basis), 1e-12 * np.eye(2))


def test_as_good_is_not_better() -> None:
    """And where the first value is not known, anything is."""
    newton = on_a_line(parabola)
    newton.observe(Results(newton.propose(), np.full(2, newton.start.value), None))
    assert newton.best is newton.start
    other = neighbour()
    points = other.propose()
    other.observe(Results(points, np.array([7.0, 6.0, 8.0, 8.0, 9.0]), None))
    assert other.best.value == 6.0
    np.testing.assert_array_equal(other.best.x, points.x[1])


def test_around_a_violated_point_there_is_no_model() -> None:
    newton = on_a_line(parabola)
    newton.start = newton.start._replace(violation=0.5)
    batch(newton, parabola)
    assert newton.failed


@pytest.mark.parametrize(
    ("value", "sides"), [(1.7e308, [1.7e308, 1.7e308]), (0.0, [1.7e308, -1.7e308]), (0.0, [1.7e308, 1.7e308])]
)
def test_values_near_the_end_of_all_numbers_are_no_model_and_no_error(
    value: float, sides: list[float]
) -> None:
    newton = on_a_line(lambda x: np.full(len(x), value))
    newton.observe(Results(newton.propose(), np.array(sides), None))
    assert newton.failed


@pytest.mark.parametrize(("side", "centre"), [(4.0, 0), (2.9, 1)])
def test_a_side_that_is_only_extrapolated_is_not_gone_to(side: float, centre: int) -> None:
    """However good it should be: it was not evaluated. The other side was."""
    newton = on_a_line(parabola)
    batch(newton, parabola)
    points = newton.propose()
    told = Results(points, np.array([3.0, side, np.nan]), None, known=np.array([True, True, False]))
    newton.observe(told)
    assert newton.centre.value == newton.best.value == min(side, 3.0)
    np.testing.assert_array_equal(newton.centre.x, points.x[centre])


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e30, 1e200])
def test_the_unit_of_values_does_not_matter(unit: float) -> None:
    def scaled(x: FloatArray) -> FloatArray:
        return unit * parabola(x)

    newton = on_a_line(scaled)
    assert batch(newton, scaled) == [0.5, -0.5]
    assert batch(newton, scaled) == [2.0, 2.15, 1.85]
    assert newton.done
    assert not newton.failed


@pytest.mark.parametrize("side", range(1, 9))
def test_the_best_side_of_the_batch_becomes_the_centre(side: int) -> None:
    """Each axis has differences of its own length."""
    domain = domain_of(FLOATS)
    newton = Newton(domain, evaluated(domain, lambda x: 9.0 + (x**2).sum(axis=1), [0.0] * 4, []), np.eye(4))
    newton.h = np.array([0.1, 0.2, 0.3, 0.4])
    points = newton.propose()
    values = np.full(8, 10.0)
    values[side - 1] = 8.0
    newton.observe(Results(points, values, None))
    np.testing.assert_array_equal(newton.centre.x, points.x[side - 1])
    np.testing.assert_allclose(newton.basis @ newton.offset, points.x[side - 1])
    assert newton.centre.value == 8.0
    assert newton.probed is newton.start


def test_all_the_gain_is_counted_from_the_first_point() -> None:
    newton = on_a_line(parabola)
    batch(newton, parabola)
    batch(newton, parabola)
    assert newton.first_value == newton.start.value == 11.0
    other = neighbour()
    for _ in range(2):
        points = other.propose()
        other.observe(Results(points, quadratic_here(points.x), None))
    assert other.first_value == 10.0


@pytest.mark.parametrize(("along", "learnt"), [(0.9e-8, False), (1.1e-8, True), (-1.1e-8, True)])
def test_a_change_of_the_gradient_across_the_move_says_nothing_about_the_curvature(
    along: float, learnt: bool
) -> None:
    """An update of rank one would divide by almost nothing there."""
    newton = on_a_plane(quadratic_here, [3.0, 3.0])
    for length in (1e-3, 1.0, 100.0):
        newton.hessian = np.zeros((2, 2))
        newton.gradient, newton.offset, newton.step = np.zeros(2), np.zeros(2), np.array([length, 0.0])
        newton._learn(np.array([along, 1.0]))
        assert newton.hessian.any() == learnt
        if learnt:  # it explains the change
            np.testing.assert_allclose(newton.hessian @ newton.step, [along, 1.0])


@pytest.mark.parametrize(
    "name",
    [*("h", "trial", "gradient", "offset", "step", "arms", "sides", "bends"), *("basis", "hessian")],
)
def test_a_state_whose_arrays_do_not_fit_is_refused(name: str) -> None:
    state = on_a_plane(quadratic_here, [3.0, 3.0]).state()
    for point in ("start", "best", "centre", "probed"):
        state[point] = state[point]._asdict()
    assert Newton.restored(PLANE, state).steps == 0
    for shape in ((1,), (3,), (3, 3)):
        with pytest.raises(ValueError, match=f"state: {name} must be an array of shape"):
            Newton.restored(PLANE, state | {name: np.zeros(shape)})
