"""Descent: what follows a mixed run, from its best point to the bottom of the valley.

    mixed run -> coarse -> sweep -> neighbours -> deep -> lines
                   ^_________|  better: coarse again        |
                   ^________________________________________|  better: again, once

Coarse and deep are the continuous variables alone, by Newton steps, or by a Gaussian where those fail.
Only what is better than the goal (the best point of all runs before) is worth what comes after the sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray
from .coordinate_scan import Lines
from .integer_neighbours import Neighbours, affordable
from .integer_sweep import Sweep
from .mixed_run import MixedRun
from .newton import Newton
from .phase import Piece
from .polish import Polish
from .proposal import Domain, Key, Point

PIECES: dict[str, type[Piece]] = {
    piece.__name__: piece for piece in (MixedRun, Newton, Polish, Sweep, Neighbours, Lines)
}


class Descent:
    """A run and its descent: the piece that is on, and which one comes next.

    Any of the pieces named in `without` is left out (`experiments.ablation`).
    """

    def __init__(
        self,
        domain: Domain,
        population: int,
        first: MixedRun | Lines,
        goal: Key | None,
        covariance: FloatArray | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Begin with a run, or with a line search at a point of which the covariance is known."""
        self.domain = domain
        self.population = population
        self.goal = goal
        self.without = without
        self.piece: Piece = first
        self.covariance = covariance
        self.smooth: Newton | Polish | None = None  # the coarse search, which a deep one continues
        self.lined = isinstance(first, Lines)  # the line search has been
        self.deep = False
        self.over = False

    def advance(self, rng: np.random.Generator) -> None:
        """Go on to the next piece, if the present one is done."""
        while self.piece.done and not self.over:
            following = self._following(rng)
            if following is None:
                self.over = True
            else:
                self.piece = following

    def _following(self, rng: np.random.Generator) -> Piece | None:
        piece, domain = self.piece, self.domain
        point = piece.best
        if isinstance(piece, MixedRun):
            if piece.diverged or piece.hopeless():
                return None
            if not domain.first:
                return self._sweep(point, rng)
            self.covariance = piece.conditional()
            return self._coarse(point)
        if isinstance(piece, Newton) and piece.failed:
            self.smooth = Polish(domain, point, self._covariance)
            if self.deep:
                self.smooth.deepen(self.goal)
            return self.smooth
        if isinstance(piece, Newton | Polish):
            if self.deep:
                return self._lines(point, rng)
            return self._sweep(point, rng) or self._below(point, rng)
        improved = point.key < piece.start.key  # type: ignore[attr-defined]  # all that are left have a start
        if isinstance(piece, Sweep):
            if improved and domain.first:
                return self._coarse(point)
            return self._neighbours(piece.best) or self._below(point, rng)
        if isinstance(piece, Neighbours):
            if improved:
                self.smooth = piece.winner
                return Neighbours(domain, piece.winner)
            return self._below(point, rng)
        return self._coarse(point) if improved else None  # after the lines

    @property
    def _covariance(self) -> FloatArray:
        if self.covariance is None:
            raise RuntimeError("a descent in continuous variables needs their covariance")
        return self.covariance

    def _worth_it(self, point: Point) -> bool:
        return self.goal is None or point.key < self.goal

    def _coarse(self, point: Point) -> Piece:
        self.deep = False
        if "newton" in self.without:
            self.smooth = Polish(self.domain, point, self._covariance)
        else:
            self.smooth = Newton(self.domain, point, self._covariance)
        return self.smooth

    def _sweep(self, point: Point, rng: np.random.Generator) -> Piece | None:
        if not self.domain.lattice.size or "sweep" in self.without:
            return None
        return Sweep(self.domain, point, self.population, rng)

    def _neighbours(self, point: Point) -> Piece | None:
        """Around a smooth valley that is worth it, if there is one, and if it is not too dear."""
        smooth = self.smooth
        if not isinstance(smooth, Newton) or smooth.failed or smooth.steps == 0:
            return None
        if "neighbours" in self.without or not self._worth_it(point) or not affordable(self.domain):
            return None
        return Neighbours(self.domain, smooth)

    def _below(self, point: Point, rng: np.random.Generator) -> Piece | None:
        """The deep search, if it is worth it."""
        if self.smooth is None or not self._worth_it(point):
            return None
        if "deep" in self.without:
            return self._lines(point, rng)
        self.deep = True
        self.smooth.deepen(self.goal)
        return self.smooth

    def _lines(self, point: Point, rng: np.random.Generator) -> Piece | None:
        if self.lined or "lines" in self.without:
            return None
        self.lined = True
        return Lines(self.domain, point, rng)

    def state(self) -> dict[str, Any]:
        """What `restored` needs, for `_serialize.pack`."""
        same = self.smooth is self.piece
        winner = isinstance(self.piece, Neighbours) and self.piece.winner is self.smooth
        return {
            "goal": self.goal,
            "covariance": self.covariance,
            "lined": self.lined,
            "deep": self.deep,
            "over": self.over,
            "piece": _named(self.piece),
            "smooth": "piece" if same else "winner" if winner else _named(self.smooth),
        }

    @classmethod
    def restored(
        cls, domain: Domain, population: int, without: frozenset[str], state: dict[str, Any]
    ) -> Descent:
        """The descent whose state this is."""
        self = cls.__new__(cls)
        self.domain, self.population, self.without = domain, population, without
        goal = state["goal"]
        self.goal = None if goal is None else (float(goal[0]), float(goal[1]))
        self.covariance = state["covariance"]
        self.lined, self.deep, self.over = state["lined"], state["deep"], state["over"]
        self.piece = _revived(domain, state["piece"])
        smooth: Any = state["smooth"]
        if smooth == "piece":
            smooth = self.piece
        elif smooth == "winner":
            smooth = self.piece.winner  # type: ignore[attr-defined]
        elif smooth is not None:
            smooth = _revived(domain, smooth)
        self.smooth = smooth
        return self


def _named(piece: Piece | None) -> dict[str, Any] | None:
    return None if piece is None else {"kind": type(piece).__name__, "state": piece.state()}


def _revived(domain: Domain, named: dict[str, Any]) -> Piece:
    return PIECES[named["kind"]].restored(domain, named["state"])
