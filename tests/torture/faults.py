"""What is done to studies: each function does it so many times, checks, and says what came of it."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from saltus import Study
from saltus.cli import main as saltus
from saltus.cli.codes import MEANINGS
from saltus.execution.processes import end_group
from saltus.study import RecordError
from saltus.study.database import Database
from saltus.study.rows import checksum

from . import DISCRETE, FUNCTION, finish, look, prepare, rows, run, run_to_the_end, start

BUDGET = 120
LONGEST = 120  # seconds that one trial may take


def peace(folder: Path, **options: Any) -> list[tuple[object, ...]]:
    """What a study does that is left in peace."""
    study = prepare(folder / "peace", BUDGET, **options)
    run_to_the_end(study)
    return rows(study)


def no_traceback(study: Path) -> None:
    output = study.parent / "output"
    if output.exists():
        assert "Traceback" not in output.read_text(errors="replace"), output.read_text()[-3000:]


def workers(folder: Path, count: int, rng: random.Random) -> str:
    """Single worker processes are killed; each evaluation may be tried again."""
    options: dict[str, Any] = {"floats": DISCRETE, "objective": FUNCTION, "retries": 100}
    expected = peace(folder, **options)
    killed = studies = 0
    while killed < count:
        study = prepare(folder / str(studies), BUDGET, **options)
        process = start(study)
        while not _is_over(process):
            time.sleep(rng.uniform(0.1, 0.4))
            tasks = Path(f"/proc/{process}/task").glob("*/children")
            running = [int(number) for task in tasks for number in _read(task).split()]
            if running and killed < count:
                with suppress(ProcessLookupError):
                    os.kill(rng.choice(running), signal.SIGKILL)
                    killed += 1
        assert finish(process) in (0, 1, 3)  # one that dies while it starts is an error of the machine
        run_to_the_end(study)
        assert rows(study) == expected
        studies += 1
    return f"in {studies} runs, which gave the same {len(expected)} trials"


SLEEPER = """
command = ["sh", "-c", "sleep 61; :", "{study_dir}", "{x}", "{y}", "{k}", "{g}", "{on}"]
"""


def left_running(folder: Path, count: int, rng: random.Random) -> str:
    """Killed when a command that takes long has just begun: the next run ends it before its own first one."""
    study = prepare(folder / "study", BUDGET, objective=SLEEPER)
    found = study.parent / "found"  # commands that run when a run begins its first one
    popen, left, one_at_a_time = subprocess.Popen, 0, threading.Lock()

    def start_and_die(nth: int) -> None:
        def start(*words: Any, **options: Any) -> Any:
            nonlocal nth
            with one_at_a_time:
                if not found.exists():
                    found.write_text(" ".join(map(str, _naming(study.parent))))
                process = popen(*words, **options)
                nth -= 1
                if nth == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return process

        subprocess.Popen = start  # type: ignore[assignment, misc]

    for _ in range(count):
        found.unlink(missing_ok=True)
        assert run(study, partial(start_and_die, rng.randint(1, 2))) == -signal.SIGKILL
        assert found.read_text() == "", f"still running when the next run began its own: {found.read_text()}"
        time.sleep(0.05)  # what was just forked becomes its command; a run that is no fork begins later, too
        running = _naming(study.parent)
        assert running, "nothing was left running"
        left += len(running)
    for process in running:
        end_group(process)
    return f"{left} commands were left running, all ended before the next run began its own"


def _naming(folder: Path) -> list[int]:
    """Processes that have this folder among their arguments."""
    files = Path("/proc").glob("[0-9]*/cmdline")
    return [int(file.parent.name) for file in files if str(folder) in _read(file).split("\0")]


def _is_over(process: int) -> bool:
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _shim() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.arm.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_int)
    return library


def io_errors(folder: Path, count: int, rng: random.Random, *, full: bool = False) -> str:
    """The n-th write or sync of the record fails, or the disk is full from then on, for n = 1, 2, ..."""
    expected = peace(folder, floats=DISCRETE)
    codes: Counter[int] = Counter()
    study = prepare(folder / "study", BUDGET, floats=DISCRETE)
    settled: dict[int, int] = {}
    for i in range(count):
        nth = 1 + i if i < count // 2 else rng.randint(1, 400)
        many, reason = (10**6, errno.ENOSPC) if full else (1, errno.EIO)
        code = run(study, partial(_shim().arm, nth, many, reason))
        codes[code] += 1
        assert code in (0, 3), f"exit code {code}:\n{(study.parent / 'output').read_text()[-3000:]}"
        if not full:  # what could not be synced may be lost, and is evaluated again
            settled.clear()
        look(study, settled)
        if code == 0 and nth > 200:
            shutil.rmtree(study.parent)
            study = prepare(study.parent, BUDGET, floats=DISCRETE)
            settled.clear()
    run_to_the_end(study)
    no_traceback(study)
    assert rows(study) == expected
    return f"{codes[3]} said so with exit code 3, {codes[0]} were not reached or harmless; the same trials"


def full_disk(folder: Path, count: int, rng: random.Random) -> str:
    """From the n-th write on the disk is full."""
    return io_errors(folder, count, rng, full=True)


def memory_errors(folder: Path, count: int, rng: random.Random) -> str:
    """The n-th allocation of Python objects fails, and 100 after it, somewhere in the run."""
    import _testcapi  # type: ignore[import-not-found]  # of CPython's own tests

    expected = peace(folder, floats=DISCRETE)
    study = prepare(folder / "study", BUDGET, floats=DISCRETE)
    settled: dict[int, int] = {}
    whole = 0
    for _ in range(count):

        def before(nth: int = rng.randint(1_000, 400_000)) -> None:
            _testcapi.set_nomemory(nth, nth + 100)

        whole += run(study, before) == 0
        look(study, settled)
        if len(rows(study)) >= len(expected):
            shutil.rmtree(study.parent)
            study = prepare(study.parent, BUDGET, floats=DISCRETE)
            settled.clear()
    run_to_the_end(study)
    assert rows(study) == expected
    return f"{count - whole} ended the run, {whole} did not; the same {len(expected)} trials"


def power_cuts(folder: Path, count: int, rng: random.Random) -> str:
    """Copies of record and log at any moment, the log cut off somewhere or its end full of zeros."""
    expected = peace(folder, floats=DISCRETE)
    study = prepare(folder / "study", BUDGET, floats=DISCRETE)
    copies = 0
    process = start(study)
    while copies < count:
        time.sleep(rng.uniform(0.02, 0.1))
        if _is_over(process):
            finish(process)
            shutil.rmtree(study.parent)
            study = prepare(study.parent, BUDGET, floats=DISCRETE)
            process = start(study)
            continue
        os.kill(process, signal.SIGSTOP)
        record = study.with_suffix(".db")
        log = record.with_name("study.db-wal")
        if log.exists() and log.stat().st_size:
            _cut(record, log, prepare(folder / f"cut{copies}", BUDGET, floats=DISCRETE), rng)
            copies += 1
        os.kill(process, signal.SIGCONT)
    os.kill(process, signal.SIGKILL)
    finish(process)
    for i in range(count):
        cut = folder / f"cut{i}" / "study.toml"
        run_to_the_end(cut)
        no_traceback(cut)
        assert rows(cut) == expected
    return f"each went on to the same {len(expected)} trials"


def _cut(record: Path, log: Path, study: Path, rng: random.Random) -> None:
    """A copy in which the end of the log has not reached the disk."""
    shutil.copyfile(record, study.with_suffix(".db"))
    data = log.read_bytes()
    at = rng.randrange(len(data) + 1)
    tail = rng.choice([b"", bytes(len(data) - at), rng.randbytes(len(data) - at)])
    study.with_name("study.db-wal").write_bytes(data[:at] + tail)


def damage(folder: Path, count: int, rng: random.Random) -> str:
    """Bytes of the record changed, its tail cut off or zeroed: noticed, or harmless."""
    study = prepare(folder / "study", BUDGET, floats=DISCRETE)
    run_to_the_end(study)
    original, expected = study.with_suffix(".db").read_bytes(), _everything(study.with_suffix(".db"))
    noticed = 0
    path = folder / "damaged.db"
    for _ in range(count):
        data, at = bytearray(original), rng.randrange(len(original))
        match rng.randrange(4):
            case 0:
                del data[at:]
            case 1:
                data[at:] = bytes(len(data) - at)
            case _:
                length = rng.choice([1, 1, 8, 512])
                data[at : at + length] = rng.randbytes(length)
        path.write_bytes(data)
        try:
            assert _everything(path) == expected, "damage was taken for data"
        except RecordError:
            noticed += 1
    return f"{noticed} noticed, {count - noticed} harmless, none taken for data"


def _everything(path: Path) -> Any:
    study = Study.open(path)
    with closing(Database(path, write=False)) as record:
        return list(study.trials()), list(study.snapshots()), study.summary(), record.state(), study.head


VALUES: list[Any] = [
    None,
    -1,
    10**6,
    2**63 - 1,
    1.5,
    float("inf"),
    "",
    "text",
    "[]",
    "{}",
    "[" * 50_000,
    b"x",
]


def forgeries(folder: Path, count: int, rng: random.Random) -> str:
    """A value of any row replaced, with the right checksum: every command ends with one of its exit codes."""
    study = prepare(folder / "study", 20, floats=DISCRETE)
    run_to_the_end(study)
    record = study.with_suffix(".db")
    original = record.read_bytes()
    codes: Counter[int] = Counter()
    for _ in range(count):
        record.write_bytes(original)
        with closing(sqlite3.connect(record)) as db, db:
            names = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = rng.choice(names)
            row = list(rng.choice(db.execute(f"SELECT rowid, * FROM {table}").fetchall()))
            row[rng.randrange(2, len(row) - 1)] = rng.choice(VALUES)
            row[-1] = checksum(row[1:-1])
            try:
                places = ",".join("?" * (len(row) - 1))
                db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({places})", row[1:])
            except sqlite3.Error:
                continue
        tick = time.monotonic()
        for words in (["show"], ["export", "--csv"], ["run", "--budget", "25"]):
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                code = saltus([words[0], str(study), *words[1:]])
            assert code in MEANINGS, code
            codes[code] += 1
        assert time.monotonic() - tick < LONGEST
        for left in folder.glob("study/study.db-*"):
            left.unlink()
    return f"{codes[3]} of {codes.total()} commands refused it, the others worked; no traceback"


def clocks(folder: Path, count: int, rng: random.Random) -> str:
    """Each session begins at another time, years before or after, and the clock jumps while it runs."""
    expected = peace(folder, floats=DISCRETE)
    study = prepare(folder / "study", BUDGET, floats=DISCRETE)
    settled: dict[int, int] = {}
    real, jumps = time.time, 0
    while jumps < count or rows(study) != expected:

        def before(offset: float = rng.uniform(-1e9, 1e9), seed: int = rng.randrange(10**9)) -> None:
            own = random.Random(seed)
            calls = [0, offset]

            def other() -> float:
                calls[0] += 1
                if calls[0] % 50 == 0:
                    calls[1] += own.uniform(-1e8, 1e8)
                return real() + calls[1]

            time.time = other

        process = start(study, before)
        time.sleep(rng.uniform(0.2, 0.8) if jumps < count else 30.0 if jumps == count else 5.0)
        os.kill(process, signal.SIGKILL)
        finish(process)
        look(study, settled)
        jumps += 1
        assert jumps < count + 10
    sessions = Study.open(study.with_suffix(".db")).summary().sessions
    times = [t for s in sessions for t in (s.started, s.ended) if t is not None]
    assert times == sorted(times)
    return f"the same {len(expected)} trials; times on record never go back"
