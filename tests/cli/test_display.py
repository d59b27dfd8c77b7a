"""How a study is shown while it runs, on a terminal and in a log."""

from __future__ import annotations

import fcntl
import io
import itertools
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

import pytest

from saltus import Study
from saltus.cli import main
from saltus.cli.display import Block, Lines, OneLine, can_draw, display
from saltus.execution.progress import Progress

from ..objectives import bowl
from ..study.studies import made
from .command_line import ROOT, STUDY, wait_for_running

SMALL = STUDY.replace("budget = 40", "budget = 4")  # before there is a model


def on_a_terminal(
    words: list[str], *, until: bytes = b"", environment: Mapping[str, str] = MappingProxyType({})
) -> tuple[int, str]:
    """The exit code of a command, and what it writes to a terminal; Ctrl-C as soon as this is there."""
    host, guest = pty.openpty()
    fcntl.ioctl(guest, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    own = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
    env = {**own, "TERM": "xterm-256color", **environment}
    command = [sys.executable, "-m", "saltus", *words]
    with subprocess.Popen(command, stdout=guest, stderr=guest, env=env, cwd=ROOT) as process:
        os.close(guest)
        shown, sent = b"", False
        try:
            while chunk := os.read(host, 65536):
                shown += chunk
                if until and until in shown and not sent:
                    process.send_signal(signal.SIGINT)
                    sent = True
        except OSError:  # the other end is closed
            pass
    os.close(host)
    return process.returncode, shown.decode()


def test_nobody_reads_what_it_says(study: Path) -> None:
    study.write_text(SMALL, encoding="utf-8")
    words = f"{sys.executable} -m saltus run {study} 2>&1 >/dev/null | head -n 1"
    subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT)
    assert Study.open(study.with_suffix(".db")).summary().evaluations == 4


def test_some_lines_on_a_terminal(study: Path) -> None:
    code, shown = on_a_terminal(["run", str(study)])
    assert code == 0
    assert "bowl  \x1b[0m" in shown
    assert "40 of 40" in shown
    assert "   best \x1b[0m\x1b[1;32m" in shown  # in green
    assert "of 2 workers busy" in shown
    assert "Traceback" not in shown
    assert shown.rstrip().endswith(f"pictures: saltus report {study}")


@pytest.mark.parametrize(("environment", "drawn"), [({"NO_COLOR": "1"}, True), ({"TERM": "dumb"}, False)])
def test_colours_and_drawings_only_where_they_are_wanted(
    study: Path, environment: dict[str, str], drawn: bool
) -> None:
    study.write_text(SMALL, encoding="utf-8")
    code, shown = on_a_terminal(["run", str(study)], environment=environment)
    assert code == 0
    assert "best" in shown
    assert "\x1b[1;32m" not in shown
    assert "\x1b[36m" not in shown
    assert ("\x1b[" in shown) == drawn
    if not drawn:
        assert "/4 evaluations, best " in shown


def test_without_rich_there_is_one_line(study: Path, tmp_path: Path) -> None:
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise ImportError")
    study.write_text(SMALL, encoding="utf-8")
    code, shown = on_a_terminal(["run", str(study)], environment={"PYTHONPATH": str(tmp_path)})
    assert code == 0
    assert re.search(r"\r\x1b\[K[1-4]/4 evaluations, best ", shown)
    assert "\r\x1b[K      study: bowl" in shown  # it is gone when the result is printed


def test_sentences_are_broken_between_words_on_a_terminal(study: Path) -> None:
    code, shown = on_a_terminal(["check", str(study)])
    assert code == 0
    assert "\r\n          " in shown


def test_what_follows_ask_is_said_on_a_terminal(study: Path) -> None:
    study.write_text(STUDY.partition("[objective]")[0], encoding="utf-8")
    code, shown = on_a_terminal(["ask", str(study), "-n", "2"])
    assert code == 0
    assert shown.endswith(f"then: saltus tell {study} 0 VALUE, or --failed REASON\r\n")
    other = study.with_name("other.db")
    code, shown = on_a_terminal(["ask", str(study), "-n", "1", "--db", str(other)])
    assert shown.endswith(f"then: saltus tell {study} --db {other} 0 VALUE, or --failed REASON\r\n")
    assert main(["tell", str(study), "--db", str(other), "0", "1.5"]) == 0
    assert Study.open(other).best is not None


