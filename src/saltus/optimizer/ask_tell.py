"""Ask and tell: a search behind an interface of candidates and values.

The way of a batch, from top to bottom: it begins (`_current`), is asked, told, and learnt from (`_learn`).
"""

from __future__ import annotations

import functools
import math
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from .. import order
from .._checks import checked_count
from .._typing import FloatArray, PerVariable
from ..result import Best, Candidate
from ..search import (
    Domain,
    Evaluated,
    Memory,
    Noisy,
    Proposals,
    Results,
    Search,
    Settings,
    begun,
    confine,
)
from ..search.batch import MOST_SLOTS, Batch, InFlight, LateResult, joined
from ..search.model_run import FIRST_MORE, ModelRun
from ..search.proposal import FOREIGN
from ..search.settings import DEFAULT_STRATEGY, MANY_PHASES
from ..space import Encoding, Space
from .news import News
from .noticing import Repeats
from .told import parsed

NOTHING = (*order.WORST, 0)  # what is compared before there is a best
PATIENCE = 5  # generations that one side of a mirrored pair waits for the other
NOTICED_SHARE = 0.1  # of a range: the least deviation of the Gaussian that begins when noise is noticed
BY_ID = operator.attrgetter("id")

_Args = ParamSpec("_Args")
_Given = TypeVar("_Given")
_Own = TypeVar("_Own", bound="AskTell")


