"""The search as the trials of a study tell it: every process that reads them comes to the same state.

Each trial remembers in which batch of the search, and at which place of it, it was asked. A batch is named
after its first trial. That trial also remembers how the batch came about: from which batch before, with which
of its candidates asked and which trials told. So batches form a chain, and an optimizer that goes along it is
in the state of the search. If two processes go on from the same batch at the same time, the batch with the
smaller number counts, for all processes; trials of the other are told as points that somebody has chosen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..asynchronous import AsynchronousOptimizer

KEY = "saltus"
LONGEST = 2000  # characters of an attribute; databases have 2046 or more


@dataclass(frozen=True, slots=True)
class Link:
    """How a batch came about."""

    before: int | None  # the batch before, None for the first
    asked: tuple[int, ...]  # trials of that batch that had been asked
    told: tuple[int, ...]  # trials, of whatever batch or none, that had ended since
    seed: int


@dataclass(frozen=True, slots=True)
class Record:
    """What a trial remembers."""

    chain: str  # the settings and the space
    number: int  # of the trial: in a copy under another number it says nothing
    batch: int
    place: int
    link: Link | None  # if it is the first of its batch

    def attributes(self) -> Iterator[tuple[str, str]]:
        """As attributes of a trial; the one that makes the record valid comes last."""
        fields: list[Any] = [self.chain, self.number, self.batch, self.place]
        if self.link is not None:
            link = self.link
            fields += [link.before, as_ranges(link.asked), as_ranges(link.told), link.seed]
        text = json.dumps(fields, separators=(",", ":"))
        parts = [text[i : i + LONGEST] for i in range(0, len(text), LONGEST)]
        for i, part in reversed(list(enumerate(parts))):
            yield (f"{KEY}:{i}" if i else KEY), part

    @classmethod
    def read(cls, attributes: Mapping[str, Any]) -> Record | None:
        """The record of a trial, or None: it has none, or none of ours."""
        if KEY not in attributes:
            return None
        parts = [attributes[KEY]]
        while (part := attributes.get(f"{KEY}:{len(parts)}")) is not None:
            parts.append(part)
        try:
            chain, number, batch, place, *more = json.loads("".join(parts))
            link = None
            if more:
                before, asked, told, seed = more
                link = Link(before, tuple(from_ranges(asked)), tuple(from_ranges(told)), int(seed))
            return cls(str(chain), int(number), int(batch), int(place), link)
        except (TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: its value to be minimised, its violation, and its point if all of it is known."""

    value: float
    violation: float = 0.0
    point: dict[str, Any] | None = None


