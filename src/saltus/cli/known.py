"""What somebody knows already: points to be evaluated next, and evaluations of elsewhere."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..space import Categorical, Encoding, Space
from ..study import SettingsError, Study
from ..study.errors import blaming
from ..study.journal import run_of
from ..study.known import Row, row
from . import table
from .by_hand import created
from .lines import counted, say
from .show import to_json
from .studies import is_record


def enqueue(options: argparse.Namespace) -> int:
    """Put points in line: they are evaluated next, in this order. Variables that are not named are where the
    search would start.
    """
    _points(options.point)  # what is no point is said before there is a record
    study = created(options)
    points = _points(options.point, study.space)
    with blaming("", (ValueError, TypeError)):
        study.enqueue(*points)
    print(f"{counted(len(points), 'point')} put in line")
    return 0


def _points(given: Sequence[str], space: Space | None = None) -> list[dict[str, Any]]:
    if given[0].lstrip().startswith("{"):
        points = [_json(text) for text in given]
        for text, point in zip(given, points, strict=True):
            if not isinstance(point, dict):
                raise SettingsError(f"a point must be a JSON object, got {text!r}")
        return points
    return [assigned(given, space)]


def assigned(given: Sequence[str], space: Space | None = None) -> dict[str, Any]:
    """Values by name, from NAME=VALUE each; with a space, a choice that looks like a number is the choice.

    >>> assigned(["x=1.5", "on=true", "kernel=rbf"])
    {'x': 1.5, 'on': True, 'kernel': 'rbf'}
    >>> assigned(["version=5"], Space({"version": Categorical(["4", "5"])}))
    {'version': '5'}
    """
    point: dict[str, Any] = {}
    variables = {} if space is None else dict(zip(space.keys, space.variables, strict=True))
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name in point:
            raise SettingsError(f"values must be NAME=VALUE, each name once, got {text!r}")
        found, variable = table.number_or_text(value), variables.get(name)
        if isinstance(variable, Categorical) and value in variable.choices and not variable.holds(found):
            found = value
        point[name] = found
    return point


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise SettingsError(f"a point must be a JSON object such as '{{\"x\": 1}}', got {text!r}") from None


def import_(options: argparse.Namespace) -> int:
    """Take over what was evaluated elsewhere, as past data: nothing of it is paid again, and the search
    begins anew with it. FILE has a column for each variable, one for the value and perhaps some for
    constraints; a row without a value is one that failed. Or it is the record of another study, of a space
    that may have changed: what lies outside of this one is left out, and said.
    """
    if not options.file.is_file():
        raise SettingsError(f"{options.file}: there is no such file")
    assigned(options.default)
    study = created(options)
    defaults = assigned(options.default, study.space)
    with blaming(f"{options.file}: ", (ValueError, TypeError)):
        if is_record(options.file):
            given = _of_a_study(Study.open(options.file), study.space, defaults)
        else:
            roles = table.Roles(options.value, options.constraints, options.ignore)
            given = table.read(options.file, study.space, roles, defaults)
        rows, outside = _within(study.space, given)
        if not rows and outside:
            raise ValueError(f"none of its points lies in the space of this study; the first: {outside[0]}")
        new = study.add_past(rows)
    if outside:
        say(f"{counted(len(outside), 'point')} outside of the space left out; the first: {outside[0]}")
    if len(new) < len(rows):
        say(f"{counted(len(rows) - len(new), 'point')} on record already")
    print(to_json(new) if options.json else f"{counted(len(new), 'evaluation')} taken over as past data")
    return 0


def _within(space: Space, given: Sequence[table.Given]) -> tuple[list[Row], list[str]]:
    """What can be taken over, and why the rest cannot."""
    own, rows, outside = Encoding(space), list[Row](), list[str]()
    for where, params, run in given:
        try:
            rows.append(row(own, own.without_idle(params), run))
        except ValueError as error:
            outside.append(f"{where}: {error}")
    return rows, outside


def _of_a_study(old: Study, space: Space, defaults: dict[str, Any]) -> list[table.Given]:
    """The evaluations of another study as those of a space: with variables more, or fewer."""
    if old.space.names is None or space.names is None:
        raise ValueError("the variables must have names")
    table.check_defaults(space, old.space.names, defaults)
    removed = set(old.space.names) - set(space.names)
    found: dict[Any, table.Given] = {}
    for trial in old.trials():
        if trial.evaluated:
            params = {n: v for n, v in trial.params.items() if n not in removed} | defaults
            # without a variable, several may be at the same point: the last one counts
            key = json.dumps(params) if removed else trial.id
            found[key] = f"trial {trial.id}", params, replace(run_of(trial), attempts=0)
    return list(found.values())
