"""Schedule: which phase follows which, from the start of a run to the bottom of its valley.

    model run ----------------> coarse -> sweep
    valley
    evolution ----------------> sweep
    lattice run --------------> coarse -> ..., if it is better
    mixed run -> model run ---> coarse -> sweep -> neighbours -> deep -> scan
                                ^_________|  better: coarse again        |
                                ^________________________________________|  better: again, once
    quasi-Newton                first of all, where all of more than 50 variables are continuous

With the strategy `saltus-es` there are no model runs. After the one at the very beginning, the descent is a
short one: a mixed run comes next, and may find a better valley. With constraints there is none, since such a
model run goes on until its region is small. Of more than 50 variables there is no model. Where the first
model run has led is searched deeply later (`restarts.py`), if it is still the best. The model run around the
end of a mixed run comes while the model knows enough. Where all variables are continuous and there is a
model, runs are valleys, which go to the bottom by themselves. The evolution is one of those runs where all
variables are integers.

Coarse and deep are the continuous variables alone: by Newton steps (of more than 50 by quasi-Newton ones), or
by the polish, a Gaussian, where those fail. Only what is better than the goal (the best point of all runs
before) is worth what comes after the sweep. Where there are categories, their values that a model has spared
come after a sweep without success, and pairs of them before the deep search; if one is better, the descent
goes on from there as after a run. `Descent._following` is this
diagram as code. Every phase but the mixed run can be left out by its name in `without`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..order import Key
from .asking import askable, knows_enough
from .category_pairs import CategoryPairs, SparedCategories
from .coordinate_scan import CoordinateScan
from .integer_evolution import IntegerEvolution
from .integer_neighbours import IntegerNeighbours, affordable
from .integer_sweep import IntegerSweep
from .lattice_run import LatticeRun
from .mixed_run import MixedRun
from .model_run import ModelRun
from .newton import Newton
from .phase import Phase
from .polish import Polish
from .proposal import Domain, Evaluated
from .quasi_newton import QuasiNewton
from .settings import LARGEST_MATRIX, MANY_VARIABLES
from .valley import Valley, only_valleys

PHASES: dict[str, type[Phase]] = {
    phase.__name__: phase
    for phase in (
        *(ModelRun, MixedRun, IntegerEvolution, Newton, QuasiNewton, Polish, Valley),
        *(IntegerSweep, IntegerNeighbours, LatticeRun, CategoryPairs, SparedCategories, CoordinateScan),
    )
}


COARSE_SHARE = 0.1  # first standard deviation after a model run at the beginning, relative to the range
WIDEST_SHARE = 0.3  # the largest one after a mixed run, likewise


def usual_covariance(domain: Domain) -> FloatArray:
    """Of the continuous variables, where no run has found one; as `MixedRun.conditional` gives it."""
    sd = COARSE_SHARE * domain.span[: domain.n_continuous]
    return np.stack((sd, np.zeros_like(sd))) if len(sd) > LARGEST_MATRIX else np.diag(sd**2)


def deviations(covariance: FloatArray) -> FloatArray:
    """Standard deviations of the continuous variables, whichever form their covariance has."""
    if covariance.shape[0] == covariance.shape[1]:
        return np.sqrt(covariance.diagonal())
    scales, v = covariance
    return np.asarray(scales * np.sqrt(1.0 + v * v))


def within_range(domain: Domain, covariance: FloatArray) -> FloatArray:
    """The covariance with which a mixed run has ended, in either form, no wider than the ranges.

    While integers decide, a Gaussian may become wider than the range of a variable that hardly matters.
    Points beyond a bound are mirrored: differences across it say nothing of the valley, so Newton steps fail
    in the smoothest one, and a polish has to shrink first.
    """
    factors = np.minimum(1.0, domain.widest(WIDEST_SHARE) / deviations(covariance))
    if (factors == 1.0).all():
        return covariance
    if covariance.shape[0] == covariance.shape[1]:
        return np.asarray(covariance * np.outer(factors, factors))
    return np.stack((covariance[0] * factors, covariance[1]))


# a search in the continuous variables alone
Smooth = Newton | QuasiNewton | Polish


def coarse(domain: Domain, point: Evaluated, covariance: FloatArray, pace: float = 0.0) -> Smooth | Valley:
    """The search in the continuous variables around a point; of many, it must not be slower than the pace."""
    if only_valleys(domain):
        return Valley(domain, point, covariance)
    if "newton" in domain.settings.without:
        return Polish(domain, point, covariance)
    if domain.n_continuous > MANY_VARIABLES:
        return QuasiNewton(domain, point, deviations(covariance), pace)
    return Newton(domain, point, covariance)


def opening(domain: Domain, m: FloatArray) -> QuasiNewton | None:
    """Where all of many variables are continuous: first of all steps from the first mean, to any depth."""
    if domain.lattice.size or domain.N <= MANY_VARIABLES or "newton" in domain.settings.without:
        return None
    start = Evaluated(m, np.zeros(0), 0.0, math.nan)
    return QuasiNewton(domain, start, deviations(usual_covariance(domain)), coarse=False)


# what a descent may begin with
First = ModelRun | MixedRun | IntegerEvolution | LatticeRun | CoordinateScan | Smooth | Valley


class Descent:
    """A run and its descent: the phase that is on, and which one comes next."""

    def __init__(
        self,
        domain: Domain,
        first: First,
        goal: Key | None,
        covariance: FloatArray | None = None,
    ) -> None:
        """Begin with a run; or at a point, with a covariance, with a scan or a coarse search."""
        self.domain = domain
        self.goal = goal
        self.phase: Phase = first
        self.covariance = covariance
        self.pace = 0.0  # of the run before the first coarse search
        # the coarse search, which a deep one continues
        self.smooth: Smooth | None = first if isinstance(first, Smooth) else None
        self.short = isinstance(first, ModelRun) or (isinstance(first, QuasiNewton) and not first.coarse)
        self.scanned = isinstance(first, CoordinateScan)
        self.deep = False
        self.over = False

    def advance(self, rng: np.random.Generator) -> int:
        """Go on to the next phase, if the present one is done; how many phases have begun."""
        begun = 0
        while self.phase.done and not self.over:
            following = self._following(rng)
            if following is None:
                self.over = True
            else:
                begun += following is not self.phase  # a deep search may go on where a coarse one was
                self.phase = following
        return begun

    def _following(self, rng: np.random.Generator) -> Phase | None:
        """The phase after the present one, which is done; None: the descent is over."""
        point = self.phase.best
        match self.phase:
            case ModelRun(local=local):
                if not local and ("short descent" in self._without or self.domain.model.constrained):
                    return None  # with constraints its region is small: it was the descent
                if not local and only_valleys(self.domain):
                    return None  # what comes next goes to the bottom by itself
                if not local and self.domain.n_continuous:
                    self.covariance = usual_covariance(self.domain)
                return self._settled(point, rng)
            case MixedRun() as run:
                if run.diverged or run.hopeless():
                    return None
                if self.domain.n_continuous:
                    self.covariance = within_range(self.domain, run.conditional())
                    self.pace = run.pace
                return self._around(point) or self._settled(point, rng)
            case Valley():
                return None
            case IntegerEvolution():
                return self._sweep(point, rng) if self._worth_it(point) else None
            case QuasiNewton(failed=True) if self.short:
                return None
            case Newton(failed=True) | QuasiNewton(failed=True):
                return self._polish(point)
            case Newton() | QuasiNewton() | Polish():
                if self.deep:
                    return self._scan(point, rng)
                return self._sweep(point, rng) or self._deep(point, rng)
            case IntegerSweep(start=start):
                if point.key < start.key and self.domain.n_continuous:
                    return self._coarse(point)
                return self._spared(point, rng) or self._swept(point, rng)
            case SparedCategories(start=start):
                return self._settled(point, rng) if point.key < start.key else self._swept(point, rng)
            case IntegerNeighbours(start=start, winner=winner):
                if point.key < start.key:
                    self.smooth = winner
                    return IntegerNeighbours(self.domain, winner)
                return self._pairs(point, rng) or self._deep(point, rng)
            case CategoryPairs(start=start):
                if point.key < start.key:
                    return self._settled(point, rng)
                return self._deep(point, rng)
            case LatticeRun(start=start):
                return self._settled(point, rng) if point.key < start.key else None
            case CoordinateScan(start=start):
                return self._coarse(point) if point.key < start.key else None
        raise TypeError(f"{type(self.phase).__name__} has no place in the schedule")

    def _around(self, point: Evaluated) -> Phase | None:
        """What a model still finds around a point, while it knows enough."""
        if {"model", "asking"} & self._without or not knows_enough(self.domain):
            return None
        return ModelRun.around(self.domain, point)

    def _settled(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        """The integers of a run have settled."""
        return self._coarse(point) if self.domain.n_continuous else self._sweep(point, rng)

    @property
    def _conditional(self) -> FloatArray:
        if self.covariance is None:
            raise RuntimeError("a descent in continuous variables needs their covariance")
        return self.covariance

    @property
    def _without(self) -> frozenset[str]:
        return self.domain.settings.without

    def _worth_it(self, point: Evaluated) -> bool:
        """Whether what comes after the sweep is."""
        return not self.short and (self.goal is None or point.key < self.goal)

    def _coarse(self, point: Evaluated) -> Phase:
        self.deep = False
        found = coarse(self.domain, point, self._conditional, self.pace)
        self.smooth = None if isinstance(found, Valley) else found
        self.pace = 0.0
        return found

    def _polish(self, point: Evaluated) -> Phase:
        self.smooth = Polish(self.domain, point, self._conditional)
        if self.deep:
            self.smooth.deepen(self.goal)
        return self.smooth

    def _sweep(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        if not self.domain.lattice.size or "sweep" in self._without:
            return None
        return IntegerSweep(self.domain, point, rng)

    def _spared(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        """What the model has spared of the sweep that is over, of categories."""
        if not self.domain.n_categories or "pairs" in self._without or not askable(self.phase):
            return None
        return SparedCategories(self.domain, point, rng)

    def _swept(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        """After a sweep that has found nothing better."""
        return self._neighbours(point) or self._pairs(point, rng) or self._deep(point, rng)

    def _neighbours(self, point: Evaluated) -> Phase | None:
        """Around a smooth valley that is worth it, if there is one, and if it is not too dear."""
        smooth = self.smooth
        if not isinstance(smooth, Newton) or smooth.failed or smooth.steps == 0:
            return None
        if "neighbours" in self._without or not self._worth_it(point) or not affordable(self.domain):
            return None
        return IntegerNeighbours(self.domain, smooth)

    def _pairs(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        """Two categories at a time, if it is worth it; after a model run it is, since the model is asked."""
        if self.domain.n_categories < 2 or "pairs" in self._without:
            return None
        if not (self._worth_it(point) or self.short):
            return None
        return CategoryPairs(self.domain, point, rng)

    def _deep(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        """The deep search, if it is worth it."""
        if self.smooth is None or not self._worth_it(point):
            return None
        if "deep" in self._without:
            return self._scan(point, rng)
        self.deep = True
        self.smooth.deepen(self.goal)
        return self.smooth

    def _scan(self, point: Evaluated, rng: np.random.Generator) -> Phase | None:
        if self.scanned or "scan" in self._without:
            return None
        self.scanned = True
        return CoordinateScan(self.domain, point, rng)

    def state(self) -> dict[str, Any]:
        """What `restored` needs, for `_serialize.pack`; the smooth phase may be the present one."""
        smooth: Any = None if self.smooth is None else _named(self.smooth)
        if self.smooth is self.phase:
            smooth = "phase"
        elif isinstance(self.phase, IntegerNeighbours) and self.phase.winner is self.smooth:
            smooth = "winner"
        return {
            "goal": self.goal,
            "covariance": self.covariance,
            "pace": self.pace,
            "short": self.short,
            "scanned": self.scanned,
            "deep": self.deep,
            "over": self.over,
            "phase": _named(self.phase),
            "smooth": smooth,
        }

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Descent:
        """The descent whose state this is."""
        self = cls.__new__(cls)
        self.domain = domain
        goal = state["goal"]
        self.goal = None if goal is None else (float(goal[0]), float(goal[1]))
        self.covariance, self.pace = state["covariance"], float(state["pace"])
        self.short, self.scanned = state["short"], state["scanned"]
        self.deep, self.over = state["deep"], state["over"]
        self.phase = _revived(domain, state["phase"])
        smooth: Any = state["smooth"]
        if smooth == "phase":
            smooth = self.phase
        elif smooth == "winner":
            smooth = getattr(self.phase, "winner", None)
        elif smooth is not None:
            smooth = _revived(domain, smooth)
        if not (smooth is None or isinstance(smooth, Smooth)):
            raise ValueError(
                f"state: smooth must be Newton, QuasiNewton or Polish, got {type(smooth).__name__}"
            )
        self.smooth = smooth
        return self


def _named(phase: Phase) -> dict[str, Any]:
    return {"kind": type(phase).__name__, "state": phase.state()}


def _revived(domain: Domain, named: dict[str, Any]) -> Phase:
    return PHASES[named["kind"]].restored(domain, named["state"])
