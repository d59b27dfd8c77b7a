"""Asking before paying: of the batch of a phase only those points are evaluated that the model cannot tell.

A phase draws and proposes its batch as ever. The model predicts it, a part of it is proposed in its place,
and when enough is known, the phase observes the whole batch: values where they were paid for, predictions
elsewhere. So a phase need not know that there is a model. What is predicted is never better than the best
that was paid for.

- A generation of a mixed run: the most promising points are paid for, and more of them unless the order
  that was predicted has been the order that came, in this generation and the last ones.
- Integers in a sweep and pairs of categories: only what may be better than the best point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..model import Fitted
from ..model.threads import with_one_thread
from .category_pairs import CategoryPairs, SparedCategories
from .gaussian_phase import GaussianPhase
from .integer_sweep import IntegerSweep
from .mixed_run import MixedRun
from .phase import Phase
from .proposal import LONE, Domain, Late, Proposals, Results
from .settings import ASKED, MANY_VARIABLES
from .valley import Valley

LONGEST = 60  # evaluations for each variable: later the model knows too little of what matters
FEWEST = 2  # evaluations besides one for each variable: before, it knows nothing
QUARTER = 0.25  # of a generation is paid for at first, ...
MORE = 0.5  # ... then half as many again, ...
AGREEMENT = 0.6  # ... until Kendall's tau of what was predicted and what came is this ...
PAIRS = 20  # ... over so many pairs of points of the same generation
HOPE = 0.3  # standard deviations below the mean, by which points of a generation are ranked ...
DOUBT = 2.0  # ... and by which one may be better than the best


def askable(phase: Phase) -> bool:
    """Whether the model may be asked about this phase's points, now."""
    if isinstance(phase, SparedCategories) or (isinstance(phase, Valley) and phase.stepping):
        return False
    kinds = zip(ASKED, (MixedRun | Valley, IntegerSweep | CategoryPairs), strict=True)
    asked = any(isinstance(phase, kind) for name, kind in kinds if name not in phase.domain.settings.without)
    return asked and knows_enough(phase.domain)


def knows_enough(domain: Domain) -> bool:
    """Whether the model knows enough, and what is there is not too much for it."""
    if domain.surrogate is None or domain.N > MANY_VARIABLES:
        return False
    if not domain.N + FEWEST <= len(domain.memory) < LONGEST * domain.N:
        return False
    return domain.model.plain


