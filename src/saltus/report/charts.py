"""The charts of the page."""

import itertools
import math
from collections.abc import Mapping, Sequence

from ..search.learnt import Share
from ..space.activity import count_values
from ..space.categorical import Categorical
from ..space.variables import Bool, Variable
from ..study.summary import Summary
from ..study.trial import Snapshot
from .axis import Axis, Kind, Tick, axis, fitting
from .digest import Digest
from .plot import NARROW, SMALL, Plot, Point, Size
from .words import clipped, coordinate, count, duration, number, number_or_text, parameter, percent

MOST_LINES_WITH_NAMES = 8
MOST_BARS = 20
MOST_PLATEAUS = 25
_MOST_RINGS = 120
_BAR, _BAR_ROOM, _BAR_MARGIN = 16.0, 28.0, 46.0  # thickness, with the room around it, and of all of them
_RIGHT = 12.0  # room on the right, where no names stand
_DOTS_ON_PAGE, _DOTS_IN_CHART = 24_000, 700  # of variables, together and each
_STEPS_ON_PAGE = 4_000
_LONGEST_CHOICE = 12  # characters beside an axis
_LEAST_COVERED = 0.2  # of a range, by what was tried: else the chart shows only that part


def _plot(digest: Digest, size: Size, y: Axis, y_ticks: Sequence[Tick], right: float = _RIGHT) -> Plot:
    """A plot over evaluations, with as much room on the left as the longest label needs."""
    x = axis(0, max(1, len(digest.ids)) * 1.01)
    longest = max((len(tick.label) for tick in y_ticks), default=1)
    left = max(34.0, 10 + size.character * longest)
    return Plot(size, x, y, x.ticks(size.across, whole=True), y_ticks, left, right)


def value_axis(digest: Digest) -> Axis:
    """The axis of values: without far outliers, and with the best feasible one in any case."""
    last = digest.improvements[-1][1].value if digest.improvements else None
    return fitting(digest.values or [0.0], last)


def convergence(digest: Digest, y: Axis, size: Size) -> str:
    """Every value, and the best feasible one so far."""
    plot = _plot(digest, size, y, y.ticks(6))
    done = [(x, t.value, t) for x, t in digest.points if t.status == "done" and t.value is not None]
    feasible = [(x, value) for x, value, t in done if t.feasible and math.isfinite(value)]
    violated = [(x, value) for x, value, t in done if not t.feasible and math.isfinite(value)]
    best = [(x, t.value) for x, t in digest.improvements if t.value is not None]
    rings = digest.improvements[-_MOST_RINGS:]
    words = f"Convergence: {count(len(digest.ids), 'evaluation')}"
    note = ""
    if best:
        words += f", best feasible value {number(best[-1][1])}"
        note = plot.note(len(digest.ids), best[-1][1], number(best[-1][1]).replace("-", "−"))
    return plot.svg(
        words,
        plot.verticals(digest.restarts),
        plot.crosses(violated, "violated"),
        plot.dots(feasible, "value"),
        plot.feet(digest.failed),
        plot.steps(best, len(digest.ids)),
        *(plot.ring(x, t.value or 0.0, "hidden", f"trial {t.id}: {number(t.value)}") for x, t in rings),
        note,
        y_label="value" + _scale_name(y.kind),
    )


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


def _scale_name(kind: Kind) -> str:
    return {"linear": "", "log": ", log scale", "symlog": ", log scale on both sides of 0"}[kind]


