"""The page in a process of its own, so that who calls from Python is not disturbed by it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..study.errors import SettingsError

_PATIENCE = 10.0  # seconds that it has to end


class Watch:
    """A page about a study, served by another process until this object is closed, or this process ends.

    Attributes:
        url: open it in a browser.
    """

    def __init__(self, path: Path, *, address: str = "127.0.0.1", port: int = 0, token: bool = False) -> None:
        """Begin to serve; the arguments are those of `Study.watch`."""
        command = [sys.executable, "-m", "saltus", "watch", "--while-stdin", "--address", address]
        command += ["--port", str(port), *(["--token"] * token), "--db", str(path), str(path)]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,  # Ctrl-C is for the study; the end of this process ends it, too
            )
            assert self._process.stdout is not None
            self.url = self._process.stdout.readline().strip()
            if not self.url:
                self.close()
                said.seek(0)
                last = said.read().strip().splitlines()[-1:] or ["it ended for no reason that it told"]
                raise SettingsError(last[0].removeprefix("saltus: "))

    def close(self) -> None:
        """End it; to close it twice does nothing."""
        process = self._process
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def __repr__(self) -> str:
        """Where it is."""
        return f"<Watch {self.url}>"

    def __enter__(self) -> Watch:
        """Closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()
