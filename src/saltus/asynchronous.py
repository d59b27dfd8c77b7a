"""Ask and tell without a barrier: there is always a candidate, and every outcome counts, however late.

The batch of a search is taken as soon as enough of it is known. Until then a free worker gets a spare: one
more point of the same kind, or a second attempt at what is missing. A Gaussian learns from as many outcomes
as a generation has, from whichever of its predecessors they come. With one worker nothing is late, nothing is
spare, and the candidates are those of the `Optimizer`.

What is learnt depends on which candidates were asked and which of them told by the time of an `ask`, and not
on the order in which that happened: many processes can agree on it (`saltus.optuna`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from . import _serialize
from ._checks import checked_count
from ._typing import FloatArray, Params
from .candidates import Candidate
from .open_batch import MOST_PLACES, Flying, Open, Other, as_told
from .optimizer import Optimizer, as_numbers
from .search import FOREIGN, Others
from .space import Space

PATIENCE = 5  # generations that one side of a pair waits for the other


class AsynchronousOptimizer(Optimizer):
    """An `Optimizer` whose `ask` always has a candidate, and whose `tell` never comes too late.

    >>> from saltus import Float, Int, Space
    >>> optimizer = AsynchronousOptimizer(Space({"x": Float(-5, 5), "k": Int(0, 20)}), seed=1)
    >>> running = optimizer.ask(8)
    >>> for _ in range(600):
    ...     done = running.pop(3)  # whichever ends first
    ...     optimizer.tell(done, (done.params["x"] - 1) ** 2 + (done.params["k"] - 7) ** 2)
    ...     running += optimizer.ask()
    >>> optimizer.best.params["k"]
    7
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As for `Optimizer`."""
        super().__init__(*args, **kwargs)
        self._open: Open | None = None
        self._closed: Open | None = None  # the last one, until its flying candidates are seen off
        self._given: dict[int, Candidate] = {}  # what `ask` gave and `tell` has not heard of
        self._flying: dict[int, Flying] = {}
        self._others: list[Other] = []  # told since the batch began: what the search can learn from, ...
        self._strays: list[Other] = []  # ... and what only may be the best of all
        self._focus: object = None
        self._since = 0  # the generation with which the present focus began
        self._before: tuple[dict[int, Flying], list[Other], list[Other]] = ({}, [], [])  # when it began

    def ask(self, k: int | None = None) -> list[Candidate]:
        """The next candidate, or the next k."""
        return [self.ask_as(self._next_id) for _ in range(1 if k is None else checked_count(k))]

    def ask_as(self, id: int, wish: int | None = None) -> Candidate:
        """The next candidate under this id, for who numbers evaluations otherwise.

        The wish is a place in the batch: who does not know what others ask at this moment can choose one that
        is not theirs.
        """
        g = self.begin(id)
        place = g.next_place(wish)
        g.note(id, place)
        self._next_id = max(self._next_id, id + 1)
        candidate = self._given[id] = Candidate(id, g.params[place].copy())  # a place may be asked again
        return candidate

    def note_asked(self, id: int, place: int) -> None:
        """Somebody else has asked this place of the present batch, if there is one."""
        g = self._open
        if g is not None and g.has(place):
            g.note(id, place)

    def place_of(self, id: int) -> int:
        """The place in the present batch of a candidate that was asked from it."""
        if self._open is None:
            raise ValueError("no batch is on its way")
        return self._open.places[id]

    def begin(self, id: int) -> Open:
        """The present batch, or the next one, whose first candidate has this id. `ask` does so by itself."""
        while self._open is None or self._close(self._open):
            self._see_off()
            self._search.draw(self._rng)
            if self._search.focus is not self._focus:
                self._focus, self._since = self._search.focus, self.generation
                self._strays += self._others
                self._others = []
            self._open = Open(self._search, self._encoding, id, self.generation, self._key())
            self.mark()
        return self._open

    def mark(self) -> None:
        """Let `forget` come back to here: what was told so far stays told."""
        self._before = (self._flying.copy(), self._others.copy(), self._strays.copy())

    def _key(self) -> int:
        """A number that is another one in every generation, and the same when it is repeated."""
        return int(copy.deepcopy(self._rng).integers(2**63))

    def _see_off(self) -> None:
        """What was asked in the last batch and not told is flying."""
        g, self._closed = self._closed, None
        if g is None:
            return
        for id, place in g.places.items():
            if id not in g.heard:
                x, plateaus = g.batch.x[place], g.batch.plateaus[place]
                pair = int(g.pairs(np.array([place]))[0])
                self._flying[id] = Flying(x, plateaus, pair, g.generation)

    def settle(self) -> None:
        """Learn from what is told, if it is enough. `ask` does so by itself."""
        if self._open is not None:
            self._close(self._open)

    def _close(self, g: Open) -> bool:
        """Let the search learn, if it knows enough."""
        told, known = g.told()
        others = sorted(self._others, key=_id)
        if not self._search.enough(told, known, len(others)):
            return False
        known, others, pairs, halves = g.whole(known, others)
        if g.has_unasked and len(pairs) < g.size:
            return False  # with one worker it is taken when all of it is told, as without asynchrony
        if not self._search.enough(told, known, len(others)):
            return False
        oldest = (self.generation - PATIENCE) * MOST_PLACES
        self._strays += [half for half in halves if half.pair < oldest]
        for stray in sorted(self._strays, key=_id):
            self._search.hear(as_told([stray]).point(0))
        self._others = [half for half in halves if half.pair >= oldest]
        self._open, self._closed, self._strays = None, g, []
        besides = Others(as_told(others, told), pairs)
        self._search.take_some(told, known, besides, g.randomness(-1), self._rng)
        self.generation += 1
        return True

    def forget(self) -> None:
        """Take back all that was asked and told since the present batch began."""
        if self._open is not None:
            first_id = self._open.first_id
            self._open = Open(self._search, self._encoding, first_id, self.generation, self._key())
            flying, others, strays = self._before
            self._flying, self._others, self._strays = flying.copy(), others.copy(), strays.copy()

    @property
    def pending(self) -> list[Candidate]:
        """Candidates that were asked and not told yet."""
        rows = {id: (flying.x, flying.plateaus) for id, flying in self._flying.items()}
        for g in (self._closed, self._open):
            if g is not None:
                missing = {id: place for id, place in g.places.items() if id not in g.heard}
                rows |= {id: (g.batch.x[at], g.batch.plateaus[at]) for id, at in missing.items()}
        if not rows:
            return []
        points = self._encoding.decode(*(np.array(part) for part in zip(*rows.values(), strict=True)))
        return sorted(map(Candidate, rows, points.params), key=lambda candidate: candidate.id)

    @property
    def between_generations(self) -> bool:
        """Whether `ask` begins a batch, so that `restart` is possible."""
        return self._open is None

    def is_pending(self, id: int) -> bool:
        """Whether the candidate with this id was asked and not told."""
        batches = (g for g in (self._open, self._closed) if g is not None)
        return id in self._flying or any(id in g.places and id not in g.heard for g in batches)

    def _awaits(self, candidate: Candidate) -> bool:
        """Also a candidate of a batch that is over."""
        own = self._given.get(candidate.id)
        return own is not None and (candidate is own or candidate == own)

    def _take(self, ids: list[int], values: list[float], violations: list[float]) -> None:
        for told in zip(ids, values, violations, strict=True):
            self.tell_as(*told)

    def tell_as(self, id: int, value: float, violation: float = 0.0) -> None:
        """Tell the value of the candidate with this id, which `is_pending`."""
        self._given.pop(id, None)
        g = self._open
        if g is None or id not in g.places:
            self._see_off()
            x, plateaus, pair, generation = self._flying.pop(id)
            self._tell_other(Other(id, x, plateaus, pair, value, violation), generation >= self._since)
            return
        place = g.places[id]
        g.heard.add(id)
        x, plateaus = g.batch.x[place], g.batch.plateaus[place]
        self._note([id], [value], [violation], lambda _: self._numbers(x, plateaus))
        # of several attempts at a place the one with the smallest id counts, whichever is told first
        if not g.known[place] or id == min(i for i in g.heard if g.places[i] == place):
            g.known[place], g.values[place], g.violations[place] = True, value, violation

    def tell_point(
        self, id: int, params: Params, value: Any, violation: Any = 0.0, *, learn: bool = True
    ) -> None:
        """Tell the value of a point that was not asked from this optimizer; it has an id all the same.

        If it is not to be learnt from, it may still be the best.
        """
        x, plateaus = self._encoding.located(self._encoding.numbers_of(params))
        number, amount = as_numbers("value and violation", [value, violation], 2)
        self._next_id = max(self._next_id, id + 1)
        self._tell_other(Other(id, x, plateaus, FOREIGN, number, max(amount, 0.0)), kin=learn)

    def _tell_other(self, other: Other, kin: bool) -> None:
        """The outcome of a point that is not in the present batch; kin, if the focus was the same."""
        ids, values, violations = [other.id], [other.value], [other.violation]
        self._note(ids, values, violations, lambda _: self._numbers(other.x, other.plateaus))
        if kin and self._focus in (None, self._search.focus) and self._search.welcomes(other.plateaus):
            self._others.append(other)
        else:
            self._strays.append(other)

    def _numbers(self, x: FloatArray, plateaus: FloatArray) -> FloatArray:
        return np.asarray(self._encoding.numbers(x[None], plateaus[None])[0])

    def state(self) -> dict[str, Any]:
        """Everything, as JSON-able data: `restore` goes on bit by bit as if never interrupted."""
        self._see_off()
        g = self._open
        flow = {
            "since": self._since,
            "begun": self._focus is self._search.focus,
            "flying": [[id, *flying] for id, flying in self._flying.items()],
            "others": [list(other) for other in self._others],
            "strays": [list(other) for other in self._strays],
            "open": None if g is None else g.state(),
        }
        return super().state() | {"flow": _serialize.pack(flow)}

    @classmethod
    def _restored(cls, packed: Mapping[str, Any], space: Space | None) -> Self:
        self = super()._restored(packed, space)
        flow = _serialize.unpack(packed["flow"])
        self._since = int(flow["since"])
        self._focus = self._search.focus if flow["begun"] else None
        for id, x, plateaus, pair, generation in flow["flying"]:
            self._flying[int(id)] = Flying(*self._shaped(x, plateaus), int(pair), int(generation))
        for name, kept in (("others", self._others), ("strays", self._strays)):
            for id, x, plateaus, pair, *told in flow[name]:
                kept.append(Other(int(id), *self._shaped(x, plateaus), int(pair), *map(float, told)))
        if flow["open"] is not None:
            self._open = Open.restored(self._search, self._encoding, flow["open"])
        self._before = (self._flying.copy(), self._others.copy(), self._strays.copy())
        self._given = {candidate.id: candidate for candidate in self.pending}
        return self

    def _shaped(self, x: Any, plateaus: Any) -> tuple[FloatArray, FloatArray]:
        encoding = self._encoding
        return _serialize.shaped(x, (encoding.N,), "x"), _serialize.shaped(
            plateaus, (encoding.lattice.size,), "plateaus"
        )


def _id(other: Other) -> int:
    return other.id
