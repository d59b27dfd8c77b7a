"""What others write to a terminal on which we draw: functions that print, in worker processes above all.

Written straight there, it would stand in the middle of the drawing. So standard error is a pipe meanwhile,
for this process and for all that it starts, and each line that comes out of it is shown above the drawing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

SECONDS_FOR_THE_LAST = 1.0
_MARK = b"\0that is all\0"
_LONGEST = 65536  # bytes without the end of a line


class Beside:
    """Takes what is written to the file of a stream, until `end`; the stream's own terminal is `terminal`."""

    def __init__(self, stream: TextIO) -> None:
        """Nothing changes before `begin`."""
        self._stream, self._begun = stream, False
        self.terminal = stream
        self._all_shown = threading.Event()

    def begin(self, show: Callable[[str], None]) -> None:
        """From now on lines are shown by this, in another thread; a stream without a file stays as it is."""
        if os.name == "nt":  # processes there do not inherit it
            return
        try:
            number = self._stream.fileno()
            copy = os.dup(number)
        except (OSError, ValueError):
            return
        stream = self._stream
        self.terminal = open(copy, "w", encoding=stream.encoding, errors=stream.errors)  # noqa: SIM115
        stream.flush()
        read, self._write = os.pipe()
        os.dup2(self._write, number)
        self._begun = True
        threading.Thread(target=self._pass_on, args=(read, show), daemon=True).start()

    def end(self) -> None:
        """Lines go where they went before, after those that are under way.

        What processes write that have begun meanwhile still comes, as long as this one lives: a pipe that
        nobody reads would be an error for them.
        """
        if not self._begun:
            return
        self._begun = False
        with suppress(OSError, ValueError):
            self._stream.flush()
        os.dup2(self.terminal.fileno(), self._stream.fileno())
        with suppress(OSError):
            os.write(self._write, _MARK)
        os.close(self._write)
        self._all_shown.wait(SECONDS_FOR_THE_LAST)

    def _pass_on(self, read: int, show: Callable[[str], None]) -> None:
        """Show line by line what comes out of the pipe; of a line that is written over, what it ended as."""
        kept = b""
        while chunk := os.read(read, _LONGEST):
            ended = _MARK in (kept := kept + chunk)
            *whole, kept = kept.replace(_MARK, b"").split(b"\n")
            if kept and (ended or len(kept) > _LONGEST):
                whole, kept = [*whole, kept], b""
            for line in whole:
                text = line.decode("utf-8", "replace").removesuffix("\r").split("\r")[-1]
                with suppress(OSError, ValueError):  # the terminal was closed
                    show(text)
            if ended:
                self._all_shown.set()
