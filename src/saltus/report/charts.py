"""The charts of the page."""

import itertools
import math
from collections.abc import Sequence

from ..study.summary import Summary
from ..study.trial import Snapshot
from .axis import DECADES_OF_VALUES, Axis, Kind, Tick, axis, fitting
from .details import Shown, thinned
from .digest import Digest, Place
from .plot import NARROW, SMALL, Mark, Plot, Point, Size
from .scales import plateaus, variable_axis, variable_ticks
from .words import clipped, coordinate, count, duration, number, parameter

MOST_LINES_WITH_NAMES = 8
_RIGHT = 12.0  # room on the right, where no names stand
_DOTS_ON_PAGE, _DOTS_IN_CHART = 24_000, 600  # of variables, together and each
_STEPS_ON_PAGE = 4_000
_THINNED = 3  # times as many


def _plot(digest: Digest, size: Size, y: Axis, y_ticks: Sequence[Tick], right: float = _RIGHT) -> Plot:
    """A plot over evaluations, with as much room on the left as the longest label needs."""
    x = axis(0, max(1, len(digest.ids)) * 1.01)
    longest = max((len(tick.label) for tick in y_ticks), default=1)
    left = max(34.0, 10 + size.character * longest)
    return Plot(size, x, y, x.ticks(size.across, whole=True), y_ticks, left, right)


def value_axis(digest: Digest) -> Axis:
    """The axis of values: without far outliers, and with the best feasible one in any case."""
    last = digest.improvements[-1][1].value if digest.improvements else None
    return fitting(digest.values or [0.0], last, decades=DECADES_OF_VALUES)


def convergence(digest: Digest, shown: Shown, y: Axis, size: Size) -> str:
    """Every value, and the best feasible one so far."""
    plot = _plot(digest, size, y, y.ticks(6))
    done = [
        ((x, t.value, i), t.feasible)
        for i, (x, t) in _drawn(shown, size)
        if t.status == "done" and t.value is not None and math.isfinite(t.value)
    ]
    best = [(x, t.value) for x, t in digest.improvements if t.value is not None]
    words = f"Convergence: {count(len(digest.ids), 'evaluation')}"
    note = ""
    if best:
        words += f", best feasible value {number(best[-1][1])}"
        note = plot.note(len(digest.ids), best[-1][1], number(best[-1][1]).replace("-", "−"))
    return plot.svg(
        words,
        plot.verticals(digest.restarts),
        _envelope(plot, digest),
        plot.crosses([mark for mark, feasible in done if not feasible], "violated"),
        plot.dots([mark for mark, feasible in done if feasible], "value"),
        plot.feet(digest.failed),
        plot.steps(best, len(digest.ids)),
        note,
        y_label="value" + scale_name(y.kind),
    )


def _drawn(shown: Shown, size: Size) -> Sequence[tuple[int, Place]]:
    """Points with their numbers; on a phone there is room for fewer."""
    return thinned(
        list(enumerate(shown.places)), _DOTS_IN_CHART if size is NARROW else len(shown.places) or 1
    )


def is_thinned(digest: Digest) -> bool:
    """Whether far fewer evaluations are drawn than there are."""
    return len(digest.ids) > _THINNED * len(digest.points)


def _envelope(plot: Plot, digest: Digest) -> str:
    """From the least to the largest value of many evaluations, if not all of them are drawn."""
    if not is_thinned(digest):
        return ""
    length = digest.envelope.length
    pieces = [((k + 0.5) * length, low, high) for k, (low, high) in enumerate(digest.envelope) if low <= high]
    return plot.band(pieces, "band range")


def scale_name(kind: Kind) -> str:
    """What to add to the name of an axis."""
    return {"linear": "", "log": ", log scale", "symlog": ", log scale on both sides of 0"}[kind]