def test_looking_on_ends_quietly(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(bowl, budget=12)
    code, shown = on_a_terminal(["show", "--watch", str(study.path)], until=b"12 evaluations")
    assert code == 0
    assert "now \x1b[0mended: The budget of evaluations was used up." in shown
    assert "Traceback" not in shown
    assert "interrupted" not in shown


# the command, with lines of a log that come sooner one after the other
OFTEN = """
import sys

import saltus.cli.display as shown
from saltus.__main__ import main

shown.SHORTEST_PAUSE = 0.2
sys.exit(main())
"""


def test_looking_on_from_a_pipe(study: Path) -> None:
    """Before there is a record, and while it grows."""
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'), encoding="utf-8")
    watch = [sys.executable, "-c", OFTEN, "show", "--watch", str(study)]
    run = [sys.executable, "-m", "saltus", "run", "-q", str(study)]
    with subprocess.Popen(watch, stdout=subprocess.PIPE, text=True, cwd=ROOT) as looking:
        assert looking.stdout is not None
        assert looking.stdout.readline().endswith("  there is no record yet\n")
        with subprocess.Popen(run, stdout=subprocess.DEVNULL, cwd=ROOT) as running:
            wait_for_running(running, study)
            line = looking.stdout.readline()
            running.send_signal(signal.SIGTERM)
        looking.send_signal(signal.SIGINT)
        rest = looking.stdout.read()
    assert line.endswith("  0/40 evaluations, best none\n")
    assert "\r" not in line + rest
    assert (looking.returncode, running.returncode) == (0, 130)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "kind"),
    [
        (Terminal(), {"TERM": "xterm"}, Block),
        (Terminal(), {"TERM": "dumb"}, Lines),
        (Terminal(), {"TERM": "xterm", "CI": "true"}, Lines),
        (Terminal(), {"TERM": "xterm", "CI": "false"}, Block),
        (io.StringIO(), {"TERM": "xterm"}, Lines),
        (None, {}, Progress),
    ],
)
def test_which_display(
    stream: TextIO | None,
    environment: dict[str, str],
    kind: type[Progress],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert type(display(tmp_path / "study.db", 10, stream)) is kind
    assert can_draw(stream) == (kind is Block)


def test_lines_of_a_log_come_ever_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, now = made(tmp_path), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    lines = Lines(study.path, 100_000, stream)
    times = []
    for second in range(20_000):
        now[0] = 1000.0 + second
        lines._said = ""  # as if there was always something new
        before = stream.tell()
        if second % 7 == 0:
            lines.show()
        if stream.tell() > before:
            times.append(second)
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert times[0] == 0
    assert gaps[0] == 7
    assert max(gaps) <= 307
    assert 100 < len(times) < 200
    assert "\r" not in stream.getvalue()


def test_a_display_does_not_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_text("this is no record")
    closed = Terminal()
    closed.close()
    for shown in (OneLine(tmp_path / "broken.db", 10, Terminal()), Lines(tmp_path / "none.db", 10, closed)):
        with shown:
            shown.show()


def test_quiet_and_verbose(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(SMALL, encoding="utf-8")
    assert main(["run", str(study), "-q"]) == 0
    done = capsys.readouterr()
    assert done.err == ""
    assert "evaluations: 4" in done.out
    assert main(["run", str(study), "-v", "--budget", "8"]) == 0
    said = capsys.readouterr().err
    assert "the search goes on: 4 of 8 evaluations, 2 variables, strategy saltus" in said
    assert "the search stopped after 8 evaluations: The budget of evaluations was used up." in said
    assert "phase" not in said
    assert main(["run", str(study), "-q", "--budget", "12"]) == 0
    assert capsys.readouterr().err == ""  # it says so no longer


@pytest.mark.parametrize("rich", [True, False])
def test_what_a_function_prints_stands_above_the_drawing(study: Path, tmp_path: Path, rich: bool) -> None:
    lines = STUDY.partition("[objective]")[0].replace("budget = 40", "budget = 4") + "[objective]\n"
    study.write_text(lines + 'python = "talking:cost"\n', encoding="utf-8")
    cost = "def cost(p):\n    print('meshing ...\\rmesh is there')\n    return p['k']\n"
    (study.parent / "talking.py").write_text(cost, encoding="utf-8")
    environment = {}
    if not rich:
        (tmp_path / "rich").mkdir()
        (tmp_path / "rich" / "__init__.py").write_text("raise ImportError")
        environment["PYTHONPATH"] = str(tmp_path)
    one = ["--workers", "1"]  # the ends of lines of two may change places
    code, shown = on_a_terminal(["run", str(study), *one], environment=environment)
    assert code == 0, shown
    said = [before for before, _ in re.findall(r"([^\n]*?)(mesh is there)\r\n", shown)]
    assert len(said) == 4
    undrawn = ("\x1b[2K", "\x1b[K", "\x1b[?25l")  # wiped away, or not begun: the cursor has just been hidden
    assert all(before.endswith(undrawn) for before in said)
    assert "meshing" not in shown  # written over by what printed it
