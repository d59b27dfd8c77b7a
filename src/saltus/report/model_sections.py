"""What stands around the charts that a model of the evaluations tells."""

import math
from collections.abc import Mapping

from ..search.learnt import Share
from ..study.summary import Summary, sign_of
from . import model_charts
from .details import Shown
from .insight import Basis, Insight
from .parts import figure, key, paragraph
from .words import clipped, count, number, percent, text

HARDLY = 0.05  # of the differences, at most: such a variable hardly matters
MOST_IDLE = 8
_NEARLY_ALWAYS = 1.96  # standard errors: 19 of 20 cases are nearer


def sure(value: float, error: float) -> str:
    """An error bar as people say it.

    >>> sure(6.5, 0.3)
    'between 5.912 and 7.088 in 19 of 20 cases'
    """
    if not math.isfinite(error):
        return "from a single value, so nobody knows how sure"
    low, high = value - _NEARLY_ALWAYS * error, value + _NEARLY_ALWAYS * error
    return f"between {number(low)} and {number(high)} in 19 of 20 cases"


def made_of(basis: Basis) -> str:
    """Which evaluations a model knows, as part of a sentence.

    >>> made_of(Basis(9, 9, 9))
    'a model of all 9 evaluations that have a value'
    >>> made_of(Basis(80, 300, 300))
    'a model of 80 evaluations that lie apart, out of all 300 that have a value'
    >>> made_of(Basis(250, 5000, 98969))  # doctest: +ELLIPSIS
    '... of 250 evaluations that lie apart, out of 5,000 evenly chosen ones of all 98,969 that have a value'
    """
    used, looked_at, known = map(count, basis)
    if basis.used >= basis.known:
        return f"a model of all {known} evaluations that have a value"
    chosen = f"{looked_at} evenly chosen ones of " * (basis.looked_at < basis.known)
    return f"a model of {used} evaluations that lie apart, out of {chosen}all {known} that have a value"


def what_matters(shares: Mapping[str, Share], basis: Basis) -> str:
    """Which variables matter, in words and bars; `basis` is what the model was made of."""
    (first, most), *others = shares.items()
    between = f"between {percent(most.low)} and {percent(most.high)}"
    words = f"Around the best point, {percent(most.share)} of the differences in value "
    words += f"have to do with {clipped(first, 80)} ({between} in 9 of 10 cases)."
    idle = [clipped(name, 40) for name, share in others if share.high < HARDLY]
    if idle:
        listed = ", ".join(idle[:MOST_IDLE]) + (
            f" and {len(idle) - MOST_IDLE} more" * (len(idle) > MOST_IDLE)
        )
        words += f" There, hardly anything depends on {listed}."
    signs = key(
        ("alone", "by itself", True),
        ("share", "together with other variables", len(shares) > 1),
        ("whisker", "how sure that is: in 9 of 10 cases within", True),
    )
    caption = (
        f"By {made_of(basis)}, within a quarter of each range around the best point. "
        "Where variables act together, both get the share, so all of them may add up to more than 100 %. "
        "If values span many orders of magnitude, factors are compared instead of differences."
    )
    if len(shares) > model_charts.MOST_BARS:
        caption = f"The first {model_charts.MOST_BARS} of {len(shares)} variables. {caption}"
    return paragraph(words) + figure(lambda size: model_charts.shares(shares, size), signs, caption)


def effects(summary: Summary, insight: Insight, positive: bool) -> str:
    """How the variables that matter most do; `positive` says that every value is."""
    space, figures = summary.space, []
    y = model_charts.expected_axis(
        [part for found in insight.effects.values() for part in found[1:]], positive
    )
    columns = {name: i for i, name in enumerate(space.keys)}
    for name, found in insight.effects.items():
        chart = model_charts.effect(space, columns[name], found, y, summary.best)
        title = f"<span><b>{text(clipped(name, 80))}</b></span>"
        figures.append(f"<figure><figcaption>{title}</figcaption>{chart}</figure>")
    signs = key(
        ("mean", "the value to expect, in 9 of 10 cases within the band", True),
        ("ring", "best", summary.best is not None),
    )
    words = (
        f"What {made_of(insight.basis)} expects if one variable is changed and all others stay as at the "
        "best point."
    )
    return f'{paragraph(words)}{signs}<div class="small">\n' + "\n".join(figures) + "\n</div>"


def pairs(summary: Summary, insight: Insight, shown: Shown, positive: bool) -> str:
    """How two variables act together; `positive` says that every value is."""
    space, figures, better = summary.space, [], sign_of(summary.direction)
    columns = {name: i for i, name in enumerate(space.keys)}
    for (a, b), found in insight.pairs.items():
        both = columns[a], columns[b]
        values = model_charts.expected_axis([found.value], positive)
        chart = model_charts.pair(space, both, found, values, shown, summary.best, better)
        best, worst = model_charts.ends_of(found, better)
        title = f"<b>{text(clipped(a, 40))}</b> and <b>{text(clipped(b, 40))}</b>"
        scale = '<span class="shades" aria-hidden="true"></span>'
        ends = f"{text(number(worst))} {scale} {text(number(best))}"
        figures.append(
            f"<figure><figcaption><span>{title}</span> <span>{ends}</span></figcaption>{chart}</figure>"
        )
    signs = key(
        ("value", "tried", True),
        ("violated on", "violates constraints", any(t.violation for _, t in shown.places)),
        ("ring", "best", summary.best is not None),
    )
    words = (
        "What the model expects over two variables, bluer where it is better, the others as at the best "
        "point; the dots are all that was tried, whatever the others were."
    )
    return f'{paragraph(words)}{signs}<div class="small">\n' + "\n".join(figures) + "\n</div>"
