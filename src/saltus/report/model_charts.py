"""The charts of what the model thinks: which variables matter, how, and how two of them act together."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..search.learnt import Share
from ..search.slices import Effect, Pair
from ..space import Space
from ..space.variable import Variable
from ..study.trial import Trial
from .axis import Axis, Tick, axis, fitting, straight
from .details import Shown, thinned
from .plot import NARROW, SMALL, SQUARE, Mark, Plot, Size
from .scales import plateaus, variable_ticks, whole_axis
from .words import clipped, coordinate, number, percent

MOST_BARS = 20
_BAR, _BAR_ROOM, _BAR_MARGIN = 16.0, 28.0, 46.0  # thickness, with the room around it, and of all of them
_PIXELS = 72, 56  # of a heat map, which the browser makes smooth
_MOST_DOTS = 400


def shares(all_of_them: Mapping[str, Share], size: Size) -> str:
    """A bar for each variable that matters most: its share, what it does alone, and the error bar."""
    shown = list(all_of_them.items())[:MOST_BARS]
    names = [clipped(name, 14 if size is NARROW else 32) for name, _ in shown]
    left = max(40.0, 14 + size.character * max(map(len, names)))
    high = _BAR_ROOM * len(shown) + _BAR_MARGIN
    ticks = [Tick(k / 100, f"{k} %") for k in range(0, 101, 50 if size is NARROW else 25)]
    plot = Plot(size._replace(height=high, top=4), axis(0, 1), axis(0, len(shown)), ticks, [], left, 62)
    marks, heights = [], [len(shown) - k - 0.5 for k in range(len(shown))]
    for (name, share), short, y in zip(shown, names, heights, strict=True):
        words = f"{clipped(name, 60)}: {percent(share.share)}, {percent(share.alone)} by itself"
        marks.append(plot.bar(share.share, y, _BAR, "share", words))
        marks.append(plot.bar(share.alone, y, _BAR, "alone", words))
        marks.append(plot.beside(y, short, percent(share.share)))
    first, share = shown[0]
    return plot.svg(
        f"What matters: {clipped(first, 60)} most, {percent(share.share)} of the differences",
        plot.uprights(tick.value for tick in ticks),
        *marks,
        plot.whiskers((s.low, s.high, y) for (_, s), y in zip(shown, heights, strict=True)),
        x_label="share in the differences around the best point",
    )


def expected_axis(parts: Sequence[NDArray[np.float64]], positive: bool) -> Axis:
    """An axis for values that a model expects; of what is always positive, for those alone that are.

    A model of times or masses may hold possible that they are negative; its axis can be a log one even so.
    """
    every = [v for part in parts for v in part.ravel().tolist() if abs(v) < 1e300]
    return fitting([v for v in every if v > 0 or not positive] or [1.0])


def effect(space: Space, i: int, found: Effect, y: Axis, best: Trial | None) -> str:
    """What to expect along one variable, with the model's band."""
    kind, at = space.variables[i], found.at.tolist()
    x = whole_axis(kind, at)
    ticks = y.ticks(5)
    left = max(34.0, 10 + SMALL.character * max((len(tick.label) for tick in ticks), default=1))
    plot = Plot(SMALL, x, y, variable_ticks(kind, x, SMALL.across + 1), ticks, left, 14)
    rows = list(zip(at, found.value.tolist(), found.low.tolist(), found.high.tolist(), strict=True))
    few = plateaus(kind)
    if few:  # a piece for each value
        by_value = {v: (low, high) for v, _, low, high in few}
        ends = [(*by_value[v], value, low, high) for v, value, low, high in rows if v in by_value]
        marks = [plot.band([(a, low, high), (b, low, high)]) for a, b, _, low, high in ends]
        marks.append(plot.line([[(a, value), (b, value)] for a, b, value, _, _ in ends], "mean"))
    else:
        marks = [plot.band([(v, low, high) for v, _, low, high in rows])]
        marks.append(plot.line([[(v, value) for v, value, _, _ in rows]], "mean"))
    name = clipped(space.keys[i], 60)
    if best is not None and best.value is not None:
        place = coordinate(space, best.params, i)
        if place is not None:
            marks.append(plot.ring(place, best.value, "ring", f"best: {number(best.value)}"))
    words = f"Effect of {name}: {number(min(found.value))} to {number(max(found.value))}"
    return plot.svg(words, *marks, x_label=clipped(name, 30), y_label="")


