"""Model run: the model says where to evaluate next, within a region around the best point.

The first points are spread over the first Gaussian. Then each point is where mean - kappa sd is lowest, with
kappa in turns, in a region of the mixed lattice that grows with success and shrinks without. A point that is
known is never proposed, nor, unless the mean alone counts, are integers that have been tried often enough:
more often than continuous variables need, and than their share of all combinations of integers. In between,
the continuous variables go to the bottom of a quadratic through the points with the same integers as the
best, as long as that helps. Where there are categories, the value that was tried least has every third turn,
anywhere; such points say nothing about the region, and the model that chooses them knows those with the same
value alone. If most points of the region are as good as the best one, that lies on a plateau: the region
grows, and every second turn is for what is little known, anywhere; with categories every turn is for the
value that was tried least.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._typing import FloatArray, Mask
from ..model import MOST_POINTS
from ..model.quadratic import Step, limited_step, step
from ..model.threads import with_one_thread
from ..order import Key
from .acquisition import (
    LARGEST_SIDE,
    SAME,
    Acquisition,
    Region,
    Restricted,
    Seen,
    lowest,
    random_points,
    refined,
    region,
)
from .phase import Phase
from .proposal import Domain, Evaluated, Proposals, Results
from .rare_values import Look, optimism, rare_value
from .stopping import same_value

KAPPAS = (0.0, 1.0, 0.3, 2.0)  # in turns
CAUTIONS = (1.0, 0.3, 0.0, -0.5)  # in turns: standard deviations to keep away from constraints
FIRST_REACH = 7 / 3  # of the first points, in standard deviations: 70% of a range
FIRST_MORE = 2  # first points besides one for each variable
FIRST_SIDE, SMALLEST_SIDE = 0.8, 0.03
LOCAL_SIDE = 0.2  # of a run around a point
SUCCESSES = 2  # in a row: the region grows to twice its side
FAILURES, FAILURES_PER_VARIABLE = 4, 0.5  # in a row: it shrinks to half
FLAT = 0.5  # of them, at least, are as good as the best point: then it grows instead
LEAST = 15  # evaluations for each variable before it may end
WINDOW = 4  # evaluations for each variable within which there must be some gain
FEW = 5  # variables: of fewer it takes as many evaluations to see that there is none
GAIN = 0.01  # of the distance from the usual value to the best
KEPT = 0.0  # of what a step by a quadratic promises: then the next one follows at once ...
SMALL = 1e-3  # ... or, if that was less than this share of the usual differences, after the next point
LONGEST_PAUSE = 8  # points of the model between two steps by a quadratic, if those do not help, ...
LIMITED_PAUSE = 1  # ... and with constraints
LIKELY = math.log(0.5)  # that a step by a quadratic does not fail: at least
LIMITED_POINTS = 100  # and five for each variable, of models with constraints
SMALLEST_LIMITED = 1e-3  # region with constraints
TRIES = 2  # of the same integers, for each continuous variable: then others have to be tried, ...
SHARES = 4  # ... but not before these have had so many times their share of all evaluations
RARE_EVERY = 3  # turns: one is for the value of a category that was tried least, on a plateau all of them
FLAT_EVERY = 2  # turns on a plateau without categories: one is for what is little known
MOST_PENDING = 64


class ModelRun(Phase):
    """Points that a model chooses, until they no longer help.

    Attributes:
        small: whether it has ended because the region is small: then this is the bottom of a valley.
    """

    saved = (
        *("m", "best", "side", "successes", "failures", "turn", "count", "trail"),
        *("points", "extras", "pending", "promised", "pause", "waited", "tries", "local", "before"),
        *("explored", "ties", "flat", "small", "done"),
    )

    def __init__(self, domain: Domain, m: FloatArray, known: Evaluated | None = None) -> None:
        """From the first Gaussian N(m, I), as many points at a time as the settings' `batch`.

        If something is known already, the best of it is `known`; the more there is, the fewer first points.
        """
        self.domain = domain
        self.m = m
        self.best = domain.nowhere() if known is None else known
        self.side = FIRST_SIDE
        self.successes, self.failures, self.turn = 0, 0.0, 0
        self.count = 0  # evaluations
        self.trail: list[float] = []  # the best value after each of the last ones
        self.points: FloatArray = np.empty((0, domain.N))  # of the batch, in the unit cube
        self.extras: list[FloatArray] = []
        self.pending: list[FloatArray] = []  # asked in earlier batches and not known yet
        self.promised = 0.0  # gain of the first point of the batch, if it is a step by a quadratic
        self.pause = self.waited = 0  # points between two such steps, and how many there were
        self.local = False  # it looks around a point
        self.before = 0 if known is None else len(domain.memory)  # what was known: no work of this run
        self.tries = 0  # with the integers of the best point, since it is that
        self.explored = 0  # points of the batch that are for what is little known
        self.ties = 0.0  # of the failures, those with the same value as the best point
        self.flat = False  # the best point lies on a plateau
        self.small = self.done = False

    @classmethod
    def around(cls, domain: Domain, point: Evaluated) -> ModelRun:
        """A run in the surroundings of a point, for what is left to gain there."""
        self = cls(domain, point.x)
        self.best, self.side, self.local = point, LOCAL_SIDE, True
        self.trail, self.count = [point.value], 1
        return self

    # proposing

    @with_one_thread
    def draw(self, rng: np.random.Generator) -> None:
        """The points of the next batch."""
        self.extras = []
        if self.count == 0:
            self.points = self._first(rng)
            if len(self.points):
                return
            self.count, self.trail = 1, [self.best.value]  # enough is known
        best = self._centre()
        self.points, self.explored = self._step(best), 0
        while len(self.points) < self.domain.settings.batch:
            point = self._next(best, self.turn, rng)
            self.points = np.concatenate((self.points, point[None]))
            self.explored += self._exploring(self.turn)
            self.turn += 1
            self.waited += 1

    def _centre(self) -> FloatArray:
        """The best point, in the unit cube."""
        cube = self.domain.model.cube
        return np.asarray(cube.of_points(self.best.x[None], self.best.plateaus[None])[0])

    def _first(self, rng: np.random.Generator) -> FloatArray:
        """The first points; one less for each that is known, and none that is."""
        design = self._design(rng)
        if self.best.violation == math.inf:
            return design
        known = self.domain.model.known()[0]
        new = design[~Seen(known).which(design)]
        return new[: max(0, len(design) - len(np.unique(np.round(known, 9), axis=0)))]

    def _design(self, rng: np.random.Generator) -> FloatArray:
        """The first mean and a Latin hypercube around it."""
        domain, cube, N = self.domain, self.domain.model.cube, self.domain.N
        count = N + FIRST_MORE
        strata = np.argsort(rng.random((count, N)), axis=0) + rng.random((count, N))
        x = self.m + FIRST_REACH * (2 * strata / count - 1)
        n = domain.n_ordered
        x[:, n:] = domain.low[n:] + domain.span[n:] * strata[:, n:] / count  # of categories all values
        x = np.concatenate((self.m[None], np.clip(x, domain.low, domain.high)))
        u = cube.of_points(x, domain.lattice.plateau(x[:, domain.n_continuous :]))
        _, first = np.unique(np.round(u, 9), axis=0, return_index=True)
        u = cube.snapped(u[np.sort(first)])
        return u if domain.known is None else domain.known.replaced(u)

    def _step(self, best: FloatArray) -> FloatArray:
        """A step by a quadratic, one row or none."""
        surrogate, n = self.domain.model, self.domain.n_continuous
        none, self.promised = np.empty((0, self.domain.N)), 0.0
        if not n or self.waited < self.pause or "quadratic steps" in self.domain.settings.without:
            return none
        known, merits = surrogate.known()
        same = np.asarray((np.abs(known[:, n:] - best[n:]) < SAME).all(axis=1))
        cube = surrogate.cube
        rules = self.domain.known
        if surrogate.limited or (rules is not None and rules.linear):
            found = self._limited_step(known, best, same)
        else:
            found = step(known[same, :n], merits[same], cube.low[:n], cube.high[:n])
        if found is None:
            return none
        point = cube.settled(np.concatenate((found.x, best[n:])))
        if rules is not None and not rules.allowed(point[None])[0]:
            point = rules.border(point, best)
        if point in Seen(known) or (surrogate.failing and not self._likely(point)):
            return none
        self.promised = found.gain
        return point[None]

    def _likely(self, point: FloatArray) -> bool:
        """Whether it will rather not fail."""
        failing = self.domain.model.limits_about(point)[-1]
        return bool(failing.log_feasible(point[None])[0] > LIKELY)

    def _limited_step(self, known: FloatArray, best: FloatArray, same: Mask) -> Step | None:
        """A step under constraints."""
        surrogate, rules, n = self.domain.model, self.domain.known, self.domain.n_continuous
        if surrogate.nameless:
            return None
        values, g = surrogate.outcomes()
        if rules is not None and rules.linear:
            g = np.column_stack((g, rules.heights(known)))
        rows = np.flatnonzero(same & np.isfinite(values) & np.isfinite(g).all(axis=1))
        own = np.flatnonzero((np.abs(known[rows] - best) < SAME).all(axis=1))
        if not len(own):
            return None
        low, high = surrogate.cube.low[:n], surrogate.cube.high[:n]
        if not g.shape[1]:  # but something has failed
            return step(known[rows, :n], values[rows], low, high)
        return limited_step(known[rows, :n], values[rows], g[rows], int(own[0]), low, high)

    def _next(
        self, best: FloatArray, turn: int, rng: np.random.Generator, *, extra: bool = False
    ) -> FloatArray:
        """Where to look next, if all that is under way turns out as predicted."""
        surrogate = self.domain.model
        under_way = np.concatenate((self.points, *self.extras, *(p[None] for p in self.pending)))
        most = LIMITED_POINTS + 5 * self.domain.N if surrogate.limited else MOST_POINTS
        model = surrogate.about(best, under_way, most, in_passing=extra)
        seen = Seen(np.concatenate((surrogate.known()[0], under_way)))
        exploring = self._exploring(turn)
        kappa = max(KAPPAS) if exploring else KAPPAS[turn % len(KAPPAS)]
        acquisition = Acquisition(model, kappa, seen, self._closed(best, under_way, kappa))
        look = Look(best, self._side)
        if exploring and self.domain.n_categories:
            look = rare_value(self.domain, best, under_way, rng)
            model = surrogate.about(look.centre, under_way, most, in_passing=True, with_value=look.fixed)
            none = Seen(np.empty((0, self.domain.lattice.size)))
            acquisition = Acquisition(model, optimism(surrogate.cube, model, look, rng), seen, none)
        elif exploring:
            look = Look(best, LARGEST_SIDE)
        if surrogate.limited:
            return self._next_feasible(acquisition, look, under_way, most, turn, rng, extra=extra)
        side, criterion = look.side, look.only(acquisition)
        while True:
            box = region(surrogate.cube, look.centre, side, model.lengths)
            found = lowest(criterion, surrogate.cube, box, rng, known=self.domain.known)
            if found is not None:
                return found
            if side >= LARGEST_SIDE:  # nothing is new, or hardly anything
                return self._anything_new(box, seen, rng)
            side = min(2 * side, LARGEST_SIDE)

    def _next_feasible(
        self,
        acquisition: Acquisition,
        look: Look,
        under_way: FloatArray,
        most: int,
        turn: int,
        rng: np.random.Generator,
        *,
        extra: bool,
    ) -> FloatArray:
        """The same under constraints."""
        surrogate = self.domain.model
        limits = surrogate.limits_about(look.centre, under_way, most, in_passing=extra)
        criterion = Restricted(acquisition, limits, 0.0 if self.best.violation > 0 else 1.0)
        side, lengths, rough = look.side, acquisition.model.lengths, not self.domain.lattice.size
        rules = self.domain.known
        while True:
            box = region(surrogate.cube, look.centre, side, lengths)
            found = lowest(look.only(criterion), surrogate.cube, box, rng, rough, rules)
            if found is not None:
                break
            if side >= LARGEST_SIDE:
                return self._anything_new(box, acquisition.seen, rng)
            side = min(2 * side, LARGEST_SIDE)
        if self.domain.n_continuous:
            better = refined(criterion, surrogate.cube, box, found, CAUTIONS[turn % len(CAUTIONS)])
            if better not in acquisition.seen and (rules is None or rules.allowed(better[None])[0]):
                return better
        return found

    def _exploring(self, turn: int) -> bool:
        """Whether a turn is for what is little known, wherever it is."""
        if self.domain.n_categories:
            return self.flat or turn % RARE_EVERY == 1
        return self.flat and turn % FLAT_EVERY == 1

    @property
    def _side(self) -> float:
        """Of the region in which it looks."""
        return LARGEST_SIDE if "region" in self.domain.settings.without else self.side

    def _closed(self, best: FloatArray, under_way: FloatArray, kappa: float) -> Seen:
        """Integers that were tried too often; for those of the best point, only since it is the best.

        Where there are few combinations of them, all would soon have been: an integer of two values is not
        closed for being tried half of the time. None is where the mean alone counts: the best integers may
        have been tried far from their best place each time, or just outside of the feasible region.
        """
        n, surrogate = self.domain.n_continuous, self.domain.model
        known = np.concatenate((surrogate.known()[0], under_way))[:, n:]
        if not n or not known.shape[1] or kappa == 0.0:
            return Seen(np.empty((0, known.shape[1])))
        which, counts = np.unique(np.round(known, 9), axis=0, return_counts=True)
        own = (np.abs(which - best[n:]) < SAME).all(axis=1)
        counts[own] = self.tries
        combinations = math.prod(float(last) + 1.0 for last in self.domain.lattice.last)
        return Seen(which[counts > max(TRIES * n, SHARES * len(known) / combinations)])

    def _anything_new(self, box: Region, seen: Seen, rng: np.random.Generator) -> FloatArray:
        cube = self.domain.model.cube
        everywhere = box._replace(low=np.maximum(cube.low, 0.0), high=np.minimum(cube.high, 1.0))
        points = random_points(cube, everywhere, rng)
        rules = self.domain.known
        if rules is not None:
            points = np.concatenate((points[rules.allowed(points)], rules.pool))
        new = points[~seen.which(points)]
        return np.asarray(new[0] if len(new) else points[0])

    def propose(self) -> Proposals:
        """The points that were drawn."""
        return Proposals(*self.domain.model.cube.points(self.points))

    @with_one_thread
    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """One more point, if all that is under way turns out as predicted."""
        while len(self.extras) <= k:
            if self.count == 0:
                point = self._design(rng)[:2][-1]  # not the mean, if there is any other
            else:
                point = self._next(self._centre(), self.turn + len(self.extras), rng, extra=True)
            self.extras.append(point[None])
        return Proposals(*self.domain.model.cube.points(self.extras[k]))

    def ready(self, results: Results) -> bool:
        """As many as were proposed, whichever they are."""
        return results.told >= len(self.points)

    def accepts(self, plateaus: FloatArray) -> bool:
        """Any point: whoever chose it, the model knows it from the memory."""
        return True

    # learning

    def observe(self, results: Results) -> None:
        """Note what is better, and what that says about the region; the model reads the memory."""
        told = [results.known_part()]
        if results.late is not None:
            told.append(results.late.results)
            self._note_pending(results)
        first = self.count == 0
        before, ties = self.best.key, 0
        for part in told:
            for i in range(len(part.values)):
                point = part.point(i)
                self.tries += np.array_equal(point.plateaus, self.best.plateaus)
                ties += same_value(point, self.best)
                if point.key < self.best.key:
                    self.best, self.tries = self._whole(point), 0
                self.trail.append(self.best.value)
                self.count += 1
        self.trail = self.trail[-self._window - 1 :]
        if not first:
            self._judge(before, sum(len(part.values) for part in told), ties)
        self._end()

    def _whole(self, point: Evaluated) -> Evaluated:
        x, plateaus = self.domain.with_values(Proposals(point.x, point.plateaus))
        return point._replace(x=x, plateaus=plateaus)

    def _note_pending(self, results: Results) -> None:
        """What was asked and is not known yet is under way; what has come late no longer is."""
        cube = self.domain.model.cube
        if results.known is not None and not results.known.all():
            x, plateaus = (part[~results.known] for part in results.points)
            self.pending += list(cube.of_points(x, plateaus))
        late = results.late.results if results.late is not None else None
        if late is not None and len(late.values):
            points = self.domain.with_values(late.points)
            come = Seen(cube.of_points(*points))
            self.pending = [p for p in self.pending if p not in come]
        self.pending = self.pending[-MOST_PENDING:]

    def _judge(self, before: Key, count: int, ties: int) -> None:
        """The region grows with success, and shrinks without; quadratic steps come more often, or less."""
        better = self.best.key < before
        if self.promised > 0:
            kept = better and (before[0] > 0 or before[1] - self.best.value >= KEPT * self.promised)
            longest = LIMITED_PAUSE if self.domain.model.constrained else LONGEST_PAUSE
            if kept:
                self.pause = int(self.promised < SMALL * self._usual())
            else:
                self.pause = min(max(1, 2 * self.pause), longest)
            self.waited = 0
            count -= 1
            if not count:
                return
        count -= self.explored  # those were not in the region
        if count < 1 and not better:
            return
        if better:
            self.successes, self.failures, self.ties, self.flat = self.successes + 1, 0.0, 0.0, False
        else:
            self.successes, self.failures = 0, self.failures + (1 + count) / 2
            self.ties += min(1.0, ties / count) * (1 + count) / 2
        if self.successes >= SUCCESSES:
            self.side, self.successes = min(2 * self.side, LARGEST_SIDE), 0
        if self.failures >= max(FAILURES, int(FAILURES_PER_VARIABLE * self.domain.N)):
            self.flat = self.ties >= FLAT * self.failures
            self.side = min(2 * self.side, LARGEST_SIDE) if self.flat else self.side / 2
            self.failures = self.ties = 0.0

    @property
    def _window(self) -> int:
        return WINDOW * max(FEW, self.domain.N)

    def _end(self) -> None:
        """Whether going on is worth it."""
        constrained = self.domain.model.constrained
        self.small = self.side < (SMALLEST_LIMITED if constrained else SMALLEST_SIDE)
        if constrained:
            self.done = self.small
            return
        least = 0 if self.local else LEAST
        self.done = self.small or (self.count >= least * max(FEW, self.domain.N) and self._stalled())

    def _stalled(self) -> bool:
        """Whether the last evaluations have gained next to nothing."""
        if len(self.trail) <= self._window or not math.isfinite(self.trail[0]):
            return len(self.trail) > self._window
        return self.trail[0] - self.best.value < GAIN * self._usual()

    def _usual(self) -> float:
        """How much worse than the best point half of all points are that this run has known."""
        _, merits = self.domain.model.known()
        return 2 * float(np.median(merits[self.before :] / 2)) - self.best.value  # no sum is too large

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The region; before there is one, the first Gaussian."""
        if self.best.violation == math.inf:
            return self.m, np.ones(self.domain.N)
        return self.best.x, 0.5 * self.side * self.domain.span

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> ModelRun:
        """The phase whose state this is."""
        self = super().restored(domain, state)
        self.points = self.points.reshape(-1, domain.N)
        return self
