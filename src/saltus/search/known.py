"""Known constraints as a search sees them: which of its points are allowed, and some that are, to start from.

The points to start from are the same for every search of a space: they are drawn with a seed of their own.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._typing import FloatArray, Mask
from ..space.encoding import Encoding
from ..space.unit import UnitCube
from .memory import Memory

SAMPLES = 4096  # points at random, so many at a time, ...
ROUNDS = 4  # ... so often, until ...
ENOUGH = 32  # ... this many are allowed
POOL = 64  # allowed points that are kept
WALKERS, WALK = 16, 40  # and their steps through what is allowed, if points at random are not enough
SHORTER = 0.5  # each try on the way from a point that is allowed to one that is not
TRIES = 10
SCARCE = 0.1  # of some points is allowed, at most: then a function is not asked about the others
SECTIONS, PARTS = 8, 32  # on the way to the very border: 32 ** 8 is 1e12


class Known:
    """The rules of an encoding's space, for points in the coordinates of a strategy and of the unit cube.

    Attributes:
        start: an allowed point in the coordinates of a strategy: the first mean, if that is one.
    """

    def __init__(self, encoding: Encoding) -> None:
        """Find a start; if there is none, that is a ValueError."""
        self._encoding, self._where = encoding, encoding.space.where
        self.cube = UnitCube(encoding)
        n = encoding.n_continuous
        m = encoding.m
        if self.excess(m[None], encoding.lattice.plateau(m[None, n:]))[0] == 0.0:
            self.start = m
        else:
            x, plateaus = self.cube.points(self._centre()[None])
            self.start = np.concatenate((x[0, :n], encoding.lattice.value(plateaus[0])))

    # what is allowed

    def excess(self, x: FloatArray, plateaus: FloatArray, given: bool = False) -> FloatArray:
        """By how much points break the rules; 0 where they are allowed."""
        return self._of_numbers(self._encoding.numbers(x, plateaus), plateaus, given)

    def allowed(self, u: FloatArray) -> Mask:
        """Which points of the unit cube are allowed, as they are evaluated after rounding."""
        numbers, plateaus = self.cube.numbers(u)
        return np.asarray(self._of_numbers(numbers, plateaus) == 0.0)

    @property
    def linear(self) -> bool:
        """Whether there are rules that are linear."""
        return bool(self._where.linear)

    def heights(self, u: FloatArray) -> FloatArray:
        """How far points of the unit cube, one row each, are above the limit of each linear rule."""
        numbers = self.cube.numbers(u)[0]
        rules = self._where.linear
        sizes = np.array([np.abs(rule.factors).sum() for rule in rules])
        factors, limits = np.array([rule.factors for rule in rules]), np.array([rule.limit for rule in rules])
        return np.where(self._where.about(numbers), (numbers @ factors.T - limits) / sizes, -1.0)

    def of_numbers(self, numbers: FloatArray, given: bool = False) -> float:
        """By how much one point in the user's units breaks the rules."""
        row = numbers[None]
        return float(self._of_numbers(row, self._encoding.plateaus(row), given)[0])

    def _of_numbers(self, numbers: FloatArray, plateaus: FloatArray, given: bool = False) -> FloatArray:
        def params(rows: FloatArray) -> list[Any]:
            return self._encoding.as_params(rows, self._encoding.plateaus(rows))

        return self._where.excess(numbers, params, given)

    # points that are

    def towards(
        self, u: FloatArray, allowed: FloatArray, tries: int = TRIES, most: int | None = None
    ) -> FloatArray:
        """Points of the unit cube, each moved towards an allowed one until it is allowed, by few tries.

        What is not after those tries becomes that one; and so do all but the first `most` that have to move.
        If hardly any of the first `most` are allowed and functions say so, the others are left out: they
        would not move, and to ask about each is what takes the time.
        """
        u = self.cube.snapped(u)
        fine = self.allowed(u[:most])
        if len(fine) < len(u):
            if self._where.functions and fine.mean() < SCARCE:
                u = u[:most]
            else:
                fine = np.concatenate((fine, self.allowed(u[most:])))
        out = np.flatnonzero(~fine)
        origin = np.broadcast_to(allowed, u.shape)
        left, rest = out[:most], out[len(out[:most]) :]
        u[rest] = origin[rest]
        share = 1.0
        for _ in range(tries):
            if not len(left):
                return u
            share *= SHORTER
            tried = self.cube.snapped(origin[left] + share * (u[left] - origin[left]))
            fine = self.allowed(tried)
            u[left[fine]] = tried[fine]
            left = left[~fine]
        u[left] = origin[left]
        return u

    def border(self, point: FloatArray, allowed: FloatArray) -> FloatArray:
        """The last point of the unit cube that is allowed, on the way from an allowed one to another one."""
        low, high, best = 0.0, 1.0, allowed
        for _ in range(SECTIONS):
            shares = np.linspace(low, high, PARTS + 1)[1:]
            tried = self.cube.snapped(allowed + shares[:, None] * (point - allowed))
            out = int(np.append(self.allowed(tried), False).argmin())  # the first that is not
            if out:
                low, best = float(shares[out - 1]), tried[out - 1]
            if out == PARTS:
                break
            high = float(shares[out])
        return np.asarray(best)

    def home(self, memory: Memory) -> FloatArray:
        """The best allowed point of a memory, or the start, in the unit cube."""
        row, start = memory.best, self.cube.of_points(*self._start_point())[0]
        if row is not None:
            u = self.cube.snapped(self.cube.of_numbers(memory.x[row][None]))
            if self.allowed(u)[0]:
                return np.asarray(u[0])
            if self.of_numbers(memory.x[row], given=True) == 0.0:  # on a limit itself
                return self.border(u[0], start)
        return np.asarray(start)

    @property
    def first(self) -> FloatArray:
        """The start as a point in the user's order and units."""
        if self.start is self._encoding.m:
            return self._encoding.first
        return np.asarray(self._encoding.numbers(*self._start_point())[0])

    def home_point(self) -> tuple[FloatArray, FloatArray]:
        """The start, and its plateaus."""
        x, plateaus = self._start_point()
        return x[0], plateaus[0]

    def replaced(self, u: FloatArray) -> FloatArray:
        """Points of the unit cube; instead of those that are not allowed, the next ones of the pool.

        If it has some with the same integers and categories, these are next: little may be allowed there.
        """
        u, free = u.copy(), np.ones(len(self.pool), dtype=bool)
        n = self.cube.n_continuous
        for i in np.flatnonzero(~self.allowed(u)).tolist():
            if not free.any():
                free[:] = True
            far = ((self.pool - u[i]) ** 2).sum(axis=1)
            far += self.cube.N * (self.pool[:, n:] != u[i, n:]).any(axis=1)
            nearest = int(np.where(free, far, np.inf).argmin())
            u[i], free[nearest] = self.pool[nearest], False
        return u

    @cached_property
    def pool(self) -> FloatArray:
        """Allowed points of the unit cube, here and there; of all integers and categories in turn."""
        rng = np.random.default_rng(1)
        found = self._sampled
        if len(found) < ENOUGH:
            first = found[0] if len(found) else self.cube.of_points(*self._start_point())[0]
            found = np.concatenate((found, self._walked(first, rng)))
        found = np.unique(found, axis=0)
        found = found[rng.permutation(len(found))]
        kinds = np.unique(found[:, self.cube.n_continuous :], axis=0, return_inverse=True)[1].ravel()
        rows = np.argsort(kinds, kind="stable")
        turns = np.empty(len(rows), dtype=np.intp)
        turns[rows] = np.arange(len(rows)) - np.searchsorted(kinds[rows], kinds[rows])
        return np.asarray(found[np.argsort(turns, kind="stable")[:POOL]])

    def _start_point(self) -> tuple[FloatArray, FloatArray]:
        n = self._encoding.n_continuous
        return self.start[None], self._encoding.lattice.plateau(self.start[None, n:])

    @cached_property
    def _sampled(self) -> FloatArray:
        """What is allowed of points at random."""
        rng = np.random.default_rng(0)
        low, high = np.maximum(self.cube.low, 0.0), np.minimum(self.cube.high, 1.0)
        found: list[FloatArray] = []
        for _ in range(ROUNDS):
            u = self.cube.snapped(rng.uniform(low, high, (SAMPLES, self.cube.N)))
            found.append(u[self.allowed(u)])
            if sum(map(len, found)) >= ENOUGH:
                break
        return np.concatenate(found)

    def _walked(self, first: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Where random walks have been that change some coordinates at a time."""
        low, high, N = np.maximum(self.cube.low, 0.0), np.minimum(self.cube.high, 1.0), self.cube.N
        here = np.tile(first, (WALKERS, 1))
        been = [first[None]]
        for step in range(WALK):
            count = min((1, 2, N)[step % 3], N)
            aim = here.copy()
            changed = np.argsort(rng.random(here.shape), axis=1)[:, :count]
            rows = np.arange(WALKERS)[:, None]
            aim[rows, changed] = rng.uniform(low, high, here.shape)[rows, changed]
            here = self.towards(aim, here)
            been.append(here)
        return np.concatenate(been)

    def _centre(self) -> FloatArray:
        """An allowed point of the unit cube, in the middle of all that are known."""
        found = self._sampled
        if not len(found):
            first = self._by_programming()
            if first is None:
                raise ValueError(
                    f"where allows none of {ROUNDS * SAMPLES:,} points at random; if you know one that it "
                    "allows, give it as mean= (or as init= of the variables)"
                )
            found = np.concatenate((first[None], self._walked(first, np.random.default_rng(0))))
        middle = self.cube.snapped(found.mean(axis=0))
        if self.allowed(middle[None])[0]:
            return middle
        return np.asarray(found[((found - middle) ** 2).sum(axis=1).argmin()])

    def _by_programming(self) -> FloatArray | None:
        """An allowed point of the unit cube by linear programming, as far from the border as possible."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        space = self._encoding.space
        rules = self._where.linear
        if not rules:
            return None
        ranges = np.array([variable.range() for variable in space.variables])
        whole = np.zeros(len(ranges) + 1, dtype=np.int64)
        grids = np.zeros((len(ranges), 2))  # first and step, of evenly spaced values
        for i, variable in enumerate(space.variables):
            grid = variable.grid() if variable.discrete else None
            if isinstance(grid, tuple):
                grids[i], whole[i] = grid[:2], 1
                ranges[i] = 0, grid[2] - 1
            else:
                grids[i] = 0.0, 1.0
                if grid is not None:
                    ranges[i] = grid[0], grid[-1]
        A = np.array([rule.factors for rule in rules])
        limits = np.array([rule.limit for rule in rules]) - A @ grids[:, 0]
        A = A * grids[:, 1]
        # the last one is the distance from the border, relative to the sizes of the factors
        A = np.column_stack((A, np.abs(A).sum(axis=1)))
        for distance in (1.0, 0.0):  # of whole numbers there may be none but on the border
            found = milp(
                np.append(np.zeros(len(ranges)), -1.0),
                constraints=LinearConstraint(A, -np.inf, limits),
                bounds=Bounds(np.append(ranges[:, 0], 0.0), np.append(ranges[:, 1], distance)),
                integrality=whole,
                options={"time_limit": 10.0},
            )
            if found.x is None:
                continue
            numbers = grids[:, 0] + grids[:, 1] * found.x[:-1]
            u = self.cube.snapped(self.cube.of_numbers(numbers[None]))
            if self.allowed(u)[0]:
                return np.asarray(u[0])
            around = self._walked_to_functions(u[0])
            if around is not None:
                return around
        return None

    def _walked_to_functions(self, u: FloatArray) -> FloatArray | None:
        """An allowed point near one that the linear rules allow."""
        rng = np.random.default_rng(2)
        spread = np.exp(rng.uniform(np.log(1e-3), 0.0, (SAMPLES, 1)))
        tried = self.cube.snapped(u + spread * rng.standard_normal((SAMPLES, self.cube.N)))
        fine = self.allowed(tried)
        return np.asarray(tried[fine.argmax()]) if fine.any() else None
