"""A table of evaluations, as `saltus export --csv` writes it or anybody else: points and outcomes of rows."""

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .._checks import did_you_mean
from ..execution.evaluation import Run
from ..space import Space
from ..space.categorical import Categorical
from ..space.variable import Variable
from ..study.known import run
from .export import AFTER, BEFORE, written

Given = tuple[str, dict[str, Any], Run]  # where it stands, a point that may lie outside, what it gave


class Roles(NamedTuple):
    """What columns are, besides variables."""

    value: str = "value"
    constraints: Sequence[str] = ()
    ignored: Sequence[str] = ()


class Columns(NamedTuple):
    """The places of columns in a row."""

    variables: dict[str, int]
    value: int
    constraints: dict[str, int]
    reason: int | None
    status: int | None


def read(path: Path, space: Space, roles: Roles, defaults: dict[str, Any]) -> list[Given]:
    """All rows of a file; a ValueError says in which line something is wrong."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        table = csv.reader(file)
        try:
            header = [_plain(name) for name in next(table, [])]
            columns = arranged(header, space, roles)
            check_defaults(space, columns.variables, defaults)
            meaning = {name: Meaning(v) for name, v in zip(space.keys, space.variables, strict=True)}
            found = []
            for row in table:
                if any(cell.strip() for cell in row):
                    where = f"line {table.line_num}"
                    found.append(_given(row, len(header), columns, meaning, defaults, where))
            return found
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"this is no table: {error}") from None


def arranged(header: Sequence[str], space: Space, roles: Roles) -> Columns:
    """Which column is what; a ValueError if one is missing, there twice, or unknown."""
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"the column {twice!r} is there twice")
    place = {name: i for i, name in enumerate(header)}
    own = (*BEFORE, roles.value, *AFTER)
    # as `export` writes a name that another column has
    names = {n: f"variable {n}" if n in own and f"variable {n}" in place else n for n in space.keys}
    variables = {n: place[column] for n, column in names.items() if column in place}
    exported = {*BEFORE, *AFTER} <= place.keys()
    for name in (roles.value, *roles.constraints, *roles.ignored):
        if name not in place:
            raise ValueError(f"there is no column {name!r}{did_you_mean(name, header)}{_separated(header)}")
    taken = {*variables.values(), place[roles.value], *(place[name] for name in roles.ignored)}
    limits = [n for n, i in place.items() if i not in taken and not (n in own and n not in roles.constraints)]
    for name in limits:
        if name not in roles.constraints and not exported:
            raise ValueError(
                f"the column {name!r} is no variable{did_you_mean(name, space.keys)}; "
                "--constraints or --ignore says what it is, --value which one is the value"
            )
    constraints = {n.removeprefix("constraint ") if exported else n: place[n] for n in limits}
    return Columns(variables, place[roles.value], constraints, place.get("reason"), place.get("status"))


def check_defaults(space: Space, given: Iterable[str], defaults: Mapping[str, Any]) -> None:
    """Each variable must be given, or have a default: not both, nor neither."""
    had = set(given)
    for name in defaults:
        if name not in space.keys:
            raise ValueError(f"--default {name}: this is no variable{did_you_mean(name, space.keys)}")
        if name in had:
            raise ValueError(f"--default {name}: its values are there")
    for name in space.keys:
        if name not in had and name not in defaults:
            raise ValueError(f"the variable {name!r} is missing; --default {name}=VALUE says what it was")


def _separated(header: Sequence[str]) -> str:
    """What to say of a table whose cells seem to be separated by something else."""
    found = next((sign for sign in (";", "\t") if len(header) == 1 and sign in header[0]), None)
    return (
        "" if found is None else f"; cells must be separated by commas, it seems that {found!r} does so here"
    )


class Meaning:
    """What cells say of a variable.

    >>> kernel = Meaning(Categorical(["rbf", "1", None], when={"k": 1}))
    >>> [kernel.of(cell) for cell in ("rbf", " rbf", "1", "2")]
    ['rbf', 'rbf', '1', 2]
    """

    def __init__(self, variable: Variable) -> None:
        """A category has choices that are written as a number or a switch would be, and mean themselves."""
        self._choices: dict[str, list[Any]] = {}
        if isinstance(variable, Categorical):
            for choice in variable.choices:
                plain = "" if choice is None else str(written(choice))
                for text in {plain, choice} if isinstance(choice, str) else {plain}:
                    self._choices.setdefault(text, []).append(choice)
        # what is not active is left out
        self._left_out = variable.when is not None and "" not in self._choices

    def says(self, cell: str) -> bool:
        """Whether it says anything: not if it is empty because the variable was not active."""
        return bool(cell.strip()) or not self._left_out

    def of(self, cell: str) -> Any:
        """The value."""
        text = cell if cell in self._choices else cell.strip()
        choices = self._choices.get(text, [])
        if len(choices) > 1:
            raise ValueError(f"{text!r} may be {choices[0]!r} or {choices[1]!r}: rename one of these choices")
        return choices[0] if choices else number_or_text(_plain(cell))


def _given(
    row: list[str],
    width: int,
    columns: Columns,
    meaning: Mapping[str, Meaning],
    defaults: dict[str, Any],
    where: str,
) -> Given:
    if len(row) != width:
        raise ValueError(f"{where}: {width} cells expected, got {len(row)}")
    cells = [_plain(cell) for cell in row]
    try:
        said = [(name, row[i]) for name, i in columns.variables.items() if meaning[name].says(row[i])]
        params = {name: meaning[name].of(cell) for name, cell in said} | defaults
        amounts = {name: _number(cells[i], name) for name, i in columns.constraints.items() if cells[i]}
        value = _number(cells[columns.value], "value")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    reason = "" if columns.reason is None else cells[columns.reason]
    if columns.status is not None and cells[columns.status] == "failed":
        return where, params, run(None, None, reason or "unknown")
    return where, params, run(value, amounts or None, None)


def _number(text: str, name: str) -> float:
    """A number; an empty cell is none."""
    if not text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def _plain(cell: str) -> str:
    """A cell without spaces around it, nor the apostrophe that keeps spreadsheets from computing it."""
    text = cell.strip()
    return text[1:] if text.startswith("'") and text[1:2] in ("=", "+", "-", "@") else text


def number_or_text(text: str) -> Any:
    """What a cell or an argument says: a number, a switch, or text.

    >>> number_or_text("1e-3"), number_or_text("true"), number_or_text("rbf")
    (0.001, True, 'rbf')
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text.lower() if text in ("True", "False") else text)
    with suppress(ValueError):
        return float(text)
    return text
