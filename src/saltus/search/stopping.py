"""When a run has nothing left to find, on integer problems too."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from ..order import WORST, Key
from ..strategy import GaussianState, Integers
from .proposal import Evaluated


class Stop(Enum):
    """Why a search stopped: each member's value is a sentence, with advice where there is some.

    >>> Stop.TARGET.value, Stop.TARGET.planned, Stop.INTERRUPTED.planned
    ('The target was reached.', True, False)
    """

    TARGET = "The target was reached."
    BUDGET = "The budget of evaluations was used up."
    SECONDS = "The time was used up."
    PATIENCE = (
        "Nothing worth mentioning was gained any more, over as many evaluations as the patience allows. "
        "With more patience it goes on."
    )
    CALLBACK = "The callback asked to stop."
    INTERRUPTED = "Interrupted; what was found until then is kept."
    CONVERGED = "Converged: integers have settled and continuous variables no longer move."
    FLAT = (
        "The best value of each generation stayed the same. "
        "If more was expected: let it restart, or start with a larger sigma or population."
    )
    INFEASIBLE = (
        "No candidate had a finite value for many generations. "
        "Start where the objective is defined (mean=), with a smaller sigma."
    )
    CONDITION = (
        "The covariance matrix became too ill-conditioned. "
        "Variables of very different effect may need log=True or another scale."
    )
    DIVERGED = "The search moved away without end: the objective seems unbounded. Give bounds to Float."
    EXHAUSTED = "Every point that the search still proposes has been evaluated."
    FAILING = (
        "Too many evaluations failed one after the other. "
        "See what the last one wrote and repair it; then continue, or begin a new record "
        "if those failures say nothing about the points."
    )

    @property
    def planned(self) -> bool:
        """Whether a search without a target has done what it was asked to."""
        return self not in (Stop.INTERRUPTED, Stop.FAILING)


# The paper's limit. Its other one, an eigenvalue below 1e-30, is a standard deviation far below SMALLEST_SD.
LARGEST_CONDITION = 1e14
# Relative to the first standard deviations (the internal coordinates have it as their unit).
SMALLEST_SD = 1e-12
LARGEST_SD = 1e10
# Values that differ by less, relative to their size, are the same value.
SAME_VALUE = 1e-13
# How much longer equal values are endured while the Gaussian lies on several plateaus.
PATIENCE_WHILE_WIDE = 4


_EPS = float(np.finfo(float).eps)


def same_value(point: Evaluated, other: Evaluated) -> bool:
    """Whether two points are equally good, up to rounding.

    >>> one = Evaluated(np.zeros(1), np.zeros(0), 0.0, 0.1 + 0.2)
    >>> same_value(one, one._replace(value=0.3)), same_value(one, one._replace(value=0.31))
    (True, False)
    """
    if point.violation != other.violation or not math.isfinite(point.value):
        return False
    return abs(point.value - other.value) <= SAME_VALUE * abs(other.value)


class RunLog(NamedTuple):
    """What the stopping rules remember of a run."""

    patience: int  # generations without news until something counts as settled
    level: float  # best of a generation (value, or violation, or inf) ...
    flat: int  # ... and for how many generations the best has been the same
    best: Key  # of the run
    plateaus: FloatArray  # integers and categories of the run's best ...
    unchanged: int  # ... and for how many generations they have been the same

    @classmethod
    def start(cls, N: int, population: int, integers: Integers, n_categories: int = 0) -> RunLog:
        """The log of a run that has not begun: with how much patience equal values are endured."""
        patience = 10 + math.ceil(30 * N / population)
        discrete = integers.lattice.size + n_categories
        if discrete:
            # a better neighbour has probability alpha: it turns up once in 1 / (alpha population)
            # generations, and five times as long without one is rare enough (e^-5)
            patience += math.ceil(5 / (integers.alpha * population))
        return cls(patience, math.nan, 0, WORST, np.full(discrete, -1.0), 0)

    def after(self, found: Evaluated) -> RunLog:
        """The log after a generation, of which this was the best candidate."""
        level = found.violation or found.value
        same = level == self.level or abs(level - self.level) <= SAME_VALUE * min(abs(level), abs(self.level))
        best, known, unchanged = self.best, self.plateaus, self.unchanged + 1
        if found.key < best:
            best = found.key
            if np.count_nonzero(found.plateaus != known):
                known, unchanged = found.plateaus, 0
        return RunLog(
            self.patience,
            self.level if same else level,
            self.flat + 1 if same else 0,
            best,
            known,
            unchanged,
        )


def stop_reason(log: RunLog, gaussian: GaussianState, integers: Integers) -> Stop | None:
    """Why the run should end after this generation, or None."""
    if log.flat >= log.patience:
        # beyond the end of an integer's range values are equal while the Gaussian still shrinks
        settled = not integers.lattice.size or integers.resolution(gaussian.m, gaussian.sd).max() <= 1.0
        if settled or log.flat >= PATIENCE_WHILE_WIDE * log.patience:
            return Stop.FLAT if math.isfinite(log.level) else Stop.INFEASIBLE
    if gaussian.age > 0:
        return None  # the rest is worth a look when the eigenbasis is fresh
    sd = gaussian.sd
    smallest, largest = gaussian.eigenvalues.min(), gaussian.eigenvalues.max()
    if largest > LARGEST_CONDITION * smallest:
        return Stop.CONDITION
    if not sd.max(initial=0.0) < LARGEST_SD:
        return Stop.DIVERGED
    n = integers.n_continuous
    still = sd[:n] <= SMALLEST_SD + _EPS * np.abs(gaussian.m[:n])
    if not still.all():
        return None
    if not log.plateaus.size:
        return Stop.CONVERGED
    settled = integers.resolution(gaussian.m, sd) <= 1.0
    return Stop.CONVERGED if log.unchanged >= log.patience and settled.all() else None
