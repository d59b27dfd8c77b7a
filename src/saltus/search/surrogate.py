"""What the memory of a search tells of points that were not evaluated: the model, kept up to date.

It looks at the memory when it is asked, and finds new parameters after a few percent more points. These,
when they were found and how right the model has been are all that has to be saved: with the memory they make
the same model again. Who goes the way of another search can take parameters from there (`fits`): to find them
is half of what a model costs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from ..model import MOST_POINTS, Fitted, chosen, condition, first_parameters, fit
from ..space.unit import UnitCube
from .memory import Memory

_LARGEST = float(np.finfo(np.float64).max)
REFIT = 0.04  # new parameters after this share of more points
MOST_FITS = 8  # that are kept
REMEMBERED = 20  # generations that were predicted


class Surrogate:
    """A model of what was evaluated."""

    def __init__(self, cube: UnitCube, memory: Memory) -> None:
        """The memory's points, seen in the unit cube."""
        self.cube = cube
        self._memory = memory
        self.theta: FloatArray | None = None
        self.fitted = 0  # how many points there were when the parameters were found
        self.fits: dict[int, FloatArray] = {}  # the last parameters, by how many points there were
        self._agreed: list[tuple[int, int]] = []  # of the last generations that were predicted
        self._seen = -1
        self._points, self._merits = np.empty((0, cube.N)), np.empty(0)

    def known(self) -> tuple[FloatArray, FloatArray]:
        """All evaluated points in the unit cube, in the order of their ids, and the merit of each."""
        memory = self._memory
        if len(memory) != self._seen:
            order = np.argsort(memory.ids, kind="stable")
            self._points = self.cube.of_numbers(memory.x[order])
            self._merits = merits(memory.values[order], memory.violations[order])
            self._seen = len(memory)
        return self._points, self._merits

    @property
    def plain(self) -> bool:
        """Whether all that was evaluated has a value and violates nothing."""
        memory = self._memory
        return bool(np.isfinite(memory.values).all()) and not memory.violations.any()

    def about(
        self,
        near: FloatArray,
        besides: FloatArray | None = None,
        most: int = MOST_POINTS,
        *,
        in_passing: bool = False,
    ) -> Fitted:
        """The model for the surroundings of a point; what is under way counts as if it were as predicted.

        Args:
            near: where it matters most.
            besides: points that are not evaluated yet, one row each.
            most: how many points it may be made of.
            in_passing: whether new parameters are for this once. So a search does not depend on how many
                extra points free workers have asked for.
        """
        x, y = self.known()
        rows = chosen(x, y, near, self._lengths(), most)
        x, y, count = x[rows], y[rows], len(y)
        theta = self.theta
        if theta is None or count - self.fitted >= max(1.0, REFIT * count):
            theta = self._likeliest(x, y, count)
            if not in_passing:
                self.theta, self.fitted = theta, count
        model = condition(theta, x, y)
        return model if besides is None or not len(besides) else model.believing(besides)

    def _likeliest(self, x: FloatArray, y: FloatArray, count: int) -> FloatArray:
        """Parameters for points that are made of so many: found, unless they were before."""
        if count not in self.fits:
            self._keep(count, fit(x, y, self.theta))
        return self.fits[count]

    def _keep(self, count: int, theta: FloatArray) -> None:
        self.fits[count] = theta
        while len(self.fits) > MOST_FITS:
            del self.fits[next(iter(self.fits))]

    def foretell(self, count: int, theta: FloatArray) -> None:
        """What another search on the same way has found for so many points; nonsense is not taken."""
        if theta.shape == first_parameters(self.cube.N).shape and np.isfinite(theta).all():
            self._keep(count, theta)

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
        return {"theta": self.theta, "fitted": self.fitted, "agreed": self._agreed}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the parameters of the model whose state this is."""
        template = first_parameters(self.cube.N)
        theta = state["theta"]
        self.theta = None if theta is None else _serialize.like(template, theta, "theta")
        self.fitted, self._seen = int(state["fitted"]), -1
        self._agreed = [(int(right), int(compared)) for right, compared in state["agreed"]]


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
