"""Axes of variables: a log one by its logarithm, a discrete one with its values and their plateaus."""

import itertools
import math

from ..space.activity import count_values
from ..space.categorical import Categorical
from ..space.variable import Variable
from ..space.variables import Bool
from .axis import Axis, Kind, Tick, axis
from .words import clipped, number_or_text

MOST_PLATEAUS = 25
_LONGEST_CHOICE = 12  # characters beside an axis
_LEAST_COVERED = 0.2  # of a range, by what was tried: else the chart shows only that part


def plateaus(kind: Variable) -> list[tuple[float, str, float, float]]:
    """Each value of a discrete variable: value, label, lower and upper edge; none if there are too many."""
    if count_values(kind) > MOST_PLATEAUS:
        return []
    grid = kind.grid()
    if isinstance(grid, tuple):
        first, step, n = grid
        values = [first + k * step for k in range(n)]
    else:
        values = grid.tolist()
    low, high = kind.range()
    between = (math.sqrt(a * b) if kind.log else a / 2 + b / 2 for a, b in itertools.pairwise(values))
    edges = [low, *between, high]
    labels = ["false", "true"] if isinstance(kind, Bool) else [number_or_text(_whole(v)) for v in values]
    if isinstance(kind, Categorical):
        labels = [clipped(number_or_text(choice), _LONGEST_CHOICE) for choice in kind.choices]
    return list(zip(values, labels, edges[:-1], edges[1:], strict=True))


def _whole(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) < 1e6 else value


def variable_axis(kind: Variable, tried: list[float], means: list[float]) -> Axis:
    """The whole range, or around what was tried if that is only a small part of it."""
    scale: Kind = "log" if kind.log else "linear"
    low, high = kind.range()
    seen = [v for v in tried + means if v > 0 or not kind.log]
    if not seen:
        seen = [v for v in (low, high) if math.isfinite(v) and (v > 0 or not kind.log)] or [1.0]
    around = axis(min(seen), max(seen), scale, margin=0.06)
    bounded = math.isfinite(low) and math.isfinite(high) and (low > 0 or not kind.log)
    if not bounded or kind.fixed:
        return around
    whole = axis(low, high, scale, margin=0.0 if kind.discrete else 0.04)
    covered = (around.end - around.start) / (whole.end - whole.start)
    return whole if plateaus(kind) or covered >= _LEAST_COVERED else around


def whole_axis(kind: Variable, numbers: list[float]) -> Axis:
    """From the first to the last of some numbers of a variable; of few values, with their plateaus."""
    if plateaus(kind):
        return variable_axis(kind, numbers, [])
    return axis(numbers[0], numbers[-1], "log" if kind.log else "linear")


def variable_ticks(kind: Variable, on: Axis, most: int) -> list[Tick]:
    """What stands beside the axis of a variable: its values if they are few, else round numbers."""
    few = plateaus(kind)
    return [Tick(v, label) for v, label, _, _ in few] if few else on.ticks(most)
