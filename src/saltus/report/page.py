"""The page: its parts in their order; `page.html`, `style.css` and `page.js` are what they stand in."""

import base64
import hashlib
import time
from collections.abc import Iterable
from functools import cache
from importlib import resources
from string import Template

from ..study.summary import Summary
from ..study.trial import Snapshot, Trial
from . import model_sections, sections
from .details import Shown, details
from .digest import Digest, gather
from .insight import Insight
from .parts import section
from .words import clipped, text

MOST_VARIABLES = 60
DATA = "trials"  # the part that is no HTML, but what the script knows about points


def render(
    summary: Summary,
    trials: Iterable[Trial],
    snapshots: Iterable[Snapshot],
    insight: Insight | None = None,
    *,
    now: float | None = None,
) -> str:
    """The page as text, to be written as UTF-8.

    Args:
        summary: the state of the study.
        trials, snapshots: all of them in their order, each read once.
        insight: what a model of the evaluations tells (`saltus.report.insight`).
        now: the date on the page, in seconds since 1970.
    """
    return page(summary, gather(summary, trials, snapshots), insight, now=now)


def page(
    summary: Summary, digest: Digest, insight: Insight | None = None, *, now: float | None = None
) -> str:
    """The same of a record that was read; the arguments are those of `render`."""
    return document(summary.name, parts(summary, digest, insight, now=now))


def parts(
    summary: Summary, digest: Digest, insight: Insight | None = None, *, now: float | None = None
) -> dict[str, str]:
    """Each part of the page by its id in it, always in the same order; what says nothing is hidden."""
    insight = Insight() if insight is None else insight
    shares = insight.shares if insight.shares and len(insight.shares) > 1 else None
    columns = range(min(len(summary.space), MOST_VARIABLES))
    shown = Shown.of(summary.space, digest)
    free = [i for i in columns if not summary.space.variables[i].fixed]
    numbers = {key: i for i, key in enumerate(summary.space.keys)}
    first = [numbers[name] for name in shares or () if numbers.get(name) in free]
    axes = first + [i for i in free if i not in first]
    positive = min(digest.values, default=0.0) > 0
    contents = {
        "best": ("Best point", sections.best_point(summary, insight.recommended)),
        "matters": ("What matters", model_sections.what_matters(shares, insight.basis) if shares else ""),
        "effects": (
            "How it matters",
            model_sections.effects(summary, insight, positive) if insight.effects else "",
        ),
        "pairs": (
            "Two at a time",
            model_sections.pairs(summary, insight, shown, positive) if insight.pairs else "",
        ),
        "convergence": ("Convergence", sections.convergence(summary, digest, shown)),
        "designs": ("Best designs that differ", sections.designs(summary, digest, shares, columns)),
        "together": ("All variables at once", sections.all_at_once(summary, digest, shown, axes)),
        "limits": ("Constraints", sections.limits(digest, shown) if digest.limits else ""),
        "paths": ("Path of each variable", sections.paths(summary, digest, shown, columns)),
        "narrowing": ("How far the search has narrowed", sections.narrowing(summary, digest, columns)),
        "failures": ("Failures", sections.failures(summary)),
        "timing": ("Timing", sections.timing(digest, shown)),
    }
    return {
        "head": sections.header(summary, digest),
        **{name: section(name, title, content) for name, (title, content) in contents.items()},
        "foot": sections.foot(summary, time.time() if now is None else now),
        DATA: details(summary.space, digest, shown),
    }


def document(name: str, content: dict[str, str], live: str = "") -> str:
    """The whole page of some parts; `live` is what a page that is served tells where it stands."""
    inside = [html for part, html in content.items() if part not in ("head", "foot", DATA)]
    data = f'<script type="application/json" id="{DATA}">{content[DATA]}</script>'
    body = [content["head"], "<main>", *inside, "</main>", content["foot"], data]
    return Template(_file("page.html")).substitute(
        title=text(clipped(name, 120)),
        policy=policy("; connect-src 'self'" if live else ""),
        live=f' data-live="{text(live)}"' if live else "",
        style=_file("style.css"),
        body="\n".join(body),
        script=_file("page.js"),
    )


@cache
def policy(more: str = "") -> str:
    """The content security policy: our own style and script, by what stands in them, and nothing else."""
    style, script = (f"'sha256-{_digest(_file(name))}'" for name in ("style.css", "page.js"))
    own = f"default-src 'none'; style-src {style}; script-src {script}; img-src data:"
    return f"{own}; base-uri 'none'; form-action 'none'{more}"


def _digest(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


@cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
