"""Whether a study that is on record is the one that somebody means: the same space, the same search."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypedDict, TypeVar

from .. import _serialize
from .._checks import wants_maximum
from .._typing import PerVariable
from ..space import Encoding, Space
from .database import Database
from .errors import RecordError, SettingsError
from .record import Record
from .trial import Direction, Head


class SearchSettings(TypedDict, total=False):
    """What `Study.create` takes besides a path and a space."""

    name: str | None
    direction: Direction | None
    maximize: bool
    strategy: str
    population: int | None
    batch: int
    mean: PerVariable
    sigma: PerVariable
    seed: int | None
    noisy: bool | None
    asynchronous: bool


_OF_THE_HEAD = (
    "name",
    "direction",
    "strategy",
    "population",
    "batch",
    "seed",
    "noisy",
    "asynchronous",
)


class _Removable(Protocol):
    def remove_if_empty(self) -> bool: ...


S = TypeVar("S", bound=_Removable)


def check(study: Record, given: Mapping[str, Any]) -> None:
    """A SettingsError unless the arguments of `Study.create` are those with which a study was begun."""
    with study._reading() as database, study._readable():
        state = json.loads(database.state()[1])
    larger = wants_maximum(given["maximize"], given["direction"])
    settings = {**given, "direction": "maximize" if larger else "minimize"}
    found = difference(study.head, given["space"], {name: settings[name] for name in _OF_THE_HEAD})
    found = found or _other_start(state, given["space"], given)
    if found is not None:
        raise SettingsError(
            f"{study.path}: {found[0]} has changed since this study was begun: {found[1]}. Put it back, "
            "or begin another study in a new file; Study.open opens this one as it is"
        )


def difference(head: Head, space: Space, settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is not as it was when a study began: its name, and what it was then and is now; None if all is.

    Args:
        head: what the study on record is.
        space: the variables that somebody means.
        settings: values for fields of the head; None: whatever it is on record.
    """
    now, then = space.where.plain(), head.space.where.plain()
    if now != then:
        return "where", f"{then} then, {now} now"
    if space.to_plain() != head.space.to_plain():
        return "space", _of_spaces(head.space, space)
    for name, wanted in settings.items():
        had = getattr(head, name)
        if wanted is not None and wanted != had:
            return name, f"{had!r} then, {wanted!r} now"
    return None


def _other_start(state: Any, space: Space, settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """Likewise of `mean` and `sigma`, which stand in the state of the search."""
    own = Encoding(space, settings["mean"], settings["sigma"])
    for name, now in (("mean", own.given_mean), ("sigma", own.given_sigma)):
        then = _serialize.unpack(state[name])
        if settings[name] is not None and now != then:
            return name, f"{then} then, {now} now"
    return None


def _of_spaces(before: Space, after: Space) -> str:
    then, now = (dict(zip(s.keys, s.variables, strict=True)) for s in (before, after))
    for name in [*then, *now]:
        if now.get(name) != then.get(name):
            return f"{name!r} was {then.get(name, 'not there')} and is {now.get(name, 'not there')}"
    return "the order of the variables"


def opened_or_created(
    path: Path, open: Callable[[Path], S], check: Callable[[S], None], create: Callable[[], S]
) -> S:
    """The study of a record, which must fit; if there is none, a new one.

    A record in which nothing was asked yet need not fit: it is made anew, and nothing is lost.

    Args:
        path: the record.
        open: gives the study that is there.
        check: raises a SettingsError if it does not fit.
        create: makes a new one.
    """
    if Database.is_made(path):
        study = open(path)
        try:
            check(study)
            return study
        except SettingsError:
            if not study.remove_if_empty():
                raise
    try:
        return create()
    except RecordError:
        if Database.is_made(path):  # by another process, meanwhile
            return opened_or_created(path, open, check, create)
        raise
