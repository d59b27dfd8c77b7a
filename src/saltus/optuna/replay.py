"""The search as the trials of a study tell it: every process that reads them comes to the same state.

Each trial remembers in which batch of the search, and at which place of it, it was asked. A batch is named
after its first trial. That trial also remembers how the batch came about: from which batch before, with which
of its candidates asked and which trials told. So batches form a chain, and an optimizer that goes along it is
in the state of the search. If two processes go on from the same batch at the same time, the batch with the
smaller number counts, for all processes; trials of the other are told as points that somebody has chosen.

A trial for which the model got new parameters remembers those too. So whoever goes along the chain finds none
anew but for the point that is asked next.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray
from ..optimizer import Optimizer
from ..order import Outcome

KEY = "saltus"
LONGEST = 2000  # characters of an attribute; databases have 2046 or more
AHEAD = 1000  # trials that one may name before this process sees them


class BatchOrigin(NamedTuple):
    """How a batch came about: what every process must do to come to it from the batch before."""

    before: int | None  # the batch before, None for the first
    asked: tuple[int, ...]  # trials of that batch that had been asked
    told: tuple[int, ...]  # trials, of whatever batch or none, that had ended since
    seed: int


class TrialRecord(NamedTuple):
    """What a trial remembers of the search, so that others can follow: in its attributes, as JSON."""

    search: str  # the settings and the space
    number: int  # of the trial: in a copy under another number it says nothing
    batch: int
    slot: int
    origin: BatchOrigin | None  # if it is the first of its batch
    fits: Mapping[str, FloatArray] = MappingProxyType({})  # `Optimizer.fits` that are new with it

    def attributes(self) -> Iterator[tuple[str, str]]:
        """As attributes of a trial; the one that makes the record valid comes last."""
        fields: list[Any] = [self.search, self.number, self.batch, self.slot]
        if self.origin is not None:
            o = self.origin
            fields += [o.before, as_ranges(o.asked), as_ranges(o.told), o.seed]
        if self.fits:
            fields.append({key: as_text(theta) for key, theta in self.fits.items()})
        text = json.dumps(fields, separators=(",", ":"))
        parts = [text[i : i + LONGEST] for i in range(0, len(text), LONGEST)]
        for i, part in reversed(list(enumerate(parts))):
            yield (f"{KEY}:{i}" if i else KEY), part

    @classmethod
    def read(cls, attributes: Mapping[str, Any], trials: int = 1_000_000) -> TrialRecord | None:
        """The record of a trial, or None: it has none, or one that makes no sense.

        Args:
            attributes: of the trial.
            trials: how many there are; a record that counts far beyond them makes no sense.
        """
        if KEY not in attributes:
            return None
        parts = [attributes[KEY]]
        while (part := attributes.get(f"{KEY}:{len(parts)}")) is not None:
            parts.append(part)
        try:
            search, number, batch, slot, *more = json.loads("".join(parts))
            origin = None
            fits: dict[str, FloatArray] = {}
            if more and isinstance(more[-1], dict):
                fits = {str(key): from_text(text) for key, text in more.pop().items()}
            most = trials + AHEAD
            number, batch, slot = (_place(place, most) for place in (number, batch, slot))
            if more:
                before, asked, told, seed = more
                before = None if before is None else _place(before, most)
                if before == number:
                    return None  # a batch cannot follow itself
                numbers = [tuple(from_ranges(text, most)) for text in (asked, told)]
                origin = BatchOrigin(before, numbers[0], numbers[1], _place(seed, math.inf))
            return cls(str(search), number, batch, slot, origin, fits)
        except (TypeError, ValueError, AttributeError, RecursionError):
            return None


class Ended(NamedTuple):
    """How a trial ended: what it gave, to be minimised, and its point if all of it is known."""

    outcome: Outcome
    params: dict[str, Any] | None = None


class Mark(NamedTuple):
    """An optimizer when a batch began, before anything of it was told: to go back to, if need be."""

    length: int  # of the path, with that batch
    state: dict[str, Any]  # without the memory, ...
    known: int  # ... which held so many evaluations

    def optimizer(self, later: Optimizer) -> Optimizer:
        """The same again; one that has gone on from there lends its memory."""
        earlier = Optimizer.restore(self.state, later.space)
        earlier.memory.copy_first(later.memory, self.known)
        return earlier


class Replay:
    """An optimizer that goes along the chain of batches, and adds to it."""

    def __init__(self, name: str, make: Callable[[int], Optimizer], seed: int) -> None:
        """`make` gives an optimizer for a seed; that of the chain's first batch counts."""
        self.name = name
        self._make, self._seed = make, seed
        self._records: dict[int, TrialRecord] = {}
        self._of_batch: dict[int, list[int]] = {}
        self._next: dict[int | None, tuple[int, BatchOrigin]] = {}  # the batch that follows each
        self._ended: dict[int, Ended] = {}
        self._optimizer: Optimizer  # when the first batch has begun
        self._begin()

    def _begin(self) -> None:
        """Before the first batch."""
        self._overtaken = False
        self._mark: Mark | None = None
        self._path: list[int] = []  # batches along which the optimizer has gone
        self._fresh = set(self._ended)  # trials that ended and were not told in a batch before this one
        self._asked: set[int] = set()  # trials of the present batch

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

    def remember(self, number: int, record: TrialRecord) -> None:
        """A trial was asked, by whichever process."""
        if record.search != self.name or record.number != number:
            return
        self._note(number, record)
        if record.origin is not None:
            self._add(number, record.origin)

    def _note(self, number: int, record: TrialRecord) -> None:
        self._records[number] = record
        self._of_batch.setdefault(record.batch, []).append(number)
        if record.batch == self._batch:
            self._asked.add(number)

    def _add(self, batch: int, origin: BatchOrigin) -> None:
        """A batch that may follow another: of several, the first."""
        known, _ = self._next.get(origin.before, (math.inf, None))
        if batch < known:
            self._next[origin.before] = batch, origin
            self._overtaken |= known in self._path

    def end(self, number: int, ended: Ended) -> None:
        """A trial has ended."""
        self._ended[number] = ended
        self._fresh.add(number)

    def ask(self, number: int, wish: Callable[[int, int], int]) -> tuple[dict[str, Any], TrialRecord]:
        """A candidate for a trial, in the space's values, and what the trial has to remember.

        The wish is its slot in a batch, whose first trial it is given, and that of the batch before, or -1.
        """
        self._follow()
        origin = None
        if self._path:
            self._set_mark()
        if self._batch is None or self._enough(self._asked, self._fresh):
            seed = self._next[None][1].seed if self._path else self._seed
            origin = BatchOrigin(self._batch, tuple(sorted(self._asked)), tuple(sorted(self._fresh)), seed)
            self._add(number, origin)
            self._go_on(number, origin)
            # a batch that was earlier may be known, and not yet what it is made of
            self._overtaken = self._next[origin.before][0] != number
        (previous, batch), before = [-1, *self._path][-2:], self._optimizer.fits.keys()
        candidate = self._optimizer.ask_as(number, wish(batch, previous))
        fits = {key: theta for key, theta in self._optimizer.fits.items() if key not in before}
        record = TrialRecord(self.name, number, batch, candidate.slot, origin, fits)
        self._note(number, record)
        return candidate.params, record

    def _follow(self) -> None:
        """Go along the chain as far as it is known."""
        if self._overtaken:  # somebody was earlier: what we have learnt since is void
            self._go_back()
        gone = set(self._path)
        while self._batch in self._next:
            batch, origin = self._next[self._batch]
            if batch in gone:  # records that make no sense: a circle
                del self._next[self._batch]
                return
            gone.add(batch)
            if not (self._ended.keys() >= set(origin.told) and self._records.keys() >= set(origin.asked)):
                return  # a database may show the first trial of a batch before it shows what it is made of
            if self._path and not self._enough(origin.asked, origin.told):
                # on a machine that rounds otherwise, once in a blue moon: this process goes its own way
                del self._next[self._batch]
                return
            self._go_on(batch, origin)

    def _set_mark(self) -> None:
        """Remember the present batch as it began, if there is a model: to come here again takes a while."""
        optimizer = self._optimizer
        if not optimizer.fits or (self._mark is not None and self._mark.length == len(self._path)):
            return
        optimizer.reopen()
        self._mark = Mark(len(self._path), optimizer.state(memory=False), len(optimizer.memory))

    def _go_back(self) -> None:
        """To where the path is still that of all: to the mark, or else to the beginning."""
        mark = self._mark
        path = [] if mark is None else self._path[: mark.length]
        links = [self._next.get(before) for before in (None, *path[:-1])]
        if mark is None or [None if link is None else link[0] for link in links] != path:
            self._begin()
            return
        self._overtaken, self._path = False, path
        self._optimizer = mark.optimizer(self._optimizer)
        self._fresh = self._ended.keys() - {n for link in links if link is not None for n in link[1].told}
        self._asked = set(self._of_batch.get(path[-1], ()))

    def _enough(self, asked: Iterable[int], told: Iterable[int]) -> bool:
        """Whether these trials, asked in this batch and told since it began, are enough for the next."""
        slots = {}
        for number in asked:
            slots[number] = self._records[number].slot
            self._optimizer.foretell(self._records[number].fits)
        return self._optimizer.replay(slots, {number: self._ended[number] for number in told})

    def _go_on(self, batch: int, origin: BatchOrigin) -> None:
        """Begin the batch of this origin; all that is told before it was told."""
        if origin.before is None:
            self._optimizer = self._make(origin.seed)
            for number in origin.told:
                ended = self._ended[number]
                if ended.params is not None:
                    self._optimizer.add(ended.params, ended.outcome, id=number)
        self._path.append(batch)
        self._fresh -= set(origin.told)
        self._asked = set(self._of_batch.get(batch, ()))


