"""Spaces, results, histories and studies as small tables, for a notebook.

They have no colours and no style sheet, so that they look as the notebook does, by day and by night. All text
that is not ours is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..report.words import NOTHING, clipped, count, domain, number, number_or_text, parameter, text
from ..result import History, Result
from ..space import Space
from ..space.conditions import Wanted, Within
from ..space.variable import Variable
from ..study.journal import as_plain
from ..study.looking import Looking
from ..study.trial import Trial

_MOST_ROWS = 60  # of variables or constraints
_IMPROVEMENTS = 8  # rows of a history
_LONGEST = 120  # characters of a name or a value
_ROOM = "padding: .2em .8em;"  # a page that is no notebook's would have no room between columns
_LEFT, _RIGHT = (
    f"text-align: left; {_ROOM}",
    f"text-align: right; font-variant-numeric: tabular-nums; {_ROOM}",
)


def of_space(space: Space) -> str:
    """Each variable: its kind, its values, its condition; and the known constraints."""
    points = space.count_points()
    words = count(len(space), "variable") + ("" if math.isinf(points) else f", {points:,.0f} points")
    rows = [
        [name, type(variable).__name__, domain(variable), _condition(variable)]
        for name, variable in zip(space.keys, space.variables, strict=True)
    ]
    head = ["variable", "kind", "values", "only if"]
    if not any(variable.when for variable in space.variables):
        head, rows = head[:3], [row[:3] for row in rows]
    where = "; ".join(getattr(rule, "__name__", str(rule)) for rule in space.where.given)
    return _block("Space", words, _table(head, rows), f"where {where}" if where else "")


def of_result(result: Result) -> str:
    """The best value, the best point and its constraints, the effort, why it stopped."""
    title = "No value yet" if result.x is None else f"Best value {number(result.fun)}"
    effort = [count(result.nfev, "evaluation"), count(result.restarts, "restart")]
    if result.failures:
        effort.append(f"{count(result.failures)} without a finite value")
    recommended = result.recommended
    parts = []
    if result._learnt is not None and result.params is not None:
        space = result._learnt.space
        points = {"best": result.params}
        if recommended is not None and recommended.error > 0:
            points["recommended"] = recommended.params
        parts.append(_points(space, points))
    if recommended is not None and recommended.error > 0:
        effort.append(f"recommended: {number(recommended.value)} ± {number(recommended.error)}")
    parts.append(_constraints(result.constraints))
    return _block(title, ", ".join(effort), *parts, result.message)


def of_history(history: History) -> str:
    """When the best value became better: the first time, and the last ones."""
    best, evaluations = history.best.tolist(), history.evaluations.tolist()
    if not best:
        return _block("History", "0 generations")
    steps = [i for i, b in enumerate(best) if not math.isnan(b) and (not i or b != best[i - 1])]
    words = f"{count(len(best), 'generation')}, {count(int(evaluations[-1]), 'evaluation')}"
    left_out = len(steps) - _IMPROVEMENTS
    shown = steps[:1] + steps[left_out + 1 :] if left_out > 0 else steps
    rows = [[count(int(evaluations[i])), number(best[i])] for i in shown]
    more = f"{count(left_out)} more after the first" if left_out > 0 else ""
    return _block("History", words, _table(["evaluations", "best value"], rows, numeric=[0, 1]), more)


def of_study(study: Looking) -> str:
    """What is searched, how far it is, and the best point."""
    summary = study.summary()
    best, failed = summary.best, sum(summary.failures.values())
    words = [summary.direction, count(summary.evaluations, "evaluation")]
    words += [f"{count(failed)} failed"] if failed else []
    words += [f"{count(summary.past)} of past data"] if summary.past else []
    words += ["running"] if summary.running else []
    title = "no value yet" if best is None else f"best value {number(best.value)}"
    if best is not None and not best.feasible:
        title = f"nothing feasible yet, violated by {number(best.violation)}"
    where = f"trial {best.id} of {study.path}" if best is not None else str(study.path)
    points = {} if best is None else {"best": best.params}
    limits = {} if best is None else best.constraints or {}
    tables = _points(study.space, points), _constraints(limits)
    return _block(f"{clipped(summary.name, _LONGEST)}: {title}", ", ".join(words), *tables, where)


def _points(space: Space, points: dict[str, Any]) -> str:
    """Points beside each other, a variable a row; with no point, what each variable may be."""
    as_trials = [Trial(-1, 0, as_plain(point), "done") for point in points.values()]
    rows = [
        [name, *(parameter(space, trial, i) for trial in as_trials), domain(variable)]
        for i, (name, variable) in enumerate(zip(space.keys, space.variables, strict=True))
    ]
    return _table(["variable", *points, "values"], rows, numeric=range(1, 1 + len(points)))


def _constraints(values: dict[str, float]) -> str:
    if not values:
        return ""
    rows = [[name, number(value), "holds" if value <= 0 else "violated"] for name, value in values.items()]
    return _table(["constraint", "value", "at most 0"], rows, numeric=[1])


def _condition(variable: Variable) -> str:
    return " and ".join(f"{name} {_wanted(wanted)}" for name, wanted in (variable.when or {}).items())


def _wanted(wanted: Wanted) -> str:
    if isinstance(wanted, Within):
        ends = (("≥", wanted.at_least), ("≤", wanted.at_most))
        return " and ".join(f"{sign} {number(end)}" for sign, end in ends if end is not None)
    return "is " + " or ".join(map(number_or_text, wanted))


def _block(title: str, words: str, *parts: str) -> str:
    """A title, some words, tables (which are HTML already) and last a line of words, or nothing."""
    *tables, last = parts or ("",)
    below = f'<div style="opacity: 0.75;">{text(clipped(last, 2000))}</div>' if last else ""
    return f"<div><div><b>{text(title)}</b>, {text(words)}</div>{''.join(tables)}{below}</div>"


def _table(head: Sequence[str], rows: list[list[str]], numeric: Iterable[int] = ()) -> str:
    right = set(numeric)
    styles = [_RIGHT if i in right else _LEFT for i in range(len(head))]

    def row(tag: str, cells: Sequence[str]) -> str:
        words = (text(clipped(cell, _LONGEST)) or NOTHING for cell in cells)
        filled = (f'<{tag} style="{style}">{w}</{tag}>' for style, w in zip(styles, words, strict=True))
        return f"<tr>{''.join(filled)}</tr>"

    body = "".join(row("td", cells) for cells in rows[:_MOST_ROWS])
    more = len(rows) - _MOST_ROWS
    if more > 0:
        body += f'<tr><td colspan="{len(head)}" style="{_LEFT}">and {count(more)} more</td></tr>'
    return f'<table style="margin: 0.4em 0;"><thead>{row("th", head)}</thead><tbody>{body}</tbody></table>'
