"""Torture: whatever happens to a study, it goes on as one that was left in peace, or says what is wrong.

`make torture` (`python -m tests.torture`) does all of it and writes the table of docs/trust.md. Each trial is
a process of its own, made by fork; `faults` has what is done to them, this file what they run and what is
compared.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saltus import Study
from saltus.cli import main as saltus
from saltus.study.database import Database

STUDY = """
[study]
budget = {budget}
seed = 3
workers = {workers}
asynchronous = {asynchronous}
strategy = "{strategy}"
retries = {retries}

[space]
{floats}
k = {{ type = "int", low = 0, high = 20 }}
g = {{ type = "ordinal", values = [0.5, 1, 2, 4] }}
on = {{ type = "bool" }}

[objective]
{objective}
"""
COMMAND = """
command = ["awk", "-v", "x={x}", "-v", "y={y}", "-v", "k={k}", "-v", "g={g}", "-v", "on={on}",
           "-v", "trial={trial}", "-v", "log_file={study_dir}/log", "-f", "{study_dir}/bowl.awk"]
"""
FUNCTION = 'python = "bowl:bowl"'

MIXED = """
x = { type = "float", low = -5, high = 5 }
y = { type = "float", low = 0.01, high = 100, log = true }
"""
# many points repeat, also within a generation, and are answered from the record
DISCRETE = """
x = { type = "int", low = -5, high = 5 }
y = { type = "ordinal", values = [0.1, 1, 10] }
"""

# writes its trial into a log when it begins and when it ends, fails for some, is violated for others
BOWL = """
BEGIN {
    print "begun " trial >> log_file; fflush()
    system("sleep 0.01")
    print "ended " trial >> log_file; fflush()
    if (k % 7 == 3) { print "no mesh for k = " k > "/dev/stderr"; exit 3 }
    value = (x - 1) ^ 2 + log(y) ^ 2 + (k - 12) ^ 2 + (g - 2) ^ 2 + (on == "true" ? 0 : 1) + 0.3 * sin(5 * x)
    printf "{\\"value\\": %.17g, \\"constraints\\": [%.17g]}\\n", value, x + y - 3
}
"""
PYTHON_BOWL = """
import time
def bowl(p):
    time.sleep(0.02)
    return (p["x"] - 1) ** 2 + (p["k"] - 12) ** 2 + (p["g"] - 2) ** 2 + (not p["on"]), [p["x"] + p["y"] - 3]
"""


def prepare(
    folder: Path,
    budget: int,
    floats: str = MIXED,
    objective: str = COMMAND,
    retries: int = 0,
    *,
    asynchronous: bool = False,
    workers: int = 2,
    source: str = BOWL,
) -> Path:
    """A study in a folder; `source` is what its command does."""
    folder.mkdir(parents=True)
    (folder / "bowl.awk").write_text(source)
    (folder / "bowl.py").write_text(PYTHON_BOWL)
    study = folder / "study.toml"
    strategy = "saltus-es" if floats == DISCRETE else "saltus"  # with a model and without
    given = {"floats": floats, "objective": objective, "retries": retries, "strategy": strategy}
    how = {"asynchronous": str(asynchronous).lower(), "workers": workers}
    study.write_text(STUDY.format(budget=budget, **given, **how))
    return study


def start(study: Path, before: Callable[[], None] = lambda: None) -> int:
    """Begin or continue a study in a process of its own, which comes back; `before` is called there."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        os.setsid()
        with open(study.parent / "output", "ab") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        before()
        code = saltus(["run", str(study)])
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def finish(process: int) -> int:
    """Wait for its end: the exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def run(study: Path, before: Callable[[], None] = lambda: None) -> int:
    """To the end, whatever that is: the exit code."""
    return finish(start(study, before))


def run_to_the_end(study: Path) -> None:
    """As it should be."""
    code = run(study)
    assert code == 0, f"exit code {code}:\n{(study.parent / 'output').read_text()[-3000:]}"


def rows(study: Path) -> list[tuple[object, ...]]:
    """What a study did: all but times."""
    if not Database.is_made(study.with_suffix(".db")):
        return []
    trials = Study.open(study.with_suffix(".db")).trials()
    return [
        (t.id, t.generation, t.params, t.status, t.value, t.constraints, t.reason, t.repeats) for t in trials
    ]


def ended(study: Path) -> Counter[int]:
    """How often the evaluation of each trial ended, by the log that the command itself writes."""
    log = study.parent / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(int(line.split()[1]) for line in lines if line.startswith("ended "))


def look(study: Path, settled: dict[int, int]) -> int:
    """Check that all on record was evaluated, and nothing of it since it was; how much there is."""
    counts = ended(study)
    if not Database.is_made(study.with_suffix(".db")):
        return 0
    known = [t.id for t in Study.open(study.with_suffix(".db")).trials() if t.status in ("done", "failed")]
    for trial in known:
        assert counts[trial], f"trial {trial} is on record, but was never evaluated"
        before = settled.setdefault(trial, counts[trial])
        assert counts[trial] == before, f"trial {trial} was on record, and was evaluated again"
    return len(known)


# how a run is killed: each gets the study and random numbers, and waits for the end of the run


def at_any_moment(study: Path, rng: random.Random) -> None:
    """From outside, with commands running."""
    process = start(study)
    time.sleep(rng.uniform(0.0, 1.5))
    os.kill(process, signal.SIGKILL)
    finish(process)


def at_a_row(study: Path, rng: random.Random) -> None:
    """By itself, at the n-th row that it is about to write: in the middle of a transaction."""
    from saltus.study import database, rows

    left, insert = rng.randint(1, 120), rows.insert

    def insert_or_die(*arguments: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        insert(*arguments)  # type: ignore[arg-type]

    def before() -> None:
        database.insert = insert_or_die  # type: ignore[assignment, attr-defined]

    run(study, before)


def as_a_command_starts(study: Path, rng: random.Random) -> None:
    """By itself, when a command has just begun and nobody has written down that it has."""
    left, popen = rng.randint(1, 40), subprocess.Popen

    def start_and_die(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        process = popen(*arguments, **options)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return process

    def before() -> None:
        subprocess.Popen = start_and_die  # type: ignore[assignment, misc]

    run(study, before)


KILLS = {"at any moment": at_any_moment, "at a row": at_a_row, "as a command starts": as_a_command_starts}


def torture(
    folder: Path, kills: int, budget: int, seed: int, floats: str = MIXED, how: str | None = None
) -> tuple[int, int, int]:
    """Kill a study, and raise an AssertionError if anything differs from one left in peace.

    Where the kills came (how many different counts of evaluations), how many trials there are at the end, and
    how many evaluations were done again.
    """
    rng = random.Random(seed)
    peaceful, tortured = (prepare(folder / name, budget, floats) for name in ("peace", "torture"))
    run_to_the_end(peaceful)
    settled: dict[int, int] = {}  # how often a trial had been evaluated when it was first seen on record
    progress = set()
    for _ in range(kills):
        KILLS[how or rng.choice(list(KILLS))](tortured, rng)
        progress.add(look(tortured, settled))
    run_to_the_end(tortured)
    look(tortured, settled)
    again = sum(count - 1 for count in ended(tortured).values())
    assert rows(tortured) == rows(peaceful)
    assert max(ended(peaceful).values()) == 1
    return len(progress), len(rows(tortured)), again
