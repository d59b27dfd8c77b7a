"""What a command says on standard error, line by line."""

import shutil
import sys
import textwrap
from contextlib import suppress
from itertools import accumulate
from unicodedata import combining, east_asian_width

_wiping = ""


def say(line: str) -> None:
    """A line for the reader, beside the output; if nobody reads, the run goes on."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(_wiping + printable(line, "\n\t"), file=sys.stderr, flush=True)


def wipe_before(text: str) -> None:
    """Write this before every line from now on: what wipes away a status that stands there."""
    global _wiping
    _wiping = text


def printable(text: str, kept: str = "") -> str:
    """Text without what would move the cursor or change the terminal, but for these characters.

    Names are the user's, or a stranger's whose study one has got.

    >>> printable("a" + chr(27) + "[2Jb").replace(chr(0xFFFD), "?")
    'a?[2Jb'
    """
    return "".join(c if c.isprintable() or c in kept else "\N{REPLACEMENT CHARACTER}" for c in text)


def fitted(text: str, columns: int | None, indent: int) -> str:
    """A text whose lines are broken between words where they are too long; what follows is indented.

    Args:
        text: the lines.
        columns: how long they may be; None: as long as they are.
        indent: spaces before what follows.

    >>> fitted("state: ended, and that for a reason", 20, 7)
    'state: ended, and\\n       that for a\\n       reason'
    """
    if columns is None or columns < 2 * indent:
        return text
    rest = " " * indent
    return "\n".join(
        textwrap.fill(line, columns, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )


def columns(text: str) -> int:
    """How many columns a text takes on a terminal: a Chinese character two, an accent of its own none.

    >>> columns("nylon"), columns("材料")
    (5, 4)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def start_of(text: str, most: int) -> str:
    """As much of a text as so many columns have room for.

    >>> start_of("nylon", 3), start_of("材料", 3)
    ('nyl', '材')
    """
    return (
        text[:most] if text.isascii() else text[: sum(end <= most for end in accumulate(map(_columns, text)))]
    )


def _columns(character: str) -> int:
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def columns_of_output() -> int | None:
    """How many columns the terminal has that standard output goes to; None if it goes elsewhere."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "variable"), counted(2, "variable")
    ('1 variable', '2 variables')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