class Asking(Phase):
    """One batch of another phase, of which only a part is paid for."""

    saved = (
        *("rows", "rest", "flying", "given", "values", "violations", "predicted", "means", "late"),
        *("everything", "done"),
    )

    def __init__(self, inner: Phase) -> None:
        """The next batch of this phase."""
        self._attach(inner)
        self.rows: list[int] = []  # of the batch: what is proposed at present ...
        self.rest: list[int] = []  # ... and what else is not known, the most promising first
        self.flying: list[int] = []  # what was proposed before, and is not known yet
        self.given = 0  # points besides the batch that free workers had before
        self.values: FloatArray = np.empty(0)  # NaN where nothing is known
        self.violations: FloatArray = np.empty(0)
        self.predicted: FloatArray = np.empty(0)  # values, by the last model
        self.means: FloatArray = np.empty(0)  # of the model that has proposed a row
        self.late: list[list[Any]] = []  # what was told of other points: x, plateaus, pair, value, violation
        self.everything = False  # the model does not know enough: all of it is paid for
        self.done = False  # the phase has observed its batch

    def _attach(self, inner: Phase) -> None:
        self.inner, self.domain, self.best = inner, inner.domain, inner.best

    @property
    def name(self) -> str:
        """That of the phase it asks for."""
        return self.inner.name

    def draw(self, rng: np.random.Generator) -> None:
        """The batch of the phase, if it is new; and what of it is to be paid for next."""
        if not len(self.values):
            self.inner.draw(rng)
            count = len(self.inner.propose().x)
            self.values, self.violations = np.full(count, math.nan), np.zeros(count)
            self.means = np.full(count, math.nan)
        self._choose()

    @with_one_thread
    def _choose(self) -> None:
        points = self.inner.propose()
        missing = np.isnan(self.values)
        free = np.flatnonzero(missing & ~np.isin(np.arange(len(missing)), self.flying))
        u = self.domain.model.cube.of_points(*points)
        generation = isinstance(self.inner, GaussianPhase)
        near = u.mean(axis=0)
        if not generation:
            at = self.inner.best
            near = self.domain.model.cube.of_points(at.x[None], at.plateaus[None])[0]
        model = self.domain.model.about(near)
        prediction = model.predict(u)
        self.predicted = model.values(prediction.mean)
        bounds = prediction.mean - (HOPE if generation else DOUBT) * prediction.sd
        if not len(free) and not generation:
            free = np.flatnonzero(missing)  # second attempts: there is nothing else
        ranked = free[np.argsort(bounds[free], kind="stable")]
        count = self._count(model, bounds[ranked], int(np.count_nonzero(~missing)))
        self.rows, self.rest = ranked[:count].tolist(), ranked[count:].tolist()
        self.means[self.rows] = prediction.mean[self.rows]

    def _count(self, model: Fitted, bounds: FloatArray, paid: int) -> int:
        """How many of the points with these lower bounds, sorted, are next, if so many were paid for."""
        if self.everything or self.domain.settings.batch >= len(self.values) > 1:
            return len(bounds)  # what is asked at a time is no less than all of it
        if isinstance(self.inner, GaussianPhase):
            return max(1, math.ceil(MORE * paid) if paid else round(QUARTER * len(self.values)))
        least = float(model.warped(np.array([self.inner.best.value]))[0])
        return max(1, int(np.count_nonzero(bounds < least)))

    def propose(self) -> Proposals:
        """What is to be paid for."""
        return self._points(self.rows)

    def _points(self, rows: list[int]) -> Proposals:
        x, plateaus = self.inner.propose()
        return Proposals(x[rows], plateaus[rows])

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """What would be paid for next; then what the phase has to offer."""
        if k < len(self.rest):
            return self._points([self.rest[k]])
        if self.given:  # the randomness is that of the batch before
            rng = np.random.default_rng([int(rng.integers(2**63)), self.given])
        return self.inner.extra(self.given + k - len(self.rest), rng)

    def ready(self, results: Results) -> bool:
        """As many as were proposed, whichever they are; if all of the batch is in flight, anything."""
        return results.told >= max(1, len(self.rows))

    def accepts(self, plateaus: FloatArray) -> bool:
        """What the phase accepts."""
        return self.inner.accepts(plateaus)

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Where the phase is."""
        return self.inner.where()

    def observe(self, results: Results) -> None:
        """Take what was paid for; if that is enough, let the phase observe its batch."""
        rows = self.rows + self.rest
        told = np.ones(len(results.values), dtype=bool) if results.known is None else results.known
        violations = np.zeros(len(told)) if results.violations is None else results.violations
        for slot in np.flatnonzero(told).tolist():
            if slot < len(rows):
                self._fill(rows[slot], float(results.values[slot]), float(violations[slot]))
            else:  # an extra one of the phase
                self._note(results.part(slice(slot, slot + 1)), [LONE])
        if results.late is not None:
            pairs = results.late.pairs[int(told.sum()) :].tolist()
            self._note(results.late.results, pairs)
        self.given += max(0, len(told) - len(rows))
        asked = rows[: len(told)]
        self.flying = sorted(row for row in {*self.flying, *asked} if np.isnan(self.values[row]))
        if not self._enough():
            return
        unknown = np.isnan(self.values)
        if isinstance(self.inner, GaussianPhase):
            paid = self.values[~unknown]
            least = float(paid.min()) if len(paid) else -math.inf
        else:
            least = self.inner.best.value
        values = np.where(unknown, np.maximum(self.predicted, np.nextafter(least, math.inf)), self.values)
        # what has failed or is violated says nothing of what is in flight
        known = None
        if self.everything and unknown.any() and isinstance(self.inner, GaussianPhase):
            known = ~unknown
        late = self._late(results, len(values) if known is None else int(known.sum()))
        batch = Results(
            *(self.inner.propose(), values, self.violations if self.violations.any() else None),
            *(known if late is not None else None, late),
        )
        if isinstance(self.inner, GaussianPhase):
            self.domain.model.note(self._concordance())
        self.inner.observe(batch)
        self.best = self.inner.best
        self.done = True

    def _fill(self, row: int, value: float, violation: float) -> None:
        """What a point of the batch gave."""
        failed = not math.isfinite(value)
        self.values[row] = math.inf if failed else value
        self.violations[row] = violation
        self.everything |= failed or violation != 0.0

    def _note(self, results: Results, pairs: list[int]) -> None:
        """Results of other points; or of this batch, which were asked a while ago."""
        own = self.inner.propose()
        for i, pair in enumerate(pairs):
            value = float(results.values[i])
            violation = 0.0 if results.violations is None else float(results.violations[i])
            x, plateaus = results.points.x[i], results.points.plateaus[i]
            same = (own.x == x).all(axis=1) & (own.plateaus == plateaus).all(axis=1) & np.isnan(self.values)
            if same.any():
                self._fill(int(same.argmax()), value, violation)
            else:
                self.late.append([x, plateaus, pair, value, violation])

    def _late(self, results: Results, own: int) -> Late | None:
        """What the phase learns besides so many points of its batch."""
        if not self.late or results.late is None:
            return None
        x, plateaus, pairs, values, violations = (np.array(part) for part in zip(*self.late, strict=True))
        told = Results(Proposals(x, plateaus), values, violations if violations.any() else None)
        return Late(told, np.concatenate((np.full(own, LONE), pairs.astype(np.int64))), results.late.rng)

    def _enough(self) -> bool:
        """Whether the rest need not be paid for."""
        paid = ~np.isnan(self.values)
        if np.count_nonzero(paid) + len(self.late) >= len(paid):  # a whole generation, whichever they are
            return True
        if self.everything or not paid.any():
            return False
        if not isinstance(self.inner, GaussianPhase):
            return True
        return self.domain.model.agrees(self._concordance(), PAIRS, AGREEMENT)

    def _concordance(self) -> tuple[int, int]:
        """Of all pairs that were predicted and paid for: in the right order minus in the wrong one; pairs."""
        compared = ~np.isnan(self.values) & ~np.isnan(self.means)
        predicted, came = self.means[compared], self.values[compared]
        right = _order(predicted) * _order(came)
        return int(right.sum()) // 2, len(came) * (len(came) - 1) // 2

    @classmethod
    def revived(cls, inner: Phase, state: dict[str, Any]) -> Asking:
        """The one whose state this is, of a phase that is restored already."""
        self = cls.restored(inner.domain, state)
        self._attach(inner)
        count = len(inner.propose().x) if len(self.values) else 0  # nothing is drawn yet
        for name in ("values", "violations", "predicted", "means"):
            _serialize.shaped(getattr(self, name), (count,), name)
        return self


def _order(values: FloatArray) -> FloatArray:
    """Of each pair 1 if the first is greater, -1 if the second is, 0 if they are equal or both infinite."""
    greater = (values[:, None] > values).astype(float)
    return np.asarray(greater - greater.T)
