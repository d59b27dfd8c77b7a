"""Pieces that the page is made of."""

from collections.abc import Callable, Iterable, Sequence

from .plot import NARROW, WIDE, Size
from .words import lines, text


def section(name: str, title: str, content: str) -> str:
    """A part of the page under its own heading; one that is empty keeps its place."""
    if not content:
        return f'<section id="{name}" hidden></section>'
    return f'<section id="{name}">\n<h2>{title}</h2>\n{content}\n</section>'


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of foreign or own words."""
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def table(label: str, head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()) -> str:
    """A table that scrolls inside its own box; cells are HTML, the first of each row names it."""
    kinds = ['class="number"' if i in set(numeric) else "" for i in range(len(head))]
    top = "".join(f'<th scope="col" {k}>{text(h)}</th>' for h, k in zip(head, kinds, strict=True))
    body = "".join(
        f'<tr><th scope="row" {kinds[0]}>{row[0]}</th>'
        + "".join(f"<td {k}>{cell}</td>" for cell, k in zip(row[1:], kinds[1:], strict=True))
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}">\n'
        f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>"
    )


def fact(label: str, value: str, below: str = "", warn: bool = False) -> str:
    """An entry of a list of facts: what, how much, perhaps something smaller below; a warning stands out."""
    small = f"<small>{text(below)}</small>" if below else ""
    return f"<div{' class=warning' if warn else ''}><dt>{label}</dt><dd>{text(value)}{small}</dd></div>"


def output(foreign: str | None) -> str:
    """What a program said, if it said anything."""
    return f'<pre tabindex="0">{lines(foreign)}</pre>' if foreign else ""


def figure(draw: Callable[[Size], str], signs: str = "", caption: str = "") -> str:
    """A chart in two shapes, of which the style shows the one that fits."""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    wide, narrow = draw(WIDE), draw(NARROW)
    return (
        f'<figure>{signs}<div class="wide">{wide}</div>\n<div class="narrow">{narrow}</div>\n{below}</figure>'
    )


def key(*entries: tuple[str, str, bool]) -> str:
    """What marks mean, as (kind, words, whether there are any)."""
    items = "".join(
        f'<li><span class="sign {kind}" aria-hidden="true"></span>{text(words)}</li>'
        for kind, words, present in entries
        if present
    )
    return f'<ul class="key">{items}</ul>'
