"""A batch on its way: who was asked what, what was told, and what else is heard meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _serialize
from ._typing import FloatArray, Params
from .search import LONE, Batch, Mask, Search, Told
from .space.encoding import Encoding

MOST_PLACES = 2**32  # of a batch


class Flying(NamedTuple):
    """A point that was asked in a batch that is over, and not told yet."""

    x: FloatArray
    plateaus: FloatArray
    pair: int
    generation: int


class Other(NamedTuple):
    """The outcome of a point that is not in the present batch."""

    id: int
    x: FloatArray
    plateaus: FloatArray
    pair: int  # the same number for both sides of a pair, or LONE, or FOREIGN
    value: float
    violation: float


class Open:
    """The batch that is on its way and its spares: places, of which each may be told once."""

    def __init__(self, search: Search, encoding: Encoding, first_id: int, generation: int, key: int) -> None:
        """All that is random about spares follows from the key."""
        self._search, self._encoding, self._key = search, encoding, key
        self.first_id, self.generation = first_id, generation
        self.paired = search.paired
        self.batch: Batch = search.batch()
        self.params: list[Params] = encoding.decode(*self.batch).params
        self.size = len(self.batch.x)
        self._groups = 0  # of spares
        self._complete = False  # there are no more spares
        self.values = np.full(self.size, np.nan)
        self.violations = np.zeros(self.size)
        self.known = np.zeros(self.size, dtype=bool)
        self.places: dict[int, int] = {}  # of the candidates that were asked ...
        self.heard: set[int] = set()  # ... and those of them that were told
        self._times = Counter[int]()  # how often each place was asked
        self._first_free = 0

    def note(self, id: int, place: int) -> None:
        """A candidate is asked."""
        self.places[id] = place
        self._times[place] += 1

    def pairs(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """A number for the pair of each place, unlike those of all other batches."""
        if not self.paired:
            return np.full(len(places), LONE)
        half = self.size // 2
        spare = half + (places - self.size) // 2
        return np.asarray(self.generation * MOST_PLACES + np.where(places < self.size, places % half, spare))

    def randomness(self, k: int) -> np.random.Generator:
        """For the k-th group of spares; -1 for what is random about learning."""
        return np.random.default_rng([self._key, k + 1])

    def has(self, place: int) -> bool:
        """Whether there is such a place, if need be as a spare."""
        while place >= len(self.known) and not self._complete:
            more = self._search.spare(self._groups, self.randomness(self._groups))
            if more is None:
                self._complete = True
                break
            self._groups += 1
            count = len(more.x)
            self.params += self._encoding.decode(*more).params
            self.batch = Batch(*(np.concatenate(both) for both in zip(self.batch, more, strict=True)))
            self.values = np.concatenate((self.values, np.full(count, np.nan)))
            self.violations = np.concatenate((self.violations, np.zeros(count)))
            self.known = np.concatenate((self.known, np.zeros(count, dtype=bool)))
        return place < len(self.known)

    def next_place(self, wish: int | None) -> int:
        """The place for the next candidate: the one wished for, if it is free, else the first that is."""
        if wish is not None and wish >= 0 and wish not in self._times and self.has(wish):
            return wish
        while self._first_free in self._times:
            self._first_free += 1
        if self.has(self._first_free):
            return self._first_free
        missing: list[int] = np.flatnonzero(~self.known).tolist()
        return min(missing, key=lambda place: (self._times[place], place))  # a second attempt

    @property
    def has_unasked(self) -> bool:
        """Whether something of the batch itself was not asked yet."""
        return not all(place in self._times for place in range(self.size))

    def whole(self, known: Mask, others: Sequence[Other]) -> Whole:
        """Sort out sides of pairs that are there without the other one."""
        places = np.flatnonzero(known)
        own = self.pairs(places)
        pairs = np.array([*own.tolist(), *(other.pair for other in others)], dtype=np.int64)
        used = (pairs < 0) | np.isin(pairs, _twice(pairs))
        of_batch, of_others = used[: len(places)], used[len(places) :].tolist()
        known = known.copy()
        known[places] = of_batch
        ids = {place: id for id, place in self.places.items()}
        halves = [other for other, is_used in zip(others, of_others, strict=True) if not is_used]
        for place, pair in zip(places[~of_batch].tolist(), own[~of_batch].tolist(), strict=True):
            x, plateaus = self.batch.x[place], self.batch.plateaus[place]
            value, violation = float(self.values[place]), float(self.violations[place])
            halves.append(Other(ids[place], x, plateaus, pair, value, violation))
        heard = [other for other, is_used in zip(others, of_others, strict=True) if is_used]
        return Whole(known, heard, pairs[used], halves)

    def told(self) -> tuple[Told, Mask]:
        """The outcome, and what of it is known: of the batch and of those spares that were asked."""
        last = max(self.size, max(self._times, default=0) + 1)
        violations = self.violations[:last] if self.violations.any() else None
        batch = Batch(self.batch.x[:last], self.batch.plateaus[:last])
        return Told(batch, self.values[:last], violations), self.known[:last]

    def state(self) -> dict[str, Any]:
        """What `restored` needs, for `_serialize.pack`."""
        names = ("first_id", "generation", "values", "violations", "known")
        return {name: getattr(self, name) for name in names} | {
            "key": self._key,
            "places": [list(pair) for pair in self.places.items()],
            "heard": sorted(self.heard),
        }

    @classmethod
    def restored(cls, search: Search, encoding: Encoding, state: Mapping[str, Any]) -> Open:
        """The batch whose state this is."""
        self = cls(search, encoding, int(state["first_id"]), int(state["generation"]), int(state["key"]))
        count = len(state["known"])
        if not self.has(count - 1) or len(self.known) != count:
            raise ValueError(f"state: the batch has {len(self.known)} places, got {count}")
        for name in ("values", "violations", "known"):
            setattr(self, name, _serialize.shaped(state[name], (count,), name))
        for id, place in state["places"]:
            if not 0 <= place < count:
                raise ValueError(f"state: the batch has {count} places, got place {place}")
            self.note(int(id), int(place))
        self.heard = set(state["heard"])
        return self


class Whole(NamedTuple):
    """What can be learnt from, of a batch and besides: pairs with both sides, and lone points."""

    known: Mask
    others: list[Other]
    pairs: NDArray[np.int64]  # of both
    halves: list[Other]  # sides whose mirror image is still flying


def _twice(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    values, counts = np.unique(numbers, return_counts=True)
    return np.asarray(values[counts == 2])


def as_told(others: Sequence[Other], like: Told | None = None) -> Told:
    """The outcome of others; of none, if there is one that it is to be like."""
    if not others and like is not None:
        return like.part(slice(0))
    _, x, plateaus, _, values, violations = (np.array(part) for part in zip(*others, strict=True))
    return Told(Batch(x, plateaus), values, violations if violations.any() else None)
