"""Studies on clusters of several processes, and what accidents do to them: docs/clusters.md.

    python -m experiments.clusters            # both tables; about fifteen minutes
    python -m experiments.clusters accidents  # 2000 evaluations, three killed workers, one killed scheduler
    python -m experiments.clusters busy       # how busy four workers are kept

The scheduler and the workers are processes of this machine, which a thread starts again when they end, as a
service manager or a batch system would.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from experiments.harness import markdown, publish
from saltus import Study, StudyError

COST = """
import json, os, time, random

def cost(p):
    time.sleep(SECONDS)
    value = VALUE
    with open(os.path.join(LOG, f"{os.getpid()}.jsonl"), "a") as log:
        log.write(json.dumps([p, value, time.time()]) + "\\n")
    return value
"""
STUDY = """
[study]
budget = {budget}
seed = 1
workers = {workers}
asynchronous = {asynchronous}
strategy = "{strategy}"
[space]
{space}
[objective]
python = "cost:cost"
[run]
on = "{on}"
reconnect = 120
"""


class Problem(NamedTuple):
    """What is minimised: variables as a study file has them, and the value as Python has it."""

    space: str
    value: str


# soon solved; what a search does then does not keep all workers busy
BOWL = Problem(
    """x = { type = "float", low = -5, high = 5 }
