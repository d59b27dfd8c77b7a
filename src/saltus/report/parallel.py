"""Parallel coordinates: an axis for each variable, a line for each evaluation, the good ones in colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..study.summary import Summary, ranking
from ..study.trial import Trial
from .axis import Axis, Tick
from .details import Shown, thinned
from .plot import NARROW, Size
from .scales import plateaus, variable_axis
from .words import clipped, coordinate, text

MOST_AXES = {True: 4, False: 9}  # on a phone, and elsewhere
_MOST_LINES = 240
_GOOD = 0.1  # of the lines, in colour
_SIDE, _TOP, _BOTTOM = 34.0, 44.0, 22.0
_LINE = 15.0  # least distance of labels above each other


def lines(summary: Summary, shown: Shown, columns: Sequence[int], values: Axis, size: Size) -> str:
    """All at once: values of the first of some variables, and the objective's on the last axis."""
    valued = [
        (i, t) for i, (_, t) in enumerate(shown.places) if t.feasible and math.isfinite(t.value or math.nan)
    ]
    if len(valued) < 2:
        return ""
    key = ranking(summary.direction)
    ordered = sorted(valued, key=lambda entry: key(entry[1]))
    good = ordered[: max(1, math.ceil(_GOOD * min(len(ordered), _MOST_LINES)))]
    rest = ordered[len(good) :]
    rest = list(thinned(rest, _MOST_LINES - len(good)))
    columns = columns[: MOST_AXES[size is NARROW]]
    space = summary.space
    axes: list[Axis] = []
    for c in columns:
        tried = [v for _, t in valued if (v := coordinate(space, t.params, c)) is not None]
        axes.append(variable_axis(space.variables[c], tried, []))
    axes.append(values)
    step = (size.width - 2 * _SIDE) / (len(axes) - 1)
    bottom = size.height - _BOTTOM

    def down(on: Axis, value: float) -> float:
        return bottom - on.share(value) * (bottom - _TOP)

    def path(trial: Trial) -> str:
        places = [coordinate(space, trial.params, c) for c in columns] + [trial.value]
        steps, pen = "", "M"
        for k, (on, value) in enumerate(zip(axes, places, strict=True)):
            if value is not None:  # lines pass by a variable that is not active
                steps += f"{pen}{_SIDE + k * step:.1f} {down(on, value):.1f}"
                pen = "L"
        return steps

    def drawn(entries: Sequence[tuple[int, Trial]], kind: str) -> str:
        numbers = " ".join(str(i) for i, _ in entries)
        return f'<path class="threads {kind}" d="{"".join(path(t) for _, t in entries)}" data-i="{numbers}"/>'

    marks = [drawn(rest, "rest")] if rest else []
    marks.append(drawn(list(reversed(good)), "good"))
    room = max(3, int(step / size.character) - 1)
    for k, on in enumerate(axes):
        x, last = _SIDE + k * step, k == len(columns)
        name = "value" if last else space.keys[columns[k]]
        few = [] if last else plateaus(space.variables[columns[k]])
        ticks = [Tick(v, label) for v, label, _, _ in few] if few else on.ticks(4)
        marks.append(f'<path class="base" d="M{x:.1f} {_TOP:g}V{bottom:g}"/>')
        anchor, at = ("start", 2.0) if k == 0 else ("end", size.width - 2) if last else ("middle", x)
        marks.append(_words("name", anchor, at, _TOP - 24, clipped(name, room + 1)))
        side, beside = ("end", x - 4) if last else ("start", x + 4)
        free = math.inf
        for tick in sorted(ticks):
            y = down(on, tick.value)
            if free - y >= _LINE:  # else it would run into the one below
                free = y
                marks.append(_words("tick", side, beside, y + 4, clipped(tick.label, room)))
    drawn_lines = f"{len(good) + len(rest)} evaluations over {len(columns)} variables and the value"
    label = f"Parallel coordinates: {drawn_lines}"
    whole = f'viewBox="0 0 {size.width:g} {size.height:g}"'
    return f'<svg class="chart" {whole} role="img" aria-label="{text(label)}">{"".join(marks)}</svg>'


def _words(kind: str, anchor: str, x: float, y: float, words: str) -> str:
    return f'<text class="{kind} {anchor}" x="{x:.1f}" y="{y:.1f}">{text(words)}</text>'
