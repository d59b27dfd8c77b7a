"""Ctrl-C while a study is running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from saltus import Stop, Study

from ..objectives import very_slow_square
from .studies import made, peek

CTRL_C = """
import sys, time
from saltus import Float, Space, Study
from tests.objectives import slow_square, very_slow_square

if __name__ == "__main__":
    study = Study.create(sys.argv[1], Space({"x": Float(-1, 1)}), seed=1)
    fun = {"1": slow_square, "10": very_slow_square}[sys.argv[3]]
    print(study.optimize(fun, budget=50, workers=int(sys.argv[2])).stop.name, flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_waits_and_again_ends(tmp_path: Path, workers: int, presses: int) -> None:
    script, path = tmp_path / "script.py", tmp_path / "study.db"
    script.write_text(CTRL_C)
    words = [sys.executable, str(script), str(path), str(workers), "1" if presses == 1 else "10"]
    path_of_modules = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path_of_modules}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while sum(t.status == "running" for t in peek(path)) < workers:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.15)
        tick = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.read().decode().strip() == "INTERRUPTED"
    waited = time.monotonic() - tick
    assert process.returncode == 0
    statuses = [t.status for t in Study.open(path).trials()]
    if presses == 1:
        assert waited > 0.3
        assert statuses.count("done") == workers
    else:
        assert waited < 5  # an evaluation takes 10 s
        assert statuses.count("done") == 0
    assert set(statuses) <= {"done", "asked"}
    again = Study.open(path)
    again.optimize(lambda p: p["x"] ** 2, budget=30)
    assert again.summary().evaluations == 30


def test_no_second_attempt_after_ctrl_c(tmp_path: Path) -> None:
    study = made(tmp_path)
    attempts: list[int] = []

    def fails(p: dict[str, Any]) -> float:
        attempts.append(1)
        if len(attempts) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        raise OSError("again")

    assert study.optimize(fails, budget=10, retries=1000).stop is Stop.INTERRUPTED
    assert len(attempts) == 3
    assert [t.status for t in study.trials()].count("asked") == len(list(study.trials()))


def test_a_signal_that_another_thread_gets_is_heard(tmp_path: Path) -> None:
    """As happens to a process that is stopped, told to end, and continued."""
    study = made(tmp_path)

    def tell() -> None:
        while not any(t.status == "running" for t in peek(study.path)):
            time.sleep(0.02)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    teller = threading.Thread(target=tell)
    teller.start()
    result = study.optimize(very_slow_square, budget=5, workers=2)
    teller.join()
    assert result.stop is Stop.INTERRUPTED
    assert result.nfev == 0
