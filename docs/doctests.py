"""An extension of Griffe, for the page of the reference: examples in docstrings become blocks of code, pages
that they name become links, and several names that are described together stay together.
"""

from __future__ import annotations

import re

import griffe

EXAMPLE = re.compile(r"^(?: *>>> .*\n(?: *\S.*(?:\n|$))*\n*)+", re.MULTILINE)


PAGE = re.compile(r"\bdocs/([a-z-]+)\.md\b")
NAMES = re.compile(r"^ *\w+(?:, \w+)+(?=: )", re.MULTILINE)


def led(text: str) -> str:
    """The text with links to the pages that it names; the site has them beside that of the reference."""
    return PAGE.sub(r"[\1](\1.html)", text)


def together(text: str) -> str:
    """The text with names such as `x, params:` in one piece: the second would be taken for a type."""
    return NAMES.sub(lambda found: found[0].replace(", ", ",\u00a0"), text)


def fenced(text: str) -> str:
    """The text with each run of examples and their output as one block."""
    return EXAMPLE.sub(lambda found: f"\n```pycon\n{found[0].strip()}\n```\n\n", text + "\n")


class Doctests(griffe.Extension):
    """Prepares every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Called for everything that was read."""
        if obj.docstring:
            obj.docstring.value = fenced(together(led(obj.docstring.value)))
