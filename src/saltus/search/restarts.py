"""The strategies `saltus` and `saltus-es`: runs with their descents, from new places and from the best point.

The first run starts from the first Gaussian. Then kinds of runs take turns: global ones (from a random place,
with the default or a growing population), local ones (at the incumbent, with small steps), coordinate scans
at the incumbent and, if the strategy is `saltus`, lattice runs at the incumbent where there are integers,
evolutions where all variables are, and, with constraints, model runs from anywhere. The next run is of the
kind that has brought most for what it has cost: on a landscape of one funnel those are the local ones, on one
of many the global ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..order import Key
from .asking import Asking, askable
from .coordinate_scan import CoordinateScan
from .integer_evolution import IntegerEvolution, roomy
from .lattice_run import LatticeRun, possible
from .mixed_run import MixedRun
from .model_run import ModelRun
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .schedule import Descent, First, Smooth, coarse, opening, usual_covariance
from .settings import MANY_VARIABLES
from .stopping import Stop
from .valley import Valley, from_a_mean, only_valleys

DEEPENED = 2  # local runs or scans have failed: then where a short descent has led is searched deeply
WITHIN = 0.2  # global runs start this share of the range away from its ends
LOCAL_SHARES = (0.01, 0.1)  # first standard deviation of a local run: continuous, relative to the range ...
LOCAL_CELLS = (0.3, 1.0)  # ... and integers, relative to a plateau, ...
LOCAL_INTEGERS = 0.1  # ... or this part of the continuous one's share of the range, if that is more
LOCAL_CATEGORIES = 0.5  # of them have another value than the incumbent's in a candidate, on average, at first

# With constraints there are nothing but model runs at first:
CONTINUOUS = 200  # up to so many evaluations for each variable where all are continuous;
ALONE = 300  # elsewhere up to so many in all: several runs in a small space, hardly one in a large one.
SHARED = 1000  # Then half of all evaluations are theirs, up to so many for each variable

# Kinds of runs, and how many of each are taken to have found something better before the first one has begun:
# global ones with the default and with a larger population, local ones, scans, evolutions, lattice runs, and,
# with constraints, model runs from anywhere.
PRIOR = {
    "small": 0.5,
    "large": 0.5,
    "local": 1.0,
    "scan": 1.0,
    "evolution": 4.0,
    "lattice": 1.0,
    "model": 1.0,
}
RUGGED = {"large": 2.0}  # instead, where steps by quadratics have failed: what few candidates find is a trap
GROWN = 1.5  # times the evaluations: then another lattice run at the same incumbent may know more


class Saltus:
    """Descent after descent; `stop` advises to end when one is over."""

    def __init__(self, domain: Domain, m: FloatArray, known: Evaluated | None = None) -> None:
        """Begin with a run from N(m, I), or with what the memory holds: `known` is the best of it."""
        self.domain = domain
        self.large = domain.settings.population  # of global runs with a growing one
        self.small = domain.settings.population  # of the last one with a smaller one
        self.incumbent: Evaluated | None = None  # the best end of a descent
        self.stray: Evaluated | None = None  # the best that no phase of this descent has learnt from
        self.spent = dict.fromkeys(PRIOR, 0)  # evaluations since the first run
        self.won = dict.fromkeys(PRIOR, 0)  # runs since then that found something better
        self.kind = "small"
        self.failures = 0  # local runs in a row that found nothing better
        self.rugged = False  # the last valley was
        self.shallow = False  # the incumbent was found by a short descent
        self.measured = 0  # evaluations before the last lattice run at this incumbent
        self.restarts = 0
        self.phases = 0  # how many have begun
        self.stop: Stop | None = None
        self.m = m
        # there was a run from the first mean
        without = domain.settings.without
        self._asks = domain.surrogate is not None and "asking" not in without
        start = m if known is None else known.x
        first: First | None = opening(domain, start)
        if first is None and domain.surrogate is not None and "model" not in without:
            first = ModelRun(domain, m, known) if domain.N <= MANY_VARIABLES else None
        self.opened = first is None
        self._begin(first or self._from(start))
        if known is not None:
            self.stray = known

    def _begin(self, first: First, covariance: FloatArray | None = None) -> None:
        # where it begins at the incumbent to search deeply, anything is worth it
        deepens = isinstance(first, Smooth | Valley) and covariance is not None
        goal = None if self.incumbent is None or deepens else self.incumbent.key
        self.descent = Descent(self.domain, first, goal, covariance)
        self.phases += 1
        self.phase: Phase = first
        if self._asks:
            self._ask()

    def _ask(self) -> None:
        """Ask the model about the next batch of the descent, where it can tell."""
        if not self.phase.done and askable(self.phase):
            self.phase = Asking(self.phase)

    def centres(self) -> list[FloatArray]:
        """The mean of the present phase."""
        return [self.phase.where()[0]]

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from the results of the batch, and go on to the next phase if this one is done."""
        self.phase.observe(results)
        self._spend(results.told)
        if isinstance(self.phase, Asking) and not self.phase.done:
            return
        self.phases += self.descent.advance(rng)
        self.phase = self.descent.phase
        if self._asks:
            self._ask()
        if not self.descent.over:
            return
        self._end(self.phase.best)
        if not self.opened:  # that was only the beginning of the first run
            self.stop = None
            self._open(rng)

    def _open(self, rng: np.random.Generator) -> None:
        """The run from the first mean; with constraints, first of all more model runs from anywhere."""
        if self._limited(CONTINUOUS * self.domain.N if only_valleys(self.domain) else ALONE):
            self._begin(ModelRun(self.domain, self._anywhere(rng)))
            return
        self.opened, self.kind = True, "small"
        self._begin(self._from(self.m))

    def _limited(self, most: int) -> bool:
        """Whether there are constraints, and fewer evaluations than so many."""
        domain = self.domain
        if domain.surrogate is None or "model" in domain.settings.without or domain.N > MANY_VARIABLES:
            return False
        return domain.model.constrained and len(domain.memory) < most

    def inject(self, point: Evaluated) -> None:
        """A result that no phase can learn from; it may still become the incumbent."""
        self._spend(1)
        if self.stray is None or point.key < self.stray.key:
            x, plateaus = self.domain.with_values(Proposals(point.x, point.plateaus))
            self.stray = point._replace(x=x, plateaus=plateaus)

    def _spend(self, evaluations: int) -> None:
        if self.restarts:
            self.spent[self.kind] += evaluations

    def _end(self, point: Evaluated) -> None:
        """The descent is over, at this point; a better one may have come from elsewhere meanwhile."""
        if self.stray is not None and self.stray.key < point.key:
            point = self.stray
        self.stray = None
        better = self.incumbent is None or point.key < self.incumbent.key
        if better:
            self.incumbent = point
            self.measured = 0
            self.shallow = self.descent.short and self.domain.n_continuous > 0 and point.violation < math.inf
        if self.restarts:
            self.won[self.kind] += better
        if self.kind in ("local", "scan"):
            self.failures = 0 if better else self.failures + 1
        if isinstance(self.phase, Valley):
            self.rugged = self.phase.rugged
        self.stop = Stop.CONVERGED
        if point.violation == math.inf:
            self.stop = Stop.INFEASIBLE
        elif isinstance(self.phase, MixedRun) and self.phase.diverged:
            self.stop = Stop.DIVERGED

    def restart(self, rng: np.random.Generator) -> None:
        """Begin the next run: a global or a local one."""
        if not self.descent.over:
            self._end(self.phase.best)
        self.stop = None
        self.restarts += 1
        if not self.opened:
            self._open(rng)
            return
        incumbent = self.incumbent
        if incumbent is not None and self.shallow and self.failures >= DEEPENED:
            self.kind, self.shallow, usual = "local", False, usual_covariance(self.domain)
            self._begin(coarse(self.domain, incumbent, usual), usual)
            return
        self.kind = self._next()
        if self.kind == "evolution":
            self._begin(IntegerEvolution(self.domain))
        elif self.kind == "model":
            self._begin(ModelRun(self.domain, self._anywhere(rng)))
        elif incumbent is None or self.kind in ("small", "large"):
            self._begin(self._global(rng))
        elif self.kind == "lattice":
            self.measured = len(self.domain.memory)
            self._begin(LatticeRun(self.domain, incumbent), self._covariance())
        elif self.kind == "scan":
            self._begin(CoordinateScan(self.domain, incumbent, rng), self._covariance())
        else:
            self._begin(self._local(incumbent, rng))

    def _next(self) -> str:
        """The kind of the next run: the one that has found something better most often for what it cost.

        Model runs, which there are with constraints, have half of the evaluations at least.
        """
        kinds = self._kinds()
        if "model" in kinds and 2 * self.spent["model"] <= sum(self.spent.values()):
            return "model"
        prior = PRIOR | RUGGED if self.rugged else PRIOR
        rates = {kind: (prior[kind] + self.won[kind]) / (1 + self.spent[kind]) for kind in kinds}
        return max(rates, key=lambda kind: rates[kind])

    def _kinds(self) -> list[str]:
        """The kinds of runs that there can be now."""
        domain, without = self.domain, self.domain.settings.without
        if domain.surrogate is not None and "evolution" not in without and roomy(domain):
            evolution = ["evolution"]
        else:
            evolution = []
        incumbent = self.incumbent
        if incumbent is not None and incumbent.violation == math.inf:
            incumbent = None
        here = [] if incumbent is None or "local runs" in without else ["local"]
        scans = incumbent is not None and domain.active(incumbent)[: domain.n_continuous].any()
        if here and scans and "scan" not in without:
            here.append("scan")
        new = len(domain.memory) >= GROWN * self.measured
        if here and new and "lattice" not in without and possible(domain):
            here.append("lattice")
        model = ["model"] if not only_valleys(domain) and self._limited(SHARED * domain.N) else []
        return model + evolution + here + ([] if here and "global runs" in without else ["small", "large"])

    def _covariance(self) -> FloatArray:
        """Of the continuous variables: as the last descent has left it, or the usual one."""
        covariance = None if only_valleys(self.domain) else self.descent.covariance
        return usual_covariance(self.domain) if covariance is None else covariance

    def _global(self, rng: np.random.Generator) -> MixedRun | Valley:
        """A run from anywhere, with the default population or a larger one than before.

        Where all variables are continuous, a small one has any population from the default to half of the
        large ones', as in BIPOP-CMA-ES (Hansen, 2009): on some landscapes of many funnels these find what
        neither extreme does.
        """
        m = self._anywhere(rng)
        self.large *= 2 if self.kind == "large" else 1
        if self.kind == "small" and only_valleys(self.domain):
            usual = self.domain.settings.population
            largest = max(1.0, self.large / (2 * usual))
            self.small = max(usual, 2 * round(usual * largest ** (rng.random() ** 2) / 2))
        return self._from(m, None if self.incumbent is None else self.incumbent.key, self.population)

    def _from(
        self, m: FloatArray, goal: Key | None = None, population: int | None = None
    ) -> MixedRun | Valley:
        """A run from N(m, I)."""
        if only_valleys(self.domain):
            return Valley(self.domain, from_a_mean(self.domain, m), np.eye(self.domain.N), goal, population)
        return MixedRun(self.domain, m, 1.0, population=population)

    def _anywhere(self, rng: np.random.Generator) -> FloatArray:
        """A first mean at random."""
        m = self.domain.low + self.domain.span * rng.uniform(WITHIN, 1 - WITHIN, self.domain.N)
        return self.domain.anywhere(m, rng)

    def _local(self, incumbent: Evaluated, rng: np.random.Generator) -> MixedRun | Valley:
        """A run from the incumbent with small steps, as long as it may get below it."""
        domain, n = self.domain, self.domain.n_continuous
        share, cells = (math.exp(rng.uniform(*np.log(ends))) for ends in (LOCAL_SHARES, LOCAL_CELLS))
        sd = share * domain.span
        plateaus = domain.span[n:] / (domain.lattice.last + 1)
        sd[n:] = np.maximum(LOCAL_INTEGERS * sd[n:], cells * plateaus)
        m = incumbent.x.copy()
        m[n:] = domain.lattice.value(incumbent.plateaus)
        if only_valleys(domain):
            return Valley(domain, from_a_mean(domain, m), np.diag(sd**2), incumbent.key)
        return MixedRun(domain, m, sd, incumbent.key, share=LOCAL_CATEGORIES / max(1, domain.n_categories))

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""
        return {"small": self.small, "large": self.large}.get(self.kind, self.domain.settings.population)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        names = ("incumbent", "stray", "spent", "won", "kind", "failures", "restarts", "phases")
        surrogate = self.domain.surrogate
        return {name: getattr(self, name) for name in names} | {
            "small": self.small,
            "large": self.large,
            "opened": self.opened,
            "shallow": self.shallow,
            "rugged": self.rugged,
            "measured": self.measured,
            "stop": None if self.stop is None else self.stop.name,
            "descent": self.descent.state(),
            "asking": self.phase.state() if isinstance(self.phase, Asking) else None,
            "model": None if surrogate is None else surrogate.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""
        for name in ("small", "large", "failures", "restarts", "phases", "measured"):
            setattr(self, name, int(state[name]))
        nowhere = self.domain.nowhere()
        for name in ("incumbent", "stray"):
            point = state[name]
            setattr(self, name, None if point is None else _serialize.like(nowhere, point, name))
        self.opened, self.shallow = bool(state["opened"]), bool(state["shallow"])
        self.rugged = bool(state["rugged"])
        if state["model"] is not None:
            self.domain.model.restore(state["model"])
        self.kind = {kind: kind for kind in PRIOR}[state["kind"]]
        for name in ("spent", "won"):
            setattr(self, name, {kind: int(state[name][kind]) for kind in PRIOR})
        self.stop = None if state["stop"] is None else Stop[state["stop"]]
        self.descent = Descent.restored(self.domain, state["descent"])
        self.phase, asking = self.descent.phase, state["asking"]
        if asking is not None:
            self.phase = Asking.revived(self.phase, asking)
