"""Processes: started, told apart, and ended together with all that they started."""

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# variables that processes are started with: of which record and trial a command is, of which process a worker
RECORD, TRIAL, WORKER_OF = "SALTUS_RECORD", "SALTUS_TRIAL", "SALTUS_WORKER_OF"


if sys.platform == "win32":
    # Ctrl-C does not reach what is started with these
    OWN_GROUP: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def ask_group(pid: int) -> None:
        """Ask a process that was started with `OWN_GROUP`, and all that it started, to end: Ctrl-Break."""
        with suppress(OSError):
            os.kill(pid, signal.CTRL_BREAK_EVENT)

    def end_group(pid: int | None) -> None:
        """End a process and all that it started, as far as it is still there to be asked for its children."""
        if pid:
            words = ["taskkill", "/PID", str(pid), "/T", "/F"]
            with suppress(OSError):
                subprocess.run(words, capture_output=True, check=False, timeout=10)
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)  # ends it at once there, if it is still running

else:
    OWN_GROUP: dict[str, Any] = {"start_new_session": True}

    def ask_group(pid: int) -> None:
        """Ask a process that was started with `OWN_GROUP`, and all that it started, to end."""
        with suppress(OSError):
            os.killpg(pid, signal.SIGTERM)

    def end_group(pid: int | None) -> None:
        """End a process that leads a session, and all that it started."""
        if pid:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)


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
    """A process, when it began, and since which start of the machine that counts. On Linux only.

    Another process with the same number, or one of another machine, is not taken for it.
    """
    with suppress(OSError, IndexError):  # also if there is no number
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{pid} {stat.rpartition(')')[2].split()[19]} {boot}"
    return None


def environment_of(pid: int | str) -> dict[str, str]:
    """The variables that a process of ours was started with, none of a stranger's. On Linux only."""
    with suppress(OSError):
        lines = os.fsdecode(Path(f"/proc/{pid}/environ").read_bytes()).split("\0")
        return {name: value for name, found, value in (line.partition("=") for line in lines) if found}
    return {}


def end_worker(who: str | None, parent: int) -> bool:
    """End a worker of a process that is dead, with all that it started; whether it was still there.

    Args:
        who: its `identity`.
        parent: the process that had started it. Whatever a record says, nothing else is ended than a worker.
    """
    number = (who or "").partition(" ")[0]
    if not number.isdecimal() or identity(int(number)) != who:
        return False
    if environment_of(number).get(WORKER_OF) != str(parent):
        return False
    end_group(int(number))
    return True


def end_commands(record: str, trials: Collection[int]) -> list[int]:
    """End what commands of these trials have left running; the trials of which there was something.

    They are known by the variables that each was started with: there is no moment at which one runs and is
    not known.
    """
    ended: set[int] = set()
    if sys.platform != "win32":  # which does not show the variables of other processes; nor does macOS
        wanted = {str(trial) for trial in trials}
        for entry in Path("/proc").glob("[0-9]*") if wanted else ():
            variables = environment_of(entry.name)
            if variables.get(RECORD) == record and variables.get(TRIAL) in wanted:
                with suppress(ProcessLookupError):
                    group = os.getpgid(int(entry.name))
                    if group != os.getpgrp():
                        end_group(group)
                        ended.add(int(variables[TRIAL]))
    return sorted(ended)


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, until they call `own_session`."""
    if sys.platform == "win32":  # where one that is pressed while a worker starts ends that worker
        yield
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def own_session() -> None:
    """Ctrl-C reaches the parent alone from now on, and this process can be ended with all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)  # for what the objective may start
