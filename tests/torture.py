"""Kill a study again and again, continue it each time, and compare it with one that was left in peace.

python -m tests.torture [--kills 100] [--budget 1500] [--seed 1] [--folder FOLDER]

Half of the kills come from outside at a random moment, with commands running; the other half come from
inside, in the middle of a random write to the record. `make torture` runs all of it.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from saltus import Study
from saltus.study.database import Database

STUDY = """
[study]
budget = {budget}
seed = 3
workers = 2

[space]
{floats}
k = {{ type = "int", low = 0, high = 20 }}
g = {{ type = "ordinal", values = [0.5, 1, 2, 4] }}
on = {{ type = "bool" }}

[objective]
command = ["awk", "-v", "x={{x}}", "-v", "y={{y}}", "-v", "k={{k}}", "-v", "g={{g}}", "-v", "on={{on}}",
           "-v", "trial={{trial}}", "-v", "log_file={{study_dir}}/log", "-f", "{{study_dir}}/bowl.awk"]
"""

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

# runs a study, and kills itself at the n-th row that it is about to write: in the middle of a transaction
SUICIDE = """
import os, signal, sys
import saltus.study.database as database
from saltus.cli import main

left = int(sys.argv[1])
insert = database._insert

def insert_or_die(*arguments):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    insert(*arguments)

if __name__ == "__main__":
    database._insert = insert_or_die
    sys.exit(main(["run", sys.argv[2]]))
"""


def prepare(folder: Path, budget: int, floats: str) -> Path:
    """A study in a folder."""
    folder.mkdir(parents=True)
    (folder / "bowl.awk").write_text(BOWL)
    (folder / "suicide.py").write_text(SUICIDE)
    study = folder / "study.toml"
    study.write_text(STUDY.format(budget=budget, floats=floats))
    return study


def run(study: Path) -> None:
    """To the end."""
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def run_and_kill(study: Path, rng: random.Random) -> None:
    """Begin or continue the study and kill it."""
    if rng.random() < 0.5:
        command = [sys.executable, str(study.parent / "suicide.py"), str(rng.randint(1, 120)), str(study)]
        subprocess.run(command, capture_output=True, timeout=600)
        return
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0.0, 1.2))
    process.send_signal(signal.SIGKILL)
    process.wait()


def rows(study: Path) -> list[tuple[object, ...]]:
    """What a study did: all but times."""
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
    known = [t.id for t in Study.open(study.with_suffix(".db")).trials() if t.status in ("done", "failed")]
    for trial in known:
        assert counts[trial], f"trial {trial} is on record, but was never evaluated"
        before = settled.setdefault(trial, counts[trial])
        assert counts[trial] == before, f"trial {trial} was on record, and was evaluated again"
    return len(known)


def torture(folder: Path, kills: int, budget: int, seed: int, floats: str = MIXED) -> str:
    """Do it, raise an AssertionError if anything differs, and say what was done."""
    rng = random.Random(seed)
    peaceful, tortured = (prepare(folder / name, budget, floats) for name in ("peace", "torture"))
    run(peaceful)
    settled: dict[int, int] = {}  # how often a trial had been evaluated when it was first seen on record
    progress = set()
    for _ in range(kills):
        run_and_kill(tortured, rng)
        if Database.is_made(tortured.with_suffix(".db")):
            progress.add(look(tortured, settled))
    run(tortured)
    look(tortured, settled)
    repeats = sum(row[3] == "repeated" for row in rows(tortured))
    again = sum(count - 1 for count in ended(tortured).values())
    assert rows(tortured) == rows(peaceful)
    assert max(ended(peaceful).values()) == 1
    return (
        f"{kills} kills over {budget} evaluations, at {len(progress)} different places: "
        f"the same {len(rows(tortured))} trials as without, {repeats} of them answered from the record; "
        f"{again} evaluations that were in flight were done again"
    )


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--budget", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for name, floats in (("mixed", MIXED), ("discrete", DISCRETE)):
            said = torture(folder / name, options.kills // 2, options.budget, options.seed, floats)
            print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main()
