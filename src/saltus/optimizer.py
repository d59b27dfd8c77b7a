"""Ask and tell: a search behind an interface of candidates and values."""

from __future__ import annotations

import copy
import functools
import math
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from . import _serialize, order
from ._checks import as_numbers, checked_count
from ._typing import FloatArray, Params, PerVariable
from .order import Failure, Outcome
from .result import Best, Candidate
from .search import SEARCHES, Domain, Memory, Results, Settings
from .search.batch import MOST_SLOTS, Batch, InFlight, LateResult, joined
from .search.learnt import Expected, Learnt, Share
from .search.proposal import FOREIGN
from .search.settings import DEFAULT_STRATEGY, MANY_PHASES
from .search.stopping import Stop
from .space import Encoding, Space

NOTHING = (*order.WORST, 0)  # what is compared before there is a best
PATIENCE = 5  # generations that one side of a mirrored pair waits for the other
_FORMAT = 4  # of states; in 3, "saltus" was what is "saltus-es" now
_ARGUMENTS = ("mean", "sigma", "asynchronous", "auto_restart")
_COUNTS = ("generation", "evaluations", "failures", "_next_id")

_Args = ParamSpec("_Args")
_Given = TypeVar("_Given")
_Own = TypeVar("_Own", bound="Optimizer")


