"""Where to evaluate next, by a model: the lowest mean - kappa sd in a region of the mixed lattice.

Random points that change some coordinates of the centre, then a local search from the best of them: over
neighbouring values of the integers and any of a category, and along the slope and at random in the continuous
coordinates. Points are rows of the unit cube.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import FloatArray, Mask
from ..model import Fitted, Limits
from ..model.quadratic import slsqp
from ..model.together import together
from ..space.unit import UnitCube
from .known import Known

CANDIDATES = 400  # random points
CHANGED = 3  # coordinates: half of the points change about so many, the others ...
MOST_CHANGED = 20  # ... about so many
AT_ONCE = 50  # of these
STARTS = 3  # of local searches
ROUNDS = 8  # of a local search, at most
SHORTER = 0.6  # continuous steps, from one round to the next
ALONG = (1.0, 0.5, 0.25, 0.1, 0.03)  # steps along the slope, relative to half the region ...
RANDOM_STEPS = 4  # ... and how many random ones
FEW_VALUES = 4  # of an integer with so many values at most, all are tried
SEQUENCE = 15  # steps under constraints, at most
SHORTENED = 3  # times is the way of a point from the centre halved, until it is allowed ...
MOST_MOVED = 100  # ... of so many points
SAME = 1e-9  # nearer points are the same one
LARGEST_SIDE = 1.6  # of a region: nearly everything
SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.2, 5.0  # of a coordinate's side, relative to the others'


class Region(NamedTuple):
    """A box in the unit cube around a centre."""

    centre: FloatArray
    half: FloatArray  # half the length of each side, before the cube ends
    low: FloatArray
    high: FloatArray


def region(cube: UnitCube, centre: FloatArray, side: float, lengths: FloatArray) -> Region:
    """The box with this side, longer where the length scale is; the next value of an integer always fits in.

    Of a category all values do.

    Args:
        cube: where it lies.
        centre: its middle, a point that can be evaluated.
        side: relative to the range of a variable.
        lengths: the length scales of a model.
    """
    weights = np.clip(lengths / np.exp(np.log(lengths).mean()), SMALLEST_WEIGHT, LARGEST_WEIGHT)
    half = np.minimum(0.5 * side * weights, 1.0)
    n, lattice = cube.n_continuous, cube.lattice
    own = lattice.plateau(centre[n:])
    up = lattice.value(np.minimum(own + 1, lattice.last)) - centre[n:]
    down = centre[n:] - lattice.value(np.maximum(own - 1, 0))
    half[n:] = np.maximum(half[n:], 1.001 * np.maximum(up, down))
    half[cube.N - cube.n_categories :] = 1.0
    low, high = np.maximum(centre - half, cube.low), np.minimum(centre + half, cube.high)
    return Region(centre, half, low, high)


class Seen:
    """Points that are not to be evaluated again."""

    def __init__(self, points: FloatArray) -> None:
        """Rows of the unit cube; told apart by their shadows on one line that is parallel to nothing."""
        self.width = points.shape[1]
        self._line = np.random.default_rng(1).uniform(0.5, 1.0, points.shape[1])
        self._shadows = np.sort(points @ self._line)

    def __contains__(self, point: FloatArray) -> bool:
        """Whether it is one of them."""
        return bool(self.which(point[None])[0])

    def which(self, points: FloatArray) -> Mask:
        """Which of several are among them."""
        if not self._shadows.size:
            return np.zeros(len(points), dtype=bool)
        shadows = points @ self._line
        after = np.searchsorted(self._shadows, shadows)
        gaps = [np.abs(self._shadows.take(place, mode="clip") - shadows) for place in (after - 1, after)]
        return np.asarray(np.minimum(*gaps) < SAME)


class Acquisition(NamedTuple):
    """What is to be minimised where not enough is known: mean - kappa sd of a model."""

    model: Fitted
    kappa: float
    seen: Seen
    closed: Seen  # integers, as rows of the unit cube, that have been tried enough

    def __call__(self, u: FloatArray, worst: FloatArray) -> FloatArray:
        """Mean - kappa sd at points; it may be infinite where it is not below the worst that matters."""
        if self.kappa == 0.0:
            return self.model.mean(u)
        return self.model.bounds(u, self.kappa, worst)

    def shut(self, u: FloatArray) -> Mask:
        """Where something is known or closed."""
        return self.seen.which(u) | self.pointless(u)

    def pointless(self, u: FloatArray) -> Mask:
        """Where the integers are closed, so that no step in the continuous coordinates leads anywhere."""
        return self.closed.which(u[:, u.shape[1] - self.closed.width :])

    def slope(self, u: FloatArray) -> FloatArray:
        """Its gradient at points, one row each, for steps in the continuous coordinates."""
        return self.model.steepness(u, self.kappa).by_x


class Criterion(Protocol):
    """What `lowest` minimises."""

    def __call__(self, u: FloatArray, worst: FloatArray) -> FloatArray:
        """Its value at points, one row each; it may be infinite where it is not below `worst`."""

    def shut(self, u: FloatArray) -> Mask:
        """Where it does not count."""

    def pointless(self, u: FloatArray) -> Mask:
        """Where no step in the continuous coordinates leads anywhere."""

    def slope(self, u: FloatArray) -> FloatArray:
        """Its gradient at points, one row each."""


class WithValue(NamedTuple):
    """Another criterion where one coordinate has a certain value, and nowhere else.

    Attributes:
        plain: the other one.
        column, value: the coordinate and its value.
        taken: points with this value, by their first coordinates, ...
        apart: ... and how far it keeps away from them in at least one of these.
    """

    plain: Criterion
    column: int
    value: float
    taken: FloatArray
    apart: float

    def __call__(self, u: FloatArray, worst: FloatArray) -> FloatArray:
        """The same, at points."""
        return self.plain(u, worst)

    def shut(self, u: FloatArray) -> Mask:
        """Where it does not count: also with another value, and near what is taken."""
        return self.plain.shut(u) | (np.abs(u[:, self.column] - self.value) > SAME) | self._near(u)

    def _near(self, u: FloatArray) -> Mask:
        first = u[:, None, : self.taken.shape[1]]
        return np.asarray((np.abs(first - self.taken).max(axis=2, initial=0.0) < self.apart).any(axis=1))

    def pointless(self, u: FloatArray) -> Mask:
        """Where no step in the continuous coordinates leads anywhere."""
        return self.plain.pointless(u)

    def slope(self, u: FloatArray) -> FloatArray:
        """The same gradient."""
        return self.plain.slope(u)


class Restricted(NamedTuple):
    """The same under constraints: minus the logarithm of the chance that they hold is added.

    Attributes:
        plain: without them.
        limits: models of the constraints.
        weight: of the objective; 0 while nothing feasible is known.
    """

    plain: Acquisition
    limits: list[Limits]
    weight: float

    def __call__(self, u: FloatArray, worst: FloatArray) -> FloatArray:
        """Its value at points, one row each; it may be infinite where it is not below the worst that matters.

        A chance only adds to it: what is not below the worst that matters is not looked at any further.
        """
        values, left = np.zeros(len(u)), np.arange(len(u))
        if self.weight:
            values = self.weight * self.plain(u, worst / self.weight)
        for limits in self.limits:
            left = left[values[left] < worst[left]]
            if len(left):
                values[left] -= limits.log_feasible(u[left])
        return values

    def shut(self, u: FloatArray) -> Mask:
        """Where something is known or closed."""
        return self.plain.shut(u)

    def pointless(self, u: FloatArray) -> Mask:
        """Where no step in the continuous coordinates leads anywhere."""
        return self.plain.pointless(u)

    def slope(self, u: FloatArray) -> FloatArray:
        """Its gradient at points, one row each, for steps in the continuous coordinates."""
        slope = self.weight * self.plain.slope(u) if self.weight else np.zeros(u.shape)
        for limits in self.limits:
            slope -= limits.log_feasible_by_x(u)
        return slope


def refined(
    criterion: Restricted, cube: UnitCube, box: Region, start: FloatArray, caution: float
) -> FloatArray:
    """The lowest mean - kappa sd that the models' bounds allow, from a point, with its integers.

    Args:
        criterion: the models, and kappa.
        cube: where points lie.
        box: how far the continuous coordinates may go.
        start: where to begin.
        caution: how many standard deviations above its mean a constraint has to hold.
    """
    n = cube.n_continuous
    models = together([criterion.plain.model, *criterion.limits])
    deviations = np.full(1 + len(criterion.limits), caution)
    deviations[0] = -criterion.plain.kappa
    last: dict[bytes, tuple[FloatArray, FloatArray]] = {}  # it asks for values and slopes apart

    def whole(t: FloatArray) -> FloatArray:
        return np.concatenate((t, start[n:]))

    def bounds(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        name = t.tobytes()
        if name not in last:
            last.clear()
            last[name] = models.bounds(whole(t), deviations)
        return last[name]

    def value(t: FloatArray) -> tuple[float, FloatArray]:
        values, slopes = bounds(t)
        return float(values[0]), slopes[0, :n]

    rules: Any = {
        "type": "ineq",
        "fun": lambda t: -bounds(t)[0][1:],
        "jac": lambda t: -bounds(t)[1][1:, :n],
    }
    found = slsqp(
        value,
        np.clip(start[:n], box.low[:n], box.high[:n]),
        bounds=list(zip(box.low[:n], box.high[:n], strict=True)),
        constraints=rules,
        options={"maxiter": SEQUENCE, "ftol": 1e-6},
    )
    end = found.x if np.isfinite(found.x).all() else start[:n]
    return cube.settled(whole(np.clip(end, box.low[:n], box.high[:n])))


def lowest(
    acquisition: Criterion,
    cube: UnitCube,
    box: Region,
    rng: np.random.Generator,
    rough: bool = False,
    known: Known | None = None,
) -> FloatArray | None:
    """The best point that is found, or None if all that was tried is known already.

    Args:
        acquisition: what is to be lowest.
        cube, box: where to look.
        rng: for the random points.
        rough: without a local search.
        known: constraints; what is not allowed is moved towards the centre of the box.
    """
    candidates = random_points(cube, box, rng)
    if known is not None:
        candidates = known.towards(candidates, box.centre, SHORTENED, MOST_MOVED)
    values = _lowest_few(acquisition, candidates)
    first = np.argsort(values, kind="stable")[:STARTS]
    u, values = candidates[first], values[first]
    if not rough:
        u, values = _improved(acquisition, cube, box, u, values, rng, known)
    best = int(values.argmin())
    return u[best] if np.isfinite(values[best]) else None


def _lowest_few(acquisition: Criterion, u: FloatArray) -> FloatArray:
    """Values at points, as far as these may be among the first to start from: else infinite."""
    values = np.full(len(u), np.inf)
    worst = math.inf
    free = np.flatnonzero(~acquisition.shut(u))
    for begin in range(0, len(free), AT_ONCE):
        some = free[begin : begin + AT_ONCE]
        values[some] = acquisition(u[some], np.full(len(some), worst))
        worst = float(np.partition(values, STARTS - 1)[STARTS - 1])
    return values


def random_points(
    cube: UnitCube, box: Region, rng: np.random.Generator, count: int = CANDIDATES
) -> FloatArray:
    """Points of the box that differ from its centre in some coordinates, at least in one."""
    N = cube.N
    anywhere = rng.uniform(box.low, box.high, (count, N))
    shares = np.where(rng.random(count) < 0.5, min(1.0, MOST_CHANGED / N), min(1.0, CHANGED / N))
    changed = rng.random((count, N)) < shares[:, None]
    changed[np.arange(count), rng.integers(0, N, count)] = True
    return cube.snapped(np.where(changed, anywhere, box.centre))


def _improved(
    acquisition: Criterion,
    cube: UnitCube,
    box: Region,
    u: FloatArray,
    values: FloatArray,
    rng: np.random.Generator,
    known: Known | None,
) -> tuple[FloatArray, FloatArray]:
    """Local searches from several points, side by side.

    Where a search has not moved, its slope is the same, and so are its neighbours in the integers.
    """
    step, n = 0.5, cube.n_continuous
    rows, slope = np.arange(len(u)), np.zeros((len(u), n))
    lower = np.ones(len(u), dtype=bool)
    random = _random_steps(rng, len(u), n)
    for turn in range(ROUNDS):
        around = [integer_neighbours(cube, u)]
        integers = around[0].shape[1]
        if n:
            pointless = acquisition.pointless(u)
            if pointless.all() and not lower.any():
                break
            moved = lower & ~pointless
            slope[lower] = 0.0
            if moved.any():
                slope[moved] = acquisition.slope(u[moved])[:, :n]
            around.append(_continuous_neighbours(slope, random[turn], box, u, step))
            step *= SHORTER
        tried = cube.settled(np.concatenate(around, axis=1))
        count = tried.shape[1]
        if not count:
            break
        new = np.ones((len(u), count), dtype=bool)
        new[~lower, :integers] = False
        new[new] = ~acquisition.shut(tried[new])
        found = np.full((len(u), count), np.inf)
        if new.any():
            found[new] = acquisition(tried[new], np.broadcast_to(values[:, None], new.shape)[new])
        if known is not None and (lowers := found < values[:, None]).any():
            found[lowers] = np.where(known.allowed(tried[lowers]), found[lowers], np.inf)
        best = found.argmin(axis=1)
        lower = found[rows, best] < values
        u = np.where(lower[:, None], tried[rows, best], u)
        values = np.where(lower, found[rows, best], values)
        if not lower.any() and not n:
            break
    return u, values


def integer_neighbours(cube: UnitCube, u: FloatArray) -> FloatArray:
    """For each point those that differ in one integer or category: by one value, or by any if it has few."""
    n, lattice = cube.n_continuous, cube.lattice
    own = lattice.plateau(u[:, n:])
    few = lattice.last < FEW_VALUES
    few[lattice.size - cube.n_categories :] = True
    steps = [
        (j, k)
        for j, last in enumerate(lattice.last.tolist())
        for k in (range(1, int(last) + 1) if few[j] else (-1, 1))
    ]
    columns = np.array([j for j, _ in steps], dtype=np.intp)
    last, place = lattice.last[columns], np.arange(len(steps))
    others = own[:, columns] + np.array([k for _, k in steps])
    others = np.where(few[columns], np.mod(others, last + 1), np.clip(others, 0, last))
    changed = np.repeat(own[:, None, :], len(steps), axis=1)
    changed[:, place, columns] = others
    tried = np.repeat(u[:, None, :], len(steps), axis=1)
    tried[:, place, n + columns] = lattice.value(changed)[:, place, columns]
    return tried


def _random_steps(rng: np.random.Generator, count: int, n: int) -> list[FloatArray]:
    """For each round and each point some steps in some of the continuous coordinates; none without any."""
    rounds = []
    for _ in range(ROUNDS if n else 0):
        steps = rng.standard_normal((count, RANDOM_STEPS, n))
        steps *= rng.random(steps.shape) < max(0.3, 1 / n)
        rounds.append(steps)
    return rounds


def _continuous_neighbours(
    slope: FloatArray, random: FloatArray, box: Region, u: FloatArray, step: float
) -> FloatArray:
    """For each point some along the slope and some at random, in the continuous coordinates."""
    n = slope.shape[1]
    half = box.half[:n]
    slope = -slope * half  # in units of the box, the steepest way
    longest = np.abs(slope).max(axis=1, keepdims=True)
    slope = slope / np.maximum(longest, np.finfo(np.float64).tiny)
    along = slope[:, None, :] * np.array(ALONG)[:, None]
    tried = np.repeat(u[:, None, :], len(ALONG) + RANDOM_STEPS, axis=1)
    tried[:, :, :n] += 2 * step * half * np.concatenate((along, 0.5 * random), axis=1)
    return np.clip(tried, box.low, box.high)
