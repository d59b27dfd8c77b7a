"""What a run says on standard error: a bar on a terminal, a line now and then in a log."""

import sys
import time
from contextlib import suppress

from ..execution.log import Log
from ..execution.progress import Progress
from ..optimizer import Optimizer

SECONDS_BETWEEN_LINES = 5.0


def say(line: str) -> None:
    """A line for the reader, beside the output; if nobody reads, the run goes on."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(printable(line, "\n\t"), file=sys.stderr, flush=True)


def printable(text: str, kept: str = "") -> str:
    """Text without what would move the cursor or change the terminal, but for these characters.

    Names are the user's, or a stranger's whose study one has got.

    >>> printable("a" + chr(27) + "[2Jb").replace(chr(0xFFFD), "?")
    'a?[2Jb'
    """
    return "".join(c if c.isprintable() or c in kept else "\N{REPLACEMENT CHARACTER}" for c in text)


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "variable"), counted(2, "variable")
    ('1 variable', '2 variables')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def progress(budget: int) -> Progress:
    """A bar on a terminal if tqdm is there, else lines."""
    if sys.stderr is not None and sys.stderr.isatty():
        with suppress(ImportError):
            return Progress(budget)
    return Lines(budget)


class Lines(Progress):
    """A line at most every few seconds, with the time: it can be read in a log."""

    def __init__(self, budget: int) -> None:
        """Nothing is said before the first evaluation."""
        super().__init__(None)
        self._budget = budget
        self._last = -SECONDS_BETWEEN_LINES

    def step(self, log: Log, optimizer: Optimizer, sign: float) -> None:
        """Say how far it is, unless it was just said."""
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            clock = time.strftime("%H:%M:%S")
            described = self.described(log, optimizer, sign)
            say(f"{clock}  {log.evaluations}/{self._budget} evaluations, {described}")
