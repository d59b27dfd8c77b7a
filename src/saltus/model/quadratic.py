"""A quadratic through the points around the best one: exact at the bottom of a smooth valley.

The process of `process.py` sees all variables and has to believe in some noise; near a minimum, what it
leaves over is more than is left to gain. A quadratic of the continuous variables alone, through the nearest
points with the same integers, has no such limit: each step is about twice as many digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import FloatArray

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MOST = 2.0  # points, relative to the number of coefficients; the nearest ones
FLAT = 1e-9  # weight of the second derivatives' size, where points do not tell all of them
LOW = 0.05  # of the rise: lower points count alike, others less with the rise, ...
NEAR = 0.1  # ... and less with the cube of the distance, which is what a quadratic leaves over
REACH = 2.0  # of a step, relative to how far away are as many points as there are coefficients
NEAREST = 1e-3  # with constraints: nearer points count alike, those farther away less with the distance
MARGIN = 0.5  # of the last error in a constraint is how far a step keeps away from it
# of a step along axes:
STIFF = 1e-7  # how much what is not isotropic about the second derivatives costs, ...
STIFFER = 1e-4  # ... and where there are fewer points than coefficients
FLATTEST = 1e-3  # variance along an axis of a shape
ENOUGH = 1.8  # points, relative to the number of coefficients; the nearest ones
_EPS = float(np.finfo(np.float64).eps)


class Step(NamedTuple):
    """Where the quadratic is lowest, and how much better than the best point that should be."""

    x: FloatArray
    gain: float
    shape: FloatArray | None = None  # what the axes become where the quadratic is a ball


def coefficients(n: int) -> int:
    """Of a quadratic in n variables.

    >>> [coefficients(n) for n in (1, 2, 10)]
    [3, 6, 66]
    """
    return 1 + n + n * (n + 1) // 2


def fewest(n: int) -> int:
    """Points from which a step can be made, in n variables."""
    return n + 2 if n > 1 else 3


def step(x: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray) -> Step | None:
    """A step from the best of some points; None if they do not tell where to.

    >>> at = np.array([[0.1], [0.5], [0.9]])
    >>> found = step(at, ((at - 0.35) ** 2).ravel(), np.zeros(1), np.ones(1))
    >>> round(float(found.x[0]), 9), round(found.gain, 6)
    (0.35, 0.0225)

    Args:
        x, y: points, one row each, and finite values.
        low, high: bounds.
    """
    n = x.shape[1]
    if len(y) < fewest(n):
        return None
    best = int(y.argmin())
    apart = x - x[best]
    spread = np.abs(apart).max(axis=0)
    if not spread.all():
        return None
    size = coefficients(n)
    near = np.argsort(((apart / spread) ** 2).sum(axis=1), kind="stable")[: max(fewest(n), int(MOST * size))]
    apart, y = apart[near], y[near]
    h = np.abs(apart[:size]).max(axis=0)  # a point that is far from these has no say in how far to go
    h = np.where(h > 0, h, np.abs(apart).max(axis=0))
    rise = y / 2 - y.min() / 2
    top = float(rise.max())
    if not h.all() or not top > 8 * _EPS * float(np.abs(y).max()):
        return None
    gradient, hessian = _fitted(apart / h, rise / top)
    t = _lowest(gradient, hessian)
    t *= min(1.0, REACH / max(float(np.abs(t).max()), 1e-300))
    end = np.clip(x[best] + t * h, low, high)
    t = (end - x[best]) / h
    gain = -float(gradient @ t + 0.5 * t @ hessian @ t) * 2 * top
    return Step(end, gain) if gain > 4 * _EPS * abs(float(y.min())) else None


def _fitted(t: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient and second derivatives at zero of the quadratic through points, which is zero there.

    No quadratic goes through all of them: what is low matters more, and what is near.
    """
    n = t.shape[1]
    i, j = np.triu_indices(n)
    features = np.concatenate((t, squares(t)), axis=1)
    distance = np.sqrt((t * t).mean(axis=1))
    weights = 1.0 / ((LOW + rise) * (NEAR + distance**3))
    first = FLAT * np.eye(features.shape[1])
    first[:n] = 0.0
    system = np.concatenate((features * weights[:, None], first))
    right = np.concatenate((rise * weights, np.zeros(len(first))))
    coefficients = least_squares(system, right)
    hessian = np.zeros((n, n))
    hessian[i, j] = hessian[j, i] = coefficients[n:]
    return coefficients[:n], hessian


