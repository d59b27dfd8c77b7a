"""What stands on the page around the charts; `page.html` and `style.css` are what it stands in."""

import statistics
import time
from collections.abc import Iterable, Mapping
from importlib import resources
from string import Template

from .._version import __version__
from ..search.learnt import Share
from ..search.recommendation import Recommended
from ..study.journal import as_plain
from ..study.summary import Summary
from ..study.trial import Snapshot, Trial
from . import charts
from .axis import Axis
from .digest import MOST_RESTARTS, Digest, gather
from .parts import fact, figure, key, output, paragraph, section, table
from .plot import NARROW
from .words import NOTHING, clipped, count, date, domain, duration, listed, number, parameter, percent, text

MOST_VARIABLES = 60
HARDLY = 0.05  # of the differences, at most: such a variable hardly matters
MOST_IDLE = 8


def render(
    summary: Summary,
    trials: Iterable[Trial],
    snapshots: Iterable[Snapshot],
    shares: Mapping[str, Share] | None = None,
    *,
    now: float | None = None,
    recommended: Recommended | None = None,
) -> str:
    """The page as text, to be written as UTF-8.

    Args:
        summary: the state of the study.
        trials, snapshots: all of them in their order, each read once.
        shares: which variables matter (`Study.sensitivity`); None if nothing can be said.
        now: the date on the page, in seconds since 1970.
        recommended: the point with the best estimate, if the study is noisy.
    """
    digest = gather(summary, trials, snapshots)
    shown = range(min(len(summary.space), MOST_VARIABLES))
    body = [
        _header(summary, digest),
        "<main>",
        section("Best point", _best_point(summary, recommended)),
        *([section("What matters", _what_matters(shares))] if shares and len(shares) > 1 else []),
        section("Convergence", _convergence(summary, digest)),
        section("Path of each variable", _paths(summary, digest, shown)),
        section("Standard deviations", _deviations(summary, digest, shown)),
        section("Failures", _failures(summary)),
        section("Timing", _timing(digest)),
        section("Best evaluations", _best_evaluations(summary, digest, shown)),
        "</main>",
        _foot(summary, time.time() if now is None else now),
    ]
    files = resources.files(__package__)
    page, style = (files.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "style.css"))
    return Template(page).substitute(
        title=text(clipped(summary.name, 120)), style=style, body="\n".join(body)
    )


def _header(summary: Summary, digest: Digest) -> str:
    best, failures = summary.best, sum(summary.failures.values())
    value, below = "none yet", ""
    if best is not None:
        value = number(best.value)
        below = f"trial {best.id}" if best.feasible else f"violated by {number(best.violation)}"
    share = f"{percent(failures / summary.evaluations)} of all" if failures and summary.evaluations else ""
    tiles = [
        fact("best value", value, below, warn=best is not None and not best.feasible),
        fact("evaluations", count(summary.evaluations), count(summary.generations, "generation")),
        fact("failures", count(failures), share, warn=failures > 0),
        fact("restarts", count(summary.restarts)),
        fact("from the record", count(summary.repeated), "repeated candidates"),
        *([fact("past data", count(summary.past), "evaluated elsewhere")] if summary.past else []),
        fact("time spent", duration(digest.wall), f"{duration(sum(digest.seconds))} in evaluations"),
    ]
    figures = "\n".join(tiles)
    return (
        f'<header>\n<p class="over">Study report</p>\n<h1>{text(summary.name)}</h1>\n'
        f'{paragraph(_state(summary), "state")}\n<dl class="tiles">\n{figures}\n</dl>\n</header>'
    )


def _state(summary: Summary) -> str:
    waiting = len(summary.unfinished)
    rest = f" {count(waiting, 'candidate')} not yet evaluated." if waiting else ""
    if not summary.sessions:
        return ("Evaluated by hand." if summary.evaluations else "Not started yet.") + rest
    last = summary.sessions[-1]
    if last.ended is not None or last.stop is not None:
        when = f"Ended {date(last.ended)}" if last.ended is not None else "Ended"
        return f"{when}: {last.why}{rest}" if last.why else f"{when}, for no recorded reason.{rest}"
    if not summary.running:
        return f"Killed; it had begun {date(last.started)}. It can be continued.{rest}"
    where = f"{last.host} (process {last.pid}, {count(last.workers, 'worker')})"
    return f"Running since {date(last.started)} on {where}.{rest}"


