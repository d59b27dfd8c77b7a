"""Quasi-Newton: steps by slopes and by what the last steps have told of the curvature, for many variables.

With n variables a batch of differences is n evaluations, and a matrix of curvatures would be n of those. Here
slopes are measured along the coordinates, one side of each (both sides now and then, which gives the
curvature along the coordinate), and the rest of the curvature follows from how slopes changed over the last
steps (Nocedal's limited-memory BFGS). Each step is looked at in several lengths, which cost nothing beside
the slopes. Its first two steps must show that the function is smooth, and the first five that it is faster
than the run before it: else it says that it has failed.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..order import Key
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .stopping import SMALLEST_SD

FIRST_DIFFERENCES = 0.05  # in standard deviations ...
DIFFERENCES = 0.02  # ... and later, relative to the step
LONGEST_STEP = 3.0  # in standard deviations, along any coordinate
REMEMBERED = 40  # steps
BOTH_SIDES = 10  # steps from one measurement of both sides to the next
LENGTHS = (1.0, 0.3, 0.1, 3.0)  # of a step, that are tried first; if the longest is the best ...
LONGER = 9.0  # ... this one, too
SHORTER = 0.3  # if none is better, still shorter ones, by that much each ...
MOST_ROUNDS = 5  # ... so many times
PROOF = 2  # steps: of these the geometric mean of what they gain must be ...
GOOD = 0.38  # ... so much of what was promised, ...
FAIR = 0.25  # ... and later the mean this; ...
BEST = 2.0  # ... a single one counts at most so much, ...
AVERAGED = 10  # ... and the mean is over about so many
TRIAL = 5  # steps, after which it must have been faster than the run before it
MOST_FAILURES = 3  # in a row: steps of which no length is better
MOST_SPENT = 400  # evaluations for each variable: then something else should have its turn
COARSE = 0.01  # a coarse search ends when the next step promises less than this share of all the gain
FLATTEST = 1e-6  # least curvature along a coordinate, relative to the largest
AUDIBLE = 1e4  # differences are at least so many rounding errors of the value
_EPS = float(np.finfo(float).eps)
_TINY = 1e-300


class QuasiNewton(Phase):
    """Steps downhill in the continuous variables, until the bottom is reached or the function is not smooth.

    `failed` says so: then a Gaussian has to do the work. All of it is in units of `scale`, a standard
    deviation of each coordinate.
    """

    saved = (
        *("start", "best", "centre", "scale", "h", "bends", "gradient", "step", "moves", "changes"),
        *("both", "lengths", "tried", "first_value", "steps", "proof", "kept", "failures", "promised"),
        *("pace", "spent", "coarse", "failed", "done"),
    )

    def __init__(
        self, domain: Domain, point: Evaluated, scale: FloatArray, pace: float = 0.0, coarse: bool = True
    ) -> None:
        """From a point, whose value need not be known (NaN).

        Args:
            domain: where.
            point: from where.
            scale: a standard deviation of each coordinate.
            pace: what an evaluation has gained lately, before this phase.
            coarse: it ends when little is left to be gained; `deepen` lets it go on.
        """
        n = domain.n_continuous
        self.domain = domain
        self.scale = np.maximum(scale, SMALLEST_SD)
        self.start = self.centre = point
        self.best = point if math.isfinite(point.value) else domain.nowhere()
        self.first_value = point.value
        self.h = np.full(n, FIRST_DIFFERENCES)
        self.bends = np.zeros(n)  # curvature along each coordinate
        self.gradient = np.zeros(n)  # at the centre
        self.step = np.zeros(n)  # from there
        self.moves = np.zeros((0, n))  # the last steps ...
        self.changes = np.zeros((0, n))  # ... and how they changed the gradient
        self.both = True  # both sides are measured next
        self.lengths: list[float] = []  # of the step, to be tried next; none: slopes are measured
        self.tried: list[list[float]] = []  # values and lengths of the step that were tried
        self.promised = math.inf  # what the step should gain
        self.steps = self.failures = 0
        self.proof = 1.0  # of what the first steps promised, what they kept, multiplied ...
        self.kept = 1.0  # ... and of all of them, on average
        self.pace = pace
        self.spent = 0  # evaluations
        self.coarse = coarse
        self.failed = self.done = False

    def deepen(self, goal: Key | None) -> None:
        """Go on where a coarse search has stopped."""
        self.coarse = self.done = False
        self._direct()

    @property
    def _unknown(self) -> bool:
        """Whether the value of the centre is not known."""
        return not math.isfinite(self.centre.value)

    def propose(self) -> Proposals:
        """Points along the step, or beside the centre."""
        n = self.domain.n_continuous
        x = self.centre.x[:n]
        if self.lengths:
            rows = x + np.multiply.outer(self.lengths, self.scale * self.step)
        else:
            arms = np.diag(self.h * self.scale)
            middle = np.zeros((int(self._unknown), n))
            rows = x + np.concatenate((middle, arms, -arms) if self.both else (middle, arms))
        return self.domain.proposals(rows, self.start.plateaus[None, :])

    def observe(self, results: Results) -> None:
        """Measure slopes and choose a step, or take the best length of one."""
        self.spent += len(results.values)
        found = results.best()
        if found.key < self.best.key:
            self.best = found
        if not results.clean or self.start.violation > 0:
            self._give_up()
            return
        with np.errstate(over="ignore", invalid="ignore"):  # of values near the end of all numbers
            if self.lengths:
                self._choose(results)
            else:
                self._measure(results)

    def _give_up(self) -> None:
        self.failed = self.done = True

    def _measure(self, results: Results) -> None:
        """Slopes from differences."""
        n, values = len(self.h), results.values
        if self._unknown:
            self.centre = results.point(0)
            self.first_value, values = self.centre.value, values[1:]
        rise = (values[:n] - self.centre.value) / self.h
        if self.both:
            fall = (values[n:] - self.centre.value) / self.h
            self.bends = (rise + fall) / self.h
            gradient = (rise - fall) / 2
        else:
            gradient = rise - self.bends * self.h / 2
        if self.tried:  # there was a step that led here
            self._remember(gradient - self.gradient)
        self.gradient = gradient
        self._direct()

    def _remember(self, change: FloatArray) -> None:
        """The last step, and what it changed, unless it shows no curvature."""
        move = self.step
        if move @ change > 1e-10 * math.sqrt((move @ move) * (change @ change)):
            self.moves = np.vstack((self.moves, move))[-REMEMBERED:]
            self.changes = np.vstack((self.changes, change))[-REMEMBERED:]

    def _direct(self) -> None:
        """The next step, or the end."""
        value = self.centre.value
        step = -inverse_times(self.gradient, self.moves, self.changes, self._flat())
        if not np.isfinite(step).all() or not self.bends.any():
            self._give_up()  # flat, or beyond all numbers
            return
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), _TINY))
        self.step = step
        self.promised = -float(self.gradient @ step) / 2
        self.lengths, self.tried = list(LENGTHS), []
        self.done = (
            self.promised <= 4 * _EPS * abs(value)
            or float(np.abs(self.scale * step).max()) < SMALLEST_SD
            or (self.coarse and self.steps > 0 and self.promised < COARSE * (self.first_value - value))
        )

    def _flat(self) -> FloatArray:
        """Curvature along each coordinate, such as it is without anything remembered."""
        bends = np.abs(self.bends)
        return np.asarray(np.maximum(bends, FLATTEST * bends.max() + _TINY))

    def _choose(self, results: Results) -> None:
        """The best length so far; others if it is none, or the longest."""
        tried = [[float(v), t] for v, t in zip(results.values, self.lengths, strict=True)]
        self.tried += tried
        value, length = min(self.tried)
        if not value < self.centre.value:
            shortest = min(t for _, t in self.tried)
            if len(self.tried) < MOST_ROUNDS * len(LENGTHS):
                self.lengths = [shortest * SHORTER ** (k + 1) for k in range(len(LENGTHS))]
            else:
                self._fail()
        elif length == max(t for _, t in self.tried) < LONGER:
            self.lengths = [LONGER]
        else:
            self._move(value, length)

    def _fail(self) -> None:
        """No length is better: forget everything, and look nearer."""
        self.failures += 1
        self.moves, self.changes = self.moves[:0], self.changes[:0]
        self.h = self.h / 10
        self.both, self.lengths, self.tried = True, [], []
        if self.failures == MOST_FAILURES or self.steps < PROOF:
            self._give_up()

    def _move(self, value: float, length: float) -> None:
        """Go there, and measure slopes next."""
        self.failures = 0
        self.steps += 1
        kept = min(BEST, (self.centre.value - value) / self.promised)
        self.kept += (kept - self.kept) / min(self.steps, AVERAGED)
        slow = self.steps == TRIAL and self.first_value - value < self.pace * self.spent
        self.proof *= kept if self.steps <= PROOF else 1.0
        rough = self.steps == PROOF and self.proof < GOOD**PROOF
        empty = self.steps >= AVERAGED and self.kept < FAIR
        if rough or slow or empty or self.spent > MOST_SPENT * len(self.step):
            self._give_up()
            return
        self.step = length * self.step
        n = len(self.step)
        x = self.centre.x.copy()
        x[:n] += self.scale * self.step
        self.centre = self.centre._replace(x=x, value=value)
        audible = np.sqrt(AUDIBLE * _EPS * abs(value) / self._flat())
        self.h = np.minimum(self.h, np.maximum(DIFFERENCES * float(np.abs(self.step).max()), audible))
        self.both, self.lengths = self.steps % BOTH_SIDES == 0, []

    def where(self) -> tuple[FloatArray, FloatArray]:
        """At the centre, with the length of the differences."""
        n = self.domain.n_continuous
        sd = np.zeros(self.domain.N)
        sd[:n] = self.h * self.scale
        return self.centre.x, sd

    def _prepare(self) -> None:
        n = self.domain.n_continuous
        for name in ("scale", "h", "bends", "gradient", "step"):
            _serialize.shaped(getattr(self, name), (n,), name)
        for name in ("moves", "changes"):
            _serialize.shaped(getattr(self, name), (len(self.moves), n), name)


def inverse_times(
    gradient: FloatArray, moves: FloatArray, changes: FloatArray, diagonal: FloatArray
) -> FloatArray:
    """The inverse of the curvature times the gradient, in O(n) for each remembered step.

    The curvature is that which BFGS makes of a diagonal matrix by these moves and the changes of the gradient
    over them, the last ones last. Of the diagonal only the ratios count where there is a move.
    """
    inverse = 1.0 / diagonal
    if len(moves):
        inverse *= (moves[-1] @ changes[-1]) / (changes[-1] @ (inverse * changes[-1]))
    along = np.vecdot(moves, changes)
    left = gradient.copy()
    parts = np.zeros(len(moves))
    for i in reversed(range(len(moves))):
        parts[i] = moves[i] @ left / along[i]
        left -= parts[i] * changes[i]
    result = inverse * left
    for i in range(len(moves)):
        result += (parts[i] - changes[i] @ result / along[i]) * moves[i]
    return np.asarray(result)
