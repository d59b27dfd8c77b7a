"""minimize(): the loop around an optimizer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import ExitStack
from numbers import Real
from typing import Any, Literal

import numpy as np

from .candidates import Candidate
from .optimizer import DEFAULT_STRATEGY, Optimizer
from .progress import Progress
from .result import History, Result, Stop
from .space import PerVariable, Space
from .variables import Float, Int, Variable
from .workers import Batch, Objective, Outcome, Submit, WorkerError, evaluating

Callback = Callable[[Result], Any]


class ObjectiveError(RuntimeError):
    """The objective raised an exception; the exception itself is the cause of this one.

    `params` is the point, `optimizer` holds everything told before: `optimizer.state()` can be saved, and
    `optimizer.pending` lists what is still to be evaluated.
    """

    def __init__(self, candidate: Candidate, optimizer: Optimizer, error: Exception) -> None:
        """Say where and what."""
        super().__init__(
            f"the objective raised {type(error).__name__}: {error} at {candidate.params!r}; "
            "on_error='infeasible' would count such points as infeasible and go on"
        )
        self.candidate = candidate
        self.params = candidate.params
        self.optimizer = optimizer
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: an error may come out of another process."""
        return ObjectiveError, (self.candidate, self.optimizer, self.error)


def minimize(
    fun: Objective,
    space: Space | None = None,
    *,
    budget: int | None = None,
    target: float | None = None,
    max_seconds: float | None = None,
    strategy: str = DEFAULT_STRATEGY,
    population: int | None = None,
    margin: float | None = None,
    mean: PerVariable = None,
    sigma: PerVariable = None,
    seed: int | np.random.Generator | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    restarts: bool = True,
    maximize: bool = False,
    on_error: Literal["raise", "infeasible"] = "raise",
    bounds: Any = None,
    integrality: Any = None,
) -> Result:
    """Find the variables of a space that make `fun` smallest.

    >>> from saltus import Float, Int, Space, minimize
    >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
    >>> result = minimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, space, seed=1, budget=500)
    >>> result.params["k"], round(result.params["x"], 4)
    (7, 1.0)

    Args:
        fun: gets a dict (for a space with names) or a 1-D array, and returns a number, or a pair of
            a number and the constraints' values, of which those above 0 are violated. NaN and infinity
            say that a point is infeasible.
        space: the variables; or give `bounds` (and `integrality`) as for SciPy.
        budget: evaluations at most; default 1000 for each dimension.
        target: stop at a value this good.
        max_seconds: begin no evaluation after this time; what a worker has begun is waited for.
        strategy, population, margin, mean, sigma, seed: as for `Optimizer`.
        workers: processes for the evaluations, with one BLAS thread each; -1 takes all cores. The
            result does not depend on it. If a process dies, a WorkerError carries the optimizer.
        executor: evaluate there instead: anything with `submit`, such as a Dask executor.
        callback: called with an intermediate Result after each generation; it stops the search by
            returning True or raising StopIteration.
        progress: show a bar (needs tqdm: `pip install saltus[progress]`).
        restarts: when a run has converged, begin another, elsewhere or from the best point; if not, stop.
        maximize: look for the largest value instead.
        on_error: what an exception in `fun` does: "raise" an ObjectiveError, or count the point as
            "infeasible" and go on.
        bounds: a sequence of (low, high), or `scipy.optimize.Bounds`; None or infinite where there is
            no bound.
        integrality: True for each variable that is an integer.

    The same seed gives the same result, with any number of workers.
    """
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {type(fun).__name__}")
    if on_error not in ("raise", "infeasible"):
        raise ValueError(f"on_error must be 'raise' or 'infeasible', got {on_error!r}")
    if (space is None) == (bounds is None):
        raise TypeError("minimize takes a space, or bounds as for SciPy: exactly one of them")
    if space is None:
        space = space_from_bounds(bounds, integrality)
    elif integrality is not None:
        raise TypeError("integrality goes with bounds; a space says which variables are integers")
    optimizer = Optimizer(
        space,
        strategy=strategy,
        population=population,
        margin=margin,
        mean=mean,
        sigma=sigma,
        seed=seed,
    )
    if budget is None:
        budget = 1000 * space.dimension
    if isinstance(budget, bool) or not isinstance(budget, Real) or budget < 1 or budget % 1 != 0:
        raise ValueError(f"budget must be a positive whole number, got {budget!r}")
    for name, value in (("target", target), ("max_seconds", max_seconds)):
        if value is not None and (not isinstance(value, Real) or math.isnan(value)):
            raise ValueError(f"{name} must be a number or None, got {value!r}")
    search = _Search(optimizer, int(budget), target, max_seconds, restarts, maximize, on_error)
    with ExitStack() as stack:
        bar = stack.enter_context(Progress(search.budget if progress else None))
        submit = stack.enter_context(evaluating(fun, workers, executor))
        stop = search.run(submit, callback, bar)
    return search.result(stop)


