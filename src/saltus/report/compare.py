"""Two or more studies on one page: how fast each came how far, and what they found, beside each other."""

from __future__ import annotations

import time
from collections.abc import Sequence

from .._version import __version__
from ..study.summary import Summary, sign_of
from ..study.trial import Trial
from .axis import DECADES_OF_VALUES, Axis, axis, fitting
from .charts import scale_name
from .details import details_of_several, thinned
from .digest import Digest, Place
from .page import DATA, document
from .parts import fact, figure, paragraph, section, table
from .plot import NARROW, Plot, Size
from .words import NOTHING, clipped, count, date, duration, number, parameter, text

MOST_STUDIES = 8  # that colours can tell apart
_MOST_DOTS = 200  # of a study, in a chart
_MOST_DOTS_NARROW = 60

Study = tuple[Summary, Digest]


def compare(studies: Sequence[Study], *, now: float | None = None) -> str:
    """The page as text, to be written as UTF-8.

    Args:
        studies: from two to `MOST_STUDIES`, all in the same direction; of each its summary and its digest.
        now: the date on the page, in seconds since 1970.
    """
    names = names_of([summary for summary, _ in studies])
    title = " and ".join(names) if len(names) == 2 else f"{len(names)} studies"
    told = _told([digest for _, digest in studies])
    chart = paragraph("No study has a value yet that violates nothing.")
    values = [t.value for _, digest in studies for _, t in digest.improvements if t.value is not None]
    better = "Higher" if studies[0][0].direction == "maximize" else "Lower"
    if values:
        y = fitting(values, clip=False, decades=DECADES_OF_VALUES)
        caption = (
            f"{better} is better. Only what violates no constraint counts. Each dot is a new best value."
        )
        chart = figure(lambda size: _lines(studies, names, told, y, size), "", caption)
    head = f'<header id="head">\n<p class="over">Comparison</p>\n<h1>{text(title)}</h1>\n</header>'
    made = "\n".join([fact("saltus", __version__), fact("report", date(time.time() if now is None else now))])
    return document(
        title,
        {
            "head": head,
            "convergence": section("convergence", "Best value so far", chart),
            "beside": section("beside", "Beside each other", _facts(studies, names)),
            "best": section("best", "Best points", _points(studies, names)),
            "foot": f'<footer id="foot">\n<dl>\n{made}\n</dl>\n</footer>',
            DATA: details_of_several(
                names, [(s.space, d, places) for (s, d), places in zip(studies, told, strict=True)]
            ),
        },
    )


def names_of(summaries: Sequence[Summary]) -> list[str]:
    """A name for each study: its own, with a number where several have the same."""
    own = [clipped(summary.name, 60) for summary in summaries]
    return [
        name if own.count(name) == 1 else f"{name} ({own[: i + 1].count(name)})" for i, name in enumerate(own)
    ]


def _told(digests: Sequence[Digest]) -> list[list[Place]]:
    """The points of each study that tell more: new best values, of many evenly chosen ones, and the best."""
    told = []
    for digest in digests:
        places = [*thinned(digest.improvements, _MOST_DOTS), *digest.improvements[-1:]]
        if digest.best is not None:
            places.append((digest.place(digest.best.id) + 1, digest.best))
        told.append(
            sorted({trial.id: (n, trial) for n, trial in places}.values(), key=lambda place: place[0])
        )
    return told


