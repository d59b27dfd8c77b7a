"""What SciPy's users give besides bounds: arguments of the objective, and constraints as objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import FloatArray, Params
from ..space import Space
from .evaluation import Constraints, Objective, evaluate

TOLERANCE = 1e-6  # by which an equality may be missed

# what SciPy's optimizers take and `minimize` does not, and what to do instead
REPLACEMENTS = {
    **dict.fromkeys(("method", "solver"), "strategy= chooses one; the default is for all kinds of problems"),
    **dict.fromkeys(("jac", "hess", "hessp", "grad"), "derivatives are not used: leave it out"),
    **dict.fromkeys(("tol", "atol", "ftol", "xtol"), "target= is a value to stop at, budget= evaluations"),
    **dict.fromkeys(
        (
            "maxiter",
            "maxfun",
            "maxfev",
            "max_nfev",
            "maxfevals",
            "n_iter",
            "n_trials",
            "n_calls",
            "max_evals",
        ),
        "budget= is the number of evaluations",
    ),
    **dict.fromkeys(("n_jobs", "processes"), "workers= is how many evaluations run at a time"),
    **dict.fromkeys(("timeout", "max_time"), "max_seconds= is when to stop"),
    "sigma0": "sigma= is how far to look at first",
    "options": "what SciPy has there are arguments of their own here: budget=, target=, population=",
    "popsize": "population= is the number of points in a generation",
    "rng": "seed= takes an int or a numpy.random.Generator",
    "random_state": "seed= takes an int or a numpy.random.Generator",
    **dict.fromkeys(("disp", "verbose", "show_progress_bar"), "progress=True shows a bar"),
    "polish": "the default strategy does so by itself: leave it out",
    "init": "x0= is where to start, sigma= how far to look at first",
    "updating": "batch= is how many points are chosen at a time; leave it out",
    "func": "the objective is the first argument, fun",
}


@dataclass(frozen=True)
class Rule:
    """One of SciPy's constraints: low <= fun(x) <= high, each component for itself."""

    name: str
    fun: Callable[[Any], Any]
    low: FloatArray
    high: FloatArray

    def __call__(self, params: Params) -> Iterator[tuple[str, float]]:
        """Each side that is limited, by name, as something that must not be above 0."""
        given = self.fun(params)
        if given is None:
            raise TypeError(
                f"{self.name} must be a number or a 1-D array, got None; does it return anything?"
            )
        found = np.atleast_1d(np.asarray(given, dtype=np.float64))
        if found.ndim != 1:
            raise TypeError(f"{self.name} must be a number or a 1-D array, got shape {found.shape}")
        try:
            low, high = (np.broadcast_to(end, found.shape) for end in (self.low, self.high))
        except ValueError:
            raise ValueError(
                f"{self.name} has {len(found)} components, and its limits {len(np.atleast_1d(self.low))}"
            ) from None
        for j, (c, lb, ub) in enumerate(zip(found.tolist(), low.tolist(), high.tolist(), strict=True)):
            name = self.name if len(found) == 1 else f"{self.name}[{j}]"
            both = math.isfinite(lb) and math.isfinite(ub)
            slack = TOLERANCE if lb == ub else 0.0
            if math.isfinite(lb):
                yield f"{name} low" if both else name, lb - slack - c
            if math.isfinite(ub):
                yield f"{name} high" if both else name, c - ub - slack


@dataclass(frozen=True)
class WithRules:
    """An objective with further arguments, and with constraints that are evaluated together with it.

    >>> rules = rules_of({"type": "ineq", "fun": lambda x: 1 - x[0]})
    >>> WithRules(lambda x, a: a * x[0], (2.0,), rules)(np.array([3.0]))
    (6.0, {'constraint 0': 2.0})
    """

    fun: Callable[..., Any]
    args: tuple[Any, ...] = ()
    rules: tuple[Rule, ...] = ()

    def __call__(self, params: Params) -> tuple[float, Constraints] | Any:
        """The value, and the constraints by name; those that the objective returns itself come first."""
        if not self.rules:
            return self.fun(params, *self.args)
        found = dict(pair for rule in self.rules for pair in rule(params.copy()))
        outcome = evaluate(self._plain, params)
        for name in found.keys() & outcome.constraints.keys():
            raise ValueError(f"two constraints have the name {name!r}: rename that of the objective")
        return outcome.value, {**outcome.constraints, **found}

    def _plain(self, params: Params) -> Any:
        return self.fun(params, *self.args)