y = { type = "float", low = -5, high = 5 }
k = { type = "int", low = 0, high = 20 }""",
    '(p["x"] - 1) ** 2 + (p["y"] + 2) ** 2 + (p["k"] - 7) ** 2',
)
# six continuous variables and four integers in one curved valley: not soon solved
VALLEY = Problem(
    "\n".join(
        [f'x{i} = {{ type = "float", low = -5, high = 5 }}' for i in range(6)]
        + [f'k{i} = {{ type = "int", low = -10, high = 10 }}' for i in range(4)]
    ),
    "(lambda z: sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(z, z[1:])))"
    '([p[f"x{i}"] for i in range(6)] + [p[f"k{i}"] / 5 for i in range(4)])',
)


class Setting(NamedTuple):
    """What is measured of how busy workers are."""

    problem: str
    strategy: str
    median: float  # seconds
    asynchronous: bool


SETTINGS = (
    Setting("valley", "saltus-es", 0.5, True),
    Setting("valley", "saltus-es", 1.0, True),
    Setting("valley", "saltus", 1.0, True),
    Setting("valley", "saltus-es", 0.5, False),
    Setting("bowl", "saltus-es", 0.5, True),
)
LOGNORMAL = "random.Random(json.dumps(p)).lognormvariate(0, 1) * {median}"


class Dask:
    """A scheduler and workers, each a process, started again when they end."""

    def __init__(self, workers: int, folder: Path) -> None:
        """Start them; what they say is in the folder."""
        self.port, self._folder, self._over = free_port(), folder, False
        self._lock = threading.Lock()
        self.scheduler = self._start_scheduler()
        self.workers = [self._start_worker() for _ in range(workers)]
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    @property
    def address(self) -> str:
        """For `--on`."""
        return f"dask://127.0.0.1:{self.port}"

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def _start_worker(self) -> subprocess.Popen[bytes]:
        one = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60")
        return self._start("worker", f"tcp://127.0.0.1:{self.port}", *one)

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with open(self._folder / f"{words[0]}.log", "ab") as log:
            command = [sys.executable, "-m", "dask", *words]
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)

    def _keep(self) -> None:
        while not self._over:
            with self._lock:
                for i, worker in enumerate(self.workers):
                    if worker.poll() is not None and not self._over:
                        self.workers[i] = self._start_worker()
            time.sleep(0.2)

    def kill_worker(self, number: int) -> None:
        """With SIGKILL."""
        with self._lock:
            self.workers[number].kill()
            self.workers[number].wait()

    def restart_scheduler(self, away: float) -> None:
        """Kill it, and start another at the same address after so many seconds."""
        self.scheduler.kill()
        self.scheduler.wait()
        time.sleep(away)
        self.scheduler = self._start_scheduler()

    def close(self) -> None:
        """End all of them."""
        self._over = True
        self._keeper.join()
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def dask(workers: int, folder: Path) -> Iterator[Dask]:
    """A cluster for a while."""
    cluster = Dask(workers, folder)
    try:
        yield cluster
    finally:
        cluster.close()


def prepared(
    folder: Path,
    on: str,
    budget: int,
    *,
    seconds: str = "0.0",
    workers: int = 4,
    strategy: str = "saltus-es",
    asynchronous: bool = True,
    problem: Problem = BOWL,
) -> Path:
    """A study file whose evaluations take so long, and write down what they did."""
    (folder / "log").mkdir(exist_ok=True)
    source = COST.replace("SECONDS", seconds).replace("LOG", repr(str(folder / "log")))
    source = source.replace("VALUE", problem.value)
    (folder / "cost.py").write_text(source)
    given = {"budget": budget, "workers": workers, "strategy": strategy, "on": on, "space": problem.space}
    file = folder / "study.toml"
    file.write_text(STUDY.format(asynchronous=str(asynchronous).lower(), **given))
    return file


def started(file: Path) -> subprocess.Popen[bytes]:
    """`saltus run`, which says what happens in run.log."""
    with open(file.with_name("run.log"), "ab") as log:
        command = [sys.executable, "-m", "saltus", "run", str(file)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)


def evaluations(file: Path) -> int:
    """How many are on record."""
    with suppress(StudyError):  # it is just being made
        return Study.open(file.with_suffix(".db")).summary().evaluations
    return 0


def wait_for(happened: Callable[[], bool], seconds: float) -> None:
    """Wait until something has happened; a TimeoutError if it does not."""
    limit = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > limit:
            raise TimeoutError(f"it did not happen within {seconds:g} s")
        time.sleep(0.1)


class Account(NamedTuple):
    """What is on record, beside what the workers have written down themselves."""

    on_record: int
    different: int  # points on record
    invented: int  # on record, but in nobody's log
    logged: int  # evaluations that some worker has ended


def account(file: Path) -> Account:
    """Compare the record with the logs of the workers."""
    lines = [line for log in (file.parent / "log").iterdir() for line in log.read_text().splitlines()]
    logged = {json.dumps(json.loads(line)[:2]) for line in lines if line.endswith("]")}
    done = [t for t in Study.open(file.with_suffix(".db")).trials() if t.status == "done"]
    invented = sum(json.dumps([t.params, t.value]) not in logged for t in done)
    return Account(len(done), len({json.dumps(t.params) for t in done}), invented, len(lines))


def accidents(budget: int, folder: Path, workers: int = 4, away: float = 3.0) -> Account:
    """Three workers killed and one scheduler, while a study runs."""
    with dask(workers, folder) as cluster:
        file = prepared(folder, cluster.address, budget, workers=workers)
        running = started(file)
        try:
            for i, what in enumerate(("worker", "worker", "scheduler", "worker"), 1):
                wait_for(lambda i=i: evaluations(file) >= budget * i // 5, 600)  # type: ignore[misc]
                if what == "worker":
                    cluster.kill_worker(i % workers)
                else:
                    cluster.restart_scheduler(away)
            if running.wait(600) != 0:
                raise RuntimeError(file.with_name("run.log").read_text())
        finally:
            running.kill()
            running.wait()
    return account(file)


class Kept(NamedTuple):
    """How busy workers were kept."""

    share: float  # of the time from the first beginning to the last end that they spent in evaluations
    mean: float  # seconds of an evaluation
    load: float  # of the machine, when it was over: processes that want a core, over a minute


def busy(setting: Setting, folder: Path, budget: int = 150, workers: int = 4) -> Kept:
    """Evaluations that sleep on four workers."""
    with dask(workers, folder) as cluster:
        seconds = LOGNORMAL.format(median=setting.median)
        file = prepared(
            folder,
            cluster.address,
            budget,
            seconds=seconds,
            strategy=setting.strategy,
            asynchronous=setting.asynchronous,
            problem=VALLEY if setting.problem == "valley" else BOWL,
        )
        running = started(file)
        if running.wait(1800) != 0:
            raise RuntimeError(file.with_name("run.log").read_text())
        load = os.getloadavg()[0]
    trials = Study.open(file.with_suffix(".db")).trials()
    spans = [(t.started, t.seconds) for t in trials if t.started is not None and t.seconds is not None]
    wall = max(begun + took for begun, took in spans) - min(begun for begun, _ in spans)
    total = sum(took for _, took in spans)
    return Kept(total / (workers * wall), total / len(spans), load)


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("accidents", "busy"))
    what = parser.parse_args().what
    if what in (None, "accidents"):
        with tempfile.TemporaryDirectory() as folder:
            found = accidents(2000, Path(folder))
            said = (Path(folder) / "run.log").read_text()
        again = found.logged - found.on_record
        rows = [
            ["evaluations on record", str(found.on_record)],
            ["different points among them", str(found.different)],
            ["on record, but in no worker's log", str(found.invented)],
            ["evaluated again after an accident", str(again)],
            ["times that the scheduler was gone, and back", str(said.count(" is back;"))],
        ]
        publish("clusters-accidents", markdown(["", ""], rows), "clusters")
    if what in (None, "busy"):
        rows = []
        for setting in SETTINGS:
            with tempfile.TemporaryDirectory() as folder:
                kept = busy(setting, Path(folder))
            waits = "asynchronous" if setting.asynchronous else "waits for batches"
            about = [setting.problem, setting.strategy, waits, f"{setting.median:g} s", f"{kept.mean:.2f} s"]
            rows.append([*about, f"{kept.load:.1f}", f"{kept.share:.0%}"])
            print(rows[-1], flush=True)
        header = ["problem", "strategy", "", "median of an evaluation", "mean", "load of the machine", "busy"]
        publish("clusters-busy", markdown(header, rows), "clusters")


if __name__ == "__main__":
    main()
