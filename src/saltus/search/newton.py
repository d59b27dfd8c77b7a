"""Newton: a quadratic model of the continuous variables around a point, and steps to its minimum.

Where a function is smooth, a few points tell what a Gaussian learns in hundreds. Central differences
along the axes of the covariance give the gradient and the curvature of each axis; what the axes have to do
with one another is measured only when the model has failed without it. A point and
the differences around it are one batch, so a good step costs no more than its next gradient.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _serialize
from .._typing import FloatArray, Mask
from ..order import Key
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .stopping import SMALLEST_SD

FIRST_RADIUS = 4.0  # longest first step, in standard deviations
FIRST_DIFFERENCES = 0.5  # likewise
DIFFERENCES = 0.1  # later: relative to the step
SHORTER = 0.25  # the next step, after one that failed
LONGER = 3.0  # the next radius, after a good step of full length
GOOD = (0.5, 2.0)  # what a step gains, relative to what the model has promised
COARSE = 0.01  # a coarse search ends when the next step promises less than this share of all the gain
MOST_CROSSED = 50  # variables: up to here their interplay is measured, in n (n - 1) / 2 points
MOST_REJECTIONS = 4  # in a row
MOST_STEPS = 30
_EPS = float(np.finfo(float).eps)
_TINY = 1e-300
NEARER = 1 / 16  # of the differences: from there a minimum that no step has led to is looked at again ...
STEEPER = 4.0  # ... and is the tip of a kink if its curvature is more than so many times as large
AUDIBLE = 1e4  # differences of curvature are at least so many rounding errors of the value


class Newton(Phase):
    """Steps to the minimum of a quadratic model, until it is reached or the model has failed.

    `failed` says that the function is not smooth here, or that something was violated or had no value:
    then a Gaussian has to do the work.
    """

    saved = (
        *("start", "best", "centre", "probed", "basis", "hessian", "gradient", "offset", "step", "trial"),
        *("h", "arms", "sides", "bends", "promised", "radius", "first_value", "steps", "rejections"),
        *("coarse", "borrowed", "crossing", "crossed", "checking", "failed", "done"),
    )

    def __init__(self, domain: Domain, point: Evaluated, covariance: FloatArray) -> None:
        """The axes of the covariance are the coordinates t of the model: x = x_0 + basis t."""
        variances, axes = np.linalg.eigh(covariance)
        self.domain = domain
        self.basis = axes * np.sqrt(np.maximum(variances, SMALLEST_SD**2))
        self.hessian = np.zeros_like(self.basis)
        self.borrowed = False  # the Hessian is known from elsewhere
        n = domain.n_continuous
        self.crossed = n == 1 or n > MOST_CROSSED  # its cross differences are known
        self._begin(point, FIRST_DIFFERENCES, FIRST_RADIUS)

    def _begin(self, point: Evaluated, differences: float, radius: float) -> None:
        n = self.domain.n_continuous
        self.coarse = True
        self.best = self.start = self.centre = point
        self.first_value = point.value
        self.trial = point.x[:n]
        self.h = np.full(n, differences)
        self.gradient = np.zeros(n)  # where it was measured ...
        self.offset = np.zeros(n)  # ... and how far the centre is from there
        self.step = np.zeros(n)  # from the centre to the trial point
        self.promised = math.inf  # what that step should gain
        self.radius = radius
        self.rejections = self.steps = 0
        self.checking = False  # the batch is one of nearer differences around the centre
        self.crossing = False  # the batch is one of cross differences ...
        self.probed, self.arms = point, self.h  # ... around the last measurement, ...
        self.sides, self.bends = np.zeros(n), np.zeros(n)  # ... with its values and second differences
        self.failed = self.done = False

    def elsewhere(self, point: Evaluated) -> Newton:
        """A search from another point that already knows the curvature; its value need not be known."""
        other = Newton.__new__(Newton)
        other.domain, other.basis, other.hessian = self.domain, self.basis, self.hessian.copy()
        other.borrowed = other.crossed = True
        other._begin(point, DIFFERENCES, math.inf)
        other.coarse = False
        return other

    def deepen(self, goal: Key | None) -> None:
        """Go on where a coarse search has stopped.

        Differences across the tip of a kink are those of a minimum, so a point that no step has led to has
        to be one from nearer, too.
        """
        self.coarse = self.done = False
        self._propose()
        nearer = NEARER * self.h
        if self.done and not self.failed and self.steps == 1 and not self.borrowed:
            self.checking = bool((nearer >= self._audible()).all())
        if self.checking:
            self.trial, self.h, self.done = self.centre.x[: len(nearer)], nearer, False

    @property
    def _known(self) -> bool:
        """Whether the value of the trial point is known: at the beginning it mostly is."""
        return self.steps == 0 and math.isfinite(self.start.value)

    def propose(self) -> Proposals:
        """The trial point with differences around it, or cross differences."""
        n = self.domain.n_continuous
        if self.crossing:
            i, j = np.triu_indices(n, 1)
            arms = (self.basis * self.arms).T
            rows = self.probed.x[:n] + arms[i] + arms[j]
        else:
            arms = (self.basis * self.h).T
            middle = np.zeros((0 if self._known or self.checking else 1, n))
            rows = self.trial + np.concatenate((middle, arms, -arms))
        return self.domain.proposals(rows, self.start.plateaus[None, :])

    def ready(self, results: Results) -> bool:
        """The trial point and one side of every axis, once the curvature is known."""
        if results.known is None or self.crossing or self.checking or self.steps == 0:
            return results.complete
        n, known = len(self.h), results.known
        return bool(known[0] and (known[1 : n + 1] | known[n + 1 :]).all())

    def observe(self, results: Results) -> None:
        """Build the model and take its step, or reject the last one."""
        found = results.known_part().best()
        if not self.best.key <= found.key:  # also if the value of the first point is not known
            self.best = found
        known = results.known
        if known is not None and not known.all():
            results = results._replace(values=self._completed(results.values, known))
        if not results.clean or self.start.violation > 0:
            self._give_up()
            return
        with np.errstate(over="ignore", invalid="ignore"):  # of values near the end of all numbers
            if self.checking:
                self._check(results.values)
            elif self.crossing:
                self._cross(results.values)
            else:
                self._probe(results, known)

    def _completed(self, values: FloatArray, known: Mask) -> FloatArray:
        """A side that is not known follows from the one opposite and the curvature measured last."""
        n = len(self.h)
        opposite = np.concatenate((values[:1], values[n + 1 :], values[1 : n + 1]))
        bend = np.concatenate(([0.0], np.tile(self.bends * self.h**2, 2)))
        return np.where(known, values, 2 * values[0] - opposite + bend)

    def _give_up(self) -> None:
        self.failed = self.done = True

    def _check(self, values: FloatArray) -> None:
        """A minimum has the same curvature from nearer; the tip of a kink has a larger one."""
        n = len(self.h)
        bends = (values[:n] + values[n:] - 2 * self.centre.value) / self.h**2
        self.failed = bool((bends > STEEPER * self.bends).any())
        self.checking, self.done = False, True

    def _cross(self, values: FloatArray) -> None:
        """The off-diagonal part of the Hessian; what was learnt in its place is forgotten."""
        i, j = np.triu_indices(len(self.h), 1)
        np.fill_diagonal(self.hessian, self.bends)
        mixed = (values - self.sides[i] - self.sides[j] + self.probed.value) / (self.arms[i] * self.arms[j])
        self.hessian[i, j] = self.hessian[j, i] = mixed
        self.crossing, self.crossed = False, True
        self._propose()

    def _probe(self, results: Results, evaluated: Mask | None) -> None:
        """Accept the best point of the batch as the new centre, or go back and look nearer."""
        n, known = len(self.h), self._known
        values = np.concatenate(([self.start.value], results.values)) if known else results.values
        value, up, down = float(values[0]), values[1 : n + 1], values[n + 1 :]
        gradient = (up - down) / (2 * self.h)
        first = int(values.argmin())
        if evaluated is not None and not evaluated.all():  # then there is no value from before
            first = int(np.where(evaluated, values, math.inf).argmin())
        good = self.steps == 0 or GOOD[0] < (self.centre.value - value) / self.promised < GOOD[1]
        if self.steps == 1 and not good and self.crossed and not self.borrowed:
            self._give_up()  # the first step that is worth its name must show that this is a model at all
            return
        if self.steps and not values[first] < self.centre.value:
            self._reject(gradient)
            return
        self.rejections = 0
        if good and np.abs(self.step).max() > 0.9 * self.radius:
            self.radius *= LONGER
        self.bends = (up + down - 2 * value) / self.h**2
        if not self.borrowed:
            np.fill_diagonal(self.hessian, self.bends)
        if self.steps:
            self._learn(gradient)
        self.gradient = gradient
        self.probed = self.start if known else results.point(0)
        self.sides, self.arms = up, self.h
        self.centre, self.offset = self.probed, np.zeros(n)
        if first:  # one of the sides is better than the middle: the model tells the gradient there
            self.centre = results.point(first - known)
            self.offset[(first - 1) % n] = self.h[(first - 1) % n] * (1 if first <= n else -1)
        if self.steps == 0:
            self.first_value = value
        self.steps += 1
        if self.steps > MOST_STEPS:
            self._give_up()
        else:
            self._cross_or_propose(good)

    def _reject(self, gradient: FloatArray) -> None:
        """Nothing was better: stay, and look nearer."""
        self.rejections += 1
        self._learn(gradient)
        self.radius = SHORTER * float(np.abs(self.step).max())
        if self.rejections > MOST_REJECTIONS:
            self._give_up()
        else:
            self._cross_or_propose(good=False)

    def _cross_or_propose(self, good: bool) -> None:
        """A model that fails for the first time is given its cross differences."""
        self.crossing = not good and not self.crossed
        if not self.crossing:
            self._propose()

    def _learn(self, gradient: FloatArray) -> None:
        """Symmetric rank-one update of the Hessian: the last move explains the change of the gradient."""
        moved = self.offset + self.step
        error = gradient - self.gradient - self.hessian @ moved
        along = float(error @ moved)
        if abs(along) > 1e-8 * np.linalg.norm(error) * np.linalg.norm(moved):
            self.hessian += np.outer(error, error) / along

    def _propose(self) -> None:
        """The step to the minimum of the model, within the radius; or the end."""
        gradient = self.gradient + self.hessian @ self.offset
        if not self.hessian.any() or not np.isfinite(self.hessian.sum() + gradient.sum()):
            self._give_up()  # flat, or beyond all numbers
            return
        curvature, axes = np.linalg.eigh(self.hessian)
        curvature = np.abs(curvature)  # along a ridge, downhill too
        curvature = np.maximum(curvature, 1e-10 * curvature.max() + _TINY)
        step = -axes @ ((axes.T @ gradient) / curvature)
        length = float(np.abs(step).max())
        if length > self.radius:
            step *= self.radius / length
            length = self.radius
        promised = -float(gradient @ step + 0.5 * step @ self.hessian @ step)
        value = self.centre.value
        self.done = (
            promised <= 4 * _EPS * abs(value)
            or float(np.abs(self.basis @ step).max()) < SMALLEST_SD
            or (self.coarse and promised < COARSE * (self.first_value - value))
        )
        if self.done:
            return
        self.h = np.minimum(self.h, np.maximum(DIFFERENCES * length, self._audible()))
        self.step, self.promised = step, promised
        self.trial = self.centre.x[: len(step)] + self.basis @ step

    def _audible(self) -> FloatArray:
        """The least differences whose curvature is more than the rounding of the value."""
        curvature = np.maximum(np.abs(self.hessian.diagonal()), _TINY)
        return np.asarray(np.sqrt(AUDIBLE * _EPS * abs(self.centre.value) / curvature))

    def where(self) -> tuple[FloatArray, FloatArray]:
        """At the trial point, with the length of the differences."""
        n = self.domain.n_continuous
        m, sd = self.start.x.copy(), np.zeros(self.domain.N)
        m[:n], sd[:n] = self.trial, np.sqrt(((self.basis * self.h) ** 2).sum(axis=1))
        return m, sd

    def _prepare(self) -> None:
        n = self.domain.n_continuous
        for name in ("h", "trial", "gradient", "offset", "step", "arms", "sides", "bends"):
            _serialize.shaped(getattr(self, name), (n,), name)
        for name in ("basis", "hessian"):
            _serialize.shaped(getattr(self, name), (n, n), name)
