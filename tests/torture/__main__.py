"""python -m tests.torture [--times 1] [--only NAME] [--seed 1] [--folder FOLDER]

All faults, and a table of what came of them: experiments/results/torture.md, from there into docs/trust.md.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments import embed
from experiments.harness import RESULTS, made_by, markdown

from . import DISCRETE, MIXED, asynchronous, faults, torture

SHIM = "SALTUS_TORTURE_SHIM"
SIZE = "SALTUS_TORTURE_SIZE"  # how many evaluations a study that is killed has
Fault = Callable[[Path, int, random.Random], str]


def unwaiting(folder: Path, count: int, rng: random.Random) -> str:
    """The same kinds of kills, of asynchronous studies."""
    size = int(os.environ.get(SIZE, "200"))
    studies = {"mixed": MIXED, "discrete": DISCRETE}
    done = [
        asynchronous.torture(folder / n, count // 2, size, rng.randrange(10**6), f)
        for n, f in studies.items()
    ]
    places, trials, again = (sum(numbers) for numbers in zip(*done, strict=True))
    return (
        f"at {places} different places; none of {trials} trials lost or doubled, each asked again by a "
        f"search that is told the same; {again} in flight evaluated again"
    )


def kills(folder: Path, count: int, rng: random.Random, *, how: str) -> str:
    """Half of them with points that repeat."""
    size = int(os.environ.get(SIZE, "200"))
    studies = {"mixed": MIXED, "discrete": DISCRETE}
    done = [torture(folder / n, count // 2, size, rng.randrange(10**6), f, how) for n, f in studies.items()]
    places, trials, again = (sum(numbers) for numbers in zip(*done, strict=True))
    return f"at {places} different places; the same {trials} trials, {again} in flight evaluated again"


ALL: dict[str, tuple[int, Fault]] = {
    "killed at any moment": (40, partial(kills, how="at any moment")),
    "killed in the middle of a transaction": (40, partial(kills, how="at a row")),
    "killed as a command starts": (40, partial(kills, how="as a command starts")),
    "asynchronous, killed in all three ways": (60, unwaiting),
    "commands left running by such a kill": (40, faults.left_running),
    "single worker processes killed": (20, faults.workers),
    "an I/O error at the n-th write or sync": (60, faults.io_errors),
    "the disk full from the n-th write on": (30, faults.full_disk),
    "memory errors": (30, faults.memory_errors),
    "power cuts: the log cut, zeroed or garbled": (30, faults.power_cuts),
    "the record damaged, cut or zeroed": (500, faults.damage),
    "forged rows with right checksums": (100, faults.forgeries),
    "clocks that jump, between and in sessions": (15, faults.clocks),
}


_BY_THE_SHIM = ("write or sync", "write on")


def preloaded() -> None:
    """Begin again with the shim that makes writes fail, which has to be loaded first."""
    if SHIM in os.environ:
        return
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/shim.so"
        source = str(Path(__file__).with_name("shim.c"))
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        environment = {**os.environ, SHIM: library, "LD_PRELOAD": library}
        words = [sys.executable, "-m", "tests.torture", *sys.argv[1:]]
        sys.exit(subprocess.run(words, env=environment).returncode)


def main() -> None:
    """Parse, run, print, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=float, default=1.0, help="how many of each, relative to the table")
    parser.add_argument("--only", help="only faults whose name holds this; the table is not written")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    if options.only is None or any(options.only in name for name in ALL if name.endswith(_BY_THE_SHIM)):
        preloaded()
    os.environ.pop("LD_PRELOAD", None)  # commands need it not
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, (name, (usual, fault)) in enumerate(ALL.items()):
            if options.only is None or options.only in name:
                count, tick = max(2, round(usual * options.times)), time.monotonic()
                folder = (options.folder or Path(temporary)) / str(number)
                folder.mkdir(parents=True)
                said = fault(folder, count, random.Random(options.seed))
                table.append([name, str(count), said])
                print(f"{name}: {count} times: {said} ({time.monotonic() - tick:.0f} s)", flush=True)
    if options.only is None:
        command = " ".join(["python -m tests.torture", *sys.argv[1:]])
        text = markdown(["what", "times", "what came of it"], table)
        (RESULTS / "torture.md").write_text(f"{made_by(command)}\n\n{text}\n")
        embed.main()


if __name__ == "__main__":
    main()
