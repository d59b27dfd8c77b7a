"""What only some operating systems have stands behind a question, and paths are not those of one system.

`make lint-platforms` lets mypy look at the library as if on Windows and on macOS, which finds every missing
function; this is the part that mypy does not see, and quick enough for every run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "saltus").rglob("*.py"))
NOT_EVERYWHERE = {"fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "tty", "pty", "winreg", "_winapi"}
FUNCTIONS = {
    "fork",
    "forkpty",
    "killpg",
    "setsid",
    "getpgid",
    "getpgrp",
    "getuid",
    "geteuid",
    "mkfifo",
    "nice",
}
FUNCTIONS |= {"wait", "waitpid", "wait4", "sched_getaffinity", "register_at_fork", "uname", "getloadavg"}
SIGNALS = {"SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGSTOP", "SIGCONT", "SIGBREAK"}
SIGNALS |= {"CTRL_BREAK_EVENT", "pthread_sigmask", "SIG_BLOCK", "SIG_UNBLOCK", "alarm", "setitimer"}
PATHS = ("/tmp", "/var/", "/usr/", "/home", "/etc", "/dev/", "/proc", "/sys/", "C:\\")
# Linux tells of other processes there; without it nothing is found, which is an answer
KNOWN_PATHS = {"execution/processes.py": ("/proc",)}
QUESTIONS = ("sys.platform", "hasattr(os", "hasattr(signal")


def outside_questions(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything that is reached whatever the operating system is."""
    line = [tree]
    while line:
        node = line.pop()
        if isinstance(node, ast.If | ast.IfExp) and any(q in ast.unparse(node.test) for q in QUESTIONS):
            continue
        yield node
        line.extend(ast.iter_child_nodes(node))


def problems(text: str, known: tuple[str, ...] = ()) -> list[str]:
    """What would not work on some operating system, with its line."""
    tree = ast.parse(text)
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in outside_questions(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            found += [f"{node.lineno}: import {name}" for name in sorted(NOT_EVERYWHERE & modules)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {"os": FUNCTIONS, "signal": SIGNALS}.get(node.value.id, set())
            found += [f"{node.lineno}: {ast.unparse(node)}"] * (node.attr in names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            if node.value.startswith(PATHS) and not node.value.startswith(known or ("\0",)):
                found.append(f"{node.lineno}: {node.value!r}")
            elif node.value in ("fork", "forkserver"):
                found.append(f"{node.lineno}: start method {node.value!r}")
    return found


def test_the_library_asks_before_it_uses_what_only_some_systems_have() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{problem}"
        for path in SOURCES
        for problem in problems(
            path.read_text(encoding="utf-8"),
            KNOWN_PATHS.get(path.relative_to(ROOT / "src" / "saltus").as_posix(), ()),
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl",
        "from resource import getrusage",
        "import os\nos.fork()",
        "import os, signal\nos.kill(1, signal.SIGKILL)",
        "folder = '/tmp/x'",
        "import multiprocessing\nmultiprocessing.get_context('fork')",
        "import sys, os\nif sys.argv:\n    os.setsid()",
    ],
)
def test_what_is_found(text: str) -> None:
    assert len(problems(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nif sys.platform == 'win32':\n    import msvcrt\nelse:\n    import fcntl",
        "import os\nif hasattr(os, 'fork'):\n    os.fork()",
        "import signal\nsignal.signal(signal.SIGTERM, print)",
        "'''Not in /tmp.'''\nname = 'tmp'",
    ],
)
def test_what_is_not(text: str) -> None:
    assert problems(text) == []


def test_worker_processes_are_spawned_on_every_system() -> None:
    """As on Windows and macOS, so that every test of workers here is one of how they start there."""
    from saltus.execution.worker_process import _context

    assert _context.get_start_method() == "spawn"
