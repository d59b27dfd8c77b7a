"""Axes: from numbers to a share of a chart's side, and the few round numbers beside it."""

import math
import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

from .words import scientific

Kind = Literal["linear", "log", "symlog"]

_MAX = sys.float_info.max
_LEAST_SPAN = 1e-6  # of the numbers' size: beyond, labels could not tell them apart
_TINIEST = 1e-290
_DECADES_FOR_LOG = 2.0
DECADES_OF_VALUES = 1.0  # on a straight axis, what the search gains late would be lost in its lowest tenth
_DECADES_FOR_SYMLOG = 3.0
_OUTLIER = 4.0  # times the range of nine tenths of all values


class Tick(NamedTuple):
    """A place on an axis and what is written there."""

    value: float
    label: str


class Axis(NamedTuple):
    """One side of a chart, from `start` to `end` in the coordinate in which its kind is straight.

    "symlog" is a logarithm on either side of zero and straight within `threshold` of it.
    """

    start: float
    end: float
    kind: Kind = "linear"
    threshold: float = 1.0

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the start, 1 at the end, and what is beyond on the edge."""
        place = straight(value, self.kind, self.threshold)
        return min(max((place - self.start) / (self.end - self.start), 0.0), 1.0)

    def holds(self, value: float) -> bool:
        """Whether a value lies within the ends."""
        return self.start <= straight(value, self.kind, self.threshold) <= self.end

    def ticks(self, most: int, *, whole: bool = False) -> list[Tick]:
        """About as many round numbers as asked for; whole ones only, on request."""
        if self.kind == "linear":
            low, high = (min(max(4 * t, -_MAX), _MAX) for t in (self.start, self.end))
            return _linear_ticks(low, high, most, whole)
        if self.kind == "log":
            return _log_ticks(self.start, self.end, most)
        return [t for t in _symlog_ticks(self.threshold, self.start, self.end, most) if self.holds(t.value)]


def straight(value: float, kind: Kind, threshold: float = 1.0) -> float:
    """A value in the coordinate of its axis."""
    if kind == "linear":
        return value / 4  # so that no span overflows
    if kind == "log":
        return math.log10(value) if value > 0 else -math.inf
    ratio = abs(value) / threshold
    decades = math.log10(1 + ratio) if ratio < _MAX else math.log10(abs(value)) - math.log10(threshold)
    return math.copysign(decades, value)


def axis(low: float, high: float, kind: Kind = "linear", threshold: float = 1.0, margin: float = 0.0) -> Axis:
    """From low to high and a margin beyond, as a share; wider where both are about the same."""
    start, end = straight(low, kind, threshold), straight(high, kind, threshold)
    size = max(abs(start), abs(end)) if kind == "linear" else 0.0
    least = max(_LEAST_SPAN * size, _TINIEST) if kind == "linear" else 0.01
    if end - start < least:
        # a tenth of a single value, or a third of a decade
        wider = (max(0.1 * size, _TINIEST) if size else 0.25) if kind == "linear" else 0.15
        start, end = start - wider, end + wider
    more = margin * (end - start)
    return Axis(start - more, end + more, kind, threshold)


def fitting(
    values: Sequence[float],
    always: float | None = None,
    *,
    clip: bool = True,
    decades: float = _DECADES_FOR_LOG,
) -> Axis:
    """An axis for many finite values: its kind by how far they spread, its ends without far outliers.

    `always` is a value that must be on it; with `clip` False, all are. Positive ones that spread over more
    than so many decades have a logarithmic one.
    """
    ordered = sorted(values)
    tail = len(ordered) // 20 if clip else 0
    low, high = ordered[tail], ordered[-1 - tail]
    if always is not None:
        low, high = min(low, always), max(high, always)
    kind: Kind = "linear"
    threshold = 1.0
    sizes = sorted(abs(v) for v in ordered if v)
    if ordered[0] > 0 and low > 0:
        if math.log10(high) - math.log10(low) > decades:
            kind = "log"
    elif sizes:
        small, large = sizes[len(sizes) // 20], sizes[-1 - len(sizes) // 20]
        if math.log10(large) - math.log10(small) > _DECADES_FOR_SYMLOG:
            kind = "symlog"
            threshold = 10.0 ** math.floor(math.log10(max(small, large * 1e-12, _TINIEST)))
    first, last = min(ordered[0], low), max(ordered[-1], high)
    start, bottom, top, end = (straight(v, kind, threshold) for v in (first, low, high, last))
    reach = _OUTLIER * (top - bottom) if clip and top > bottom else math.inf
    first = first if bottom - start <= reach else low
    last = last if end - top <= reach else high
    return axis(first, last, kind, threshold, margin=0.05)


def _linear_ticks(low: float, high: float, most: int, whole: bool = False) -> list[Tick]:
    rough = high / most - low / most
    power = math.floor(math.log10(rough))
    mantissa = rough / 10.0**power
    factor = next((f for f, limit in ((1, 1.42), (2, 3.17), (5, 7.1)) if mantissa <= limit), 1)
    power += mantissa > 7.1  # then 1 is of the next decade
    if whole and power < 0:
        factor, power = 1, 0
    step = factor * 10.0**power
    values = [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    size = max((abs(v) for v in values), default=0.0)
    if not size or (size < 1e6 and power >= -5):
        return [Tick(v, _signed(f"{v:,.{max(0, -power)}f}")) for v in values]
    exponent = math.floor(math.log10(size) + 1e-9)
    mantissas = [f"{v / 10.0**exponent:.{max(0, exponent - power)}f}" for v in values]
    labels = [_signed(scientific(m, exponent)) if v else "0" for v, m in zip(values, mantissas, strict=True)]
    return list(map(Tick, values, labels))


def _log_ticks(start: float, end: float, most: int) -> list[Tick]:
    first, last = math.ceil(start - 1e-9), math.floor(end + 1e-9)
    if last - first >= 2:
        stride = math.ceil((last - first + 1) / most)
        exponents = [k for k in range(first, last + 1) if k % stride == 0 and -308 <= k <= 308]
        return [Tick(10.0**k, _power_of_ten(k)) for k in exponents]
    low, high = 10.0 ** max(start, -300.0), 10.0 ** min(end, 308.2)
    if not low < high:  # at the very ends of what a float holds
        return []
    decades = range(max(first - 1, -300), min(last + 1, 308) + 1)
    round_ones = [m * 10.0**k for k in decades for m in (1, 2, 5) if low <= m * 10.0**k <= high]
    if len(round_ones) < 3:
        return [t for t in _linear_ticks(low, high, most) if t.value > 0]
    return [Tick(v, _short(v)) for v in round_ones]


def _symlog_ticks(threshold: float, start: float, end: float, most: int) -> list[Tick]:
    base = round(math.log10(threshold))
    decades = math.ceil(max(abs(start), abs(end)))
    stride = max(1, math.ceil((end - start) / most))
    # none at the threshold itself, which is close to 0
    exponents = [base + k for k in range(stride, decades + 1, stride) if base + k <= 308]
    up = [Tick(10.0**k, _power_of_ten(k)) for k in exponents]
    down = [Tick(-t.value, _signed("-" + t.label)) for t in reversed(up)]
    return [*down, Tick(0.0, "0"), *up]


def _power_of_ten(exponent: int) -> str:
    """As 0.01, 1 and 1,000, but 10⁶."""
    if -3 <= exponent <= 4:
        return f"{10.0**exponent:,.{max(0, -exponent)}f}"
    return scientific("1", exponent)


def _short(value: float) -> str:
    if 1e-3 <= value < 1e5:
        return f"{value:,.6g}" if value < 1000 else f"{value:,.0f}"
    exponent = math.floor(math.log10(value) + 1e-9)
    return scientific(f"{value / 10.0**exponent:.0f}", exponent)


def _signed(label: str) -> str:
    """With a real minus sign, and none before zero."""
    return label.replace("-", "−") if label.strip("-0.,") else "0"
