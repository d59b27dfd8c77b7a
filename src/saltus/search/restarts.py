"""The strategy `saltus`: runs with their descents, from new places and from the best point so far.

The first run starts from the first Gaussian. Then global runs (from a random place, with the default or
a growing population) and local ones (at the incumbent, with small steps) take turns by what they have cost:
the more local runs fail, the more is spent globally.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._typing import FloatArray
from .coordinate_scan import Lines
from .mixed_run import MixedRun
from .phase import Piece
from .proposal import Batch, Domain, Mask, Others, Point, Told
from .schedule import Descent
from .stopping import Stop

GLOBAL_SHARE = 0.4  # evaluations of global runs, relative to local ones ...
PER_FAILURE = 0.1  # ... and how much more for each local run that has failed since the last success
LINES_SHARE = 0.4  # probability of a line search at the incumbent, instead of a local run
WITHIN = 0.2  # global runs start this share of the range away from its ends
LOCAL_SHARES = (0.01, 0.1)  # first standard deviation of a local run: continuous, relative to the range ...
LOCAL_CELLS = (0.3, 1.0)  # ... and integers, relative to a plateau, ...
LOCAL_INTEGERS = 0.1  # ... or this part of the continuous one's share of the range, if that is more

KINDS = ("small", "large", "local")  # global with the default population, global with a larger one, local


class Saltus:
    """Descent after descent; `stop` advises to end when one is over."""

    def __init__(
        self,
        domain: Domain,
        population: int,
        margin: float | None,
        m: FloatArray,
        exact: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Begin with a run from N(m, I)."""
        self.domain = domain
        self.default = self.large = population
        self.margin, self.exact, self.without = margin, exact, without
        self.incumbent: Point | None = None  # the best end of a descent
        self.stray: Point | None = None  # asynchronously: the best that came too late for its batch
        self.spent = dict.fromkeys(KINDS, 0)  # evaluations
        self.kind = "small"
        self.failures = 0  # local runs in a row that found nothing better
        self.restarts = 0
        self.stop: Stop | None = None
        self.descent = self._descent(MixedRun(domain, population, margin, m, 1.0, exact=exact))

    def _descent(self, first: MixedRun | Lines, covariance: FloatArray | None = None) -> Descent:
        goal = None if self.incumbent is None else self.incumbent.key
        return Descent(self.domain, self.default, first, goal, covariance, self.without)

    def draw(self, rng: np.random.Generator) -> None:
        """What is random about the next batch; after the end of a descent, the next one begins."""
        if self.stop is not None:
            self.restart(rng)
        self.descent.piece.draw(rng)

    def batch(self) -> Batch:
        """The next points to be evaluated."""
        return self.descent.piece.batch()

    def take(self, told: Told, rng: np.random.Generator) -> None:
        """Learn from the outcome of the batch."""
        self.descent.piece.take(told)
        self._advance(len(told.values), rng)

    def _advance(self, evaluations: int, rng: np.random.Generator) -> None:
        self.spent[self.kind] += evaluations
        self.descent.advance(rng)
        if self.descent.over:
            self._note(self.descent.piece.best)

    @property
    def focus(self) -> Piece:
        """What the batches are for at present."""
        return self.descent.piece

    def spare(self, k: int, rng: np.random.Generator) -> Batch | None:
        """Further points beside the batch."""
        return self.focus.spare(k, rng)

    def enough(self, told: Told, known: Mask, others: int) -> bool:
        """Whether the batch can be taken with what is known of it and as many others."""
        return self.focus.enough(told, known, others)

    def take_some(
        self, told: Told, known: Mask, others: Others, extra: np.random.Generator, rng: np.random.Generator
    ) -> None:
        """Learn from what is known."""
        self.focus.take_some(told, known, others, extra)
        self._advance(int(np.count_nonzero(known)) + len(others.told.values), rng)

    @property
    def paired(self) -> bool:
        """Whether candidates come in pairs at present."""
        return self.focus.paired

    def welcomes(self, plateaus: FloatArray) -> bool:
        """Whether a point of another batch, or of nobody's, can be one of the others."""
        return self.focus.welcomes(plateaus)

    def hear(self, point: Point) -> None:
        """A point that is not welcome: it may be the best all the same."""
        self.spent[self.kind] += 1
        if self.stray is None or point.key < self.stray.key:
            self.stray = point._replace(x=self.domain.whole(point.x, point.plateaus))

    def _note(self, point: Point) -> None:
        """A descent is over, at this point; a better one may have come from elsewhere meanwhile."""
        if self.stray is not None and self.stray.key < point.key:
            point = self.stray
        self.stray = None
        before = self.incumbent
        better = before is None or point.key < before.key
        if better:
            self.incumbent = point
        if self.kind == "local":
            self.failures = 0 if better else self.failures + 1
        self.stop = Stop.CONVERGED
        if point.violation == math.inf:
            self.stop = Stop.INFEASIBLE
        elif isinstance(self.descent.piece, MixedRun) and self.descent.piece.diverged:
            self.stop = Stop.DIVERGED

    def restart(self, rng: np.random.Generator) -> None:
        """Begin the next run: a global or a local one."""
        if not self.descent.over:
            self._note(self.descent.piece.best)
        self.stop = None
        self.restarts += 1
        everywhere = self.spent["small"] + self.spent["large"]
        share = GLOBAL_SHARE * (1 + PER_FAILURE * self.failures)
        incumbent = self.incumbent
        if everywhere <= share * self.spent["local"] or incumbent is None or incumbent.violation == math.inf:
            self.descent = self._descent(self._global(rng))
            return
        self.kind = "local"
        lines = "lines" not in self.without and self.descent.covariance is not None
        if lines and rng.random() < LINES_SHARE:
            first = Lines(self.domain, incumbent, rng)
            self.descent = self._descent(first, self.descent.covariance)
        else:
            self.descent = self._descent(self._local(incumbent, rng))

    def _global(self, rng: np.random.Generator) -> MixedRun:
        """A run from anywhere, with the default population or a larger one, whichever has had less."""
        domain = self.domain
        m = domain.low + domain.span * rng.uniform(WITHIN, 1 - WITHIN, domain.N)
        population = self.default
        self.kind = "small"
        if self.spent["small"] >= self.spent["large"]:
            self.large *= 2
            self.kind, population = "large", self.large
        return MixedRun(domain, population, self.margin, m, 1.0, exact=self.exact)

    def _local(self, incumbent: Point, rng: np.random.Generator) -> MixedRun:
        """A run from the incumbent with small steps, as long as it may get below it."""
        domain, n = self.domain, self.domain.first
        share, cells = (math.exp(rng.uniform(*np.log(ends))) for ends in (LOCAL_SHARES, LOCAL_CELLS))
        sd = share * domain.span
        plateaus = domain.span[n:] / (domain.lattice.last + 1)
        sd[n:] = np.maximum(LOCAL_INTEGERS * sd[n:], cells * plateaus)
        m = incumbent.x.copy()
        m[n:] = domain.lattice.value(incumbent.plateaus)
        return MixedRun(domain, self.default, self.margin, m, sd, incumbent.key, self.exact)

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""
        return self.default if self.kind != "large" else self.large

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviations of where the search is looking."""
        return self.descent.piece.where()

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        return {
            "default": self.default,
            "large": self.large,
            "incumbent": self.incumbent,
            "stray": self.stray,
            "spent": self.spent,
            "kind": self.kind,
            "failures": self.failures,
            "restarts": self.restarts,
            "stop": None if self.stop is None else self.stop.name,
            "descent": self.descent.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""
        for name in ("default", "large", "failures", "restarts"):
            setattr(self, name, int(state[name]))
        self.incumbent, self.stray = state["incumbent"], state.get("stray")
        self.kind = {kind: kind for kind in KINDS}[state["kind"]]
        self.spent = {kind: int(state["spent"][kind]) for kind in KINDS}
        self.stop = None if state["stop"] is None else Stop[state["stop"]]
        self.descent = Descent.restored(self.domain, self.default, self.without, state["descent"])