def _best_point(summary: Summary, recommended: Recommended | None) -> str:
    best, space = summary.best, summary.space
    if best is None:
        intro = "No evaluation has given a value yet. The variables:"
    elif best.feasible:
        intro = f"Trial {best.id}, value {number(best.value)}."
    else:
        intro = (
            f"No feasible point has been found. Trial {best.id} violates least: "
            f"value {number(best.value)}, violated by {number(best.violation)}."
        )
    rows = [
        (text(space.keys[i]), text(parameter(space, best, i)), text(domain(variable)))
        for i, variable in enumerate(space.variables)
    ]
    tables = [table("Best point", ["variable", "best", "domain"], rows, numeric=[1])]
    if recommended is not None:
        worth = f"{number(recommended.value)} ± {number(recommended.error)}"
        intro += (
            f" Values are noisy, and this is the luckiest one. Recommended is the point with the best "
            f"estimate: {worth}."
        )
        found = Trial(-1, 0, as_plain(recommended.params), "asked")
        estimated = [(text(key), text(parameter(space, found, i))) for i, key in enumerate(space.keys)]
        tables.append(table("Recommended point", ["variable", "recommended"], estimated, numeric=[1]))
    if best is not None and best.constraints:
        marks = '<span class="bad">✗ violated</span>', '<span class="good">✓ satisfied</span>'
        constraints = [
            (text(clipped(name, 80)), number(c), marks[c <= 0]) for name, c in best.constraints.items()
        ]
        head = ["constraint", "value", "state (at most 0)"]
        tables.append(table("Constraints of the best point", head, constraints, numeric=[1]))
    return paragraph(intro) + '\n<div class="beside">\n' + "\n".join(tables) + "\n</div>"


def _what_matters(shares: Mapping[str, Share]) -> str:
    (first, most), *others = shares.items()
    sure = f"{percent(most.low)} to {percent(most.high)}"
    words = f"Around the best point, {percent(most.share)} of the differences in value "
    words += f"have to do with {clipped(first, 80)} (probably {sure})."
    idle = [clipped(name, 40) for name, share in others if share.high < HARDLY]
    if idle:
        listed = ", ".join(idle[:MOST_IDLE]) + (
            f" and {len(idle) - MOST_IDLE} more" * (len(idle) > MOST_IDLE)
        )
        words += f" There, hardly anything depends on {listed}."
    signs = key(
        ("alone", "by itself", True),
        ("share", "together with other variables", len(shares) > 1),
        ("whisker", "how sure that is: nine times in ten within", True),
    )
    caption = (
        "By a model of all evaluations, within a quarter of each range around the best point. "
        "Where variables act together, both get the share, so all of them may add up to more than 100 %. "
        "If values span many orders of magnitude, factors are compared instead of differences."
    )
    if len(shares) > charts.MOST_BARS:
        caption = f"The first {charts.MOST_BARS} of {len(shares)} variables. {caption}"
    return paragraph(words) + figure(lambda size: charts.shares(shares, size), signs, caption)


def _convergence(summary: Summary, digest: Digest) -> str:
    if not digest.values:
        return paragraph("No evaluation has given a value." if digest.ids else "No evaluation yet.")
    y = charts.value_axis(digest)
    done = [t for _, t in digest.points if t.status == "done" and t.value is not None]
    signs = key(
        ("value", "feasible value", any(t.feasible for t in done)),
        ("violated", "value that violates constraints", any(not t.feasible for t in done)),
        ("best", "best so far", bool(digest.improvements)),
        ("foot", "failed", bool(digest.failed)),
        ("restart", "restart", bool(digest.restarts)),
    )
    caption = text(_caption(summary, digest, y))
    return figure(lambda size: charts.convergence(digest, y, size), signs, caption)


def _caption(summary: Summary, digest: Digest, y: Axis) -> str:
    better = "Higher" if summary.direction == "maximize" else "Lower"
    words = f"{better} is better."
    beyond = sum(not y.holds(v) for v in digest.values)
    if beyond:
        words += f" {count(beyond, 'value')} beyond the range of most, drawn on the edge."
    if len(digest.ids) > len(digest.points):
        words += f" Dots are a selection of {count(len(digest.points))}, evenly spread."
    if sum(summary.failures.values()) > len(digest.failed) > 0:
        words += f" Marks of failures are a selection of {count(len(digest.failed))}."
    if summary.restarts > MOST_RESTARTS:
        words += " Restarts are too many to be drawn."
    return words


