"""A batch on its way: which of its proposals were asked under which id, and what is known of them.

Slots 0 to size - 1 are what the phase has proposed; behind them come extra proposals, for workers that would
be idle otherwise. Every slot has one outcome: of several attempts the one with the smallest id counts, so
that nothing depends on the order of telling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from .phase import Phase
from .proposal import LONE, Late, Proposals, Results

MOST_SLOTS = 2**32  # of a batch: the numbers of pairs of two batches are further apart
MOST_EXTRAS = 10_000  # proposals: then second attempts have to do
Randomness = Callable[[int], np.random.Generator]


class InFlight(NamedTuple):
    """A proposal of a batch that is over, which was asked and not told yet."""

    x: FloatArray
    plateaus: FloatArray
    pair: int  # the same number for both sides of a mirrored pair, or LONE
    phase: int  # the number of the phase that proposed it
    numbers: FloatArray  # the point as it was asked, in the user's order and units


class LateResult(NamedTuple):
    """The result of a point that is not in the present batch."""

    id: int
    x: FloatArray
    plateaus: FloatArray
    pair: int  # as in flight, or FOREIGN
    value: float
    violation: float


class Batch:
    """Proposals of a phase, under way."""

    def __init__(self, phase: Phase, generation: int, phase_number: int, randomness: Randomness) -> None:
        """All that is random about extra proposals comes from `randomness(k)`, the same for the same k."""
        self._phase, self._randomness = phase, randomness
        self.generation, self.phase_number = generation, phase_number
        self.points = phase.propose()
        self.size = size = len(self.points.x)
        self.slots: dict[int, int] = {}  # by id, of all that were asked
        self.told: dict[int, int] = {}  # likewise, of those that were told
        self.values, self.violations = [math.nan] * size, [0.0] * size  # by slot
        self._known = [False] * size
        self.unknown = size  # how many of the phase's own proposals have no outcome
        self._attempts = [0] * size  # how often each slot was asked
        self._in_order = True  # whether every slot that was asked was asked once, in its turn
        self._next = 0  # no slot before this one is free
        self._extras = 0  # groups of extra proposals
        self._no_more = False

    def ask_next(self, first_id: int, most: int | None) -> range:
        """Ask for the next slots of the batch itself, in their order, under ids from this one on."""
        last = self.size if most is None else min(self._next + most, self.size)
        slots = range(self._next, last)
        self.slots.update(zip(range(first_id, first_id + len(slots)), slots, strict=True))
        self._attempts[self._next : last] = [1] * len(slots)
        self._next = last
        return slots

    def any_slot(self, wish: int | None) -> int:
        """A slot to be asked: the wish if it is free, else the first that is free, else a second attempt."""
        if wish is not None and wish >= 0 and self.has(wish) and not self._attempts[wish]:
            return wish
        while self.has(self._next):
            if not self._attempts[self._next]:
                return self._next
            self._next += 1
        missing = [slot for slot, known in enumerate(self._known) if not known]
        return min(missing, key=lambda slot: (self._attempts[slot], slot))

    def has(self, slot: int) -> bool:
        """Whether there is such a slot; if need be, the phase is asked for extra proposals."""
        count, more = len(self._known), [self.points]
        while count <= slot < self.size + MOST_EXTRAS and not self._no_more:
            extra = self._phase.extra(self._extras, self._randomness(self._extras))
            if extra is None:
                self._no_more = True
                break
            self._extras += 1
            more.append(extra)
            count += len(extra.x)
        if len(more) > 1:
            self.points = Proposals(*(np.concatenate(part) for part in zip(*more, strict=True)))
            new = count - len(self._known)
            self.values += [math.nan] * new
            self.violations += [0.0] * new
            self._known += [False] * new
            self._attempts += [0] * new
        return slot < count

    def ask(self, id: int, slot: int) -> None:
        """A slot is asked under this id."""
        self._in_order = False
        self.slots[id] = slot
        self._attempts[slot] += 1

    def tell(self, ids: Sequence[int], values: Sequence[float], violations: Sequence[float]) -> None:
        """What was asked under these ids gave this."""
        slots, told, known = self.slots, self.told, self._known
        if self._in_order and not told and ids == list(slots) and len(slots) == len(known):  # all at once
            self.told, self.unknown, self._known = dict(slots), 0, [True] * self.size
            self.values, self.violations = list(values), list(violations)
            return
        for id, value, violation in zip(ids, values, violations, strict=True):
            slot = told[id] = slots[id]
            if known[slot] and id != min(i for i, s in told.items() if s == slot):
                continue  # a second attempt that comes after the first
            known[slot], self.values[slot], self.violations[slot] = True, value, violation
        self.unknown = known.count(False) - known[self.size :].count(False)

    @property
    def has_unasked(self) -> bool:
        """Whether something of the batch itself was not asked yet."""
        return not all(self._attempts[: self.size])

    def place(self, slot: int, x: FloatArray, plateaus: FloatArray) -> None:
        """The proposal at a slot is this one: the machine that asked it may have rounded otherwise."""
        self.points = Proposals(*(part.copy() for part in self.points))
        self.points.x[slot], self.points.plateaus[slot] = x, plateaus

    def in_flight(self, numbers: FloatArray) -> dict[int, InFlight]:
        """What was asked and not told, by id; `numbers` are the points, one row for each slot."""
        if len(self.told) == len(self.slots):
            return {}
        missing = {id: slot for id, slot in self.slots.items() if id not in self.told}
        pairs = self._pairs(np.array(list(missing.values()))).tolist()
        flown, tried = {}, set(self.told.values())
        for (id, slot), pair in zip(missing.items(), pairs, strict=True):
            # a second attempt at one side of a pair is not its other side
            number = LONE if slot in tried else pair
            tried.add(slot)
            where = self.points.x[slot], self.points.plateaus[slot]
            flown[id] = InFlight(*where, number, self.phase_number, numbers[slot])
        return flown

    def _pairs(self, slots: NDArray[np.intp]) -> NDArray[np.int64]:
        """A number for the mirrored pair of each slot, unlike those of all other batches.

        The halves of a batch are the two sides; extra ones come side by side.
        """
        if not self._phase.waits_for_pairs:
            return np.full(len(slots), LONE)
        half = self.size // 2
        extra = half + (slots - self.size) // 2
        return np.asarray(self.generation * MOST_SLOTS + np.where(slots < self.size, slots % half, extra))

    def results(self, late: Sequence[LateResult]) -> Results:
        """What is known: of the batch, of extra proposals that were asked, and of late results."""
        violations = np.array(self.violations) if any(self.violations) else None
        results = Results(self.points, np.array(self.values), violations)
        if not (self.unknown or late or self._extras):
            return results
        last = max(self.size, max(self.slots.values(), default=0) + 1)  # extra ones count if they were asked
        results = results.part(slice(last))
        points = results.points
        if not (self.unknown or late or last > self.size):
            return results
        known = np.array(self._known[:last])
        pairs = [*self._pairs(np.flatnonzero(known)).tolist(), *(result.pair for result in late)]
        about = Late(joined(points, late), np.array(pairs, dtype=np.int64), self._randomness(-1))
        return results._replace(known=known, late=about)

    def whole_pairs(self, late: Sequence[LateResult]) -> tuple[Results, list[LateResult]]:
        """The results without sides of pairs whose other side is not known yet, and those sides."""
        results = self.results(late)
        if results.known is None or results.late is None or not self._phase.waits_for_pairs:
            return results, []
        pairs = results.late.pairs
        numbers, counts = np.unique(pairs, return_counts=True)
        used = (pairs < 0) | np.isin(pairs, numbers[counts == 2])
        slots = np.flatnonzero(results.known)
        own, others = used[: len(slots)], used[len(slots) :].tolist()
        halves = [result for result, whole in zip(late, others, strict=True) if not whole]
        ids = {slot: id for id, slot in self.slots.items()}
        for slot, pair in zip(slots[~own].tolist(), pairs[: len(slots)][~own].tolist(), strict=True):
            point = (self.points.x[slot], self.points.plateaus[slot])
            halves.append(LateResult(ids[slot], *point, pair, self.values[slot], self.violations[slot]))
        known = results.known.copy()
        known[slots] = own
        kept = [result for result, whole in zip(late, others, strict=True) if whole]
        about = Late(joined(results.points, kept), pairs[used], results.late.rng)
        return results._replace(known=known, late=about), halves

    def reset(self) -> None:
        """Nothing was asked, nothing told."""
        count = len(self._known)
        self.slots, self.told = {}, {}
        self.values, self.violations = [math.nan] * count, [0.0] * count
        self._known, self._attempts = [False] * count, [0] * count
        self.unknown, self._next = self.size, 0

    def state(self) -> list[list[int]]:
        """What was asked, for `restore`; what was told is told again."""
        return [list(pair) for pair in self.slots.items()]

    def restore(self, asked: Sequence[Sequence[int]]) -> None:
        """Ask for the same slots under the same ids again."""
        for id, slot in asked:
            if slot < 0 or not self.has(slot):
                raise ValueError(f"state: the batch has {len(self._known)} slots, got slot {slot}")
            self.ask(int(id), int(slot))
        free = (slot for slot, attempts in enumerate(self._attempts) if not attempts)
        self._next = next(free, len(self._attempts))


def joined(like: Proposals, late: Sequence[LateResult]) -> Results:
    """Late results in one; if there are none, with the shapes of other proposals."""
    if not late:
        return Results(Proposals(like.x[:0], like.plateaus[:0]), np.empty(0), None)
    _, x, plateaus, _, values, violations = (np.array(part) for part in zip(*late, strict=True))
    return Results(Proposals(x, plateaus), values, violations if violations.any() else None)