class Chain:
    """An optimizer that goes along the chain of batches, and adds to it."""

    def __init__(self, name: str, make: Callable[[int], AsynchronousOptimizer], seed: int) -> None:
        """`make` gives an optimizer for a seed; that of the chain's first batch counts."""
        self.name = name
        self._make, self._seed = make, seed
        self._records: dict[int, Record] = {}
        self._of_batch: dict[int, list[int]] = {}
        self._links: dict[int, Link] = {}
        self._next: dict[int | None, int] = {}  # the batch that follows each
        self._outcomes: dict[int, Outcome] = {}
        self._begin()

    def _begin(self) -> None:
        """Before the first batch."""
        self._overtaken = False
        self._path: list[int] = []  # batches along which the optimizer has gone
        self._fresh = set(self._outcomes)  # trials that ended and are not told yet
        self._told: set[int] = set()  # trials told since the present batch began
        self._asked: set[int] = set()  # trials of the present batch that the optimizer knows
        self._unasked: list[int] = []  # and those that it does not know yet

    @property
    def _batch(self) -> int | None:
        return self._path[-1] if self._path else None

    def centre(self) -> dict[str, Any] | None:
        """Where the search is looking, or None before it has begun."""
        self._follow()
        return self._optimizer.centre if self._path else None

    def knows(self, number: int) -> bool:
        """Whether it has the record of a trial."""
        return number in self._records

    def remember(self, number: int, record: Record) -> None:
        """A trial was asked, by whichever process."""
        if record.chain != self.name or record.number != number:
            return
        self._records[number] = record
        self._of_batch.setdefault(record.batch, []).append(number)
        if record.batch == self._batch:
            self._unasked.append(number)
        if record.link is not None:
            self._add(number, record.link)

    def _add(self, batch: int, link: Link) -> None:
        """A batch that may follow another: of several, the first."""
        known = self._next.get(link.before)
        if known is None or batch < known:
            self._links[batch] = link
            self._next[link.before] = batch
            self._overtaken |= known in self._path

    def end(self, number: int, outcome: Outcome) -> None:
        """A trial has ended."""
        self._outcomes[number] = outcome
        self._fresh.add(number)

    def ask(self, number: int, wish: Callable[[int], int]) -> tuple[dict[str, Any], Record]:
        """A candidate for a trial, in the space's values, and what the trial has to remember.

        The wish is its place in a batch: how many trials there are between.
        """
        self._follow()
        link = None
        if self._batch is None:
            link = Link(None, (), tuple(sorted(self._fresh)), self._seed)
        elif self._can_go_on():
            seed = self._links[self._path[0]].seed
            link = Link(self._batch, tuple(sorted(self._asked)), tuple(sorted(self._told)), seed)
        if link is not None:
            self._add(number, link)
            self._go_on(number, link)
            # a batch that was earlier may be known, and not yet what it is made of
            self._overtaken = self._next[link.before] != number
        batch = self._path[-1]
        candidate = self._optimizer.ask_as(number, wish(batch))
        record = Record(self.name, number, batch, self._optimizer.place_of(number), link)
        self._records[number] = record
        self._of_batch.setdefault(batch, []).append(number)
        self._asked.add(number)
        return candidate.params, record

    def _follow(self) -> None:
        """Go along the chain as far as it is known."""
        if self._overtaken:  # somebody was earlier: what we have learnt since is void
            self._begin()
        while (batch := self._next.get(self._batch)) is not None:
            link = self._links[batch]
            known = self._outcomes.keys() >= set(link.told) and self._records.keys() >= set(link.asked)
            if not known:
                return  # a database may show the first trial of a batch before it shows what it is made of
            if self._path:
                self._optimizer.forget()
                self._fresh |= self._told
                self._told, self._asked = set(), set()
                self._show(link.asked)
                self._tell(link.told)
                self._optimizer.settle()
                if not self._optimizer.between_generations:
                    # on a machine that rounds otherwise, once in a blue moon: this process goes its own way
                    del self._next[self._batch]
                    return
            self._go_on(batch, link)

    def _can_go_on(self) -> bool:
        """Show the optimizer what is new; whether it knows enough for the next batch."""
        unasked, self._unasked = self._unasked, []
        self._show(unasked)
        self._tell(sorted(self._fresh))
        self._optimizer.settle()
        return self._optimizer.between_generations

    def _go_on(self, batch: int, link: Link) -> None:
        """Begin the batch of this link; all that is told before it was told."""
        if link.before is None:
            self._optimizer = self._make(link.seed)
            self._optimizer.begin(batch)
            # a few points would only disturb the first generation; from many there is a lot to learn
            self._tell(link.told, learn=len(link.told) >= self._optimizer.population)
            self._optimizer.mark()
        if self._optimizer.between_generations and self._optimizer.stop is not None:
            self._optimizer.restart()
        self._optimizer.begin(batch)
        self._path.append(batch)
        self._told, self._asked = set(), set()
        self._unasked = self._of_batch.get(batch, []).copy()

    def _show(self, numbers: Iterable[int]) -> None:
        """Candidates of the present batch that were asked elsewhere."""
        for number in numbers:
            if number not in self._asked:
                self._optimizer.note_asked(number, self._records[number].place)
                self._asked.add(number)

    def _tell(self, numbers: Iterable[int], learn: bool = True) -> None:
        for number in numbers:
            outcome = self._outcomes[number]
            self._fresh.discard(number)
            self._told.add(number)
            if self._optimizer.is_pending(number):
                self._optimizer.tell_as(number, outcome.value, outcome.violation)
            elif outcome.point is not None:
                value, violation = outcome.value, outcome.violation
                self._optimizer.tell_point(number, outcome.point, value, violation, learn=learn)


def as_ranges(numbers: Iterable[int]) -> str:
    """Whole numbers as text.

    >>> as_ranges([1, 2, 3, 7, 9, 10])
    '1-3,7,9-10'
    """
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def from_ranges(text: str) -> list[int]:
    """What `as_ranges` was given.

    >>> from_ranges("1-3,7,9-10")
    [1, 2, 3, 7, 9, 10]
    """
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers
