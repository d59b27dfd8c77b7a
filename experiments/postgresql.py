"""A PostgreSQL server of Debian's package, for an experiment or a test alone."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class NoServer(RuntimeError):
    """There is no server to be had, and why."""


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of an empty database, as long as it is wanted."""
    initdb = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None)
    if initdb is None:
        raise NoServer("no PostgreSQL server: apt-get install postgresql")
    bins = initdb.parent
    owner: dict[str, Any] = {}
    home = Path(tempfile.mkdtemp(prefix="saltus-pg-"))
    if os.getuid() == 0:  # the server refuses to run as root
        try:
            shutil.chown(home, "postgres")
        except LookupError as error:
            raise NoServer("PostgreSQL does not run as root, and there is no user postgres") from error
        owner = {"user": "postgres", "group": "postgres", "extra_groups": []}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": home, **owner}
    data = ["-D", str(home / "data")]
    subprocess.run([str(initdb), *data, "-U", "saltus", "-A", "trust", "--no-sync"], check=True, **quiet)
    settings = ["-c", "fsync=off", "-c", f"unix_socket_directories={home}", "-h", "127.0.0.1"]
    server = subprocess.Popen([str(bins / "postgres"), *data, "-p", str(port), *settings], **quiet)
    try:
        deadline = time.monotonic() + 30
        ready = [str(bins / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
        while subprocess.run(ready, check=False, **quiet).returncode:
            assert server.poll() is None, "the PostgreSQL server has ended"
            assert time.monotonic() < deadline, "the PostgreSQL server does not start"
            time.sleep(0.1)
        yield f"postgresql+psycopg://saltus@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)  # at once: not when the last client has gone
        server.wait(30)
        shutil.rmtree(home, ignore_errors=True)
