"""Processes: started, told apart, and ended together with all that they started."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def end_group(pid: int | None, number: int = getattr(signal, "SIGKILL", signal.SIGTERM)) -> None:
    """Send a signal to a process that leads a session, and to all that it started."""
    if pid:
        with suppress(ProcessLookupError, PermissionError):
            getattr(os, "killpg", os.kill)(pid, number)


def how_it_ended(exit_code: int | None) -> str:
    """A phrase for an exit code; negative ones are signals.

    >>> how_it_ended(3), how_it_ended(-9)
    ('ended with exit code 3', 'was ended by SIGKILL')
    """
    if exit_code is not None and exit_code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"


def identity(pid: int | None) -> str | None:
    """A process and when it began: another one with the same number is not taken for it. On Linux only."""
    with suppress(OSError, IndexError):  # also if there is no number
        stat = Path(f"/proc/{pid}/stat").read_text()
        return f"{pid} {stat.rpartition(')')[2].split()[19]}"
    return None


def end_leftover(who: str | None) -> bool:
    """End the process with this identity and all that it started; whether it was still there."""
    if who is None or identity(int(who.split()[0])) != who:
        return False
    end_group(int(who.split()[0]))
    return True


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, until they call `own_session`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def own_session() -> None:
    """Ctrl-C reaches the parent alone from now on, and this process can be ended with all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)  # for what the objective may start