def check_linear(given: Any, space: Space) -> None:
    """A clear error for a LinearConstraint that does not fit the variables."""
    for i, each in enumerate(_several(given)):
        if not hasattr(each, "A"):
            continue
        if space.names is not None:
            raise TypeError(
                f"constraint {i}: a LinearConstraint needs variables in a row, by bounds= or Space([...]); "
                'with names write it as Space({...}, where="2*a + b <= 10")'
            )
        width = _matrix(each).shape[1]
        if width != len(space):
            raise ValueError(f"constraint {i} has {width} columns, and there are {len(space)} variables")


def known_rules(given: Any) -> tuple[list[str], list[Any]]:
    """Linear inequalities of variables in a row as text for `Space(where=...)`, and the other constraints.

    >>> from scipy.optimize import LinearConstraint
    >>> known_rules(LinearConstraint([[1, 2], [0, 1]], [-np.inf, 3], [4, 3]))[0]
    ['1.0*x0 + 2.0*x1 <= 4.0']
    """
    rules: list[str] = []
    others: list[Any] = []
    for each in _several(given):
        if not (hasattr(each, "A") and hasattr(each, "lb") and hasattr(each, "ub")):
            others.append(each)
            continue
        _rule("constraints", each)  # a clear error
        A = _matrix(each)
        low, high = (np.broadcast_to(np.asarray(end, float), len(A)) for end in (each.lb, each.ub))
        equal = low == high
        for row, lb, ub in zip(A[~equal], low[~equal].tolist(), high[~equal].tolist(), strict=True):
            terms = " + ".join(f"{factor!r}*x{i}" for i, factor in enumerate(row.tolist()) if factor)
            rules += [f"{terms} >= {lb!r}"] if terms and math.isfinite(lb) else []
            rules += [f"{terms} <= {ub!r}"] if terms and math.isfinite(ub) else []
        if equal.any():
            others.append(type(each)(A[equal], low[equal], high[equal]))
    return rules, others


def with_scipys(fun: Objective, args: Any, constraints: Any) -> Objective:
    """The objective with what SciPy calls args and constraints; itself if there are none."""
    more = args if isinstance(args, tuple) else (args,)
    rules = rules_of(constraints)
    return WithRules(fun, more, rules) if more or rules else fun


def rules_of(given: Any) -> tuple[Rule, ...]:
    """SciPy's constraints, one or several; a TypeError for what is none."""
    return tuple(_rule(f"constraint {i}", each) for i, each in enumerate(_several(given)))


def _several(given: Any) -> list[Any]:
    alone = isinstance(given, Mapping | str) or not isinstance(given, Sequence)
    return [] if given is None else [given] if alone else list(given)


def _rule(name: str, given: Any) -> Rule:
    if isinstance(given, Mapping):
        kind, fun, args = given.get("type"), given.get("fun"), given.get("args", ())
        if kind not in ("ineq", "eq") or not callable(fun):
            raise TypeError(f"{name}: a dict has type 'ineq' or 'eq' and a function fun, got {given!r}")
        return Rule(
            name, WithRules(fun, tuple(args)), np.array(0.0), np.array(0.0 if kind == "eq" else np.inf)
        )
    if not (hasattr(given, "lb") and hasattr(given, "ub")):
        raise TypeError(
            f"{name} must be a NonlinearConstraint or a LinearConstraint of scipy.optimize, got {given!r}; "
            "or let the objective return (value, constraints), those above 0 violated; text goes into "
            "Space(..., where=...)"
        )
    low, high = (np.asarray(end, dtype=np.float64) for end in (given.lb, given.ub))
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise ValueError(
            f"{name}: lb must not be above ub, and both numbers, got lb={given.lb}, ub={given.ub}"
        )
    if hasattr(given, "A"):
        A = _matrix(given)
        if not np.isfinite(A).all():
            raise ValueError(f"{name}: A must hold numbers that are finite, got {given.A}")
        return Rule(name, partial(_product, A), low, high)
    if callable(getattr(given, "fun", None)):
        return Rule(name, given.fun, low, high)
    raise TypeError(f"{name} must have A or fun besides its limits, got {given!r}; bounds go into bounds=")


def _matrix(given: Any) -> FloatArray:
    """The factors of a LinearConstraint, one row for each component; SciPy also takes sparse ones."""
    A = given.A.toarray() if hasattr(given.A, "toarray") else given.A
    return np.atleast_2d(np.asarray(A, dtype=np.float64))


def _product(A: FloatArray, params: Params) -> FloatArray:
    return np.asarray(A @ params)
