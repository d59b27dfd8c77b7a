"""An extension of Griffe: examples in docstrings become blocks of code on the page of the reference."""

from __future__ import annotations

import re

import griffe

EXAMPLE = re.compile(r"^(?: *>>> .*\n(?: *\S.*(?:\n|$))*\n*)+", re.MULTILINE)


def fenced(text: str) -> str:
    """The text with each run of examples and their output as one block."""
    return EXAMPLE.sub(lambda found: f"\n```pycon\n{found[0].strip()}\n```\n\n", text + "\n")


class Doctests(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Called for everything that was read."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