def squares(t: FloatArray) -> FloatArray:
    """What each second derivative of a quadratic is multiplied with, in the order of `np.triu_indices`."""
    i, j = np.triu_indices(t.shape[1])
    return np.asarray(t[:, i] * t[:, j] * np.where(i == j, 0.5, 1.0))


def least_squares(system: FloatArray, right: FloatArray) -> FloatArray:
    """By an orthogonal factorisation, which cannot fail; singular values now and then do."""
    from scipy.linalg import lstsq

    return np.asarray(lstsq(system, right, lapack_driver="gelsy", check_finite=False)[0], dtype=np.float64)


def limited_step(
    x: FloatArray, y: FloatArray, g: FloatArray, best: int, low: FloatArray, high: FloatArray
) -> Step | None:
    """A step under constraints, each by a quadratic of its own; None if the points do not tell where to.

    >>> at = np.array([[0.1], [0.5], [0.7], [0.9]])
    >>> found = limited_step(at, at.ravel() ** 2, 0.3 - at, 1, np.zeros(1), np.ones(1))
    >>> round(float(found.x[0]), 9), round(found.gain, 6)
    (0.3, 0.16)

    Args:
        x, y: points, one row each in the order in which they came, and finite values.
        g: values of constraints, one column each; above 0 is violated.
        best: the row of the best point.
        low, high: bounds.
    """
    n = x.shape[1]
    if len(y) < fewest(n) + 1:
        return None
    apart = x - x[best]
    spread = np.abs(apart).max(axis=0)
    if not spread.all():
        return None
    size = coefficients(n)
    near = np.argsort(((apart / spread) ** 2).sum(axis=1), kind="stable")
    near = np.sort(near[: max(fewest(n) + 1, int(MOST * size))])
    h = np.abs(apart[near]).max(axis=0)
    if not h.all():
        return None
    own = int(np.searchsorted(near, best))
    t = apart[near] / h
    all_of = np.column_stack((y, g))[near] / 2
    rise = all_of - all_of[own]
    top = np.abs(rise).max(axis=0)
    top[top == 0] = 1.0
    rise /= top
    last = len(near) - 1 if own != len(near) - 1 else len(near) - 2
    others = np.arange(len(near)) != last
    error = np.abs(_several(t[others], rise[others])(t[last]) - rise[last])[1:]
    at = _several(t, rise)
    here = all_of[own, 1:] / top[1:]
    here = here - at(np.zeros(n))[1:] + MARGIN * error

    def feasible(step: FloatArray) -> FloatArray:
        return np.asarray(-(here + at(step)[1:]))

    rules: Any = {"type": "ineq", "fun": feasible, "jac": lambda step: -at.slopes(step)[1:]}

    def value(step: FloatArray) -> tuple[float, FloatArray]:
        return float(at(step)[0]), at.slopes(step)[0]

    found = slsqp(
        value,
        np.zeros(n),
        bounds=np.clip(np.column_stack((low - x[best], high - x[best])) / h[:, None], -REACH, REACH),
        constraints=rules,
        options={"maxiter": 50, "ftol": 1e-14},
    )
    before, after = (float(np.maximum(-feasible(step), 0.0).sum()) for step in (np.zeros(n), found.x))
    if not np.isfinite(found.x).all() or after > 1e-6 + before:
        return None
    gain = float(at(np.zeros(n))[0] - at(found.x)[0]) * 2 * float(top[0])
    end = np.clip(x[best] + found.x * h, low, high)
    if (g[best] > 0).any():
        return Step(end, max(gain, 1.0))
    return Step(end, gain) if gain > 4 * _EPS * abs(float(y[best])) else None