class _Search:
    """An optimizer, its limits, and what is remembered on the way."""

    def __init__(
        self,
        optimizer: Optimizer,
        budget: int,
        target: float | None,
        max_seconds: float | None,
        restarts: bool,
        maximize: bool,
        on_error: str,
    ) -> None:
        self.optimizer = optimizer
        self.budget = budget
        self.restarts = restarts
        self.on_error = on_error
        self.sign = -1.0 if maximize else 1.0
        self.target = None if target is None else self.sign * target
        self.max_seconds = math.inf if max_seconds is None else max_seconds
        self.rows: list[tuple[float, float, float, float]] = []

    def run(self, submit: Submit, callback: Callback | None, bar: Progress) -> Stop:
        """Generation after generation, until there is a reason to stop."""
        deadline = time.monotonic() + self.max_seconds
        try:
            while True:
                stop = self._generation(submit, bar, deadline)
                if stop is None and callback is not None and self._wants_stop(callback):
                    stop = Stop.CALLBACK
                if stop is not None:
                    return stop
                if self.optimizer.stop is not None:
                    if not self.restarts:
                        return self.optimizer.stop
                    self.optimizer.restart()
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except WorkerError as error:
            error.optimizer = self.optimizer
            raise

    def _generation(self, submit: Submit, bar: Progress, deadline: float) -> Stop | None:
        """Evaluate one generation, or what the budget leaves of it."""
        optimizer = self.optimizer
        candidates = optimizer.ask(self.budget - optimizer.evaluations)
        batch = Batch(submit, candidates, deadline)
        values: list[float] = []
        failed: ObjectiveError | None = None
        for candidate, outcome in batch:
            if isinstance(outcome, Exception):
                if self.on_error == "raise":
                    failed = failed or ObjectiveError(candidate, optimizer, outcome)
                    batch.withdraw()  # what is running is not lost: it is told before the raise
                    continue
                outcome = Outcome(math.nan)
            value = self.sign * outcome.value
            optimizer.tell(candidate, value, outcome.violation)
            if math.isfinite(value) and outcome.violation == 0:
                values.append(value)
            bar.step(optimizer, self.sign)
            if self._reached_target():
                batch.withdraw()
                break
        if failed is not None:
            raise failed from failed.error
        best = optimizer.best
        self.rows.append(
            (
                optimizer.evaluations,
                self.sign * best.value if best is not None and best.feasible else math.nan,
                self.sign * min(values) if values else math.nan,
                len(candidates),
            )
        )
        if self._reached_target():
            return Stop.TARGET
        if batch.late:
            return Stop.SECONDS
        return Stop.BUDGET if optimizer.evaluations >= self.budget else None

    def _reached_target(self) -> bool:
        best = self.optimizer.best
        return self.target is not None and best is not None and best.feasible and best.value <= self.target

    def _wants_stop(self, callback: Callback) -> bool:
        try:
            return bool(callback(self.result(None)))
        except StopIteration:
            return True

    def result(self, stop: Stop | None) -> Result:
        """The result so far; without a stop, an intermediate one."""
        optimizer, best = self.optimizer, self.optimizer.best
        feasible = best is not None and best.feasible
        planned = stop is not Stop.INTERRUPTED and self.target is None
        return Result(
            x=None if best is None else best.x.copy(),
            params=None if best is None else best.params,
            fun=math.nan if best is None else self.sign * best.value,
            nfev=optimizer.evaluations,
            nit=optimizer.generation,
            success=feasible and (stop is Stop.TARGET or (planned and stop is not None)),
            stop=stop,
            restarts=optimizer.restarts,
            failures=optimizer.failures,
            violation=0.0 if best is None else best.violation,
            history=History(self.rows),
        )


def space_from_bounds(bounds: Any, integrality: Any = None) -> Space:
    """The space that SciPy's `bounds` and `integrality` describe.

    >>> space_from_bounds([(0, 1), (0.5, 4)], [False, True]).variables[1]
    Int(low=1, high=4, log=False, init=None, scale=None)
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = list(zip(*np.broadcast_arrays(bounds.lb, bounds.ub), strict=True))
    pairs = list(bounds) if np.ndim(bounds) else []
    if not pairs or any(np.ndim(pair) != 1 or len(pair) != 2 for pair in pairs):
        raise ValueError(f"bounds must be a sequence of pairs (low, high), got {bounds!r}")
    if np.ndim(integrality) and len(integrality) != len(pairs):
        raise ValueError(f"integrality must have {len(pairs)} entries as bounds has, got {len(integrality)}")
    whole = np.broadcast_to(False if integrality is None else integrality, len(pairs))
    variables: list[Variable] = []
    for i, ((low, high), is_int) in enumerate(zip(pairs, whole.tolist(), strict=True)):
        if not is_int:
            variables.append(Float(low, high))
        elif low is None or high is None or not math.isfinite(high - low):
            raise ValueError(f"bounds of integer variable {i} must be finite, got ({low}, {high})")
        elif math.ceil(low) > math.floor(high):
            raise ValueError(f"bounds of integer variable {i} hold no integer, got ({low}, {high})")
        else:
            variables.append(Int(math.ceil(low), math.floor(high)))
    return Space(variables)
