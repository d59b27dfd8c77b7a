"""Ask and tell: the strategy behind an interface of candidates and values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import plain
from .candidates import Best, Candidate, Generation, as_number
from .result import Stop
from .space import Frame, PerVariable, Space
from .stopping import RunLog, stop_reason
from .strategy import FloatArray, Integers, by_name, default_population, rank

DEFAULT_STRATEGY = "dx-nes-ici"
_FORMAT = 1
_COUNTS = ("restarts", "generation", "evaluations", "failures", "_next_id")


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
        stop: why the current run should end, or None. It is advice: `ask` goes on all the same, and
            `restart` begins another run.
        generation, evaluations, failures, restarts: how many there have been.
        population: candidates a generation.
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
        chosen = by_name(strategy)
        self.space = space
        self.strategy = strategy
        self._core, self._treatment = chosen.core, chosen.treatment
        self._frame = Frame(space, mean, sigma)
        self._margin = _checked_margin(margin)
        self._exact = exact
        self._rng = np.random.default_rng(seed)
        self.restarts = self.generation = self.evaluations = self.failures = 0
        self.best: Best | None = None
        self._next_id = 0
        if population is None:
            population = default_population(self._frame.N)
        self._begin(_checked_population(population, self._core.MIRRORED), self._frame.m)

    def _begin(self, population: int, m: FloatArray) -> None:
        """Begin a run: the first, or one after a restart."""
        N, lattice = self._frame.N, self._frame.lattice
        self.population = population
        alpha = 1 / (N * population) if self._margin is None else self._margin
        self._integers = Integers(self._frame.n_co, lattice, alpha, self._treatment)
        self._constants = self._core.constants(N, population, exact=self._exact)
        self._state = self._core.start(self._constants, m, self._integers)
        self._log = RunLog.start(N, population, self._integers)
        self._generation: Generation | None = None
        self.stop: Stop | None = None

    def ask(self, k: int | None = None) -> list[Candidate]:
        """The rest of this generation, or its next k candidates.

        A generation has `population` candidates. When they are all asked, the list is shorter than k,
        or empty, until every value of the generation has been told.
        """
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise ValueError(f"ask takes a positive whole number, or nothing, got {k!r}")
        g = self._generation
        if g is None:
            g = self._generation = self._spread(self._core.draw(self._constants, self._rng))
        first = g.asked
        g.asked = self.population if k is None else min(first + int(k), self.population)
        return g.candidates[first : g.asked]

    def _spread(self, z: FloatArray) -> Generation:
        cloud = self._core.spread(self._constants, self._state, z)
        plateaus = self._integers.plateaus(self._state.memory, self._state.m, cloud.x)
        return Generation(self._next_id, cloud, plateaus, self._frame.decode(cloud.x, plateaus))

    @property
    def pending(self) -> list[Candidate]:
        """Candidates that were asked and not told yet, for instance after a restore."""
        g = self._generation
        return [] if g is None else [g.candidates[i] for i in sorted(g.missing) if i < g.asked]

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
        g, indices = self._located(candidates)
        numbers = _numbers("value", values, len(indices))
        if violation is not None:
            amounts = [max(v, 0.0) for v in _numbers("violation", violation, len(indices))]
            if any(amounts):
                g.violations = g.violations or [0.0] * self.population
                for i, amount in zip(indices, amounts, strict=True):
                    g.violations[i] = amount
        for i, value in zip(indices, numbers, strict=True):
            g.values[i] = value
        g.missing.difference_update(indices)
        self._note(g, indices)
        self.evaluations += len(indices)
        if not g.missing:
            self._advance(g)

    def _located(self, candidates: Sequence[Candidate]) -> tuple[Generation, list[int]]:
        """The generation and the places of candidates that may be told."""
        g = self._generation
        indices = []
        if not isinstance(candidates, Iterable):
            raise TypeError(f"tell takes what ask gave, candidates, got {type(candidates).__name__}")
        for c in candidates:
            if not isinstance(c, Candidate):
                raise TypeError(f"tell takes what ask gave, a Candidate, got {type(c).__name__}")
            i = None if g is None else g.index(c)
            if i is None:
                raise ValueError(
                    f"candidate {c.id} is not pending: it was told already, "
                    "or it was not asked from this optimizer"
                )
            indices.append(i)
        if len(set(indices)) != len(indices):
            raise ValueError("tell takes each candidate once, got one of them twice")
        if g is None or not indices:
            raise ValueError("tell takes at least one candidate, got none")
        return g, indices

    def _note(self, g: Generation, indices: list[int]) -> None:
        """Keep the best; of equals the first asked, so that the order of telling does not matter."""
        best = self.best
        key = (math.inf, math.inf, 0)
        if best is not None:
            key = (best.violation, best.value if math.isfinite(best.value) else math.inf, best.id)
        winner = None
        for i in indices:
            value = g.values[i]
            violation = g.violations[i] if g.violations else 0.0
            if not violation and key[1] < value < math.inf and not key[0]:
                continue  # feasible, and worse than a feasible best: the common case
            if not (math.isfinite(value) if violation == 0 else violation < math.inf):
                self.failures += 1
                continue
            own = (violation, value if math.isfinite(value) else math.inf, g.first_id + i)
            if own < key:
                key, winner = own, i
        if winner is not None:
            x = g.x[winner].copy()  # from our own record: who evaluates may write into params
            x.setflags(write=False)
            self.best = Best(key[2], g.values[winner], key[0], x, self._frame)

    def _advance(self, g: Generation) -> None:
        """A generation is complete: rank it and update the Gaussian."""
        violations = None if g.violations is None else np.array(g.violations)
        ranking = rank(np.array(g.values), violations, g.cloud, self._integers)
        self._state = self._core.update(self._constants, self._state, g.cloud, ranking, self._integers)
        first = int(ranking.order[0])
        violation = g.violations[first] if g.violations else 0.0
        self._log = self._log.after(g.values[first], violation, g.plateaus[first])
        self._generation = None
        self._next_id += self.population
        self.generation += 1
        self.stop = stop_reason(self._log, self._state, self._integers)

    @property
    def mean(self) -> FloatArray:
        """Mean of the Gaussian in the user's units and order; integers are not rounded."""
        return self._frame.unrounded(self._state.m)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations of the Gaussian in the user's order and units (of logs, if log)."""
        return self._frame.spreads(self._state.sd)

    def restart(self) -> None:
        """Begin another run, with twice the population, from a random mean; the best is kept."""
        if self._generation is not None:
            raise RuntimeError("restart between generations: tell the pending candidates first")
        self.restarts += 1
        self._begin(2 * self.population, self._frame.random_start(self._rng))

    def state(self) -> dict[str, Any]:
        """Everything, as JSON-able data: `restore` goes on bit by bit as if never interrupted."""
        g = self._generation
        sampled = None
        if g is not None:
            sampled = {
                "z": g.cloud.z,
                "asked": g.asked,
                "missing": sorted(g.missing),
                "values": g.values,
                "violations": g.violations,
            }
        best = self.best
        state: dict[str, Any] = plain.pack(
            {
                "format": _FORMAT,
                "space": self.space.to_plain(),
                "strategy": self.strategy,
                "population": self.population,
                "margin": self._margin,
                "mean": self._frame.given_mean,
                "sigma": self._frame.given_sigma,
                "exact": self._exact,
                "counts": {name: getattr(self, name) for name in _COUNTS},
                "stop": None if self.stop is None else self.stop.name,
                "best": None if best is None else [best.id, best.value, best.violation, best.x],
                "gaussian": self._state._asdict(),
                "log": self._log._asdict(),
                "sampled": sampled,
                "rng": plain.stream_state(self._rng),
            }
        )
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the state and the space."""
        return Optimizer.restore, (self.state(), self.space)

    @classmethod
    def restore(cls, state: Mapping[str, Any], space: Space | None = None) -> Optimizer:
        """The optimizer whose `state()` this is; what was asked and not told is in `pending`.

        The state describes the space too, with values of an Ordinal as plain ints and floats. If they were
        of another type (`np.float32`, `Fraction`) and that matters, give the same space again.
        """
        try:
            return cls._restored(state, space)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a state of a Saltus optimizer: {error!r}") from error

    @classmethod
    def _restored(cls, packed: Mapping[str, Any], space: Space | None) -> Optimizer:
        if packed.get("format") != _FORMAT:
            raise ValueError(f"state: this version reads format {_FORMAT}, got {packed.get('format')!r}")
        state = plain.unpack(dict(packed))
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
        self.stop = None if state["stop"] is None else Stop[state["stop"]]
        self._state = plain.rebuilt(self._state, state["gaussian"])
        self._log = plain.rebuilt(self._log, state["log"])
        self._rng = plain.stream_from(packed["rng"])
        if state["best"] is not None:
            id, value, violation, x = state["best"]
            x = plain.shaped(x, (len(self.space),), "best")
            x.setflags(write=False)
            self.best = Best(int(id), float(value), float(violation), x, self._frame)
        sampled = state["sampled"]
        if sampled is not None:
            g = self._generation = self._spread(sampled["z"])
            g.asked, g.missing = int(sampled["asked"]), set(sampled["missing"])
            g.values, g.violations = sampled["values"], sampled["violations"]
        return self


def _checked_population(population: Any, mirrored: bool) -> int:
    rule = "even and at least 4" if mirrored else "at least 4"
    whole = isinstance(population, int | np.integer) and not isinstance(population, bool)
    if not whole or population < 4 or (mirrored and population % 2):
        near = max(4, population + population % 2) if whole else "a whole number"
        raise ValueError(f"population must be {rule}, got {population!r}; try {near}")
    return int(population)


def _checked_margin(margin: Any) -> float | None:
    if margin is None:
        return None
    if not isinstance(margin, int | float | np.floating) or not 0 < margin < 0.5:
        raise ValueError(f"margin must be a probability between 0 and 0.5, got {margin!r}")
    return float(margin)


def _numbers(what: str, given: Any, count: int) -> list[float]:
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
