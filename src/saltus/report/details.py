"""What the page tells about single points: one list that charts point into and the script reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ..space import Space
from ..study.trial import Trial
from .digest import Digest, Place
from .words import clipped, duration, number, parameter, plain

T = TypeVar("T")
MOST_NUMBERS = 40_000  # parameters and constraints on the page: of more, fewer points, ...
_FEWEST_POINTS = 300  # ... and if even these are too many, the first of each point
_MOST_BEST = 100
_LONGEST_OUTPUT, _MOST_OUTPUT = 600, 60_000  # characters, of one point and of all


def thinned(items: Sequence[T], most: int) -> Sequence[T]:
    """Evenly chosen ones, if there are more."""
    return items[:: max(1, -(-len(items) // most))]


class Shown(NamedTuple):
    """The points that can be looked at, in order: evenly chosen ones, improvements, and the best."""

    places: list[Place]
    number: dict[int, int]  # of a trial, where it stands in `places`

    @classmethod
    def of(cls, space: Space, digest: Digest) -> Shown:
        """Those of a digest."""
        best = digest.pool.best(_MOST_BEST)
        most = max(_FEWEST_POINTS, MOST_NUMBERS // (len(space) + len(digest.limits)))
        parts = thinned(digest.points, most), thinned(digest.improvements, most // 2), best
        chosen = {trial.id: (x, trial) for part in parts for x, trial in part}
        places = sorted(chosen.values(), key=lambda place: place[0])
        return cls(places, {trial.id: i for i, (_, trial) in enumerate(places)})


def details(space: Space, digest: Digest, shown: Shown) -> str:
    """As JSON: the names of variables and of constraints, and a row for each point.

    A row is trial, value, state ("" or what is wrong), how long, parameters, constraints, what was printed.
    """
    limits = list(digest.limits)
    width = max(1, MOST_NUMBERS // max(1, len(shown.places)))
    keys = space.keys[:width]
    limits = limits[: max(0, width - len(keys))]
    rows = _rows(space, shown.places, keys, limits, _MOST_OUTPUT)
    return _as_json(keys, limits, len(space) - len(keys), rows)


def details_of_several(names: Sequence[str], parts: Sequence[tuple[Space, Digest, Sequence[Place]]]) -> str:
    """The same of points of several studies, one after the other; a row also has which of them it is of.

    Args:
        names: of the studies.
        parts: of each its space, its digest, and the points.
    """
    count = max(1, sum(len(places) for _, _, places in parts))
    every = list(dict.fromkeys(key for space, _, _ in parts for key in space.keys))
    limits = list(dict.fromkeys(name for _, digest, _ in parts for name in digest.limits))
    width = max(1, MOST_NUMBERS // count)
    keys, limits = every[:width], limits[: max(0, width - len(every[:width]))]
    output = _MOST_OUTPUT // max(1, len(parts))
    rows = [
        [*row, k]
        for k, (space, _, places) in enumerate(parts)
        for row in _rows(space, places, keys, limits, output)
    ]
    return _as_json(keys, limits, len(every) - len(keys), rows, names)


def _rows(
    space: Space, places: Sequence[Place], keys: Sequence[str], limits: Sequence[str], output: int
) -> list[list[Any]]:
    """A row for each point; `output` characters of what they have printed are kept."""
    columns = [space.keys.index(key) if key in space.keys else None for key in keys]
    rows = []
    for _, trial in places:
        printed = (
            plain(trial.stderr or "")[-min(output, _LONGEST_OUTPUT) :] if output and trial.stderr else ""
        )
        output -= len(printed)
        rows.append(
            [
                trial.id,
                number(trial.value),
                _state(trial),
                duration(trial.seconds),
                [None if i is None else plain(parameter(space, trial, i)) for i in columns],
                [_amount(trial, name) for name in limits],
                printed,
            ]
        )
    return rows


def _as_json(
    keys: Sequence[str],
    limits: Sequence[str],
    more: int,
    rows: list[list[Any]],
    studies: Sequence[str] = (),
) -> str:
    whole: dict[str, Any] = {"studies": [plain(name) for name in studies]} if studies else {}
    whole |= {
        "names": [plain(clipped(key, 60)) for key in keys],
        "limits": [plain(clipped(name, 60)) for name in limits],
        "more": more,
        "rows": rows,
    }
    # nothing in it can end the element that it stands in
    return json.dumps(whole, separators=(",", ":")).replace("<", "\\u003c")


def _state(trial: Trial) -> str:
    if trial.status == "failed":
        return plain(clipped(f"failed: {trial.reason or 'unknown'}", 200))
    return "" if trial.feasible else f"violated by {number(trial.violation)}"


def _amount(trial: Trial, name: str) -> str | None:
    amount = (trial.constraints or {}).get(name)
    return None if amount is None else number(amount)
