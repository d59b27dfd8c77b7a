"""What somebody knows already: points in line to be evaluated, and past data, which was evaluated elsewhere.

Points in line stand in the state of the optimizer that is on record, or in the mark that it begins anew. Past
data are trials of no generation (`PAST`), with an outcome from the beginning; a search begins anew with them.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _serialize
from .._checks import check_points
from .._typing import Params
from ..execution.evaluation import EvaluationError, Run, checked_outcome
from ..order import Failure, Outcome
from ..space import Encoding, Space
from . import anew
from .database import Database
from .journal import as_plain, beyond, with_run
from .trial import PAST, Trial

Row = tuple[Params, Run]  # a point, as in JSON, and what it gave
_OUTCOME = ("params", "status", "value", "violation", "constraints", "failure")


def in_line(database: Database) -> list[Any]:
    """The points in line that were not asked yet, as they stand in a state.

    They are asked before anything else, so what was asked since the state was written were the first of them.
    """
    count, text = database.state()
    queue = json.loads(text).get("queue", [])
    return list(queue[database.count_trials() - count :])


def new(database: Database, points: Iterable[Params]) -> list[Params]:
    """Those of several points, which may be partial, that are neither in line nor on record."""
    given = list(points)
    if not given:
        return []
    state = json.loads(database.state()[1])
    own = anew.encoding(database.head.space, state)
    waiting = [as_plain(own.params_of(_serialize.unpack(x))) for x in in_line(database)]
    whole = [as_plain(own.params_of(own.completed(point))) for point in given]
    return [p for p, w in zip(given, whole, strict=True) if w not in waiting and database.find(w) is None]


def rows(space: Space, params: Any, value: Any, constraints: Any, failed: Any) -> list[Row]:
    """Points and what they gave, checked; the arguments are those of `Study.add`."""
    check_points(params)
    own = Encoding(space)
    given = value, constraints, failed
    if isinstance(params, Mapping) or (space.names is None and (not len(params) or np.ndim(params[0]) == 0)):
        params = [params]
        value, constraints, failed = (None if each is None else [each] for each in given)
        given = value, constraints, failed
    points = list(params)
    columns = [[None] * len(points) if each is None else list(each) for each in given]
    for name, column in zip(("value", "constraints", "failed"), columns, strict=True):
        if len(column) != len(points):
            raise ValueError(f"{name} must have an entry for each of {len(points)} points, got {len(column)}")
    found: list[Row] = []
    for i, (point, *what) in enumerate(zip(points, *columns, strict=True)):
        try:
            found.append(row(own, point, run(*what)))
        except (TypeError, ValueError) as error:
            raise type(error)(f"point {i}: {error}" if len(points) > 1 else str(error)) from None
    return found


def row(own: Encoding, point: Params, what: Run) -> Row:
    """A point with a value for each variable, and what it gave; a ValueError if it is not in the space."""
    if own.space.names is not None:
        own.check_names(point)
    return as_plain(own.params_of(own.numbers_of(point))), what


def run(value: Any, constraints: Any, failed: Any) -> Run:
    """What an evaluation elsewhere gave, as one of our own would have."""
    if failed is not None:
        return replace(Run.failed(EvaluationError(str(failed))), attempts=0)
    if isinstance(value, Outcome):
        if constraints is not None:
            raise ValueError("an Outcome says by itself what constraints are; leave them out")
        outcome = value
        if outcome.failure is None:
            outcome = checked_outcome(value.value, value.constraints or None)
    else:
        outcome = checked_outcome(math.nan if value is None else value, constraints)
    said = (None, Failure.VALUE, Failure.CONSTRAINT)  # the value says which it is
    error = (
        None if outcome.failure in said else EvaluationError(outcome.failure.value, failure=outcome.failure)
    )
    return Run(outcome, error, attempts=0)


def trials(database: Database, given: Sequence[Row]) -> list[Trial]:
    """New trials of past data; what is on record already, or given twice, with this outcome, is left out."""
    first, made, space = database.count_trials(), list[Trial](), database.head.space
    seen: set[str] = set()
    for params, what in given:
        trial = with_run(Trial(first + len(made), PAST, params, "asked"), what)
        if trial.status == "done":  # others may have evaluated what is not allowed
            trial = replace(trial, violation=trial.violation + beyond(space, [params])[0])
        known, own = database.find(params), _outcome(trial)
        if own in seen or (known is not None and _outcome(known) == own):
            continue
        seen.add(own)
        made.append(trial)
    return made


def _outcome(trial: Trial) -> str:
    """What is equal for equal outcomes of equal points."""
    return repr([getattr(trial, name) for name in _OUTCOME])