def _lines(
    studies: Sequence[Study], names: Sequence[str], told: Sequence[Sequence[Place]], y: Axis, size: Size
) -> str:
    """The best feasible value so far of each study."""
    longest = max(len(digest.ids) for _, digest in studies)
    x = axis(0, max(1, longest) * 1.01)
    labels = [clipped(name, 11 if size is NARROW else 24) for name in names]
    ticks = y.ticks(6)
    left = max(34.0, 10 + size.character * max((len(tick.label) for tick in ticks), default=1))
    right = 14 + size.character * max(map(len, labels))
    plot = Plot(size, x, y, x.ticks(size.across, whole=True), ticks, left, right)
    marks, dots, ends, first = [], [], [], 0
    for k, (_, digest) in enumerate(studies):
        rows = range(first, first + len(told[k]))
        first = rows.stop
        best = [(n, t.value) for n, t in digest.improvements if t.value is not None]
        if not best:
            continue
        marks.append(plot.steps(best, len(digest.ids), f"c{k}"))
        own = [(n, t.value, i) for i, (n, t) in zip(rows, told[k], strict=True) if t.value is not None]
        most = _MOST_DOTS_NARROW if size is NARROW else len(own)
        dots.append(plot.dots([*thinned(own[:-1], most), own[-1]], f"step c{k}"))
        ends.append((best[-1][1], labels[k], f"c{k}"))
    words = ", ".join(
        f"{name} {number(s.best.value if s.best else None)}"
        for name, (s, _) in zip(names, studies, strict=True)
    )
    return plot.svg(
        f"Best values over evaluations: {words}",
        *marks,
        *dots,
        plot.names(ends),
        y_label="best value" + scale_name(y.kind),
    )


def _facts(studies: Sequence[Study], names: Sequence[str]) -> str:
    """A row for each figure, a column for each study."""
    goal = _reached_by_all(studies)
    rows: list[list[str]] = [
        ["best value", *(number(s.best.value if s.best else None) for s, _ in studies)],
        ["violated by", *(number((s.best.violation or None) if s.best else None) for s, _ in studies)],
        ["evaluations", *(count(s.evaluations) for s, _ in studies)],
        ["found after", *(_found(d) for _, d in studies)],
    ]
    if goal is not None:
        reached = [_evaluations_to(d, goal, sign_of(s.direction)) for s, d in studies]
        rows.append([f"evaluations to {text(number(goal))}", *map(count, reached)])
    rows += [
        ["failures", *(count(sum(s.failures.values())) for s, _ in studies)],
        ["restarts", *(count(s.restarts) for s, _ in studies)],
        ["time spent", *(duration(d.wall) for _, d in studies)],
        ["in evaluations", *(duration(sum(d.seconds)) for _, d in studies)],
        ["strategy", *(text(s.strategy) for s, _ in studies)],
        ["seed", *(NOTHING if s.seed is None else str(s.seed) for s, _ in studies)],
    ]
    kept = [row for row in rows if row[0] != "violated by" or any(cell != NOTHING for cell in row[1:])]
    words = "" if goal is None else paragraph(f"All of them have reached {number(goal)}: compare how soon.")
    numeric = range(1, len(names) + 1)
    return words + table("Studies beside each other", ["figure", *names], kept, numeric)


def _found(digest: Digest) -> str:
    return NOTHING if digest.best is None else count(digest.place(digest.best.id) + 1, "evaluation")


def _reached_by_all(studies: Sequence[Study]) -> float | None:
    """The best value that every study has reached; None if some have none."""
    sign = sign_of(studies[0][0].direction)
    ends = [digest.improvements[-1][1].value if digest.improvements else None for _, digest in studies]
    known = [sign * value for value in ends if value is not None]
    return sign * max(known) if len(known) == len(ends) else None


def _evaluations_to(digest: Digest, goal: float, sign: float) -> int:
    return next(n for n, t in digest.improvements if t.value is not None and sign * t.value <= sign * goal)


def _points(studies: Sequence[Study], names: Sequence[str]) -> str:
    """The best point of each study; a row for each variable that any of them has."""
    variables = dict.fromkeys(key for summary, _ in studies for key in summary.space.keys)
    rows = [["trial", *(_opener(s.best, d, k) for k, (s, d) in enumerate(studies))]]
    for key in variables:
        cells = [
            text(parameter(s.space, s.best, s.space.keys.index(key))) if key in s.space.keys else NOTHING
            for s, _ in studies
        ]
        rows.append([text(clipped(key, 80)), *cells])
    return table("Best points", ["variable", *names], rows, numeric=range(1, len(names) + 1))


def _opener(best: Trial | None, digest: Digest, study: int) -> str:
    """The number of a trial, which opens it if it is one that tells more."""
    if best is None:
        return NOTHING
    if digest.best is None or digest.best.id != best.id:
        return str(best.id)
    return f'<span data-trial="{best.id}" data-study="{study}">{best.id}</span>'
