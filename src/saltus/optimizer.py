"""Ask and tell: the strategy behind an interface of candidates and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from . import _serialize
from ._checks import as_number, checked_count
from ._typing import FloatArray, Params, PerVariable
from .candidates import Best, Candidate, Generation
from .search import SAVED, Domain, Search, Told, begin, mirrored
from .search.stopping import Stop
from .space import Space
from .space.encoding import Encoding
from .strategy import default_population

DEFAULT_STRATEGY = "saltus"
_FORMAT = 2
_COUNTS = ("generation", "evaluations", "failures", "_next_id")


class Optimizer:
    """Ask for candidates, evaluate them anywhere, tell their values.

    >>> from saltus import Float, Int, Space
    >>> optimizer = Optimizer(Space({"x": Float(-5, 5), "k": Int(0, 20)}), seed=1)
    >>> for _ in range(60):
    ...     candidates = optimizer.ask()
    ...     values = [(c.params["x"] - 1) ** 2 + (c.params["k"] - 7) ** 2 for c in candidates]
    ...     optimizer.tell(candidates, values)
    >>> optimizer.best.params["k"]
    7

    Attributes:
        best: the best evaluation so far, or None.
        stop: why the current run should end, or None. It is advice: `ask` goes on all the same (with
            "saltus" by another run), and `restart` begins another run.
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
        margin: float | None = None,
        mean: PerVariable = None,
        sigma: PerVariable = None,
        seed: int | np.random.Generator | None = None,
        exact: bool = False,
    ) -> None:
        """Start a search.

        Args:
            space: the variables.
            strategy: a name of `saltus.STRATEGIES`.
            population: candidates a generation; default 4 + floor(3 ln N), made even.
            margin: the least probability alpha of a neighbouring plateau; default 1 / (N population).
            mean: where to start, in the user's units, a number or one per variable; default the
                middle of each range.
            sigma: the first standard deviation, likewise; default a share of each range.
            seed: for `numpy.random.default_rng`; the same seed gives the same search.
            exact: refresh the eigenbasis every generation, as the paper does: slower, for parity.
        """
        if not isinstance(space, Space):
            raise TypeError(
                f"space must be a Space, got {type(space).__name__}; write Space({{...}}) or Space([...]), "
                "and bounds as for SciPy as minimize(fun, bounds=...)"
            )
        mirrored(strategy)  # or an error that lists the names
        self.space = space
        self.strategy = strategy
        self._encoding = encoding = Encoding(space, mean, sigma)
        self._margin = _checked_margin(margin)
        self._exact = exact
        self._rng = np.random.default_rng(seed)
        self.generation = self.evaluations = self.failures = 0
        self.best: Best | None = None
        self._next_id = 0
        self._generation: Generation | None = None
        if population is None:
            population = default_population(encoding.N)
        self._population = checked_population(population, strategy)
        domain = Domain(encoding.n_co, encoding.lattice, *encoding.ends())
        self._search: Search = begin(strategy, domain, self._population, self._margin, encoding.m, exact)

    def ask(self, k: int | None = None) -> list[Candidate]:
        """The rest of this generation, or its next k candidates.

        When all candidates of the generation are asked, the list is shorter than k, or empty, until every
        value of the generation has been told.
        """
        if k is not None:
            k = checked_count(k)
        g = self._generation
        if g is None:
            self._search.draw(self._rng)
            g = self._generation = self._spread()
        first, size = g.asked, len(g.candidates)
        g.asked = size if k is None else min(first + k, size)
        return g.candidates[first : g.asked]

    def _spread(self) -> Generation:
        batch = self._search.batch()
        return Generation(self._next_id, batch, self._encoding.decode(*batch))

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
    def pending(self) -> list[Candidate]:
        """Candidates that were asked and not told yet, for instance after a restore."""
        g = self._generation
        return [] if g is None else [g.candidates[i] for i in sorted(g.missing) if i < g.asked]

    @property
    def between_generations(self) -> bool:
        """Whether everything asked is told, so that `ask` begins a generation and `restart` is possible."""
        return self._generation is None

    def tell(
        self,
        candidates: Candidate | Sequence[Candidate],
        values: Any,
        violation: Any = None,
    ) -> None:
        """Tell the value of a candidate, or the values of several, in any order.

        NaN and infinity mark an evaluation that failed. `violation` > 0 (one for each value) marks a
        violated constraint, and by how much in total: feasible candidates rank before violated ones,
        and those by violation. If anything is wrong with the arguments, nothing is taken.
        """
        if isinstance(candidates, Candidate):
            candidates, values = [candidates], [values]
            violation = None if violation is None else [violation]
        if not isinstance(candidates, Iterable):
            raise TypeError(f"tell takes what ask gave, candidates, got {type(candidates).__name__}")
        ids = [self._pending_id(candidate) for candidate in candidates]
        if len(set(ids)) != len(ids):
            raise ValueError("tell takes each candidate once, got one of them twice")
        if not ids:
            raise ValueError("tell takes at least one candidate, got none")
        numbers = as_numbers("value", values, len(ids))
        amounts = [0.0] * len(ids)
        if violation is not None:
            amounts = [max(v, 0.0) for v in as_numbers("violation", violation, len(ids))]
        self._take(ids, numbers, amounts)

    def _pending_id(self, candidate: Any) -> int:
        if not isinstance(candidate, Candidate):
            raise TypeError(f"tell takes what ask gave, a Candidate, got {type(candidate).__name__}")
        if not self._awaits(candidate):
            raise ValueError(
                f"candidate {candidate.id} is not pending: it was told already, "
                "or it was not asked from this optimizer"
            )
        return candidate.id

    def _awaits(self, candidate: Candidate) -> bool:
        """Whether a candidate was asked from this optimizer and not told."""
        g = self._generation
        return g is not None and g.awaits(candidate)

    def _take(self, ids: list[int], values: list[float], violations: list[float]) -> None:
        """Take the outcomes of candidates that are pending."""
        g = self._generation
        if g is None:
            raise RuntimeError("no generation is on its way")
        places = [id - g.first_id for id in ids]
        if any(violations):
            g.violations = g.violations or [0.0] * len(g.candidates)
            for i, violation in zip(places, violations, strict=True):
                g.violations[i] = violation
        for i, value in zip(places, values, strict=True):
            g.values[i] = value
        g.missing.difference_update(places)
        self._note(ids, values, violations, lambda id: g.x[id - g.first_id])
        if not g.missing:
            self._advance(g)

    def _note(
        self,
        ids: Sequence[int],
        values: Sequence[float],
        violations: Sequence[float],
        x: Callable[[int], FloatArray],
    ) -> None:
        """Count, and keep the best; of equals the first asked: the order of telling does not matter."""
        self.evaluations += len(ids)
        best = self.best
        key = (math.inf, math.inf, 0)
        if best is not None:
            key = (best.violation, best.value if math.isfinite(best.value) else math.inf, best.id)
        winner = None
        for id, value, violation in zip(ids, values, violations, strict=True):
            if not violation and key[1] < value < math.inf and not key[0]:
                continue  # feasible, and worse than a feasible best: the common case
            if not (math.isfinite(value) if violation == 0 else violation < math.inf):
                self.failures += 1
                continue
            own = (violation, value if math.isfinite(value) else math.inf, id)
            if own < key:
                key, winner = own, value
        if winner is not None:
            numbers = x(key[2]).copy()  # from our own record: who evaluates may write into params
            numbers.setflags(write=False)
            self.best = Best(key[2], winner, key[0], numbers, self._encoding)

    def _advance(self, g: Generation) -> None:
        """A generation is complete: let the search learn from it."""
        violations = None if g.violations is None else np.array(g.violations)
        self._search.take(Told(g.batch, np.array(g.values), violations), self._rng)
        self._generation = None
        self._next_id += len(g.candidates)
        self.generation += 1

    @property
    def mean(self) -> FloatArray:
        """Mean of the Gaussian in the user's units and order; integers are not rounded."""
        return self._encoding.unrounded(self._search.where()[0])

    @property
    def centre(self) -> Params:
        """The mean as a point that the objective could get."""
        return self._encoding.params_of(self.mean)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations of the Gaussian in the user's order and units (of logs, if log)."""
        return self._encoding.spreads(self._search.where()[1])

    def restart(self) -> None:
        """Begin another run, the best is kept: from a random mean, with twice the population; with "saltus"
        also from the best point, as it sees fit.
        """
        if not self.between_generations:
            raise RuntimeError("restart between generations: tell the pending candidates first")
        self._search.restart(self._rng)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON-able data: `restore` goes on bit by bit as if never interrupted."""
        g = self._generation
        sampled = None
        if g is not None:
            sampled = {
                "asked": g.asked,
                "missing": sorted(g.missing),
                "values": g.values,
                "violations": g.violations,
            }
        best = self.best
        state: dict[str, Any] = _serialize.pack(
            {
                "format": _FORMAT,
                "space": self.space.to_plain(),
                "strategy": self.strategy,
                "population": self._population,
                "margin": self._margin,
                "mean": self._encoding.given_mean,
                "sigma": self._encoding.given_sigma,
                "exact": self._exact,
                "counts": {name: getattr(self, name) for name in _COUNTS},
                "best": None if best is None else [best.id, best.value, best.violation, best.x],
                "search": self._search.state(),
                "sampled": sampled,
                "rng": _serialize.stream_state(self._rng),
            }
        )
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the state and the space."""
        return type(self).restore, (self.state(), self.space)

    @classmethod
    def restore(cls, state: Mapping[str, Any], space: Space | None = None) -> Self:
        """The optimizer whose `state()` this is; what was asked and not told is in `pending`.

        The state describes the space too, with values of an Ordinal as plain ints and floats. If they were
        of another type (`np.float32`, `Fraction`) and that matters, give the same space again.
        """
        try:
            return cls._restored(state, space)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"not a state of a Saltus optimizer: {error!r}") from error

    @classmethod
    def _restored(cls, packed: Mapping[str, Any], space: Space | None) -> Self:
        if packed.get("format") != _FORMAT:
            raise ValueError(f"state: this version reads format {_FORMAT}, got {packed.get('format')!r}")
        state = _serialize.unpack(dict(packed), SAVED)
        if space is not None and space.to_plain() != state["space"]:
            raise ValueError("state: it belongs to another space than the one given")
        self = cls(
            Space.from_plain(state["space"]) if space is None else space,
            strategy=state["strategy"],
            population=state["population"],
            margin=state["margin"],
            mean=state["mean"],
            sigma=state["sigma"],
            exact=state["exact"],
        )
        for name in _COUNTS:
            setattr(self, name, int(state["counts"][name]))
        self._search.restore(state["search"])
        self._rng = _serialize.stream_from(packed["rng"])
        if state["best"] is not None:
            id, value, violation, x = state["best"]
            x = _serialize.shaped(x, (len(self.space),), "best")
            x.setflags(write=False)
            self.best = Best(int(id), float(value), float(violation), x, self._encoding)
        sampled = state["sampled"]
        if sampled is not None:
            g = self._generation = self._spread()
            g.asked, g.missing = int(sampled["asked"]), set(sampled["missing"])
            g.values, g.violations = sampled["values"], sampled["violations"]
        return self


def checked_population(population: Any, strategy: str) -> int:
    """The population as an int, or a ValueError that says what the strategy wants."""
    even = mirrored(strategy)
    rule = "even and at least 4" if even else "at least 4"
    whole = isinstance(population, int | np.integer) and not isinstance(population, bool)
    if not whole or population < 4 or (even and population % 2):
        near = max(4, population + population % 2) if whole else "a whole number"
        raise ValueError(f"population must be {rule}, got {population!r}; try {near}")
    return int(population)


def _checked_margin(margin: Any) -> float | None:
    if margin is None:
        return None
    if not isinstance(margin, int | float | np.floating) or not 0 < margin < 0.5:
        raise ValueError(f"margin must be a probability between 0 and 0.5, got {margin!r}")
    return float(margin)


def as_numbers(what: str, given: Any, count: int) -> list[float]:
    """A list of floats of that length, or an error that says what was there instead."""
    try:
        numbers = [as_number(what, v) for v in given]
    except TypeError as error:
        if "not iterable" not in str(error):
            raise
        raise TypeError(f"tell takes a {what} for each candidate, got {given!r}") from None
    if len(numbers) != count:
        raise ValueError(f"tell takes a {what} for each of {count} candidates, got {len(numbers)}")
    return numbers