class _Quadratics:
    """Several quadratics of the same variables."""

    def __init__(self, constants: FloatArray, gradients: FloatArray, hessians: FloatArray) -> None:
        self.constants, self.gradients, self.hessians = constants, gradients, hessians

    def __call__(self, t: FloatArray) -> FloatArray:
        """All of them at a point."""
        return np.asarray(self.constants + self.gradients @ t + 0.5 * (self.hessians @ t) @ t)

    def slopes(self, t: FloatArray) -> FloatArray:
        """Their gradients at a point, one row each."""
        return np.asarray(self.gradients + self.hessians @ t)


def _several(t: FloatArray, rise: FloatArray) -> _Quadratics:
    """The quadratics through points, one for each column, of which those near zero matter most."""
    n, m = t.shape[1], rise.shape[1]
    i, j = np.triu_indices(n)
    ones = np.ones((len(t), 1))
    features = np.concatenate((ones, t, squares(t)), axis=1)
    weights = 1.0 / (NEAREST + (t * t).sum(axis=1))
    first = FLAT * np.eye(features.shape[1])[n + 1 :]
    system = np.concatenate((features * weights[:, None], first))
    right = np.concatenate((rise * weights[:, None], np.zeros((len(first), m))))
    coefficients = least_squares(system, right)
    hessians = np.zeros((m, n, n))
    hessians[:, i, j] = hessians[:, j, i] = coefficients[n + 1 :].T
    return _Quadratics(coefficients[0], coefficients[1 : n + 1].T, hessians)


def step_along(
    x: FloatArray, y: FloatArray, axes: FloatArray, low: FloatArray, high: FloatArray, reach: float = 1.0
) -> Step | None:
    """A step from the best of some points, of which a Gaussian has told along which axes they lie.

    In the coordinates of these axes the second derivatives are taken for all the same, as far as the points
    do not say otherwise: so few of them suffice, and what a covariance has learnt is not lost.

    >>> at = np.array([[0.1, 0.2], [0.5, 0.3], [0.9, 0.8], [0.2, 0.7], [0.4, 0.4], [0.6, 0.9], [0.3, 0.1]])
    >>> found = step_along(at, ((at - 0.35) ** 2).sum(axis=1), np.eye(2), np.zeros(2), np.ones(2))
    >>> np.round(found.x, 6).tolist()
    [0.35, 0.35]

    Args:
        x, y: points, one row each, and finite values.
        axes: a matrix whose product with its transpose is the covariance, up to a factor.
        low, high: bounds.
        reach: the longest step, relative to how far the points are apart.
    """
    n = x.shape[1]
    if len(y) < n + 3:
        return None
    best = int(y.argmin())
    t = np.linalg.solve(axes, (x - x[best]).T).T
    size = coefficients(n)
    near = np.argsort((t * t).sum(axis=1), kind="stable")[: max(n + 3, int(ENOUGH * size))]
    t, rise = t[near], y[near] / 2 - y[best] / 2
    h = float(np.sqrt((t * t).sum(axis=1).max() / n))
    top = float(rise.max())
    if not h > 0 or not top > 8 * _EPS * float(np.abs(y[near]).max()):
        return None
    fitted = _stiff(t / h, rise / top)
    end = fitted.lowest_within((low - x[best]) / h, (high - x[best]) / h, axes, reach * np.sqrt(n))
    gain = -fitted(end) * 2 * top
    at = np.clip(x[best] + h * (axes @ end), low, high)
    return Step(at, gain, fitted.shape()) if gain > 4 * _EPS * abs(float(y[best])) else None


