"""What stands around the charts that the record alone can tell."""

import statistics
from collections.abc import Mapping, Sequence

from .._version import __version__
from ..execution.processes import how_it_ended
from ..search.learnt import Share
from ..search.recommendation import Recommended
from ..study.journal import as_plain
from ..study.summary import Summary
from ..study.trial import Trial
from . import charts, parallel
from .axis import Axis
from .details import Shown
from .digest import MOST_RESTARTS, Digest
from .model_sections import HARDLY, sure
from .parts import fact, figure, key, output, paragraph, table
from .plot import NARROW
from .words import NOTHING, clipped, count, date, domain, duration, listed, number, parameter, percent, text

MOST_LIMITS = 12


def header(summary: Summary, digest: Digest) -> str:
    """The name, the state, and the figures that everybody asks for."""
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
        f'<header id="head">\n<p class="over">Study report</p>\n<h1>{text(summary.name)}</h1>\n'
        f'{paragraph(state(summary), "state")}\n<dl class="tiles">\n{figures}\n</dl>\n</header>'
    )


def state(summary: Summary) -> str:
    """Whether it runs, and why it ended."""
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


def best_point(summary: Summary, recommended: Recommended | None) -> str:
    """The best point, its constraints, and the recommended one if that is another."""
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
        intro += (
            " Values are noisy, and this is the luckiest one. Recommended is the point with the best "
            f"estimate: {number(recommended.value)}, {sure(recommended.value, recommended.error)}."
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


def convergence(summary: Summary, digest: Digest, shown: Shown) -> str:
    """Values over evaluations."""
    if not digest.values:
        return paragraph("No evaluation has given a value." if digest.ids else "No evaluation yet.")
    y = charts.value_axis(digest)
    done = [t for _, t in shown.places if t.status == "done" and t.value is not None]
    signs = key(
        ("value", "feasible value", any(t.feasible for t in done)),
        ("violated", "value that violates constraints", any(not t.feasible for t in done)),
        ("range", "from the least to the largest value", charts.is_thinned(digest)),
        ("best", "best so far", bool(digest.improvements)),
        ("foot", "failed", bool(digest.failed)),
        ("restart", "restart", bool(digest.restarts)),
    )
    caption = text(_caption(summary, digest, shown, y))
    return figure(lambda size: charts.convergence(digest, shown, y, size), signs, caption)


def _caption(summary: Summary, digest: Digest, shown: Shown, y: Axis) -> str:
    better = "Higher" if summary.direction == "maximize" else "Lower"
    words = f"{better} is better."
    beyond = sum(not y.holds(v) for v in digest.values)
    if beyond:
        words += f" {count(beyond, 'value')} beyond the range of most, drawn on the edge."
    if len(digest.ids) > len(shown.places):
        words += f" Dots are a selection of {count(len(shown.places))}: evenly spread, and the best ones."
    if sum(summary.failures.values()) > len(digest.failed) > 0:
        words += f" Marks of failures are a selection of {count(len(digest.failed))}."
    if summary.restarts > MOST_RESTARTS:
        words += " Restarts are too many to be drawn."
    return words


def designs(summary: Summary, digest: Digest, shares: Mapping[str, Share] | None, columns: range) -> str:
    """The best designs, each of which differs from all better ones."""
    matter = None if not shares else {name for name, share in shares.items() if share.high >= HARDLY}
    found = digest.pool.different(matter=matter or None)
    if not found:
        return paragraph("No evaluation has given a value yet.")
    space = summary.space
    own = set() if matter is None else matter & set(space.keys)
    by_share = sorted(columns, key=lambda i: space.keys[i] not in own)
    shown = [i for i in by_share if not space.variables[i].fixed]
    violated = any(trial.violation for _, trial in found)
    head = ["trial", "value", *(["violated by"] * violated)]
    head += [clipped(space.keys[i], 40) for i in shown]
    rows = []
    for _, trial in found:
        violation = [number(trial.violation or None)] * violated
        params = [text(parameter(space, trial, i)) for i in shown]
        rows.append(
            [f'<span data-trial="{trial.id}">{trial.id}</span>', number(trial.value), *violation, *params]
        )
    words = (
        "Each differs from all better ones: in some variable"
        f"{' that matters' if matter else ''} by a tenth of its range, or by another of few values."
    )
    whole = table("Best designs that differ", head, rows, numeric=range(len(head)))
    return paragraph(words) + _left_out(summary, columns) + whole


def limits(digest: Digest, shown: Shown) -> str:
    """Each constraint by name: how often it held, and its values over time."""
    figures = []
    for name, kept in list(digest.limits.items())[:MOST_LIMITS]:
        total = kept.held + kept.violated
        held = f"held {percent(kept.held / max(1, total))}"
        last = "" if kept.last is None else f", last violated by trial {kept.last}"
        title = f"<span><b>{text(clipped(name, 80))}</b></span> <span>{held}{last}</span>"
        figures.append(
            f"<figure><figcaption>{title}</figcaption>{charts.limit(name, digest, shown)}</figure>"
        )
    more = ""
    if len(digest.limits) > MOST_LIMITS:
        more = paragraph(f"The first {MOST_LIMITS} of {count(len(digest.limits))} constraints.")
    signs = key(
        ("value", "holds", any(kept.held for kept in digest.limits.values())),
        ("violated", "is violated (above 0)", any(kept.violated for kept in digest.limits.values())),
    )
    return f'{signs}{more}\n<div class="small">\n' + "\n".join(figures) + "\n</div>"


def all_at_once(summary: Summary, digest: Digest, shown: Shown, columns: Sequence[int]) -> str:
    """Parallel coordinates, or nothing if there is too little."""
    values = charts.value_axis(digest)
    if not columns or not parallel.lines(summary, shown, columns, values, NARROW):
        return ""
    signs = key(("good", "the best tenth", True), ("threads", "others", True))
    caption = "Each line is an evaluation that violates nothing; point at one to see what it is."
    if len(columns) > parallel.MOST_AXES[False]:
        caption = f"The first {parallel.MOST_AXES[False]} of {count(len(columns))} variables. {caption}"
    return figure(lambda size: parallel.lines(summary, shown, columns, values, size), signs, caption)


def paths(summary: Summary, digest: Digest, shown: Shown, columns: range) -> str:
    """A small chart for each variable."""
    if not digest.ids and not digest.snapshots:
        return paragraph("Nothing has been tried yet.")
    figures = []
    free = [i for i in columns if not summary.space.variables[i].fixed]
    for i in free:
        best = parameter(summary.space, summary.best, i)
        scale = ", log scale" if summary.space.variables[i].log else ""
        label = f"<b>{text(clipped(summary.space.keys[i], 80))}</b>{scale}"
        title = f"<span>{label}</span> <span>best {text(best)}</span>"
        chart = charts.variable(summary, digest, shown, i, len(free))
        figures.append(f"<figure><figcaption>{title}</figcaption>{chart}</figure>")
    done = [t for _, t in shown.places if t.status == "done"]
    signs = key(
        ("value", "tried", True),
        ("violated", "violates constraints", any(t.violation for t in done)),
        ("failed", "failed", bool(digest.failed)),
        ("mean", "middle of the search, and how far around it most points lie", bool(digest.snapshots)),
        ("ring", "best", summary.best is not None),
        ("restart", "restart", bool(digest.restarts)),
    )
    more = _left_out(summary, columns)
    if len(free) < len(columns):
        fixed = ", ".join(clipped(summary.space.keys[i], 40) for i in columns if i not in free)
        more += paragraph(f"Fixed, and not drawn: {fixed}.", "quiet")
    return f'{signs}{more}\n<div class="small">\n' + "\n".join(figures) + "\n</div>"


def _left_out(summary: Summary, columns: range) -> str:
    if len(columns) == len(summary.space):
        return ""
    return paragraph(f"The first {len(columns)} of {count(len(summary.space))} variables.")


def narrowing(summary: Summary, digest: Digest, shown: range) -> str:
    """How far around its middle the search looks."""
    if not charts.narrowing(summary, digest, shown, NARROW):
        return paragraph("Nothing has been recorded yet.")
    caption = (
        "How far around its middle the search looks: 1 is as far as at the beginning, 0.1 a tenth of that. "
        "Two of three points lie within this width."
    )
    many = len(shown) > charts.MOST_LINES_WITH_NAMES
    hint = " Names appear under the pointer." if many else ""
    return _left_out(summary, shown) + figure(
        lambda size: charts.narrowing(summary, digest, shown, size), caption=caption + hint
    )


def failures(summary: Summary) -> str:
    """What failed, how often, and the last of them."""
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
    if trial.exit_code is not None and how_it_ended(trial.exit_code) not in (trial.reason or ""):
        facts.append(f"exit code {trial.exit_code}")
    if trial.attempts > 1:
        facts.append(f"{count(trial.attempts)} attempts")
    params = f'<p class="params">{text(clipped(listed(trial.params), 4000))}</p>'
    return f"<h3>Last failure</h3>\n{paragraph('; '.join(facts) + '.')}\n{params}\n{output(trial.stderr)}"


def timing(digest: Digest, shown: Shown) -> str:
    """How long evaluations took."""
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
    chart = figure(lambda size: charts.timing(digest, shown, size))
    return chart + "\n" + table("Timing", [*row], [[*row.values()]], numeric=range(len(row)))


def foot(summary: Summary, now: float) -> str:
    """How the study was made."""
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
    return f'<footer id="foot">\n<dl>\n{items}\n</dl>\n</footer>'