def atomic(
    method: Callable[Concatenate[_Own, _Args], _Given],
) -> Callable[Concatenate[_Own, _Args], _Given]:
    """A method that one thread at a time can be in, of all that are marked like this."""

    @functools.wraps(method)
    def alone(self: _Own, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Given:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class AskTell:
    """What an `Optimizer` does with batches; its attributes are explained there."""

    def __init__(
        self,
        space: Space,
        *,
        strategy: str = DEFAULT_STRATEGY,
        population: int | None = None,
        batch: int = 1,
        margin: float | None = None,
        mean: PerVariable = None,
        sigma: PerVariable = None,
        seed: int | np.random.Generator | None = None,
        exact: bool = False,
        asynchronous: bool = False,
        auto_restart: bool | None = None,
        without: Collection[str] = (),
        noisy: bool | None = None,
    ) -> None:
        """Start a search.

        Args:
            space: the variables.
            strategy: a name of `saltus.STRATEGIES`.
            population: candidates a generation; default 4 + floor(3 ln N), made even.
            batch: how many points the model chooses at a time, for as many workers: part of what defines the
                search; without a model it has no meaning.
            margin: the least probability alpha of a neighbouring plateau; default 1 / (N population).
            mean: where to start, in the user's units, a number or one per variable; default the
                middle of each range.
            sigma: the first standard deviation, likewise; default a share of each range.
            seed: for `numpy.random.default_rng`; the same seed gives the same search.
            exact: refresh the eigenbasis every generation, as the paper does: slower, for parity.
            asynchronous: wait for nobody: `ask` always has as many candidates as are wanted, and what is
                learnt depends on what was told by then. With one candidate at a time the search is the same.
            auto_restart: begin another run by itself when one has stopped; default only with "saltus" and
                "saltus-es", which cannot go on otherwise.
            without: parts of "saltus" that are left out, to see what they are worth: any of "model",
                "asking", "limits", "evolution", "lattice", "scaling", "newton", "deep", "sweep",
                "neighbours", "pairs", "scan", "local runs", "global runs"; of "saltus-es" the same but the
                first five.
            noisy: True if the objective gives another value each time: then "saltus" and "saltus-es" search
                in a way that believes no single value, and `recommended` is an estimate (docs/noise.md).
                False if it does not. By default it is noticed, when the same point has two values.
        """
        if not isinstance(space, Space):
            raise TypeError(
                f"space must be a Space, got {type(space).__name__}; write Space({{...}}) or Space([...]), "
                "and bounds as for SciPy as minimize(fun, bounds=...)"
            )
        self._lock = threading.RLock()
        self.space = space
        N = max(space.dimension, 1)
        self._settings = settings = Settings.checked(
            N, strategy, population, margin, exact, without, batch, noisy
        )
        self.strategy = strategy
        self.asynchronous = asynchronous
        self.auto_restart = strategy in MANY_PHASES if auto_restart is None else auto_restart
        self._encoding = encoding = Encoding(space, mean, sigma)
        try:
            self._rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise ValueError(f"seed must be a whole number, 0 or more, or None, got {seed!r}") from None
        encoding.shuffle(self._rng)
        self.generation = self.evaluations = self.failures = 0
        self.best: Best | None = None
        self._least = NOTHING  # what the best is compared by
        self.memory = Memory(len(space.variables))
        self._next_id = 0
        self._given: dict[int, Candidate] = {}  # what `ask` gave and `tell` has not heard of
        self._batch: Batch | None = None
        self._best_before: Best | None = None  # when the batch began
        self._news = News()
        self._domain = Domain.of(encoding, settings, self.memory)
        self._surrogate = self._domain.surrogate
        self._search: Search = begun(self._domain, encoding.m)
        self.noisy = bool(settings.noisy)
        self._repeats = Repeats()
        self._queue: list[FloatArray] = []  # points that somebody wants to be asked next
        self._started = False  # whether the search has asked anything by itself

    # asking

    @atomic
    def ask(self, k: int | None = None) -> list[Candidate]:
        """The next candidates: the rest of the batch, or k of them.

        When all of the batch is asked, the list is shorter than k, or empty, until every value of the batch
        has been told. Asynchronously there are always k candidates, one if k is not given: then free
        workers get extra points of the same kind, or second attempts at what is missing.

        What was put in line (`enqueue`) comes first; between two batches it is a batch of its own.

        >>> from saltus import Int, Optimizer, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, strategy="dx-nes-ici", population=6)
        >>> len(optimizer.ask(2)), len(optimizer.ask()), len(optimizer.ask())
        (2, 4, 0)
        """
        if k is not None and not (type(k) is int and k > 0):
            k = checked_count(k)
        known = self._from_the_queue(1 if k is None and self.asynchronous else k)
        if self.asynchronous:
            return known + [self.ask_as(self._next_id) for _ in range((k or 1) - len(known))]
        if self._batch is None and self._news.in_flight:
            return known  # what the search asks next depends on them
        if known:
            k = None if k is None else k - len(known)
            return known if k == 0 else known + self._ask_batch(k)
        return self._ask_batch(k)

    def _from_the_queue(self, most: int | None) -> list[Candidate]:
        """Candidates at points that were put in line; they belong to no batch."""
        if not self._started and not self._queue and not self._news.in_flight and self._doubts():
            self._queue = [self._first]
        if not self._queue:
            return []
        first, points = self._next_id, self._queue[:most]
        del self._queue[:most]
        self._next_id += len(points)
        given = [Candidate(id, self._encoding.params_of(x)) for id, x in enumerate(points, first)]
        self._given |= ((candidate.id, candidate) for candidate in given)
        for id, x in enumerate(points, first):
            located = self._encoding.located(x)
            self._news.in_flight[id] = InFlight(*located, FOREIGN, self._search.phases, x)
        return given

    def _ask_batch(self, k: int | None) -> list[Candidate]:
        batch, first = self._current(), self._next_id
        slots = batch.ask_next(first, k)
        self._next_id = last = first + len(slots)
        params = self._points.params[slots.start : slots.stop]
        candidates = list(map(Candidate, range(first, last), params, slots))
        self._given |= zip(range(first, last), candidates, strict=True)
        return candidates

    @atomic
    def ask_as(self, id: int, slot: int | None = None) -> Candidate:
        """The next candidate under an id of your own, for who numbers evaluations otherwise. Asynchronously.

        `slot` is a wish for a place in the batch: who does not know what others ask at this moment can
        choose one that is not theirs. `Candidate.slot` says which it became.

        >>> from saltus import Int, Optimizer, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, asynchronous=True)
        >>> candidate = optimizer.ask_as(41, slot=2)
        >>> candidate.id, candidate.slot
        (41, 2)
        """
        self._check_asynchronous("ask_as")
        batch = self._current()
        slot = batch.any_slot(slot)
        self._decode(batch)
        batch.ask(id, slot)
        self._next_id = max(self._next_id, id + 1)
        params = self._points.params[slot].copy()  # a slot may be asked again
        candidate = self._given[id] = Candidate(id, params, slot)
        return candidate

    def _check_asynchronous(self, what: str) -> None:
        if not self.asynchronous:
            raise RuntimeError(f"{what} is for an optimizer that does not wait: Optimizer(asynchronous=True)")

    def _current(self) -> Batch:
        """The present batch; if there is none, or enough is known of it, the next one."""
        while self._batch is None or (self.asynchronous and self._learn()):
            if not self._started:
                self._start()
            if self._settings.noisy is None and not self.noisy and self._repeats.differ(self.memory):
                self._notice()
            if self._search.stop is not None:
                if self.auto_restart:
                    self._search.restart(self._rng)
                elif self._search.phase.done:
                    raise RuntimeError("this run is over: restart() begins another")
            self._search.phase.draw(self._rng)
            self._remember()
            self._news.begin(self._search.phases, enough=0 if self.generation else self._settings.population)
            self._best_before = self.best
            self._make_batch()
        return self._batch

    def _doubts(self) -> bool:
        """Whether the first mean has to be compared with the few points that are known, to start there.

        A model run has it among its first points. Other searches move their Gaussian, and would start from a
        point that is worse than any: that was measured to do harm.
        """
        self._remember()
        known = self.memory.x
        if not len(known) or isinstance(self._search.phase, ModelRun):
            return False
        return len(known) < self._domain.N + FIRST_MORE and not (known == self._first).all(1).any()

    @property
    def _first(self) -> FloatArray:
        """The first mean as a point in the user's order and units; if it is not allowed, what is instead."""
        return self._encoding.first if self._domain.known is None else self._domain.known.first

    def _start(self) -> None:
        """The search begins: from the best of what is known, if anything is."""
        self._started = True
        self._remember()
        row = self.memory.best
        if row is None:
            return
        numbers = self.memory.x[row]
        x, plateaus = self._domain.with_values(Proposals(*self._encoding.located(numbers)))
        if np.array_equal(numbers, self._first):
            x = self._encoding.m if self._domain.known is None else self._domain.known.start  # not rounded
        key = order.key(float(self.memory.values[row]), float(self.memory.violations[row]))
        self._search = begun(self._domain, self._encoding.m, Evaluated(x, plateaus, *key))
        self._news.late, self._news.strays = [], []

    def _notice(self) -> None:
        """The objective is noisy: from now on search as if that had been said at the beginning."""
        self.noisy, search = True, self._search
        if self.strategy in MANY_PHASES:
            m, sd = search.phase.where()
            sd = np.maximum(sd, NOTICED_SHARE * self._domain.span)
            self._search = confine(Noisy(self._domain, m, sd, search.restarts, search.phases))

    def _make_batch(self) -> Batch:
        search = self._search
        self._batch = Batch(search.phase, self.generation, search.phases, self._randomness)
        self._points = self._encoding.decode(*self._batch.points)
        return self._batch

    def _randomness(self, k: int) -> np.random.Generator:
        """For the k-th extra proposals of a batch; -1 for what is random about learning from it."""
        stream = self._rng.bit_generator
        before = stream.state
        key = int(self._rng.integers(2**63))  # of the batch: nothing is drawn while it is open
        stream.state = before  # in a ninth of the time that a copy of the generator takes
        return np.random.default_rng([key, k + 1])

    def _decode(self, batch: Batch) -> None:
        """Decode extra proposals that have come."""
        known = len(self._points.params)
        if known < len(batch.points.x):
            more = self._encoding.decode(batch.points.x[known:], batch.points.plateaus[known:])
            x = np.concatenate((self._points.x, more.x))
            self._points = self._points._replace(x=x, params=self._points.params + more.params)

    # telling

    @atomic
    def tell(
        self,
        candidates: Candidate | Sequence[Candidate],
        values: Any,
        violation: Any = None,
    ) -> None:
        """Tell the value of a candidate, or the values of several, in any order.

        Args:
            candidates: one, or several, that `ask` gave and that were not told yet.
            values: a number, or one for each. NaN and infinity mark an evaluation that failed. An `Outcome`
                instead of a number says more: constraints by name, and the kind of failure.
            violation: a number above 0 (one for each value) says that constraints are violated, and by how
                much in total: feasible candidates rank before violated ones, and those by violation.

        If anything is wrong with the arguments, nothing is taken.

        >>> from saltus import Int, Optimizer, Outcome, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1)
        >>> first, second, *rest = optimizer.ask()
        >>> optimizer.tell(second, 0.5)
        >>> optimizer.tell([first, *rest], [Outcome(2.0, {"heat": 1.0}), *(9.0 for _ in rest)])
        >>> optimizer.best.id == second.id, optimizer.pending
        (True, [])
        """
        if isinstance(candidates, Candidate):
            candidates, values = [candidates], [values]
            violation = None if violation is None else [violation]
        if not isinstance(candidates, Iterable):
            raise TypeError(f"tell takes what ask gave, candidates, got {type(candidates).__name__}")
        given = self._given
        ids, all_of_them = list(given), type(candidates) is list and _same_objects(candidates, given.values())
        if not all_of_them:
            ids = [self._pending_id(candidate) for candidate in candidates]
            if len(set(ids)) != len(ids):
                raise ValueError("tell takes each candidate once, got one of them twice")
        if not ids:
            raise ValueError("tell takes at least one candidate, got none")
        numbers, amounts, details = parsed(values, violation, len(ids))
        if all_of_them:
            self._given = {}
        else:
            for id in ids:
                del given[id]
        if details:
            self._news.details.update((ids[i], outcome) for i, outcome in details.items())
        self._take(ids, numbers, amounts)
        if not self.asynchronous and not self._news.in_flight:
            if self._batch is None:
                self._end_of_the_queue()
            elif not self._batch.unknown:
                self._learn()

    def _end_of_the_queue(self) -> None:
        """All that was asked between two batches is told: that was a generation, if no more is in line."""
        if not self._queue:
            self._remember()
            self.generation += 1

    def _pending_id(self, candidate: Any) -> int:
        if not isinstance(candidate, Candidate):
            raise TypeError(f"tell takes what ask gave, a Candidate, got {type(candidate).__name__}")
        own = self._given.get(candidate.id)
        if own is None or not (candidate is own or candidate == own):
            raise ValueError(
                f"candidate {candidate.id} is not pending: it was told already, "
                "or it was not asked from this optimizer"
            )
        return int(candidate.id)

    def _take(self, ids: list[int], values: list[float], violations: list[float]) -> None:
        """Take the outcomes of candidates that were asked and not told."""
        self.evaluations += len(ids)
        batch, news = self._batch, self._news
        if batch is not None and (not news.in_flight or batch.slots.keys() >= set(ids)):
            batch.tell(ids, values, violations)
            self._note(ids, values, violations)
        else:
            for id, value, violation in zip(ids, values, violations, strict=True):
                if batch is not None and id in batch.slots:
                    batch.tell([id], [value], [violation])
                    continue
                flown = news.landed(id)
                result = LateResult(id, flown.x, flown.plateaus, flown.pair, value, violation)
                self._hear(result, flown.phase, flown.numbers)
            self._note(ids, values, violations)

    def _hear(self, result: LateResult, phase: int, numbers: FloatArray) -> None:
        """A result of a point that is not in the present batch; the phase of this number has proposed it."""
        kin = phase == self._search.phases and self._search.phase.accepts(result.plateaus)
        self._news.hear(result, numbers, kin)

    def _note(self, ids: Sequence[int], values: Sequence[float], violations: Sequence[float]) -> None:
        """Keep what is new, and the best; of equals the first asked: the order of telling does not matter."""
        least, winner, news = self._least, None, self._news
        if self.asynchronous or news.elsewhere or self._batch is None or self._batch.unknown:
            news.told.update(zip(ids, zip(values, violations, strict=True), strict=True))
        rows = list(zip(values, ids, violations, strict=True))
        if not any(violations) and math.isfinite(sum(values)):  # the common case: the best is enough
            rows = [min(rows)]
        for value, id, violation in rows:
            own = (*order.key(value, violation), id)
            if own[0] == math.inf:
                self.failures += 1
            elif own < least:
                least, winner = own, value
        if winner is not None:
            numbers = self._numbers_of(least[2]).copy()  # our own: who evaluates may write into params
            numbers.setflags(write=False)
            self.best, self._least = Best(least[2], winner, least[0], numbers, self._encoding), least

    def _key_of_best(self) -> tuple[float, float, int]:
        best = self.best
        return NOTHING if best is None else (*order.key(best.value, best.violation), best.id)

    def _numbers_of(self, id: int) -> FloatArray:
        """Where a point lies that was told since the batch began."""
        if id in self._news.elsewhere:
            return self._news.elsewhere[id]
        if self._batch is None:
            raise KeyError(id)
        self._decode(self._batch)
        return np.asarray(self._points.x[self._batch.slots[id]])

    # learning

    @atomic
    def settle(self) -> bool:
        """Learn from what is told, if that is enough; whether the next `ask` begins a batch.

        `tell` does so by itself; asynchronously it is `ask` that does, so that what is learnt depends on what
        was told by then, and not on its order.

        >>> from saltus import Int, Optimizer, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, asynchronous=True)
        >>> generation = optimizer.ask(optimizer.population)
        >>> optimizer.tell(generation, [(c.params["k"] - 7) ** 2 for c in generation])
        >>> optimizer.settle(), optimizer.generation
        (True, 1)
        """
        self._learn()
        return self._batch is None

    def _learn(self) -> bool:
        """Let the search learn, if it knows enough; then there is no batch any more."""
        batch, search, news = self._batch, self._search, self._news
        if batch is None or (batch.unknown and not self.asynchronous):
            return False
        late = sorted(news.late, key=BY_ID)
        if self.asynchronous and not search.phase.ready(batch.results(late)):
            return False
        results, halves = batch.whole_pairs(late)
        if self.asynchronous:
            if batch.has_unasked and results.told < batch.size:
                return False  # with one worker a batch is learnt from when all of it is told
            if not search.phase.ready(results):
                return False
        self._decode(batch)
        news.in_flight |= batch.in_flight(self._points.x)
        if halves:
            oldest = (self.generation - PATIENCE) * MOST_SLOTS
            news.strays += [half for half in halves if half.pair < oldest]
            halves = [half for half in halves if half.pair >= oldest]
        for stray in sorted(news.strays, key=BY_ID):
            search.inject(joined(batch.points, [stray]).point(0))
        news.late, news.strays = halves, []
        self._remember(batch, results)
        self._batch = None
        search.observe(results, self._rng)
        self.generation += 1
        return True

    def _remember(self, batch: Batch | None = None, results: Results | None = None) -> None:
        """Put what was told since the batch began into the memory; the batch itself if all of it is known."""
        news = self._news
        if batch is not None and results is not None and not (self.asynchronous or news.elsewhere):
            ids, x, values, violations = list(batch.slots), self._points.x, results.values, results.violations
        elif news.told:
            ids, x, values, violations = news.rows(self._numbers_of)
        else:
            return
        details = {row: news.details[id] for row, id in enumerate(ids) if id in news.details}
        self.memory.extend(ids, x, values, violations, details)
        news.clear()


def _same_objects(some: Collection[object], others: Collection[object]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))