def variable(summary: Summary, digest: Digest, i: int, charts: int) -> str:
    """One variable: what was tried, the Gaussian's middle and width, and the best value."""
    space, kind = summary.space, summary.space.variables[i]
    most = min(_DOTS_IN_CHART, _DOTS_ON_PAGE // charts)
    chosen = digest.points[:: max(1, math.ceil(len(digest.points) / most))]
    tried = [(x, v, t) for x, t in chosen if (v := coordinate(space, t.params, i)) is not None]
    shots = digest.snapshots[:: max(1, math.ceil(len(digest.snapshots) * charts / _STEPS_ON_PAGE))]
    runs = [_means(run, i, kind.log) for run in _runs(shots)]
    plateaus = _plateaus(kind)
    y = _variable_axis(kind, [v for _, v, _ in tried], [mean for run in runs for _, mean, _, _ in run])
    ticks = [Tick(v, label) for v, label, _, _ in plateaus] if plateaus else y.ticks(5)
    plot = _plot(digest, SMALL, y, ticks)
    label = f"Path of {clipped(space.keys[i], 60)}"
    marks = [plot.stripe(low, high) for _, _, low, high in plateaus[::2]]
    marks.append(plot.verticals(digest.restarts))
    marks += [plot.band([(x, low, high) for x, _, low, high in run]) for run in runs]
    done = [(x, v, t.violation) for x, v, t in tried if t.status == "done"]
    marks += [
        plot.crosses([(x, v) for x, v, violation in done if violation != 0], "violated"),
        plot.dots([(x, v) for x, v, violation in done if violation == 0], "value"),
        plot.crosses([(x, v) for x, v, t in tried if t.status == "failed"], "failed"),
        plot.line([[(x, mean) for x, mean, _, _ in run] for run in runs], "mean"),
    ]
    best = summary.best
    if best is not None and (value := coordinate(space, best.params, i)) is not None:
        words = parameter(space, best, i)
        marks.append(plot.ring(digest.place(best.id) + 1, value, "ring", f"best: {words}"))
        label += f", best {words}"
    return plot.svg(label, *marks)


def _runs(snapshots: Sequence[tuple[int, Snapshot]]) -> list[list[tuple[int, Snapshot]]]:
    """Snapshots of each run: lines do not lead from one to the next."""
    return [list(run) for _, run in itertools.groupby(snapshots, key=lambda entry: entry[1].restarts)]


def _means(run: Sequence[tuple[int, Snapshot]], i: int, log: bool) -> list[tuple[float, float, float, float]]:
    """Where, the mean, and one standard deviation below and above it."""
    rows: list[tuple[float, float, float, float]] = []
    for x, snapshot in run:
        mean = snapshot.mean[i] if i < len(snapshot.mean) else math.nan
        sd = snapshot.sd[i] if i < len(snapshot.sd) else 0.0
        sd = sd if 0 <= sd < math.inf else 0.0
        if math.isfinite(mean) and (mean > 0 or not log):
            factor = math.exp(min(sd, 700.0))
            rows.append((x, mean, mean / factor, mean * factor) if log else (x, mean, mean - sd, mean + sd))
    return rows


def _plateaus(kind: Variable) -> list[tuple[float, str, float, float]]:
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


def _variable_axis(kind: Variable, tried: list[float], means: list[float]) -> Axis:
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
    return whole if _plateaus(kind) or covered >= _LEAST_COVERED else around


def deviations(summary: Summary, digest: Digest, shown: Sequence[int], size: Size) -> str:
    """How the Gaussian narrows along each variable, relative to its own first standard deviation."""
    runs = _runs(digest.snapshots)
    paths = [(summary.space.keys[i], _relative(runs, i)) for i in shown]
    lines = [(name, pieces) for name, pieces in paths if any(pieces)]
    ratios = [y for _, pieces in lines for piece in pieces for _, y in piece]
    if not ratios:
        return ""
    y = axis(min(ratios), max(ratios), "log", margin=0.05)
    named = len(lines) <= MOST_LINES_WITH_NAMES
    longest = 11 if size is NARROW else 24
    labels = [clipped(name, longest) for name, _ in lines]
    right = 14 + size.character * max(map(len, labels)) if named else _RIGHT
    plot = _plot(digest, size, y, y.ticks(6), right)
    colours = [f"c{k}" if named else "many" if len(lines) <= 20 else "many faint" for k in range(len(lines))]
    ends = [next(piece[-1][1] for piece in reversed(pieces) if piece) for _, pieces in lines]
    drawn = [
        plot.line(pieces, colour, clipped(name, 60))
        for (name, pieces), colour in zip(lines, colours, strict=True)
    ]
    return plot.svg(
        f"Standard deviations of {count(len(lines), 'variable')} relative to their first, on a log scale",
        plot.verticals(digest.restarts),
        *drawn,
        plot.names(list(zip(ends, labels, colours, strict=True))) if named else "",
        y_label="relative standard deviation, log scale",
    )


def _relative(runs: Sequence[Sequence[tuple[int, Snapshot]]], i: int) -> list[list[Point]]:
    """The standard deviations of variable i in each run, divided by the first of all."""
    sds = [[(x, s.sd[i]) for x, s in run if i < len(s.sd) and 0 < s.sd[i] < math.inf] for run in runs]
    first = next((sd for run in sds for _, sd in run), 1.0)
    return [[(x, sd / first) for x, sd in run if 0 < sd / first < math.inf] for run in sds]


def timing(digest: Digest, size: Size) -> str:
    """How long each evaluation took."""
    y = fitting(digest.seconds, clip=False)
    if y.kind == "linear":
        y = Axis(0.0, y.end)
    plot = _plot(digest, size, y, y.ticks(5))

    def took(status: str) -> list[Point]:
        seconds = [(x, t.seconds) for x, t in digest.points if t.status == status and t.seconds is not None]
        return [(x, s) for x, s in seconds if 0 <= s < math.inf]

    return plot.svg(
        f"Seconds of each evaluation, at most {duration(max(digest.seconds))}",
        plot.dots(took("done"), "value"),
        plot.crosses(took("failed"), "failed"),
        y_label="seconds" + _scale_name(y.kind),
    )
