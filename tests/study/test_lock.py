"""One process at a time writes to a record."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from saltus import Study
from saltus.study import LockedError, RecordError

from ..objectives import bowl
from .studies import made


def test_only_one_at_a_time(tmp_path: Path) -> None:
    study = made(tmp_path)
    looked: list[int] = []

    def fun(p: dict[str, Any]) -> float:
        with pytest.raises(LockedError, match=f"being run by process {os.getpid()} on "):
            Study.open(study.path).optimize(bowl, budget=3)
        looked.append(len(list(Study.open(study.path).trials())))  # looking is free
        return bowl(p)

    assert study.optimize(fun, budget=3).nfev == 3
    assert study.summary().failures == {}
    assert min(looked) >= 3
    assert not study.path.with_name("study.db.lock").exists()
    assert {p.name for p in tmp_path.iterdir()} <= {"study.db", "study.db-wal", "study.db-shm"}


FORKS = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from saltus import Float, Space, Study

def fun(p):
    open(f"{sys.argv[1]}.begun", "w").close()
    time.sleep(60)
    return p["x"] ** 2

if __name__ == "__main__":
    study = Study.create(sys.argv[1], Space({"x": Float(-1, 1)}), seed=1)
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        study.optimize(fun, budget=50, executor=pool)
"""


def test_forked_workers_do_not_hold_the_lock_of_a_dead_process(tmp_path: Path) -> None:
    script, path = tmp_path / "script.py", tmp_path / "study.db"
    script.write_text(FORKS)
    command = [sys.executable, str(script), str(path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        while not path.with_name("study.db.begun").exists():  # until its workers are forked
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
    try:
        assert Study.open(path).optimize(lambda p: float(p["x"] ** 2), budget=10).nfev == 10
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its workers are still there


def test_a_link_to_a_record_is_that_record(tmp_path: Path) -> None:
    study = made(tmp_path)
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "other.db"
    link.symlink_to(study.path)

    def fun(p: dict[str, Any]) -> float:
        with pytest.raises(LockedError):
            Study.open(link).optimize(bowl, budget=3)
        return bowl(p)

    assert study.optimize(fun, budget=2).failures == 0
    assert Study.open(link).optimize(bowl, budget=5).nfev == 5


def test_a_disk_without_locks_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = made(tmp_path)

    def unable(*arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    with pytest.raises(RecordError, match="has no locks: No locks available; put the record on a disk"):
        study.optimize(bowl, budget=2)
    assert not study.summary().running


def test_who_looks_does_not_keep_others_from_running(tmp_path: Path) -> None:
    study = made(tmp_path)
    path = study.path.with_name("study.db.lock")
    path.touch()
    with open(path, encoding="utf-8") as file, open(path, encoding="utf-8") as other:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not study.summary().running
        fcntl.flock(other, fcntl.LOCK_SH)
        fcntl.flock(other, fcntl.LOCK_UN)
        threading.Timer(0.05, lambda: fcntl.flock(file, fcntl.LOCK_UN)).start()
        assert study.optimize(bowl, budget=2).nfev == 2
