"""Confined: a search of which only allowed points are evaluated.

It stands between a search and whoever drives it. A phase draws and proposes its batch as ever. Of that, what
is allowed is evaluated; the rest is answered at once as violated, by how much it breaks the known
constraints, which costs nothing and is no evaluation. So no phase need know of it: all of them bear
constraints. If nothing of a batch is allowed, the phase hears that and proposes another one; if that has not
helped several times, points on the way to an allowed one are evaluated in their place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from .known import Known
from .noisy_run import Noisy
from .phase import Phase
from .proposal import LONE, Domain, Evaluated, Late, Proposals, Results
from .restarts import Saltus
from .single_run import Single
from .stopping import Stop

MOST_FREE = 30  # batches in a row of which nothing is allowed; and then ...
MOVED = 4  # ... so many points are moved


Inner = Saltus | Single | Noisy


class Confined:
    """Another search, of which only allowed points are evaluated."""

    def __init__(self, inner: Inner, domain: Domain, known: Known) -> None:
        """Around a search that has just begun."""
        self.inner, self.domain, self.known = inner, domain, known
        self.moved = False  # whether points of the present batch are moved ...
        self.home: FloatArray = known.home(domain.memory)  # ... towards this one, in the unit cube
        self.phase = ConfinedPhase(self)

    @property
    def restarts(self) -> int:
        """How many runs there were before this one."""
        return self.inner.restarts

    @property
    def stop(self) -> Stop | None:
        """Why the current run should end, or None."""
        return self.inner.stop

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""
        return self.inner.population

    @property
    def phases(self) -> int:
        """The number of the present phase."""
        return self.inner.phases

    def centres(self) -> list[FloatArray]:
        """Where what it has found may be."""
        return self.inner.centres()

    def draw(self, rng: np.random.Generator) -> None:
        """The next batch of which something is allowed."""
        self.home = self.known.home(self.domain.memory)
        for turn in range(MOST_FREE + 1):
            self.inner.phase.draw(rng)
            self.moved, self.phase = turn == MOST_FREE, ConfinedPhase(self)
            if len(self.phase.rows):
                return
            self.inner.observe(self.phase.whole(None), rng)
            if self.inner.stop is not None:
                self.inner.restart(rng)

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from the results of the batch, together with what was not allowed."""
        whole = self.phase.whole(results)
        if self.moved:
            for i in range(len(results.values)):
                if results.known is None or results.known[i]:
                    self.inner.inject(results.point(i))
        self.inner.observe(whole, rng)

    def inject(self, point: Evaluated) -> None:
        """A result that the phase cannot learn from."""
        self.inner.inject(point)

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run."""
        self.inner.restart(rng)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        return {"confined": self.inner.state(), "moved": self.moved, "home": self.home}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""
        self.inner.restore(state["confined"])
        self.home = _serialize.shaped(state["home"], (self.domain.N,), "home")
        self.moved, self.phase = bool(state["moved"]), ConfinedPhase(self)


class ConfinedPhase(Phase):
    """What is allowed of one batch of another phase."""

    def __init__(self, search: Confined) -> None:
        """The present batch of this search's phase."""
        self._search = search
        self._points: tuple[Proposals, FloatArray] | None = None  # all of the batch, and what it breaks

    @property
    def inner(self) -> Phase:
        """The phase itself."""
        return self._search.inner.phase

    @property
    def name(self) -> str:
        """That of the phase."""
        return self.inner.name

    @property
    def best(self) -> Evaluated:  # type: ignore[override]
        """Where the phase has got to."""
        return self.inner.best

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether the phase has nothing more to propose."""
        return self.inner.done

    def draw(self, rng: np.random.Generator) -> None:
        """The next batch of which something is allowed."""
        self._search.draw(rng)

    def _all(self) -> tuple[Proposals, FloatArray]:
        if self._points is None:
            points = self.inner.propose()
            self._points = points, self._search.known.excess(*points)
        return self._points

    @property
    def rows(self) -> list[int]:
        """What of the batch is evaluated: what is allowed, or what is moved."""
        _, excess = self._all()
        if self._search.moved:
            return list(np.argsort(excess, kind="stable")[:MOVED].tolist())
        return list(np.flatnonzero(excess == 0.0).tolist())

    def propose(self) -> Proposals:
        """What is allowed; or points on the way to an allowed one."""
        points, rows = self._all()[0], self.rows
        part = Proposals(points.x[rows], points.plateaus[rows])
        return self._brought_in(part) if self._search.moved else part

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """Further proposals of the phase; what is not allowed of them, on the way to an allowed point."""
        more = self.inner.extra(k, rng)
        return None if more is None else self._brought_in(more)

    def _brought_in(self, points: Proposals) -> Proposals:
        """Points as they are if they are allowed, else moved to the best point, or to the start."""
        search = self._search
        known, domain = search.known, search.domain
        out = np.flatnonzero(known.excess(*points) > 0.0)
        if not len(out):
            return points
        x, plateaus = (part.copy() for part in domain.with_values(points))
        u = known.cube.of_points(x[out], plateaus[out])
        x[out], plateaus[out] = known.cube.points(known.towards(u, search.home))
        still = known.excess(x, plateaus) > 0.0  # by rounding
        x[still], plateaus[still] = known.home_point()
        return Proposals(x, plateaus)

    def whole(self, results: Results | None) -> Results:
        """The results of all of the batch, those that are not allowed as violated."""
        points, excess = self._all()
        count = len(excess)
        violations, values = excess.copy(), np.full(count, math.nan)
        if results is None:
            return Results(points, values, violations)
        rows = self.rows
        own = len(rows)
        told = np.ones(len(results.values), dtype=bool) if results.known is None else results.known
        values[rows] = results.values[:own]
        if results.violations is not None:
            violations[rows] += results.violations[:own]
        known = np.ones(count, dtype=bool)
        known[rows] = told[:own]
        if results.known is None and results.late is None:
            return Results(points, values, violations if violations.any() else None)
        # extra points come behind the batch
        extra = results.part(slice(own, None))
        points = Proposals(*(np.concatenate(both) for both in zip(points, extra.points, strict=True)))
        values = np.concatenate((values, extra.values))
        behind = np.zeros(len(extra.values)) if extra.violations is None else extra.violations
        violations = np.concatenate((violations, behind))
        known = np.concatenate((known, told[own:]))
        late = results.late
        if late is not None:
            pairs = np.concatenate((np.full(int(known.sum()), LONE), late.pairs[int(told.sum()) :]))
            late = Late(late.results, pairs, late.rng)
        return Results(points, values, violations if violations.any() else None, known, late)

    def observe(self, results: Results) -> None:
        """Nothing: the search has done so."""
        raise RuntimeError("the search observes, not its phase")

    def ready(self, results: Results) -> bool:
        """Whether the phase can go on with what is known, and what is not allowed."""
        return self.inner.ready(self.whole(results))

    def accepts(self, plateaus: FloatArray) -> bool:
        """What the phase accepts."""
        return self.inner.accepts(plateaus)

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Where the phase is."""
        return self.inner.where()