def as_text(theta: FloatArray) -> str:
    """Numbers as text, to the bit.

    >>> from_text(as_text(np.array([0.1, -2.5]))).tolist()
    [0.1, -2.5]
    """
    return base64.b85encode(theta.astype("<f8").tobytes()).decode("ascii")


def from_text(text: str) -> FloatArray:
    """What `as_text` was given."""
    return np.frombuffer(base64.b85decode(text), "<f8").astype(np.float64)


def as_ranges(numbers: Iterable[int]) -> str:
    """Whole numbers as text.

    >>> as_ranges([1, 2, 3, 7, 9, 10])
    '1-3,7,9-10'
    """
    places = enumerate(sorted(numbers))  # along a range, a number is as far from its place as the one before
    ranges = ([n for _, n in run] for _, run in groupby(places, key=lambda place: place[1] - place[0]))
    return ",".join(str(first) if not rest else f"{first}-{rest[-1]}" for first, *rest in ranges)


def from_ranges(text: str, most: float = math.inf) -> list[int]:
    """What `as_ranges` was given; a ValueError if there are numbers of `most` or more.

    >>> from_ranges("1-3,7,9-10")
    [1, 2, 3, 7, 9, 10]
    """
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        run = range(int(first), _place(int(last or first), most) + 1)
        if len(numbers) + len(run) > most:
            raise ValueError(f"expected numbers once each, got {text[:100]!r}")
        numbers.extend(run)
    return numbers


def _place(number: Any, most: float) -> int:
    """A whole number from 0 up to `most`, or a ValueError."""
    if type(number) is not int or not 0 <= number < most:
        raise ValueError(f"expected a whole number from 0 to {most - 1}, got {number!r}")
    return number
