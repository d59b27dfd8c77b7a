"""What a run says on standard error."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

from saltus import Study

from .command_line import ROOT


def test_nobody_reads_what_it_says(study: Path) -> None:
    words = f"{sys.executable} -m saltus run {study} 2>&1 >/dev/null | head -n 1"
    subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT)
    assert Study.open(study.with_suffix(".db")).summary().evaluations == 40


def test_a_bar_on_a_terminal(study: Path) -> None:
    host, guest = pty.openpty()
    fcntl.ioctl(guest, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    with subprocess.Popen(command, stderr=guest, stdout=subprocess.DEVNULL) as process:
        os.close(guest)
        shown = b""
        try:
            while chunk := os.read(host, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
    os.close(host)
    assert process.returncode == 0
    assert b"40/40" in shown
    assert b"best " in shown
