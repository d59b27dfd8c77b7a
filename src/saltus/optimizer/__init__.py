"""`Optimizer`: ask and tell (`ask_tell`), what others have found, a look inside, its state (`saving`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from .._checks import check_points
from .._typing import FloatArray, Params
from ..order import Outcome
from ..result import Candidate
from ..search import Memory, Noisy
from ..search.batch import Batch, LateResult
from ..search.learnt import Expected, Learnt, Share
from ..search.proposal import FOREIGN
from ..search.recommendation import Recommended
from ..search.stopping import Stop
from ..space import Space
from .ask_tell import AskTell, atomic
from .saving import correct, restored, saved
from .told import parsed


class Optimizer(AskTell):
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
        noisy: whether the objective is noisy: it was said, or noticed.
        stop: why the current run should end, or None. It is advice: `ask` goes on all the same, with
            `auto_restart` by another run.
        generation, evaluations, failures, restarts: how many there have been.
        population: candidates in a generation of the current run. With "saltus", other batches come in
            between: `ask()` always gives a whole one.
    """

    def __repr__(self) -> str:
        """What it searches, and how far it is."""
        best = None if self.best is None else self.best.value
        return (
            f"<Optimizer {self.strategy!r} of {len(self.space)} variables: "
            f"{self.evaluations} evaluations, best {best}>"
        )

    # what others have found

    @atomic
    def enqueue(self, *points: Params) -> None:
        """Put points in line: they are asked next, in this order, once each, and count as any candidate.

        If nothing was asked before, the search then starts from the best of them (docs/known.md).

        Args:
            points: each a dict by name, or a sequence for a space without names. What is not given, or None,
                is as in the first mean: `mean`, else `init`, else the middle of the range.

        A point that is outside of the space or breaks its `where`, or names what is no variable, is a
        ValueError; then none is put in line.

        >>> from saltus import Float, Int, Space
        >>> optimizer = Optimizer(Space({"x": Float(-5, 5), "k": Int(0, 20)}), seed=1)
        >>> optimizer.enqueue({"x": 1.5, "k": 7}, {"k": 3})
        >>> [candidate.params for candidate in optimizer.ask()]
        [{'x': 1.5, 'k': 7}, {'x': 0.0, 'k': 3}]
        """
        self._queue += [self._encoding.completed(point) for point in points]

    @property
    @atomic
    def queue(self) -> list[Params]:
        """What is in line and was not asked yet (`enqueue`)."""
        return [self._encoding.params_of(x) for x in self._queue]

    @atomic
    def add(
        self,
        params: Params | Sequence[Params],
        value: Any,
        violation: Any = None,
        *,
        id: int | Sequence[int] | None = None,
    ) -> None:
        """Tell what points gave that were not asked from this optimizer: of another program or a person.

        A search that has asked nothing yet starts from the best of them; one under way learns from them as
        far as its present phase can. They are no evaluations of this search (docs/known.md).

        Args:
            params: a point, as the objective would get it, or a list of points.
            value, violation: as for `tell`: a number or an `Outcome` (for constraints by name, and failures),
                and how much constraints are violated; one for each of several points.
            id: a number that no candidate has, or one for each point, increasing; default the next ones.

        If anything is wrong with one of several points, none is taken.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1)
        >>> optimizer.add({"k": 7}, 0.25)
        >>> optimizer.add([{"k": 3}, {"k": 4}, {"k": 9}], [16.0, 9.0, float("nan")])
        >>> optimizer.best.params, optimizer.evaluations
        ({'k': 7}, 0)
        """
        check_points(params)
        if self._is_one(params):
            params, value, violation = [params], [value], None if violation is None else [violation]
        points = list(params)
        if self.space.names is not None:
            for point in points:
                self._encoding.check_names(point)
        numbers = [self._encoding.numbers_of(point) for point in points]
        values, amounts, details = parsed(value, violation, len(points), "point")
        ids: Sequence[int] = range(self._next_id, self._next_id + len(points))
        if id is not None:
            ids = [id] if isinstance(id, int) else id
            self._check_free(ids, len(points))
        for i, own in enumerate(ids):
            self._add(own, numbers[i], values[i], amounts[i], details.get(i))

    def _is_one(self, params: Any) -> bool:
        """Whether this is one point, not a list of them."""
        if self.space.names is not None or isinstance(params, Mapping):
            return isinstance(params, Mapping)
        return not len(params) or np.ndim(params[0]) == 0

    def _check_free(self, ids: Sequence[int], count: int) -> None:
        taken = {*self._given, *self._news.told, *self.memory.ids.tolist()}
        for own in ids:
            if own in taken:
                raise ValueError(f"id {own} is taken: add takes one that is not, or none")
        if len(ids) != count or any(b <= a for a, b in itertools.pairwise(ids)):
            raise ValueError(f"add takes an id for each of {count} points, increasing, got {list(ids)}")

    def _add(
        self, id: int, numbers: FloatArray, value: float, violation: float, outcome: Outcome | None
    ) -> None:
        self._next_id = max(self._next_id, id + 1)
        if outcome is not None:
            self._news.details[id] = outcome
        if self._domain.known is not None:  # others may have evaluated what is not allowed
            violation += self._domain.known.of_numbers(numbers, given=True)
        result = LateResult(id, *self._encoding.located(numbers), FOREIGN, value, violation)
        self._hear(result, self._search.phases, numbers)
        self._note([id], [value], [violation])

    @atomic
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
        batch, news = self._batch or self._current(), self._news
        if not (asked.keys() >= batch.slots.keys() and told.keys() >= news.told.keys()):
            self._forget(batch)  # else there is only more of the same
        for id, slot in asked.items():
            if id not in batch.slots and batch.has(slot):
                batch.ask(id, slot)
        self._next_id = max(self._next_id, max(asked, default=-1) + 1)
        for id in sorted(told.keys() - news.told.keys()):
            outcome, params = told[id]
            (value,), (violation,), details = parsed([outcome], None, 1)
            if id in batch.slots or id in news.in_flight:
                if params is not None:
                    correct(self, id, self._encoding.numbers_of(params))
                if details:
                    news.details[id] = outcome
                self._given.pop(id, None)
                self._take([id], [value], [violation])
            elif params is not None:
                self._add(id, self._encoding.numbers_of(params), value, violation, details.get(0))
        return self.settle()

    @atomic
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
        self._forget(self._batch or self._current())

    def _forget(self, batch: Batch) -> None:
        """Take back all that was asked and told since the batch began."""
        failures, returned = self._news.forget()
        self.failures -= failures
        self.evaluations -= len(batch.told) + returned
        self._given = {id: given for id, given in self._given.items() if id not in batch.slots}
        self.best = self._best_before
        self._least = self._key_of_best()
        batch.reset()

    @property
    @atomic
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

    @atomic
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

    @atomic
    def correct(self, id: int, params: Params) -> None:
        """Make what was asked under an id and not told this point, as another machine has rounded it.

        >>> from saltus import Float, Space
        >>> optimizer = Optimizer(Space({"x": Float(-5, 5)}), seed=1)
        >>> (candidate,) = optimizer.ask(1)
        >>> optimizer.correct(candidate.id, {"x": candidate.params["x"] + 1e-15})
        """
        given = self._given[id]
        correct(self, id, self._encoding.numbers_of(params))
        self._given[id] = Candidate(id, params, given.slot)

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
    @atomic
    def pending(self) -> list[Candidate]:
        """Candidates that were asked and not told yet, for instance after a restore."""
        return [self._given[id] for id in sorted(self._given)]

    @property
    def unlearnt(self) -> set[int]:
        """The ids of what was told and is not in the memory yet."""
        return set(self._news.told)

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
        """Mean of the Gaussian in the user's units and order; integers are not rounded.

        Of a category, the place of its likeliest value among the choices.
        """
        return self._encoding.unrounded(self._search.phase.where()[0])

    @property
    def centre(self) -> Params:
        """The mean as a point that the objective could get: integers rounded, by name if there are names."""
        return self._encoding.params_of(self.mean)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations of the Gaussian in the user's order and units (of logs, if log).

        Of a category, how likely it is to have another value than the likeliest.
        """
        return self._encoding.spreads(self._search.phase.where()[1])

    @property
    @atomic
    def recommended(self) -> Recommended | None:
        """The point to take: the best one; if the objective is noisy, that with the best estimate.

        Then the best value is the luckiest one. What is recommended is the mean of the Gaussian, or that of
        an earlier run, whichever the evaluations around it speak for (with the paper's strategies, which keep
        no earlier means, also the best point). `value` is what they say it is worth, and `error` the standard
        error of that. None before the first value.

        >>> from saltus import Int, Space
        >>> optimizer = Optimizer(Space({"k": Int(0, 20)}), seed=1)
        >>> optimizer.add({"k": 7}, 0.25)
        >>> optimizer.recommended.params, optimizer.recommended.value, optimizer.recommended.error
        ({'k': 7}, 0.25, 0.0)
        """
        best = self.best
        if best is None or not self.noisy:
            return None if best is None else Recommended(best.params, best.x.copy(), best.value, 0.0)
        encoding, n = self._encoding, self._encoding.n_continuous
        x = np.array(self._search.centres())
        centres = encoding.numbers(x, encoding.lattice.plateau(x[:, n:]))
        rules = self._domain.known
        if rules is not None:
            centres = centres[[rules.of_numbers(centre) == 0.0 for centre in centres]]
        if rules is not None or not isinstance(self._search, Noisy):
            centres = np.concatenate((centres, best.x[None]))
        return self.learnt().recommended(centres, best.x)

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

    @atomic
    def learnt(self, memory: Memory | None = None, *, maximize: bool = False) -> Learnt:
        """What can be said of this search's space, for results and studies.

        Args:
            memory: evaluations; by default all that this optimizer was told until now.
            maximize: the user's values have the other sign than those that were told.
        """
        more = None
        if memory is None and self._news.told:
            more = Memory(len(self.space.variables))
            ids, x, values, violations = self._news.rows(self._numbers_of)
            known = self._news.details
            details = {row: known[id] for row, id in enumerate(ids) if id in known}
            more.extend(ids, x, values, violations, details)
        whole = self.memory if memory is None else memory
        return Learnt(self._encoding, whole, more=more, maximize=maximize)

    @atomic
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

    @atomic
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
        return saved(self, memory)

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
            return restored(cls, state, space, asked)
        except (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError) as error:
            raise ValueError(f"not a state of a Saltus optimizer: {error!r}") from error
