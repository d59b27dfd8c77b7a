"""minimize(): the loop around an optimizer."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import Any, Literal, Never

import numpy as np

from ._checks import check_callable, did_you_mean, wants_maximum, worker_count
from ._typing import Params, PerVariable
from .execution.choose import evaluating
from .execution.driver import Callback, Driver, Limits, ObjectiveError
from .execution.evaluator import Evaluator
from .execution.log import AnsweringLog, HistoryLog
from .execution.progress import Progress
from .execution.scipy_form import REPLACEMENTS, check_linear, known_rules, with_scipys
from .execution.vectorized import Vectorized
from .execution.watching import OnEvaluation
from .optimizer import Optimizer
from .result import History, Result
from .search.settings import DEFAULT_STRATEGY
from .search.stopping import Stop
from .space import Space
from .space.variable import Variable
from .space.variables import Float, Int
from .strategy import default_population

__all__ = ["ObjectiveError", "minimize", "space_from_bounds"]


def minimize(
    fun: Callable[..., Any],
    space: Space | None = None,
    *,
    budget: int | None = None,
    target: float | None = None,
    max_seconds: float | None = None,
    patience: int | None = None,
    min_gain: float | None = None,
    strategy: str = DEFAULT_STRATEGY,
    points: Sequence[Params] = (),
    population: int | None = None,
    batch: int | None = None,
    margin: float | None = None,
    mean: PerVariable = None,
    sigma: PerVariable = None,
    seed: int | np.random.Generator | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    asynchronous: bool = False,
    callback: Callback | None = None,
    on_evaluation: OnEvaluation | None = None,
    progress: bool = False,
    restarts: bool = True,
    without: Collection[str] = (),
    maximize: bool = False,
    direction: Literal["minimize", "maximize"] | None = None,
    noisy: bool | None = None,
    on_error: Literal["raise", "infeasible"] = "raise",
    vectorized: bool = False,
    bounds: Any = None,
    integrality: Any = None,
    x0: PerVariable = None,
    args: Any = (),
    constraints: Any = None,
    **others: Never,
) -> Result:
    """Find the variables of a space that make `fun` smallest.

    >>> from saltus import Float, Int, Space, minimize
    >>> space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
    >>> result = minimize(lambda p: (p["x"] - 1) ** 2 + (p["k"] - 7) ** 2, space, seed=1, budget=500)
    >>> result.params["k"], round(result.params["x"], 4)
    (7, 1.0)

    Args:
        fun: gets a dict (for a space with names) or a 1-D array, and returns a number, or a pair of
            a number and the constraints' values, of which those above 0 are violated: a dict by name, or
            a list. NaN and infinity say that a point is infeasible.
        space: the variables; or give `bounds` (and `integrality`) as for SciPy.
        budget: evaluations at most; default 1000 for each dimension.
        target: stop at a value this good.
        max_seconds: begin no evaluation after this time; what a worker has begun is waited for. To start
            worker processes is part of it.
        patience: stop when so many evaluations have not improved the best value by more than a trifle. It
            begins to count at the first feasible value; restarts count too, so give it some hundred.
        min_gain: what is more than a trifle, in units of the value. By default a thousandth of the best
            value's size, or of what was gained since the first ten evaluations if that is less.
        strategy, population, margin, mean, sigma, seed: as for `Optimizer`.
        points: what is known to be good, or worth a try: evaluated first, in this order; then the search
            starts from the best of them. Each a dict by name, or a sequence for a space without names; what
            is not given, or None, is where the search would start (docs/known.md).
        batch: how many points the model chooses at a time; default as many as there are workers, or one if
            asynchronous. It is part of what defines the search; without a model it has no meaning.
        workers: processes for the evaluations, with one BLAS thread each; -1 takes all cores. The
            result depends on it through the default of `batch` alone. A process that dies is an exception, a
            WorkerError. A lambda, or a function of a notebook, needs cloudpickle to get there.
        executor: evaluate there instead: anything with `submit`, such as a Dask executor.
        asynchronous: wait for nobody: a worker that is free gets a candidate at once, and every outcome
            counts, however late. It saves time where evaluations take very different times, for some more
            of them (docs/asynchronous.md); the result then depends on which ends first. With an executor,
            `workers` says how many evaluations are under way.
        callback: called with an intermediate Result after each generation; it stops the search by
            returning True or raising StopIteration.
        on_evaluation: called with an `Evaluation` after each of them, in the order asked (as they end, if
            asynchronous); it stops the search in the same ways. Points answered from memory are none.
        progress: show a bar (needs tqdm: `pip install saltus[progress]`).
        restarts: when a run has converged, begin another, elsewhere or from the best point; if not, stop.
        without: parts of the default strategy that are left out, as for `Optimizer`.
        maximize: look for the largest value instead; `direction="maximize"`, as in studies, says the same.
        noisy: True if the objective gives another value each time: then the search believes no single value,
            the result has `recommended`, and `target` is reached when that is below it by its error
            (docs/noise.md). False if it does not. By default it is noticed, when the same point has two
            values. Unless it is noisy, points that repeat in a space of integers and switches are answered
            from memory, count nothing, and the search ends when nothing is new any more.
        on_error: what an exception in `fun` does: "raise" an ObjectiveError, or count the point as
            "infeasible" and go on.
        vectorized: `fun` gets all points of a batch, as a list of dicts or an array with a row for each, and
            gives an array of values, or a pair: values, and constraints as a dict of arrays by name or an
            array with a row for each point. Say with `batch` how many points a call should have: the default
            of `population` is then at least as many. Not with workers.
        bounds: a sequence of (low, high), or `scipy.optimize.Bounds`; None or infinite where there is
            no bound.
        integrality: True for each variable that is an integer.
        x0: where to start, as `mean`.
        args: further arguments of `fun`, a tuple.
        constraints: of `scipy.optimize`: NonlinearConstraint, LinearConstraint or dicts, one or a list of
            them, evaluated together with `fun`. An equality may be missed by 1e-6. With `bounds`, linear
            inequalities are known: no point that breaks one is evaluated.

    A `Result` comes back: `params` is the best point, `fun` its value, `success` and `message` say how it
    ended, `sensitivity` which variables matter. The same seed and `batch` give the same one, whatever
    evaluates it (unless `asynchronous`).
    """
    since = time.monotonic()
    if others:
        raise TypeError(_unknown(next(iter(others))))
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {type(fun).__name__}")
    check_callable(callback=callback, on_evaluation=on_evaluation)
    if on_error not in ("raise", "infeasible"):
        raise ValueError(f"on_error must be 'raise' or 'infeasible', got {on_error!r}")
    maximize = wants_maximum(maximize, direction)
    if (space is None) == (bounds is None):
        raise TypeError("minimize takes a space, or bounds as for SciPy: exactly one of them")
    if space is None:
        row = space_from_bounds(bounds, integrality)
        check_linear(constraints, row)
        where, constraints = known_rules(constraints)
        space = Space(row.variables, where=where) if where else row
    elif integrality is not None:
        raise TypeError("integrality goes with bounds; a space says which variables are integers")
    elif isinstance(space, Space):
        check_linear(constraints, space)
    if x0 is not None and mean is not None:
        raise TypeError("x0 is another name for mean: give one of them")
    mean = x0 if mean is None else mean
    count = worker_count(workers)
    if vectorized:
        if count > 1 or executor is not None or asynchronous:
            raise ValueError(
                "a vectorized objective is called in this process, with a batch at a time: "
                "leave out workers, executor and asynchronous"
            )
        if constraints:
            raise ValueError("a vectorized objective returns its constraints itself: (values, constraints)")
        if population is None and isinstance(batch, int):  # a smaller one would not fill a batch
            population = max(default_population(space.dimension), batch + batch % 2)
    objective = with_scipys(fun, args, constraints)
    if asynchronous and count > 1:
        check_bears_late_results(strategy)
    optimizer = Optimizer(
        space,
        strategy=strategy,
        population=population,
        batch=(1 if asynchronous else count) if batch is None else batch,
        margin=margin,
        mean=mean,
        sigma=sigma,
        seed=seed,
        asynchronous=asynchronous,
        auto_restart=restarts,
        without=without,
        noisy=noisy,
    )
    optimizer.enqueue(*checked_points(points))
    most = default_budget(space) if budget is None else budget
    limits = Limits(most, target, max_seconds, since, patience, min_gain)
    repeats = not noisy and (space.count_points() < math.inf or space.activity is not None)
    log = AnsweringLog(optimizer) if repeats else HistoryLog(optimizer)
    driver = Driver(optimizer, log, limits, maximize=maximize, on_error=on_error, on_evaluation=on_evaluation)

    def result(stop: Stop | None) -> Result:
        return driver.result(stop, History(log.rows, len(log.rows)))

    wants_stop = stopping(callback, result)
    with ExitStack() as stack:
        bar = stack.enter_context(Progress(driver.budget)) if progress else None
        width = count if asynchronous else None
        alone = 1 if asynchronous and executor is not None else count  # the width is not for `evaluating`
        if vectorized:
            evaluator: Evaluator = Vectorized(objective)
        else:
            evaluator = stack.enter_context(evaluating(objective, alone, executor))
        stop = driver.run(evaluator, wants_stop, bar, width)
    return result(stop)


def check_bears_late_results(strategy: str) -> None:
    """A ValueError for the strategy that cannot be asynchronous."""
    if strategy == "cma-es-margin":
        raise ValueError(
            "cma-es-margin goes astray when results come late (docs/asynchronous.md): "
            "leave asynchronous out, or take another strategy, such as cma-es+leap+bias"
        )


def checked_points(points: Any) -> Sequence[Params]:
    """Several points, or a TypeError if it is something else, for instance one point."""
    if isinstance(points, Mapping | str) or not isinstance(points, Sequence | np.ndarray):
        raise TypeError(f"points must be a list of points, got {points!r}")
    return list(points)


def stopping(callback: Callback | None, result: Callable[[None], Result]) -> Callable[[], bool]:
    """Whether the user's callback wants to stop, asked with an intermediate result."""

    def wants_stop() -> bool:
        if callback is None:
            return False
        try:
            return bool(callback(result(None)))
        except StopIteration:
            return True

    return wants_stop


def _unknown(name: str) -> str:
    """What to say of an argument that there is not; of SciPy's, what there is instead."""
    if name in REPLACEMENTS:
        return f"minimize has no argument {name!r}: {REPLACEMENTS[name]}"
    known = inspect.signature(minimize).parameters
    return f"minimize has no argument {name!r}{did_you_mean(name, list(known))}"


def default_budget(space: Space) -> int:
    """Evaluations, if nobody says how many."""
    return 1000 * space.dimension


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
            try:
                variables.append(Float(low, high))
            except ValueError as error:
                raise ValueError(f"bounds of variable {i}: {error}") from None
        elif low is None or high is None or not math.isfinite(high - low):
            raise ValueError(f"bounds of integer variable {i} must be finite, got ({low}, {high})")
        elif math.ceil(low) > math.floor(high):
            raise ValueError(f"bounds of integer variable {i} hold no integer, got ({low}, {high})")
        else:
            variables.append(Int(math.ceil(low), math.floor(high)))
    return Space(variables)
