"""Evaluations as a data frame of pandas: one row each, each column of a type that suits what is in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..order import Failure
from ..result import Result
from ..search.learnt import Learnt
from ..space import Categorical, Space
from ..space.variable import Variable
from ..space.variables import Bool, Int, Ordinal
from ..study.columns import constraint_names, told_apart
from ..study.looking import Looking
from ..study.trial import Status, Trial

if TYPE_CHECKING:
    import pandas

_LARGEST = 2**63 - 1  # of pandas' integers
Column = Callable[[Trial], Any]
# what is known of every evaluation, by the name of its column, before and after variables, value, constraints
_FIRST: dict[str, Column] = {"trial": lambda t: t.id}
_VALUE: dict[str, Column] = {"value": lambda t: t.value}
_AFTER: dict[str, Column] = {
    "feasible": lambda t: t.feasible,
    "violation": lambda t: math.nan if t.failure is not None else t.violation,
    "failure": lambda t: None if t.failure is None else t.failure.name,
    "reason": lambda t: t.reason,
    "seconds": lambda t: t.seconds,
}
# what only a study knows
_OF_STUDIES: dict[str, Column] = {
    "generation": lambda t: t.generation,
    "attempts": lambda t: t.attempts,
    "worker": lambda t: t.worker,
    "started": lambda t: t.started,
}


def of_study(study: Looking) -> pandas.DataFrame:
    """Every evaluation of a study, in the order asked, past data included."""
    trials = [trial for trial in study.trials() if trial.evaluated]
    return _frame(study.space, trials, _FIRST, _AFTER | _OF_STUDIES)


def of_result(result: Result) -> pandas.DataFrame:
    """Every evaluation that a search remembers, in the order asked."""
    if result._learnt is None:
        raise ValueError("to_dataframe needs the result of a search, got one that was made by hand")
    return _frame(result._learnt.space, list(_remembered(result._learnt, result)), _FIRST, _AFTER)


def _remembered(learnt: Learnt, result: Result) -> Iterable[Trial]:
    """What was evaluated, as trials; points that were answered from memory are no evaluations."""
    notes = result._notes
    for id, params, value, violation, constraints, failure in learnt.evaluations():
        if notes is not None and id not in notes:
            continue
        seconds, reason = (None, None) if notes is None else notes[id]
        if failure is not None and reason is None:
            reason = failure.value
        status: Status = "done" if failure is None else "failed"
        number = value if math.isfinite(value) else None
        told = constraints or None
        yield Trial(id, 0, params, status, number, violation, told, failure, reason, seconds=seconds)


def _frame(
    space: Space, trials: list[Trial], first: dict[str, Column], after: dict[str, Column]
) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_dataframe needs pandas: pip install 'saltus[notebook]'") from error
    limits = constraint_names(trials)
    own = [*first, "status", *_VALUE, *after]
    named, constraints = told_apart(own, space.keys, limits)
    columns: dict[str, Any] = {name: [get(t) for t in trials] for name, get in first.items()}
    columns["status"] = _one_of([t.status for t in trials], ["done", "failed"])
    for i, (name, variable) in enumerate(zip(named, space.variables, strict=True)):
        columns[name] = _of_variable(variable, [_parameter(space, t, i) for t in trials])
    columns["value"] = _numbers([t.value for t in trials])
    for name, limit in zip(constraints, limits, strict=True):
        columns[name] = _numbers([(t.constraints or {}).get(limit) for t in trials])
    columns |= {name: _own(name, [get(t) for t in trials]) for name, get in after.items()}
    return pandas.DataFrame(columns)


def _own(name: str, values: list[Any]) -> Any:
    """A column that every table has."""
    import pandas

    match name:
        case "violation" | "seconds":
            return _numbers(values)
        case "failure":
            return _one_of(values, [kind.name for kind in Failure])
        case "reason":
            return pandas.array(values, dtype="string")
        case "attempts" | "worker":
            return pandas.array(values, dtype="Int64")
        case "started":
            return pandas.to_datetime(_numbers(values), unit="s", utc=True)
        case _:
            return values


def _parameter(space: Space, trial: Trial, i: int) -> Any:
    """Variable i of a trial; None where it is not active."""
    return trial.params[i] if space.names is None else trial.params.get(space.names[i])


def _of_variable(variable: Variable, values: list[Any]) -> Any:
    """Of a type that depends on the variable alone; only one with a condition may be missing somewhere."""
    import pandas

    whole = isinstance(variable, Int)
    ends: Sequence[Any] = variable.range()
    if isinstance(variable, Ordinal):
        whole, ends = all(float(v).is_integer() for v in variable.values), variable.values
    if isinstance(variable, Bool):
        given = [None if v is None else bool(v) for v in values]
        return pandas.array(given, dtype="boolean") if variable.when else np.array(given, dtype=bool)
    if isinstance(variable, Categorical):
        return _one_of(values, variable.choices)
    if not whole:
        return _numbers(values)
    integers = [None if v is None else int(v) for v in values]
    if max(map(abs, ends)) > _LARGEST:
        return pandas.array(integers, dtype=object)
    return pandas.array(integers, dtype="Int64") if variable.when else np.array(integers, dtype=np.int64)


def _one_of(values: list[Any], choices: Sequence[Any]) -> Any:
    """A category, where pandas can have one of these values: they must have a hash and not be None."""
    import pandas

    try:
        return pandas.Categorical(values, categories=list(choices))
    except (TypeError, ValueError):
        return pandas.array(values, dtype=object)


def _numbers(values: Sequence[float | None]) -> Any:
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)
