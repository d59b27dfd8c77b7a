"""All evaluations, as a table or as JSON."""

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from typing import Any

from ..study import Study
from .lines import printable
from .show import violation
from .studies import opened

_BEFORE, _AFTER = ("trial", "generation"), ("value", "status", "reason", "seconds")
_FORMULAS = ("=", "+", "-", "@")  # what formulas begin with


def export(options: argparse.Namespace) -> int:
    """Print all evaluations in the order asked, one row each: trial, generation, each variable, value,
    status, reason, seconds. Candidates that were answered from the record are no evaluations, and left out.
    """
    study = opened(options.study, options.db)
    if options.csv:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(map(_written, columns(study)))
        table.writerows([_written(value) for value in row] for row in rows(study))
        return 0
    names = columns(study)
    between = "[\n"
    for row in rows(study):  # one at a time: a long record does not fill the memory
        sys.stdout.write(between + json.dumps(dict(zip(names, row, strict=True))))
        between = ",\n"
    sys.stdout.write("[]\n" if between == "[\n" else "\n]\n")
    return 0


def columns(study: Study) -> list[str]:
    """The header; a variable that has the name of another column is told from it."""
    taken = (*_BEFORE, *_AFTER)
    return [*_BEFORE, *(f"variable {n}" if n in taken else n for n in study.space.keys), *_AFTER]


def rows(study: Study) -> Iterator[list[Any]]:
    """One for each evaluation."""
    for trial in study.trials():
        if trial.evaluated:
            values = trial.params.values() if isinstance(trial.params, dict) else trial.params
            reason = violation(trial) if trial.violation else trial.reason
            yield [trial.id, trial.generation, *values, trial.value, trial.status, reason, trial.seconds]


def _written(value: Any) -> Any:
    """A value as everywhere else: switches are true and false.

    Text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}" if text.startswith(_FORMULAS) else text
    return str(value).lower() if isinstance(value, bool) else value
