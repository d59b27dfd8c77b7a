"""A study at a glance in words: a few lines for a terminal, or one line for a log."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from ..study.glance import Glance
from .lines import columns, counted, printable, start_of
from .values import listed

BLOCKS = "▁▂▃▄▅▆▇█"
# a part of a line: text, and what it is, which a terminal may show by a colour
Part = tuple[str, str]
Line = list[Part]
NAME = 8  # columns before the text of a line
_SHOWN = 4  # evaluations that are listed


def lines(glance: Glance, budget: int | None, width: int, *, blocks: bool = True) -> list[Line]:
    """What a person wants to see at a glance, in lines of at most so many columns.

    Args:
        glance: the study.
        budget: evaluations in all; None if it is not known.
        width: of the terminal.
        blocks: whether it has block characters, for a bar and a small curve.
    """
    room = max(20, width - 3)  # a terminal may write ^C behind the last line
    found = [_title(glance, budget, room, blocks), _named("best", _best(glance))]
    curve = sparkline(glance.trend, glance.evaluations, min(40, room // 2)) if blocks else ""
    if curve:
        first = glance.trend[0][1]
        found.append(
            [("trend".rjust(NAME - 1) + " ", "dim"), (curve, "curve"), (f"  from {first:.6g}", "dim")]
        )
    if glance.best is not None:
        found.append(_named("at", [(listed(glance.best.params), "")]))
    found.append(_named("pace", [(_pace(glance, budget), "")]))
    if glance.failures:
        failed = f"{glance.failures}, the last: {glance.last_failure}"
        found.append(_named("failed", [(failed, "bad")]))
    found.append(_named("now", _running(glance)))
    return [clipped(line, room) for line in found]


def in_one(glance: Glance, budget: int | None) -> str:
    """The same in one line, the most important first."""
    done = f"{glance.evaluations}" if budget is None else f"{glance.evaluations}/{budget}"
    words = [f"{done} evaluations", f"best {_value(glance)}", *_speed(glance, budget)]
    if glance.failures:
        words.append(f"{glance.failures} failed")
    if glance.restarts:
        words.append(counted(glance.restarts, "restart"))
    if glance.session is not None and not glance.alive:
        words += [printable(text) for text, _ in _running(glance)]
    return ", ".join(words)


def _title(glance: Glance, budget: int | None, room: int, blocks: bool) -> Line:
    name = start_of(printable(glance.head.name), room // 3)
    if budget is None:
        return [(f"{name}  ", "name"), (counted(glance.evaluations, "evaluation"), "")]
    text = f"  {glance.evaluations} of {budget}"
    long = room - columns(name) - len(text) - 2
    if not blocks or long < 10:
        return [(name, "name"), (text, "")]
    full = round(long * min(1.0, glance.evaluations / budget))
    return [(f"{name}  ", "name"), ("━" * full, "curve"), ("─" * (long - full), "dim"), (text, "")]


def _named(name: str, parts: Line) -> Line:
    return [(f"{name.rjust(NAME - 1)} ", "dim"), *((printable(text), style) for text, style in parts)]


def _best(glance: Glance) -> Line:
    best = glance.best
    if best is None:
        return [("none yet", "")]
    place = "past data" if best.past else f"trial {best.id}, {_ago(glance.since_best)}"
    if best.violation:
        return [("none feasible; ", "bad"), (f"least violation {best.violation:.4g} ({place})", "")]
    told = ", all constraints hold" if best.constraints else ""
    return [(_value(glance), "good"), (f"  {place}{told}", "")]


def _value(glance: Glance) -> str:
    best = glance.best
    if best is None or best.value is None:
        return "none"
    if best.violation:
        return f"none feasible (violation {best.violation:.4g})"
    return f"{best.value:.8g}"


def _ago(evaluations: int) -> str:
    return "just now" if not evaluations else f"{counted(evaluations, 'evaluation')} ago"


def _speed(glance: Glance, budget: int | None) -> list[str]:
    """How fast it goes, and how long it still takes."""
    if glance.pace is None or not glance.alive:
        return []
    words = [f"{rate(glance.pace)}"]
    left = 0 if budget is None else budget - glance.evaluations
    if left > 0:
        words.append(f"{duration(left / glance.pace)} to go")
    return words


def _pace(glance: Glance, budget: int | None) -> str:
    words = _speed(glance, budget)
    if glance.seconds is not None:
        words.insert(min(1, len(words)), f"{duration(glance.seconds)} each")
    if glance.restarts:
        words.append(counted(glance.restarts, "restart"))
    return ", ".join(words) or "nothing evaluated yet"


def _running(glance: Glance) -> Line:
    session = glance.session
    if session is None:
        return [("not run yet" if not glance.evaluations else "evaluated by hand", "")]
    if not glance.alive:
        ended = "killed, or the machine went down" if session.ended is None else f"ended: {session.why}"
        return [(ended, "bad" if session.ended is None else "")]
    busy = f"{len(glance.running)} of {counted(session.workers, 'worker')} busy"
    longest = sorted(glance.running, key=lambda trial: (trial.started or glance.now, trial.id))
    times = [f"{trial.id} for {_whole(glance.now - (trial.started or glance.now))}" for trial in longest]
    more = ", ..." if len(times) > _SHOWN else ""
    return [(busy + (f": trial {', '.join(times[:_SHOWN])}{more}" if times else ""), "")]


def _whole(seconds: float) -> str:
    return "0 s" if seconds < 1 else duration(math.floor(seconds))


def clipped(line: Line, room: int) -> Line:
    """As much of a line as has room.

    >>> clipped([("best  ", "dim"), ("0.123456789", "")], 12)
    [('best  ', 'dim'), ('0.123…', '')]
    """
    if sum(columns(text) for text, _ in line) <= room:
        return line
    kept: Line = []
    for text, style in line:
        free = room - sum(columns(t) for t, _ in kept)
        if columns(text) > free or text is line[-1][0]:
            return [*kept, (start_of(text, max(0, free - 1)) + "…", style)]
        kept.append((text, style))
    return kept


def sparkline(trend: Sequence[tuple[int, float]], evaluations: int, columns: int) -> str:
    """The best value over the evaluations as a small curve, or nothing if there is none to see.

    Differences near the end would not be seen beside the first ones: heights are logarithms of what was still
    to be gained.

    >>> sparkline([(1, 100.0), (5, 10.0), (20, 1.0), (40, 0.9)], 40, 10)
    '█▆▆▆▆▂▂▂▂▁'
    """
    if len(trend) < 2 or columns < 2:
        return ""
    last, worst = trend[-1][1], trend[0][1]
    span = abs(worst - last)
    if not 0 < span < math.inf:
        return ""
    rising = last > worst  # it is maximised
    drawn, place = [], 0
    for column in range(columns):
        at = trend[0][0] + (evaluations - trend[0][0]) * column / (columns - 1)
        while place + 1 < len(trend) and trend[place + 1][0] <= at:
            place += 1
        share = math.log1p(1000 * abs(trend[place][1] - last) / span) / math.log1p(1000)
        drawn.append(BLOCKS[round((len(BLOCKS) - 1) * (1 - share if rising else share))])
    return "".join(drawn)


def rate(pace: float) -> str:
    """How fast evaluations come.

    >>> rate(3.44), rate(0.05), rate(0.0005)
    ('3.4 a second', '3 a minute', '1.8 an hour')
    """
    factor, unit = (1, "a second") if pace >= 1 else (60, "a minute") if pace >= 1 / 60 else (3600, "an hour")
    number = factor * pace
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"


def duration(seconds: float) -> str:
    """A time for people.

    >>> [duration(s) for s in (0.0042, 0.0996, 0.5, 42, 320, 11_520, 187_200)]
    ['4.2 ms', '0.1 s', '0.5 s', '42 s', '5 min 20 s', '3 h 12 min', '2 d 4 h']
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    for size, unit, smaller, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"


def clock() -> str:
    """The time of day, in front of a line of a log."""
    return time.strftime("%H:%M:%S")