def _paths(summary: Summary, digest: Digest, shown: range) -> str:
    if not digest.ids and not digest.snapshots:
        return paragraph("Nothing has been tried yet.")
    figures = []
    free = [i for i in shown if not summary.space.variables[i].fixed]
    for i in free:
        best = parameter(summary.space, summary.best, i)
        scale = ", log scale" if summary.space.variables[i].log else ""
        label = f"<b>{text(clipped(summary.space.keys[i], 80))}</b>{scale}"
        title = f"<span>{label}</span> <span>best {text(best)}</span>"
        chart = charts.variable(summary, digest, i, len(free))
        figures.append(f"<figure><figcaption>{title}</figcaption>{chart}</figure>")
    done = [t for _, t in digest.points if t.status == "done"]
    signs = key(
        ("value", "tried", True),
        ("violated", "violates constraints", any(t.violation for t in done)),
        ("failed", "failed", bool(digest.failed)),
        ("mean", "middle of the search ± one standard deviation", bool(digest.snapshots)),
        ("ring", "best", summary.best is not None),
        ("restart", "restart", bool(digest.restarts)),
    )
    more = _left_out(summary, shown)
    if len(free) < len(shown):
        fixed = ", ".join(clipped(summary.space.keys[i], 40) for i in shown if i not in free)
        more += paragraph(f"Fixed, and not drawn: {fixed}.", "quiet")
    return f'{signs}{more}\n<div class="small">\n' + "\n".join(figures) + "\n</div>"


def _left_out(summary: Summary, shown: range) -> str:
    if len(shown) == len(summary.space):
        return ""
    return paragraph(f"The first {len(shown)} of {count(len(summary.space))} variables.")


def _deviations(summary: Summary, digest: Digest, shown: range) -> str:
    if not charts.deviations(summary, digest, shown, NARROW):
        return paragraph("Nothing has been recorded yet.")
    caption = "Each variable's standard deviation, divided by its first one: how far the search has narrowed."
    many = len(shown) > charts.MOST_LINES_WITH_NAMES
    hint = " Names appear under the pointer." if many else ""
    return _left_out(summary, shown) + figure(
        lambda size: charts.deviations(summary, digest, shown, size), caption=caption + hint
    )


def _failures(summary: Summary) -> str:
    if not summary.failures:
        return paragraph("No evaluation has failed.")
    total = max(1, summary.evaluations)
    rows = [(text(clipped(why, 2000)), count(n), percent(n / total)) for why, n in summary.failures.items()]
    head = ["reason", "how often", "share of evaluations"]
    parts = [table("Reasons for failures", head, rows, numeric=[1, 2])]
    if summary.last_failure is not None:
        parts.append(_last_failure(summary.last_failure))
    return "\n".join(parts)


def _last_failure(trial: Trial) -> str:
    facts = [f"Trial {trial.id}"]
    if trial.reason:
        facts.append(clipped(trial.reason, 2000).rstrip("."))
    if trial.exit_code is not None:
        facts.append(f"exit code {trial.exit_code}")
    if trial.attempts > 1:
        facts.append(f"{count(trial.attempts)} attempts")
    params = f'<p class="params">{text(clipped(listed(trial.params), 4000))}</p>'
    return f"<h3>Last failure</h3>\n{paragraph('; '.join(facts) + '.')}\n{params}\n{output(trial.stderr)}"


def _timing(digest: Digest) -> str:
    seconds = digest.seconds
    if not len(seconds):
        return paragraph("No evaluation has been timed yet.")
    rate = 3600 * len(digest.ids) / digest.wall if digest.wall > 0 else None
    hourly = NOTHING if rate is None else f"{rate:.3g}" if rate < 99.95 else f"{rate:,.0f}"
    row = {
        "timed": count(len(seconds)),
        "median": duration(statistics.median(seconds)),
        "mean": duration(sum(seconds) / len(seconds)),
        "longest": duration(max(seconds)),
        "workers busy": NOTHING if digest.busy is None else percent(digest.busy),
        "evaluations per hour": hourly,
    }
    chart = figure(lambda size: charts.timing(digest, size))
    return chart + "\n" + table("Timing", [*row], [[*row.values()]], numeric=range(len(row)))


def _best_evaluations(summary: Summary, digest: Digest, shown: range) -> str:
    if not digest.best:
        return paragraph("No evaluation has given a value yet.")
    space = summary.space
    head = ["trial", "value", *(["violated by"] * digest.constrained)]
    head += [clipped(space.keys[i], 40) for i in shown]
    rows = []
    for trial in digest.best:
        violation = [number(trial.violation or None)] * digest.constrained
        params = [text(parameter(space, trial, i)) for i in shown]
        rows.append([str(trial.id), number(trial.value), *violation, *params])
    return _left_out(summary, shown) + table("Best evaluations", head, rows, numeric=range(len(head)))


def _foot(summary: Summary, now: float) -> str:
    facts = [
        fact("strategy", summary.strategy),
        fact("seed", NOTHING if summary.seed is None else str(summary.seed)),
        fact("population", count(summary.population)),
        fact("batch", count(summary.batch)),
        fact("direction", summary.direction + (", noisy" if summary.noisy else "")),
        fact("created", date(summary.created)),
        fact("saltus", __version__),
        fact("report", date(now)),
    ]
    items = "\n".join(facts)
    return f"<footer>\n<dl>\n{items}\n</dl>\n</footer>"
