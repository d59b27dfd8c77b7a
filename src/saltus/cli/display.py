"""How a study is shown while it runs: a few lines that are drawn anew, one line, or a log.

On a terminal it is a block of lines if rich is installed, else one line; a terminal that cannot move its
cursor, a file and a CI get a line now and then.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ..execution.log import Log
from ..execution.progress import Progress
from ..optimizer import Optimizer
from ..study.errors import StudyError
from ..study.glance import Glance, Watcher
from .beside import Beside
from .lines import wipe_before
from .view import clipped, clock, in_one, lines

if TYPE_CHECKING:
    from rich.console import Group

SECONDS_BETWEEN_DRAWINGS = 0.25
# between the lines of a log: a twentieth of the time that has passed, but not less nor more than this
SHORTEST_PAUSE, LONGEST_PAUSE, PAUSES = 5.0, 300.0, 20
STYLES = {"name": "bold", "good": "bold green", "bad": "red", "dim": "dim", "curve": "cyan"}
_WIPE = "\r\x1b[K"


class Display(Progress):
    """Shows the study of a record: `show` is called when there may be something new."""

    def __init__(self, record: Path, budget: int | None, stream: TextIO) -> None:
        """What is shown goes to this stream; without a budget, it is not known how far it is."""
        super().__init__(None)
        self._watcher, self._budget, self._stream = Watcher(record), budget, stream
        self._last = -SECONDS_BETWEEN_DRAWINGS
        self._glance: Glance | None = None

    def step(self, log: Log, optimizer: Optimizer, sign: float) -> None:
        """An evaluation is over."""
        self.show()

    def show(self) -> None:
        """Show how it is now, unless that was just done."""
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_DRAWINGS:
            self._last = now
            with suppress(OSError, ValueError):  # nobody reads: the stream is closed
                self._write(self._look())

    def _look(self) -> Glance | None:
        """As it is now, or was when that could be read: a display does not end a run."""
        with suppress(StudyError, OSError):
            self._glance = self._watcher.look()
        return self._glance

    def _write(self, glance: Glance | None) -> None:
        """Show the study as it is now; each form has its own way. None: there is no record yet."""


class Lines(Display):
    """A line now and then, with the time: it can be read in a log."""

    def __init__(self, record: Path, budget: int | None, stream: TextIO) -> None:
        """Nothing is said before there is something new."""
        super().__init__(record, budget, stream)
        self._begun = time.monotonic()
        self._next = -1.0
        self._said = ""

    def show(self) -> None:
        """Look only if a line is due."""
        if time.monotonic() >= self._next:
            super().show()

    def _write(self, glance: Glance | None) -> None:
        line = "there is no record yet" if glance is None else in_one(glance, self._budget)
        if line != self._said:
            print(f"{clock()}  {line}", file=self._stream, flush=True)
            self._said, now = line, time.monotonic()
            pause = (now - self._begun) / PAUSES
            self._next = now + min(LONGEST_PAUSE, max(SHORTEST_PAUSE, pause))


class OneLine(Display):
    """A line at the bottom of a terminal, written over again and again."""

    def __init__(self, record: Path, budget: int | None, stream: TextIO) -> None:
        """As for all."""
        super().__init__(record, budget, stream)
        self._beside = Beside(stream)
        self._alone = threading.Lock()  # with the terminal

    def __enter__(self) -> OneLine:
        """Whatever else is written wipes it away."""
        wipe_before(_WIPE)
        self._beside.begin(self._above)
        self._stream = self._beside.terminal
        return self

    def _above(self, line: str) -> None:
        """Show a line of another process."""
        with self._alone:
            print(f"{_WIPE}{line}", file=self._stream, flush=True)

    def _write(self, glance: Glance | None) -> None:
        line = "there is no record yet" if glance is None else in_one(glance, self._budget)
        columns = shutil.get_terminal_size().columns
        ((text, _),) = clipped([(line, "")], columns - 3)
        with self._alone:
            print(f"{_WIPE}{text}", end="", file=self._stream, flush=True)

    def __exit__(self, *error: object) -> None:
        """Wipe it away."""
        wipe_before("")
        self._beside.end()
        with suppress(OSError, ValueError):
            print(_WIPE, end="", file=self._stream, flush=True)


class Block(Display):
    """Some lines at the bottom of a terminal, drawn anew a few times a second; what is said stands above."""

    def __init__(self, record: Path, budget: int | None, stream: TextIO, *, stays: bool = False) -> None:
        """`stays` leaves the last drawing there."""
        super().__init__(record, budget, stream)
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False)
        self._beside = None if stays else Beside(stream)
        self._live = Live(
            console=self._console,
            get_renderable=self._drawn,
            refresh_per_second=1 / SECONDS_BETWEEN_DRAWINGS,
            transient=not stays,
            redirect_stdout=stays,
        )

    def __enter__(self) -> Block:
        """From now on it draws itself, in a thread of its own."""
        if self._beside is not None:
            self._beside.begin(self._above)
            self._console.file = self._beside.terminal
        self._live.start()
        return self

    def _above(self, line: str) -> None:
        """Show a line of another process; of what would move the cursor, colours are left."""
        from rich.text import Text

        self._console.print(Text.from_ansi(line), soft_wrap=True)

    def show(self) -> None:
        """It is drawn anew anyway."""

    def _drawn(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        glance = self._look()
        if glance is None:
            return Group(Text("there is no record yet"))
        blocks = "utf" in (self._console.encoding or "")
        drawn = lines(glance, self._budget, self._console.width, blocks=blocks)
        parts = [[(text, STYLES.get(style, "")) for text, style in line] for line in drawn]
        return Group(*(Text.assemble(*line, no_wrap=True, overflow="crop") for line in parts))

    def __exit__(self, *error: object) -> None:
        """Draw no more."""
        if self._beside is not None:
            self._beside.end()
        with suppress(OSError, ValueError):
            self._live.stop()


def can_draw(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal on which something can be written over."""
    if stream is None or not stream.isatty() or os.environ.get("TERM", "dumb") in ("dumb", ""):
        return False
    return os.environ.get("CI", "").lower() in ("", "0", "false")


def display(record: Path, budget: int | None, stream: TextIO | None, *, stays: bool = False) -> Progress:
    """The best display that a stream can have.

    Args:
        record: of the study.
        budget: evaluations in all; None if it is not known.
        stream: where it is shown.
        stays: leave the last drawing there.
    """
    if stream is None:
        return Progress(None)
    if not can_draw(stream):
        return Lines(record, budget, stream)
    with suppress(ImportError):
        return Block(record, budget, stream, stays=stays)
    return OneLine(record, budget, stream)


def watch(record: Path, budget: int | None) -> None:
    """Show a study that runs elsewhere, until Ctrl-C."""
    shown = display(record, budget, sys.stdout, stays=True)
    with suppress(KeyboardInterrupt), shown:
        while isinstance(shown, Display):
            shown.show()
            time.sleep(SECONDS_BETWEEN_DRAWINGS)