class _Quadratic(NamedTuple):
    """value + gradient t + t hessian t / 2."""

    value: float
    gradient: FloatArray
    hessian: FloatArray

    def __call__(self, t: FloatArray) -> float:
        return self.value + float(self.gradient @ t + 0.5 * t @ self.hessian @ t)

    def shape(self) -> FloatArray:
        """A covariance whose contours are those of the quadratic; its longest axis has length 1."""
        curvature, axes = np.linalg.eigh(self.hessian)
        curvature = np.maximum(np.abs(curvature), 1e-300)
        return np.asarray((axes * np.maximum(curvature.min() / curvature, FLATTEST)) @ axes.T)

    def lowest_within(self, low: FloatArray, high: FloatArray, axes: FloatArray, reach: float) -> FloatArray:
        """Where it is lowest, no farther away than `reach`, with axes t between bounds.

        A coordinate of axes t that would leave its bounds stays on them, and the others make the best of it.
        """
        t = _lowest(self.gradient, self.hessian)
        t *= min(1.0, reach / max(float(np.sqrt(t @ t)), 1e-300))
        move, free = axes @ t, np.ones(len(t), dtype=bool)
        inverse = None
        while (outside := free & ((move < low) | (move > high))).any():
            if inverse is None:
                inverse = np.linalg.inv(axes)
                slope, bend = inverse.T @ self.gradient, inverse.T @ self.hessian @ inverse
            free &= ~outside
            move = np.where(free, 0.0, np.clip(move, low, high))
            if free.any():
                move[free] = _lowest((slope + bend @ move)[free], bend[np.ix_(free, free)])
            t = inverse @ move
            shorter = min(1.0, reach / max(float(np.sqrt(t @ t)), 1e-300))
            move, t = shorter * move, shorter * t
        return t


def _lowest(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Where a quadratic is lowest; along a ridge, downhill."""
    curvature, axes = np.linalg.eigh(hessian)
    curvature = np.maximum(np.abs(curvature), 1e-6 * np.abs(curvature).max() + 1e-12)
    return np.asarray(-axes @ ((axes.T @ gradient) / curvature))


def _stiff(t: FloatArray, rise: FloatArray) -> _Quadratic:
    """The quadratic through points whose second derivatives are as isotropic as they can be."""
    n = t.shape[1]
    i, j = np.triu_indices(n)
    round_part = 0.5 * (t * t).sum(axis=1)
    features = np.column_stack((np.ones(len(t)), t, round_part, squares(t)))
    weights = 1.0 / (LOW + rise)
    weighted = features * weights[:, None]
    normal = weighted.T @ weighted
    places = np.arange(n + 2, len(normal))
    stiff = STIFF if len(t) >= len(normal) else STIFFER
    normal[places, places] += stiff**2 * len(t)
    found = _solved(normal, weighted.T @ (rise * weights))
    hessian = found[n + 1] * np.eye(n)
    hessian[i, j] += found[n + 2 :]
    hessian[j, i] = hessian[i, j]
    return _Quadratic(float(found[0]), found[1 : n + 1], hessian)


def _solved(normal: FloatArray, right: FloatArray) -> FloatArray:
    """The solution of normal equations; of those that do not tell everything, the shortest."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(normal, check_finite=False)
    except LinAlgError:
        return least_squares(normal, right)
    return np.asarray(cho_solve(factor, right, check_finite=False))


def slsqp(
    fun: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, **options: Any
) -> OptimizeResult:
    """SciPy's SLSQP for a function with its gradient.

    Before SciPy 1.16 it tries points that a rounding error takes beyond a bound, puts them back and warns:
    nothing that a user could do something about.
    """
    from scipy.optimize import minimize

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Values in x were outside bounds", RuntimeWarning)
        return minimize(fun, start, method="SLSQP", jac=True, **options)
