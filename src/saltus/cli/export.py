"""All evaluations, as a table or as JSON."""

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterator
from typing import Any

from ..study import Study
from ..study.columns import constraint_names, told_apart
from .lines import printable
from .show import violation
from .studies import opened

BEFORE, _VALUE, AFTER = ("trial", "generation"), ("value",), ("status", "reason", "seconds")
_FORMULAS = ("=", "+", "-", "@")  # what formulas begin with


def export(options: argparse.Namespace) -> int:
    """Print all evaluations in the order asked, one row each: trial, generation, each variable, value,
    each constraint, status, reason, seconds. Candidates that were answered from the record are no
    evaluations, and left out. Past data has the generation -1.
    """
    study = opened(options.study, options.db)
    limits = constraint_names(study.trials())
    names = columns(study, limits)
    if options.csv:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(map(written, names))
        table.writerows([written(value) for value in row] for row in rows(study, limits))
        return 0
    between = "[\n"
    for row in rows(study, limits):  # one at a time: a long record does not fill the memory
        sys.stdout.write(between + json.dumps(dict(zip(names, row, strict=True))))
        between = ",\n"
    sys.stdout.write("[]\n" if between == "[\n" else "\n]\n")
    return 0


def columns(study: Study, limits: list[str]) -> list[str]:
    """The header; a variable or a constraint that has the name of another column is told from it."""
    variables, named = told_apart((*BEFORE, *_VALUE, *AFTER), study.space.keys, limits)
    return [*BEFORE, *variables, *_VALUE, *named, *AFTER]


def rows(study: Study, limits: list[str]) -> Iterator[list[Any]]:
    """One for each evaluation."""
    for trial in study.trials():
        if trial.evaluated:
            values = trial.params
            if isinstance(trial.params, dict):  # what was not active is empty
                values = [trial.params.get(name) for name in study.space.keys]
            reason = violation(trial) if trial.violation else trial.reason
            given = trial.constraints or {}
            amounts = [_finite(given.get(name)) for name in limits]
            after = trial.status, reason, trial.seconds
            yield [trial.id, trial.generation, *values, trial.value, *amounts, *after]


def _finite(amount: float | None) -> float | None:
    """For JSON, which has no NaN and no infinity."""
    return amount if amount is not None and math.isfinite(amount) else None


def written(value: Any) -> Any:
    """A value as everywhere else: switches are true and false.

    Text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}" if text.startswith(_FORMULAS) else text
    return str(value).lower() if isinstance(value, bool) else value