def _atomic(
    method: Callable[Concatenate[_Own, _Args], _Given],
) -> Callable[Concatenate[_Own, _Args], _Given]:
    """A method that one thread at a time can be in, of all that are marked like this."""

    @functools.wraps(method)
    def alone(self: _Own, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Given:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Optimizer:
    """Ask for candidates, evaluate them anywhere, tell their values, in any order.

    >>> from saltus import Float, Int, Space
    >>> optimizer = Optimizer(Space({"x": Float(-5, 5), "k": Int(0, 20)}), seed=1)
    >>> for _ in range(60):
    ...     candidates = optimizer.ask()
    ...     values = [(c.params["x"] - 1) ** 2 + (c.params["k"] - 7) ** 2 for c in candidates]
    ...     optimizer.tell(candidates, values)
    >>> optimizer.best.params["k"]
    7

    Who does not want to wait for a whole batch says so. Then there is always a candidate, and every outcome
    counts, however late it comes (docs/asynchronous.md):

    >>> optimizer = Optimizer(Space({"x": Float(-5, 5), "k": Int(0, 20)}), seed=1, asynchronous=True)
    >>> running = optimizer.ask(8)
    >>> for _ in range(600):
    ...     done = running.pop(3)  # whichever ends first
    ...     optimizer.tell(done, (done.params["x"] - 1) ** 2 + (done.params["k"] - 7) ** 2)
    ...     running += optimizer.ask()
    >>> optimizer.best.params["k"]
    7

    Several threads may use one: each asks, tells or saves as a whole before the next one does, so no
    candidate is given twice and no outcome is lost. Processes cannot share one.

    Attributes:
        best: the best evaluation so far, or None.
        memory: every evaluation that the search has learnt of, as arrays.
        stop: why the current run should end, or None. It is advice: `ask` goes on all the same, with
            `auto_restart` by another run.
        generation, evaluations, failures, restarts: how many there have been.
        population: candidates in a generation of the current run. With "saltus", other batches come in
            between: `ask()` always gives a whole one.
    """

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
                "asking", "limits", "evolution", "scaling", "newton", "deep", "sweep", "neighbours", "scan",
                "local runs", "global runs"; of "saltus-es" the same but the first four.
        """
        if not isinstance(space, Space):
            raise TypeError(
                f"space must be a Space, got {type(space).__name__}; write Space({{...}}) or Space([...]), "
                "and bounds as for SciPy as minimize(fun, bounds=...)"
            )
        self._lock = threading.RLock()
        self.space = space
        N = max(space.dimension, 1)
        self._settings = settings = Settings.checked(N, strategy, population, margin, exact, without, batch)
        self.strategy = strategy
        self.asynchronous = asynchronous
        self.auto_restart = strategy in MANY_PHASES if auto_restart is None else auto_restart
        self._encoding = encoding = Encoding(space, mean, sigma)
        try:
            self._rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise ValueError(f"seed must be a whole number, 0 or more, or None, got {seed!r}") from None
        self.generation = self.evaluations = self.failures = 0
        self.best: Best | None = None
        self._least = NOTHING  # what the best is compared by
        self.memory = Memory(len(space.variables))
        self._next_id = 0
        self._given: dict[int, Candidate] = {}  # what `ask` gave and `tell` has not heard of
        self._batch: Batch | None = None
        # since the batch began, until the search learns of it: what was told, and where, if not in the batch
        self._news: dict[int, tuple[float, float]] = {}
        self._elsewhere: dict[int, FloatArray] = {}
        self._details: dict[int, Outcome] = {}
        self._in_flight: dict[int, InFlight] = {}  # of earlier batches
        self._returned: dict[int, InFlight] = {}  # of those, what was told since the batch began
        self._late: list[LateResult] = []  # what the phase can learn from besides its batch, ...
        self._strays: list[LateResult] = []  # ... and what only may be the best of all
        # when the batch began: how many of both there were, and the best
        self._before: tuple[int, int, Best | None] = (0, 0, None)
        self._late_phase = 1  # the phase that could learn from them
        domain = Domain.of(encoding, settings, self.memory)
        self._surrogate = domain.surrogate
        self._search = SEARCHES[strategy](domain, encoding.m)

    def __repr__(self) -> str:
        """What it searches, and how far it is."""
        best = None if self.best is None else self.best.value
        return (
            f"<Optimizer {self.strategy!r} of {len(self.space)} variables: "
            f"{self.evaluations} evaluations, best {best}>"
        )

    # asking

    @_atomic
    def ask(self, k: int | None = None) -> list[Candidate]:
        """The next candidates: the rest of the batch, or k of them.

        When all of the batch is asked, the list is shorter than k, or empty, until every value of the batch
        has been told. Asynchronously there are always k candidates, one if k is not given: then free
        workers get extra points of the same kind, or second attempts at what is missing.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, strategy="dx-nes-ici", population=6)
        >>> len(optimizer.ask(2)), len(optimizer.ask()), len(optimizer.ask())
        (2, 4, 0)
        """
        if k is not None and not (type(k) is int and k > 0):
            k = checked_count(k)
        if self.asynchronous:
            return [self.ask_as(self._next_id) for _ in range(k or 1)]
        batch, first = self._current(), self._next_id
        slots = batch.ask_next(first, k)
        self._next_id = last = first + len(slots)
        params = self._points.params[slots.start : slots.stop]
        candidates = list(map(Candidate, range(first, last), params, slots))
        self._given |= zip(range(first, last), candidates, strict=True)
        return candidates

    @_atomic
    def ask_as(self, id: int, slot: int | None = None) -> Candidate:
        """The next candidate under an id of your own, for who numbers evaluations otherwise. Asynchronously.

        `slot` is a wish for a place in the batch: who does not know what others ask at this moment can
        choose one that is not theirs. `Candidate.slot` says which it became.

        >>> from saltus import Int, Space
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
            if self._search.stop is not None:
                if self.auto_restart:
                    self._search.restart(self._rng)
                elif self._search.phase.done:
                    raise RuntimeError("this run is over: restart() begins another")
            self._search.phase.draw(self._rng)
            self._open()
        return self._batch

    def _open(self) -> None:
        """Put what was drawn on its way."""
        phase = self._search.phases
        # at the beginning, a few would only disturb it
        few = self.generation == 0 and len(self._late) < self._settings.population
        if phase != self._late_phase or few:
            self._strays += self._late
            self._late = []
        self._late_phase = phase
        self._remember()
        self._returned, self._before = {}, (len(self._late), len(self._strays), self.best)
        self._make_batch()

    def _make_batch(self) -> Batch:
        search = self._search
        self._batch = Batch(search.phase, self.generation, search.phases, self._randomness)
        self._points = self._encoding.decode(*self._batch.points)
        return self._batch

    def _randomness(self, k: int) -> np.random.Generator:
        """For the k-th extra proposals of a batch; -1 for what is random about learning from it."""
        key = int(copy.deepcopy(self._rng).integers(2**63))  # of the batch: nothing is drawn while it is open
        return np.random.default_rng([key, k + 1])

    def _decode(self, batch: Batch) -> None:
        """Decode extra proposals that have come."""
        known = len(self._points.params)
        if known < len(batch.points.x):
            more = self._encoding.decode(batch.points.x[known:], batch.points.plateaus[known:])
            x = np.concatenate((self._points.x, more.x))
            self._points = self._points._replace(x=x, params=self._points.params + more.params)

    @_atomic
    def correct(self, id: int, params: Params) -> None:
        """Make what was asked under an id and not told this point, as another machine has rounded it.

        >>> from saltus import Float, Space
        >>> optimizer = Optimizer(Space({"x": Float(-5, 5)}), seed=1)
        >>> (candidate,) = optimizer.ask(1)
        >>> optimizer.correct(candidate.id, {"x": candidate.params["x"] + 1e-15})
        """
        given = self._given[id]
        self._correct(id, self._encoding.numbers_of(params))
        self._given[id] = Candidate(id, params, given.slot)

    def _correct(self, id: int, numbers: FloatArray) -> None:
        """What was asked under this id and not told is this point, whatever this machine would ask now."""
        flown, batch, encoding = self._in_flight.get(id), self._batch, self._encoding
        if flown is not None:
            if not np.array_equal(flown.numbers, numbers):
                x, plateaus = encoding.corrected(numbers, flown.x, flown.plateaus)
                self._in_flight[id] = flown._replace(x=x, plateaus=plateaus, numbers=numbers)
        elif batch is not None:
            slot = batch.slots[id]
            self._decode(batch)
            if not np.array_equal(self._points.x[slot], numbers):
                at = batch.points.x[slot], batch.points.plateaus[slot]
                batch.place(slot, *encoding.corrected(numbers, *at))
                self._points.x[slot], self._points.params[slot] = numbers, encoding.params_of(numbers)

    # telling

    @_atomic
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

        >>> from saltus import Int, Outcome, Space
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
        numbers, amounts, details = _parsed(values, violation, len(ids))
        if all_of_them:
            self._given = {}
        else:
            for id in ids:
                del given[id]
        if details:
            self._details.update((ids[i], outcome) for i, outcome in details.items())
        self._take(ids, numbers, amounts)
        if not self.asynchronous and self._batch is not None and not self._batch.unknown:
            self._learn()

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

    @_atomic
    def add(self, params: Params, value: Any, violation: Any = None, *, id: int | None = None) -> None:
        """Tell the value of a point that was not asked from this optimizer: of another program or a person.

        The search learns from it as far as its present phase can; it may become the best in any case. It is
        no evaluation of this search.

        Args:
            params: the point, as the objective would get it.
            value, violation: as for `tell`: a number or an `Outcome`, and how much constraints are violated.
            id: a number that no candidate has; default the next one.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1)
        >>> optimizer.add({"k": 7}, 0.25)
        >>> optimizer.best.params, optimizer.evaluations
        ({'k': 7}, 0)
        """
        numbers = self._encoding.numbers_of(params)
        (number,), (amount,), details = _parsed([value], None if violation is None else [violation], 1)
        if id in self._given or id in self._news or (id is not None and np.any(self.memory.ids == id)):
            raise ValueError(f"id {id} is taken: add takes one that is not, or none")
        self._add(self._next_id if id is None else id, numbers, number, amount, details.get(0))

    def _add(
        self, id: int, numbers: FloatArray, value: float, violation: float, outcome: Outcome | None
    ) -> None:
        self._next_id = max(self._next_id, id + 1)
        if outcome is not None:
            self._details[id] = outcome
        result = LateResult(id, *self._encoding.located(numbers), FOREIGN, value, violation)
        self._hear(result, self._search.phases, numbers)
        self._note([id], [value], [violation])

    def _take(self, ids: list[int], values: list[float], violations: list[float]) -> None:
        """Take the outcomes of candidates that were asked and not told."""
        self.evaluations += len(ids)
        batch = self._batch
        if batch is not None and (not self._in_flight or batch.slots.keys() >= set(ids)):
            batch.tell(ids, values, violations)
            self._note(ids, values, violations)
        else:
            for id, value, violation in zip(ids, values, violations, strict=True):
                if batch is not None and id in batch.slots:
                    batch.tell([id], [value], [violation])
                    continue
                flown = self._returned[id] = self._in_flight.pop(id)
                result = LateResult(id, flown.x, flown.plateaus, flown.pair, value, violation)
                self._hear(result, flown.phase, flown.numbers)
            self._note(ids, values, violations)

    def _hear(self, result: LateResult, phase: int, numbers: FloatArray) -> None:
        """A result of a point that is not in the present batch; the phase of this number has proposed it."""
        self._elsewhere[result.id] = numbers
        kin = phase == self._search.phases and self._search.phase.accepts(result.plateaus)
        (self._late if kin else self._strays).append(result)

    def _note(self, ids: Sequence[int], values: Sequence[float], violations: Sequence[float]) -> None:
        """Keep what is new, and the best; of equals the first asked: the order of telling does not matter."""
        least, winner = self._least, None
        if self.asynchronous or self._elsewhere or self._batch is None or self._batch.unknown:
            self._news.update(zip(ids, zip(values, violations, strict=True), strict=True))
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
        if id in self._elsewhere:
            return self._elsewhere[id]
        if self._batch is None:
            raise KeyError(id)
        self._decode(self._batch)
        return np.asarray(self._points.x[self._batch.slots[id]])

    # learning

    @_atomic
    def settle(self) -> bool:
        """Learn from what is told, if that is enough; whether the next `ask` begins a batch.

        `tell` does so by itself; asynchronously it is `ask` that does, so that what is learnt depends on what
        was told by then, and not on its order.

        >>> from saltus import Int, Space
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
        batch, search = self._batch, self._search
        if batch is None or (batch.unknown and not self.asynchronous):
            return False
        late = sorted(self._late, key=_id)
        if self.asynchronous and not search.phase.ready(batch.results(late)):
            return False
        results, halves = batch.whole_pairs(late)
        if self.asynchronous:
            if batch.has_unasked and results.told < batch.size:
                return False  # with one worker a batch is learnt from when all of it is told
            if not search.phase.ready(results):
                return False
        self._decode(batch)
        self._in_flight |= batch.in_flight(self._points.x)
        if halves:
            oldest = (self.generation - PATIENCE) * MOST_SLOTS
            self._strays += [half for half in halves if half.pair < oldest]
            halves = [half for half in halves if half.pair >= oldest]
        for stray in sorted(self._strays, key=_id):
            search.inject(joined(batch.points, [stray]).point(0))
        self._late, self._strays = halves, []
        self._remember(batch, results)
        self._batch = None
        search.observe(results, self._rng)
        self.generation += 1
        return True

    def _remember(self, batch: Batch | None = None, results: Results | None = None) -> None:
        """Put what was told since the batch began into the memory; the batch itself if all of it is known."""
        if batch is not None and results is not None and not (self.asynchronous or self._elsewhere):
            ids, x, values, violations = list(batch.slots), self._points.x, results.values, results.violations
        elif self._news:
            ids = sorted(self._news)
            x = np.array([self._numbers_of(id) for id in ids])
            values, violations = np.array([self._news[id] for id in ids]).T
        else:
            return
        details = {}
        if self._details:
            details = {row: self._details[id] for row, id in enumerate(ids) if id in self._details}
        self.memory.extend(ids, x, values, violations, details)
        self._news, self._elsewhere, self._details = {}, {}, {}

    @_atomic
    def replay(self, asked: Mapping[int, int], told: Mapping[int, tuple[Outcome, Params | None]]) -> bool:
        """Make the present batch what others say it was; whether that is enough for the next one to begin.

        For many processes that share one search (`saltus.optuna`): what was asked and told here since the
        batch began is forgotten, and this is taken instead. Asynchronously only.

        Args:
            asked: the slots of the batch that were asked, by id.
            told: outcomes by id, of whatever batch; with the point that was evaluated, which those that were
                asked in this search need not have.

        >>> from saltus import Int, Outcome, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, asynchronous=True)
        >>> optimizer.replay(asked={3: 0, 4: 1}, told={4: (Outcome(2.5), None)})
        False
        >>> optimizer.best.id, [candidate.id for candidate in optimizer.pending]
        (4, [])
        """
        self._check_asynchronous("replay")
        batch = self._opened()
        if not (asked.keys() >= batch.slots.keys() and told.keys() >= self._news.keys()):
            self._forget(batch)  # else there is only more of the same
        for id, slot in asked.items():
            if id not in batch.slots and batch.has(slot):
                batch.ask(id, slot)
        self._next_id = max(self._next_id, max(asked, default=-1) + 1)
        for id in sorted(told.keys() - self._news.keys()):
            outcome, params = told[id]
            (value,), (violation,), details = _parsed([outcome], None, 1)
            if id in batch.slots or id in self._in_flight:
                if params is not None:
                    self._correct(id, self._encoding.numbers_of(params))
                if details:
                    self._details[id] = outcome
                self._given.pop(id, None)
                self._take([id], [value], [violation])
            elif params is not None:
                self._add(id, self._encoding.numbers_of(params), value, violation, details.get(0))
        return self.settle()

    @_atomic
    def reopen(self) -> None:
        """Forget what was asked and told since the batch began; if there is none, begin the next.

        As `replay`, for many processes that share one search: so its `state` is one to come back to.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, asynchronous=True)
        >>> optimizer.tell(optimizer.ask(2), [3.0, 4.0])
        >>> optimizer.reopen()
        >>> optimizer.evaluations, optimizer.best
        (0, None)
        """
        self._check_asynchronous("reopen")
        self._forget(self._opened())

    def _opened(self) -> Batch:
        return self._batch or self._current()

    @property
    @_atomic
    def fits(self) -> dict[str, FloatArray]:
        """The last parameters that were found for the model, by how many points it was made of.

        Those of constraints' models have the name of the constraint in their key.

        Who follows the same search can `foretell` them, so that nothing has to be found twice.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1)
        >>> for _ in range(3):
        ...     candidates = optimizer.ask()
        ...     optimizer.tell(candidates, [(c.params["k"] - 7) ** 2 for c in candidates])
        >>> list(optimizer.fits)
        ['3', '4']
        """
        return {} if self._surrogate is None else dict(self._surrogate.fits)

    @_atomic
    def foretell(self, fits: Mapping[str, FloatArray]) -> None:
        """Take parameters of the model from another that has gone the same way; what does not fit is ignored.

        Args:
            fits: of that optimizer.

        >>> from saltus import Int, Space
        >>> leader, follower = (Optimizer(Space({"k": Int(0, 20)}), seed=1) for _ in range(2))
        >>> for each in (leader, follower):
        ...     candidates = each.ask()
        ...     each.tell(candidates, [(c.params["k"] - 7) ** 2 for c in candidates])
        >>> first = leader.ask()
        >>> follower.foretell(leader.fits)
        >>> follower.ask() == first
        True
        """
        if self._surrogate is not None:
            for key, theta in fits.items():
                self._surrogate.foretell(key, theta)

    def _forget(self, batch: Batch) -> None:
        """Take back all that was asked and told since the batch began."""
        self.failures -= sum(order.key(*told) == order.WORST for told in self._news.values())
        self.evaluations -= len(batch.told) + len(self._returned)
        self._given = {id: given for id, given in self._given.items() if id not in batch.slots}
        self._in_flight |= self._returned
        self._returned, self._news, self._elsewhere, self._details = {}, {}, {}, {}
        late, strays, self.best = self._before
        self._least = self._key_of_best()
        del self._late[late:], self._strays[strays:]
        batch.reset()

    # looking

    @property
    def population(self) -> int:
        """Candidates in a generation of the current run."""
        return self._search.population

    @property
    def restarts(self) -> int:
        """How many runs there were before this one."""
        return self._search.restarts

    @property
    def stop(self) -> Stop | None:
        """Why the current run should end, or None."""
        return self._search.stop

    @property
    @_atomic
    def pending(self) -> list[Candidate]:
        """Candidates that were asked and not told yet, for instance after a restore."""
        return [self._given[id] for id in sorted(self._given)]

    @property
    def between_generations(self) -> bool:
        """Whether `ask` begins a batch, so that `restart` is possible."""
        return self._batch is None

    @property
    def phase(self) -> str:
        """What the search is doing at present: the name of its phase, such as "MixedRun" or "Newton"."""
        return self._search.phase.name

    @property
    def mean(self) -> FloatArray:
        """Mean of the Gaussian in the user's units and order; integers are not rounded."""
        return self._encoding.unrounded(self._search.phase.where()[0])

    @property
    def centre(self) -> Params:
        """The mean as a point that the objective could get: integers rounded, by name if there are names."""
        return self._encoding.params_of(self.mean)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations of the Gaussian in the user's order and units (of logs, if log)."""
        return self._encoding.spreads(self._search.phase.where()[1])

    def sensitivity(self, *, everywhere: bool = False) -> dict[str, Share] | None:
        """Which variables matter around the best point, the most important first, with error bars.

        From all that was told, with any strategy: a model is made of it now. `share` is the part of the
        differences in value that a variable has to do with, `low` to `high` the error bar, `alone` what it
        does without the others. Values are compared as the model sees them: where they span orders of
        magnitude, by their logarithms. Fixed variables are left out; what failed or has no value counts
        nothing.

        Args:
            everywhere: over all of each range; the default is a quarter of it around the best point.

        None if nothing can be said yet: fewer evaluations than variables + 2 have a value, or all values are
        equal. With more than some 50 variables it takes seconds, and the error bars are long.

        >>> from saltus import Float, Space
        >>> optimizer = Optimizer(Space({"x": Float(-5, 5), "y": Float(-5, 5)}), seed=1)
        >>> while optimizer.evaluations < 30:
        ...     candidates = optimizer.ask()
        ...     optimizer.tell(candidates, [9 * c.params["x"] ** 2 + c.params["y"] ** 2 for c in candidates])
        >>> shares = optimizer.sensitivity()
        >>> [*shares], shares["x"].low <= shares["x"].share <= shares["x"].high
        (['x', 'y'], True)
        """
        return self.learnt().sensitivity(everywhere=everywhere)

    def predict(self, points: Sequence[Params]) -> list[Expected]:
        """What evaluations at points would give, with error bars: nine in ten are between `low` and `high`.

        Args:
            points: as the objective would get them.

        A ValueError if fewer evaluations than variables + 2 have a value.

        >>> from saltus import Float, Space
        >>> optimizer = Optimizer(Space({"x": Float(-5, 5), "y": Float(-5, 5)}), seed=1)
        >>> while optimizer.evaluations < 30:
        ...     candidates = optimizer.ask()
        ...     optimizer.tell(candidates, [9 * c.params["x"] ** 2 + c.params["y"] ** 2 for c in candidates])
        >>> (expected,) = optimizer.predict([{"x": 0.5, "y": 1.0}])
        >>> expected.low < 3.25 < expected.high
        True
        """
        return self.learnt().predict(points)

    @_atomic
    def learnt(self, memory: Memory | None = None, *, maximize: bool = False) -> Learnt:
        """What can be said of this search's space, for results and studies.

        Args:
            memory: evaluations; by default all that this optimizer was told until now.
            maximize: the user's values have the other sign than those that were told.
        """
        more = None
        if memory is None and self._news:
            more, ids = Memory(len(self.space.variables)), sorted(self._news)
            x = np.array([self._numbers_of(id) for id in ids])
            values, violations = np.array([self._news[id] for id in ids]).T
            more.extend(ids, x, values, violations)
        known = self.memory if memory is None else memory
        return Learnt(self._encoding, known, more=more, maximize=maximize)

    @_atomic
    def restart(self) -> None:
        """Begin another run, the best is kept: from a random mean, with twice the population; with "saltus"
        and "saltus-es" also from the best point, as it sees fit. Only between generations.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1, strategy="dx-nes-ici")
        >>> before = optimizer.population
        >>> optimizer.restart()
        >>> optimizer.restarts, optimizer.population == 2 * before
        (1, True)
        """
        if not self.between_generations:
            raise RuntimeError("restart between generations: tell the pending candidates first")
        self._search.restart(self._rng)

    # saving

    @_atomic
    def state(self, memory: bool = True) -> dict[str, Any]:
        """Everything, as JSON-able data: `restore` goes on bit by bit as if never interrupted.

        That is on the same kind of machine. On another, where the last digits of a sum or of `exp` differ,
        what was asked before is the same, and what is asked next is as good, but another search.

        Without the memory, for who keeps points and evaluations elsewhere, its size does not grow.

        >>> import json
        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1)
        >>> saved = json.dumps(optimizer.state())
        >>> Optimizer.restore(json.loads(saved)).ask() == optimizer.ask()
        True
        """
        batch, best = self._batch, self.best
        state: dict[str, Any] = _serialize.pack(
            {
                "format": _FORMAT,
                "space": self.space.to_plain(),
                **self._settings._asdict(),
                "without": sorted(self._settings.without),
                "mean": self._encoding.given_mean,
                "sigma": self._encoding.given_sigma,
                "asynchronous": self.asynchronous,
                "auto_restart": self.auto_restart,
                "counts": {name: getattr(self, name) for name in _COUNTS},
                "best": None if best is None else [best.id, best.value, best.violation, best.x],
                "search": self._search.state(),
                "asked": None if batch is None else batch.state(),
                "news": [[id, *told] for id, told in self._news.items()],
                "elsewhere": [[id, x] for id, x in self._elsewhere.items()],
                "details": [
                    [id, o.value, dict(o.constraints), None if o.failure is None else o.failure.name]
                    for id, o in self._details.items()
                ],
                "in_flight": [[id, *self._in_flight[id][:-1]] for id in sorted(self._in_flight)],
                "late": [list(result) for result in self._late],
                "strays": [list(result) for result in self._strays],
                "late_phase": self._late_phase,
                "rng": _serialize.stream_state(self._rng),
            }
        )
        if memory:
            state["memory"] = self.memory.state()
            state["points"] = _serialize.pack(self._asked())
        return state

    def _asked(self) -> list[list[Any]]:
        """What was asked and not learnt from: ids and points."""
        asked = [[id, flown.numbers] for id, flown in self._in_flight.items()]
        if self._batch is not None:
            self._decode(self._batch)
            asked += [[id, self._points.x[slot]] for id, slot in self._batch.slots.items()]
        return sorted(asked, key=operator.itemgetter(0))

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the state and the space."""
        return type(self).restore, (self.state(), self.space)

    @classmethod
    def restore(
        cls,
        state: Mapping[str, Any],
        space: Space | None = None,
        asked: Callable[[int], Params] | None = None,
    ) -> Self:
        """The optimizer whose `state()` this is; what was asked and not told is in `pending`.

        Args:
            state: of an optimizer, on whatever machine.
            space: The state describes the space too, with values of an Ordinal as plain ints and floats. If
                they were of another type (`np.float32`, `Fraction`) and that matters, give the same again.
            asked: for a state without the memory, the point that was asked under an id. Without it such
                points are computed anew, which gives the same ones on the same kind of machine only.
        """
        try:
            return cls._restored(state, space, asked)
        except (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError) as error:
            raise ValueError(f"not a state of a Saltus optimizer: {error!r}") from error

    @classmethod
    def _restored(
        cls, packed: Mapping[str, Any], space: Space | None, asked: Callable[[int], Params] | None
    ) -> Self:
        if packed.get("format") != _FORMAT:
            words = f"state: this version reads format {_FORMAT}, got {packed.get('format')!r}"
            if packed.get("format") in range(1, _FORMAT):
                words += (
                    "; an older Saltus wrote it: go on with that one, or begin anew with "
                    "strategy='saltus-es', as its 'saltus', which had no model, is called now"
                )
            raise ValueError(words)
        state = _serialize.unpack({name: value for name, value in packed.items() if name != "memory"})
        if space is not None and space.to_plain() != state["space"]:
            raise ValueError("state: it belongs to another space than the one given")
        self = cls(
            Space.from_plain(state["space"]) if space is None else space,
            **{name: state[name] for name in (*Settings._fields, *_ARGUMENTS)},
        )
        self._search.restore(state["search"])
        if packed.get("memory") is not None:
            self.memory.restore(packed["memory"])
        self._rng = _serialize.stream_from(packed["rng"])
        if state["best"] is not None:
            id, value, violation, x = state["best"]
            x = self._shaped(x)
            x.setflags(write=False)
            self.best = Best(int(id), float(value), float(violation), x, self._encoding)
            self._least = self._key_of_best()
        self._late_phase = int(state["late_phase"])
        self._details = {
            int(id): Outcome(
                float(value),
                {str(n): float(v) for n, v in constraints.items()},
                None if failure is None else Failure[failure],
            )
            for id, value, constraints, failure in state["details"]
        }
        self._elsewhere = {int(id): self._shaped(x) for id, x in state["elsewhere"]}
        for id, *at, pair, phase in state["in_flight"]:
            x, plateaus = self._located(*at)
            numbers = self._encoding.numbers(x[None], plateaus[None])[0]
            self._in_flight[int(id)] = InFlight(x, plateaus, int(pair), int(phase), numbers)
        for name in ("late", "strays"):
            results = [
                LateResult(int(id), *self._located(*at), int(pair), float(value), float(violation))
                for id, *at, pair, value, violation in state[name]
            ]
            setattr(self, f"_{name}", results)
        self._before = (len(self._late), len(self._strays), self.best)  # what is restored is not forgotten
        self._news = {int(id): (float(value), float(violation)) for id, value, violation in state["news"]}
        for name in _COUNTS:
            setattr(self, name, int(state["counts"][name]))
        slots: dict[int, int] = {}
        if state["asked"] is not None:
            batch = self._make_batch()
            batch.restore(state["asked"])
            slots = batch.slots
        for id, numbers in state.get("points", ()):
            self._correct(int(id), self._shaped(numbers))
        if asked is not None:
            for id in (*slots, *self._in_flight):
                self._correct(id, self._encoding.numbers_of(asked(id)))
        if slots:
            for id, told in self._news.items():
                if id in slots:
                    batch.tell([id], *([number] for number in told))
            self._decode(batch)
            for id, slot in slots.items():
                if id not in batch.told:
                    self._given[id] = Candidate(id, self._points.params[slot].copy(), slot)
        for id, flown in self._in_flight.items():
            self._given[id] = Candidate(id, self._encoding.params_of(flown.numbers))
        return self

    def _shaped(self, x: Any) -> FloatArray:
        """Numbers of a point in the user's order."""
        return _serialize.shaped(x, (len(self.space),), "x")

    def _located(self, x: Any, plateaus: Any) -> tuple[FloatArray, FloatArray]:
        """Coordinates of a point."""
        encoding = self._encoding
        size = (encoding.lattice.size,)
        return _serialize.shaped(x, (encoding.N,), "x"), _serialize.shaped(plateaus, size, "plateaus")


