"""What the memory of a search tells of points that were not evaluated: the model, kept up to date.

It looks at the memory when it is asked, and finds new parameters after a few percent more points. These,
when they were found and how right the model has been are all that has to be saved: with the memory they make
the same model again. Who goes the way of another search can take parameters from there (`fits`): to find them
is half of what a model costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _serialize
from .._typing import FloatArray
from ..model import (
    MOST_POINTS,
    Fitted,
    Limits,
    chosen,
    condition,
    condition_limits,
    first_parameters,
    fit,
    fit_limits,
)
from ..model.posterior import QUADRATIC, WARP, prior
from ..space.unit import UnitCube
from .acquisition import SAME
from .memory import Memory

_LARGEST = float(np.finfo(np.float64).max)
REFIT = 0.04  # new parameters after this share of more points
MOST_FITS = 32  # that are kept
REMEMBERED = 20  # generations that were predicted
SEPARATE = 4  # so many constraints have parameters of their own, more share them
SATISFIED = -0.1  # of the usual violation: where constraints hold and nobody says by how much


class Surrogate:
    """A model of what was evaluated."""

    def __init__(self, cube: UnitCube, memory: Memory, without: frozenset[str] = frozenset()) -> None:
        """The memory's points, seen in the unit cube; without parts of the model, if so wished."""
        self._limits = "limits" not in without
        ends = prior(cube.N)
        self._held: dict[int, float] = {}  # parameters that are not to be found
        if "quadratic kernel" in without:
            self._held[QUADRATIC] = float(ends.low[QUADRATIC])
        if "warping" in without:
            self._held[WARP] = float(ends.high[WARP])
        self.cube = cube
        self._memory = memory
        self.theta: FloatArray | None = None
        self.fitted = 0  # how many points there were when the parameters were found
        self.fits: dict[str, FloatArray] = {}  # the last parameters: of how many points, and of what
        self._agreed: list[tuple[int, int]] = []  # of the last generations that were predicted
        self._seen = -1
        self._points, self._merits = np.empty((0, cube.N)), np.empty(0)
        self._values, self._columns = np.empty(0), dict[str, FloatArray]()
        self.limit_thetas: dict[str, FloatArray] = {}  # parameters of the constraints' models
        self.limits_fitted = 0

    def known(self) -> tuple[FloatArray, FloatArray]:
        """All evaluated points in the unit cube, in the order of their ids, and the merit of each."""
        memory = self._memory
        if len(memory) != self._seen:
            order = np.argsort(memory.ids, kind="stable")
            self._points = self.cube.of_numbers(memory.x[order])
            self._values, violations = memory.values[order], memory.violations[order]
            self._merits = merits(self._values, violations)
            self._columns = {}
            if self._limits and (memory.constraint_names or not self.plain):
                self._columns = _columns(memory, order)
            self._seen = len(memory)
        return self._points, self._merits

    def latest(self, count: int) -> tuple[FloatArray, FloatArray]:
        """The last so many of `known`, or fewer; it costs nothing for the others."""
        memory, last = self._memory, slice(max(0, len(self._memory) - count), None)
        order = np.argsort(memory.ids[last], kind="stable")
        points = self.cube.of_numbers(memory.x[last][order])
        return points, merits(memory.values[last][order], memory.violations[last][order])

    @property
    def plain(self) -> bool:
        """Whether all that was evaluated has a value and violates nothing."""
        memory = self._memory
        return bool(np.isfinite(memory.values).all()) and not memory.violations.any()

    @property
    def limited(self) -> bool:
        """Whether there are constraints, or something has failed."""
        self.known()
        return bool(self._columns)

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        return self.limited and list(self._columns) != [_FAILED]

    @property
    def failing(self) -> bool:
        """Whether something has failed."""
        return self.limited and _FAILED in self._columns

    def outcomes(self) -> tuple[FloatArray, FloatArray]:
        """All values, and those of all constraints with a name, one column each; NaN where there is none."""
        self.known()
        named = [column for name, column in self._columns.items() if name.startswith(_NAMED)]
        return self._values, np.column_stack(named) if named else np.empty((len(self._values), 0))

    @property
    def nameless(self) -> bool:
        """Whether something is violated of which only the total is known."""
        return self.limited and _TOTAL in self._columns

    def about(
        self,
        near: FloatArray,
        besides: FloatArray | None = None,
        most: int = MOST_POINTS,
        *,
        in_passing: bool = False,
        with_value: tuple[int, float] | None = None,
    ) -> Fitted:
        """The model for the surroundings of a point; what is under way counts as if it were as predicted.

        Args:
            near: where it matters most.
            besides: points that are not evaluated yet, one row each.
            most: how many points it may be made of.
            in_passing: whether new parameters are for this once. So a search does not depend on how many
                extra points free workers have asked for.
            with_value: a column, and the value of it that all points have of which the model is made; the
                parameters are for these alone, too.
        """
        x, y = self.known()
        rows = chosen(x, y, near, self._lengths(), most, self.cube.sizes)
        count, sizes = len(y), self.cube.sizes
        if self._columns:
            y = self._values
            rows = rows[np.isfinite(y[rows])]
            if not len(rows):  # nothing is known: the same everywhere
                rows, y = np.zeros(1, dtype=np.intp), np.zeros(1)
        x, y = x[rows], y[rows]
        theta = self.theta
        if theta is None or count - self.fitted >= max(1.0, REFIT * count):
            theta = self._likeliest(count, "", lambda: fit(x, y, self.theta, held=self._held, sizes=sizes))
            if not in_passing:
                self.theta, self.fitted = theta, count
        if with_value is not None:
            own = np.abs(x[:, with_value[0]] - with_value[1]) < SAME
            if own.any():
                x, y = x[own], y[own]
                name = f"{with_value[0]} {with_value[1]:.9f}"
                theta = self._likeliest(count, name, lambda: fit(x, y, held=self._held, sizes=sizes))
        model = condition(theta, x, y, sizes)
        return model if besides is None or not len(besides) else model.believing(besides)

    def limits_about(
        self,
        near: FloatArray,
        besides: FloatArray | None = None,
        most: int = MOST_POINTS,
        *,
        in_passing: bool = False,
    ) -> list[Limits]:
        """The models of the constraints, and last of what fails, for the surroundings of a point: as `about`.

        A model of which nothing is known is left out.
        """
        x, y = self.known()
        sizes = self.cube.sizes
        rows, count = chosen(x, y, near, self._lengths(), most, sizes), len(y)
        anew = count - self.limits_fitted >= max(1.0, REFIT * count)
        found, thetas = [], dict(self.limit_thetas)
        for label, names in _groups(list(self._columns)).items():
            g = np.column_stack([self._columns[name][rows] for name in names])
            known = np.isfinite(g).all(axis=1)
            if not known.any():
                continue
            at, g = x[rows[known]], g[known]
            if anew or label not in thetas:
                last = thetas.get(label)
                thetas[label] = self._likeliest(count, label, partial(fit_limits, at, g, last, sizes=sizes))
            limits = condition_limits(thetas[label], at, g, sizes)
            found.append(limits if besides is None or not len(besides) else limits.believing(besides))
        if not in_passing:
            self.limit_thetas = thetas
            self.limits_fitted = count if anew else self.limits_fitted
        return found

    def _likeliest(self, count: int, label: str, find: Callable[[], FloatArray]) -> FloatArray:
        """Parameters for points that are made of so many: found, unless they were before."""
        key = f"{count} {label}".strip()
        if key not in self.fits:
            self._keep(key, find())
        return self.fits[key]

    def _keep(self, key: str, theta: FloatArray) -> None:
        self.fits[key] = theta
        while len(self.fits) > MOST_FITS:
            del self.fits[next(iter(self.fits))]

    def foretell(self, key: str, theta: FloatArray) -> None:
        """What another search on the same way has found, by its key in `fits`; nonsense is not taken."""
        if theta.shape == first_parameters(self.cube.N).shape and np.isfinite(theta).all():
            self._keep(key, theta)

    def note(self, concordance: tuple[int, int]) -> None:
        """How well the order of a generation was predicted: right pairs minus wrong ones, and all pairs."""
        self._agreed = [*self._agreed[1 - REMEMBERED :], concordance]

    def agrees(self, concordance: tuple[int, int], pairs: int, agreement: float) -> bool:
        """Whether it has predicted the order of points well enough, lately, to be believed.

        Args:
            concordance: of the present generation, as for `note`.
            pairs: how many have to be compared; earlier generations help out, the last ones first.
            agreement: Kendall's tau over these pairs, at least.
        """
        right, compared = concordance
        for earlier in reversed(self._agreed):
            if compared >= pairs:
                break
            right, compared = right + earlier[0], compared + earlier[1]
        return compared >= pairs and right >= agreement * compared

    def _lengths(self) -> FloatArray:
        return np.exp(first_parameters(self.cube.N) if self.theta is None else self.theta)[: self.cube.N]

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        limits = {"limits": self.limit_thetas, "limits fitted": self.limits_fitted}
        return {"theta": self.theta, "fitted": self.fitted, "agreed": self._agreed} | limits

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the parameters of the model whose state this is."""
        template = first_parameters(self.cube.N)
        theta = state["theta"]
        self.theta = None if theta is None else _serialize.like(template, theta, "theta")
        self.fitted, self._seen = int(state["fitted"]), -1
        self._agreed = [(int(right), int(compared)) for right, compared in state["agreed"]]
        self.limits_fitted = int(state["limits fitted"])
        self.limit_thetas = {
            str(label): _serialize.like(template, found, "theta of constraints")
            for label, found in state["limits"].items()
        }


_NAMED, _TOTAL, _FAILED, _ALL = "constraint ", "violation", "failure", "constraints"


def _columns(memory: Memory, order: NDArray[np.intp]) -> dict[str, FloatArray]:
    """What limits the search, as values that are above 0 where something is wrong."""
    columns = {_NAMED + name: memory.constraint(name)[order] for name in memory.constraint_names}
    violations = memory.violations[order]
    if not columns and (violations > 0).any():
        usual = float(np.median(violations[violations > 0]))
        columns[_TOTAL] = np.where(violations == 0, SATISFIED * usual, violations)
    failed = np.array([kind is not None for kind in memory.failures])[order]
    if failed.any():
        columns[_FAILED] = np.where(failed, 1.0, -1.0)
    return columns


def _groups(columns: list[str]) -> dict[str, list[str]]:
    """Which of them share their parameters."""
    named = [name for name in columns if name.startswith(_NAMED)]
    shared = len(named) > SEPARATE
    groups = {_ALL: named} if shared else {}
    return groups | {name: [name] for name in columns if not (shared and name in named)}


def merits(values: FloatArray, violations: FloatArray) -> FloatArray:
    """One finite number for each outcome, in the order of `order.key`.

    Feasible outcomes are worth their value. What is violated is worse than all of them, the more so the more
    it is violated, and what has failed is like the worst.

    >>> merits(np.array([3.0, 5.0, 0.0, np.nan]), np.array([0.0, 0.0, 0.5, 0.0])).tolist()
    [3.0, 5.0, 7.0, 7.0]
    """
    finite = np.isfinite(values) & (violations == 0)
    if finite.all():
        return values.copy()
    violated = (violations > 0) & np.isfinite(violations)
    merit = np.full(len(values), math.nan)
    merit[finite] = values[finite]
    worst, spread = 0.0, 1.0
    if finite.any():
        worst = float(values[finite].max())
        spread = min(worst / 2 - float(values[finite].min()) / 2, _LARGEST / 4) * 2 or 1.0
    if violated.any():
        most = float(violations[violated].max())
        with np.errstate(over="ignore"):
            merit[violated] = np.minimum(worst + spread * (violations[violated] / most), _LARGEST)
    failed = np.isnan(merit)
    if failed.any():
        merit[failed] = np.nanmax(merit) if not failed.all() else 0.0
    return merit