def limit(name: str, digest: Digest, shown: Shown) -> str:
    """One constraint: its values, those that violate it above the line at 0."""
    marks = [
        (x, amount, i)
        for i, (x, t) in enumerate(shown.places)
        if t.constraints and math.isfinite(amount := t.constraints.get(name, math.nan))
    ]
    marks = list(thinned(marks, _DOTS_IN_CHART))
    y = fitting([amount for _, amount, _ in marks] or [0.0], 0.0)
    plot = _plot(digest, SMALL, y, y.ticks(5))
    kept = digest.limits[name]
    times = f"{count(kept.held)} of {count(kept.held + kept.violated)} times"
    return plot.svg(
        f"Constraint {clipped(name, 60)}: held {times}",
        plot.crosses([mark for mark in marks if mark[1] > 0], "violated"),
        plot.dots([mark for mark in marks if mark[1] <= 0], "value"),
        plot.level(0.0),
    )


def variable(summary: Summary, digest: Digest, shown: Shown, i: int, charts: int) -> str:
    """One variable: what was tried, the Gaussian's middle and width, and the best value."""
    space, kind = summary.space, summary.space.variables[i]
    most = min(_DOTS_IN_CHART, _DOTS_ON_PAGE // charts)
    chosen = thinned(list(enumerate(shown.places)), most)
    tried = [(x, v, k, t) for k, (x, t) in chosen if (v := coordinate(space, t.params, i)) is not None]
    shots = digest.snapshots[:: max(1, math.ceil(len(digest.snapshots) * charts / _STEPS_ON_PAGE))]
    runs = [_means(run, i, kind.log) for run in _runs(shots)]
    y = variable_axis(kind, [v for _, v, _, _ in tried], [mean for run in runs for _, mean, _, _ in run])
    plot = _plot(digest, SMALL, y, variable_ticks(kind, y, 5))
    label = f"Path of {clipped(space.keys[i], 60)}"
    marks = [plot.stripe(low, high) for _, _, low, high in plateaus(kind)[::2]]
    marks.append(plot.verticals(digest.restarts))
    marks += [plot.band([(x, low, high) for x, _, low, high in run]) for run in runs]
    done: list[tuple[Mark, float]] = [((x, v, k), t.violation) for x, v, k, t in tried if t.status == "done"]
    marks += [
        plot.crosses([mark for mark, violation in done if violation != 0], "violated"),
        plot.dots([mark for mark, violation in done if violation == 0], "value"),
        plot.crosses([(x, v, k) for x, v, k, t in tried if t.status == "failed"], "failed"),
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


def narrowing(summary: Summary, digest: Digest, shown: Sequence[int], size: Size) -> str:
    """How the Gaussian narrows along each variable, relative to its own first width."""
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
        f"How far around its middle the search looks, for {count(len(lines), 'variable')}, on a log scale",
        plot.verticals(digest.restarts),
        *drawn,
        plot.names(list(zip(ends, labels, colours, strict=True))) if named else "",
        y_label="width of the search, 1 at the beginning, log scale",
    )


def _relative(runs: Sequence[Sequence[tuple[int, Snapshot]]], i: int) -> list[list[Point]]:
    """The standard deviations of variable i in each run, divided by the first of all."""
    sds = [[(x, s.sd[i]) for x, s in run if i < len(s.sd) and 0 < s.sd[i] < math.inf] for run in runs]
    first = next((sd for run in sds for _, sd in run), 1.0)
    return [[(x, sd / first) for x, sd in run if 0 < sd / first < math.inf] for run in sds]


def timing(digest: Digest, shown: Shown, size: Size) -> str:
    """How long each evaluation took."""
    y = fitting(digest.seconds, clip=False)
    if y.kind == "linear":
        y = Axis(0.0, y.end)
    plot = _plot(digest, size, y, y.ticks(5))

    def took(status: str) -> list[Mark]:
        own = [(x, t.seconds, i) for i, (x, t) in _drawn(shown, size) if t.status == status]
        return [(x, s, i) for x, s, i in own if s is not None and 0 <= s < math.inf]

    return plot.svg(
        f"Seconds of each evaluation, at most {duration(max(digest.seconds))}",
        plot.dots(took("done"), "value"),
        plot.crosses(took("failed"), "failed"),
        y_label="seconds" + scale_name(y.kind),
    )