def pair(
    space: Space,
    columns: tuple[int, int],
    found: Pair,
    values: Axis,
    shown: Shown,
    best: Trial | None,
    better: float,
) -> str:
    """What to expect over two variables, bluer where it is better, with what was tried on it.

    Args:
        space, columns: which variables, the first across, the second upwards.
        found: what to expect.
        values: the scale of the shades.
        shown: what was tried.
        best: the best trial.
        better: 1 if small values are better, else -1.
    """
    (i, j), kinds = columns, [space.variables[c] for c in columns]
    x, y = (whole_axis(kind, part.tolist()) for kind, part in zip(kinds, found[:2], strict=True))
    names = [clipped(space.keys[c], 60) for c in columns]
    y_ticks = variable_ticks(kinds[1], y, 5)
    left = max(34.0, 10 + SQUARE.character * max((len(tick.label) for tick in y_ticks), default=1))
    plot = Plot(SQUARE, x, y, variable_ticks(kinds[0], x, SQUARE.across), y_ticks, left, 14)
    goodness = np.vectorize(values.share, otypes=[float])(found.value)
    if better > 0:
        goodness = 1 - goodness
    rows, columns_ = (
        _where(kind, on, part, count)
        for kind, on, part, count in zip(
            reversed(kinds), (y, x), (found.second, found.first), reversed(_PIXELS), strict=True
        )
    )
    pixels = rows @ goodness @ columns_.T
    tried: list[tuple[Mark, bool]] = []
    for k, (_, t) in enumerate(shown.places):
        a, b = coordinate(space, t.params, i), coordinate(space, t.params, j)
        if a is not None and b is not None and t.status == "done":
            tried.append(((a, b, k), t.feasible))
    tried = list(thinned(tried, _MOST_DOTS))
    marks = [
        plot.heat(f"heat-{i}-{j}", _png(pixels[::-1])),
        plot.crosses([mark for mark, feasible in tried if not feasible], "violated on"),
        plot.dots([mark for mark, feasible in tried if feasible], "value on"),
    ]
    if best is not None:
        a, b = coordinate(space, best.params, i), coordinate(space, best.params, j)
        if a is not None and b is not None:
            marks.append(plot.ring(a, b, "ring", "best"))
    label = f"What the model expects over {names[0]} and {names[1]}"
    return plot.svg(label, *marks, x_label=clipped(names[0], 30), y_label=clipped(names[1], 30))


def ends_of(found: Pair, better: float) -> tuple[float, float]:
    """The best and the worst value of a heat map, as it is drawn."""
    low, high = float(found.value.min()), float(found.value.max())
    return (low, high) if better > 0 else (high, low)


def _where(kind: Variable, on: Axis, numbers: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """For each pixel of an axis, how much each number has to do with it: rows that add up to 1."""
    centres = on.start + (np.arange(count) + 0.5) / count * (on.end - on.start)
    places = np.array([straight(v, on.kind, on.threshold) for v in numbers.tolist()])
    weights = np.zeros((count, len(places)))
    if len(places) == 1:
        weights[:, 0] = 1.0
        return weights
    below = np.clip(np.searchsorted(places, centres) - 1, 0, len(places) - 2)
    share = np.clip((centres - places[below]) / (places[below + 1] - places[below]), 0.0, 1.0)
    if kind.discrete and plateaus(kind):
        share = share.round()
    rows = np.arange(count)
    weights[rows, below] = 1 - share
    weights[rows, below + 1] += share
    return weights


def _png(shades: NDArray[np.float64]) -> str:
    """Numbers from 0 to 1, one row for each line from the top, as a grey picture in an address."""
    grey = np.clip(shades * 255, 0, 255).round().astype(np.uint8)
    high, wide = grey.shape
    lines = np.concatenate((np.zeros((high, 1), np.uint8), grey), axis=1).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode("ascii")