def _parsed(values: Any, violation: Any, count: int) -> tuple[list[float], list[float], dict[int, Outcome]]:
    """Values and violations as floats, and by place those outcomes that say more than a number."""
    plain = violation is None and type(values) is list and len(values) == count
    if plain and set(map(type, values)) == {float}:
        return values, [0.0] * count, {}  # the common case
    details: dict[int, Outcome] = {}
    values = list(values) if isinstance(values, Iterable) else values
    if isinstance(values, list) and any(isinstance(v, Outcome) for v in values):
        if violation is not None:
            raise ValueError("an Outcome says by itself what is violated; leave violation out")
        details = {i: v for i, v in enumerate(values) if isinstance(v, Outcome)}
        violation = [v.violation if isinstance(v, Outcome) else 0.0 for v in values]
        values = [(math.nan if v.failure else v.value) if isinstance(v, Outcome) else v for v in values]
        details = {i: outcome for i, outcome in details.items() if outcome.constraints or outcome.failure}
    numbers = as_numbers("value", values, count)
    if violation is None:
        return numbers, [0.0] * count, details
    amounts = as_numbers("violation", violation, count)
    if any(amount < 0 for amount in amounts):
        raise ValueError(f"violation must be 0 or more, the sum of what is violated, got {min(amounts)}")
    return numbers, amounts, details


def _same_objects(some: Collection[object], others: Collection[object]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _id(result: LateResult) -> int:
    return result.id
