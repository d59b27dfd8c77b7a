"""Try the mutants, and compare the survivors with those that are listed."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

from tests.mutation import ALIVE, ROOT, SOURCE
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.running import ARGUMENTS, Foreman, Reach, measure

TARGETS = ("strategy/*.py", "search/*.py", "order.py")
# the direct tests: those of whole studies and processes reach all of this too, slowly
WORDS = ("order", "serialize")
FOLDERS = ("golden", "optimizer", "reference", "strategy", "search", "space")
LISTED = ROOT / "tests" / "mutants.md"
OUT = ROOT / "out"


def listed(text: str) -> dict[tuple[str, str, str], str]:
    """The survivors that tests/mutants.md names, with their reasons."""
    file, scope, found = "", "", {}
    for line in text.splitlines():
        if line.startswith("## "):
            file, scope = line[3:].strip(), ""
        elif line.startswith("###"):
            scope = line[3:].strip()
        elif match := re.fullmatch(r"- (`.*` -> `.*`(?: \(\d+\))?): (.+)", line):
            found[file, scope, match[1]] = match[2]
    return found


def report(mutants: list[Mutant], fates: dict[str, str], known: dict[tuple[str, str, str], str]) -> int:
    """A table, survivors that are not listed, listed ones that do not survive; 1 if there are new ones."""
    print("\n| file | mutants | killed | by timeout | listed | new survivors | killed of those not listed |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    new: dict[tuple[str, str], list[str]] = defaultdict(list)
    gone = {key for key in known if key[0] in {m.file for m in mutants}}
    for file in dict.fromkeys(m.file for m in mutants):
        count: Counter[str] = Counter()
        for m in mutants:
            if m.file == file and m.id in fates:
                alive = fates[m.id] in ALIVE
                fate = "listed" if alive and m[:3] in known else "new" if alive else fates[m.id]
                count[fate] += 1
                gone -= {m[:3]} if alive else set()
                if fate == "new":
                    new[file, m.scope].append(
                        f"{m.change}: " + ("?" if fates[m.id] == "survived" else "no test")
                    )
        dead, total = count["killed"] + count["timeout"], count.total()
        share = f"{dead / (total - count['listed']):.1%}" if total > count["listed"] else ""
        cells = [file, total, dead, count["timeout"], count["listed"], count["new"], share]
        print("| " + " | ".join(map(str, cells)) + " |")
    for (file, scope), changes in new.items():
        print("\n".join([f"\n## {file}", f"### {scope}", *(f"- {change}" for change in changes)]))
    for key in sorted(gone):
        print(f"listed, but it does not survive any more: {' '.join(key)}")
    return int(bool(new))


def digest(paths: Sequence[Path]) -> str:
    return hashlib.sha1(b"\0".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=TARGETS, help="files of src/saltus; patterns are fine")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests for one mutant at most")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before NumPy is loaded; threads do not survive a fork
    settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate)
    )
    settings.load_profile("mutants")
    if args.measure:
        reach = measure([str(ROOT / file) for file in args.measure])
        for file, at in places(args.measure).items():
            at.write_text(json.dumps(reach.of(file)))
        return 0
    results = OUT / "mutants.jsonl"
    (OUT / "reach").mkdir(parents=True, exist_ok=True)
    if args.fresh:
        results.unlink(missing_ok=True)
    found = [path for name in FOLDERS for path in (ROOT / "tests" / name).glob("test_*.py")]
    found += [path for word in WORDS for path in (ROOT / "tests").glob(f"test_{word}*.py")]
    tests = sorted(path.relative_to(ROOT).as_posix() for path in found)
    if unknown := [file for file, at in places(tests).items() if not at.exists()]:
        print(f"which test reaches which line, of {len(unknown)} files of tests ...", flush=True)
        subprocess.run([sys.executable, "-m", "tests.mutation", "--measure", *unknown], cwd=ROOT, check=True)
    reach = Reach.joined([read_reach(at) for at in places(tests).values()])
    paths = dict.fromkeys(path for pattern in args.only for path in sorted(SOURCE.glob(pattern)))
    mutants = [mutant for path in paths for mutant in kept(path)]
    known = listed(LISTED.read_text()) if LISTED.exists() else {}
    state = {file: at.stem for file, at in places(tests).items()}
    fates, asked = read(results), remember(state)
    todo = [m for m in mutants if m.id not in fates or (again(fates[m.id], asked) and m[:3] not in known)]
    print(f"{len(mutants)} mutants, {len(todo)} to be tried with {len(reach.seconds)} tests", flush=True)
    if todo:
        endured = {
            m.id: [file for file, at in recall(fates[m.id].tests).items() if state.get(file) == at]
            for m in todo
            if m.id in fates and fates[m.id].limit >= args.seconds
        }
        foreman = Foreman(todo, reach, args.jobs, args.seconds, results, asked, endured)
        pytest.main([*ARGUMENTS, *tests], plugins=[foreman])
    return report(mutants, {key: fate.fate for key, fate in read(results).items()}, known)


def kept(path: Path) -> list[Mutant]:
    """The mutants of a file; to make them takes a while, so they are kept as long as nothing changes."""
    made = digest([path, Path(__file__).with_name("mutants.py")])[:16]
    at = OUT / "reach" / f"mutants-{path.parent.name}-{path.stem}-{made}.pickle"
    if not at.exists():
        at.write_bytes(pickle.dumps(mutants_of(path)))
    found: list[Mutant] = pickle.loads(at.read_bytes())
    return found


class Fate(NamedTuple):
    """What became of a mutant: a digest of the tests that decided it, and how many seconds they had."""

    fate: str
    tests: str
    limit: float


def places(tests: Sequence[str]) -> dict[str, Path]:
    """Where it is kept what a file of tests reaches: another place whenever it or the source has changed."""
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    around = digest([*SOURCE.rglob("*.py"), *(path for path in helpers if path.parent.name != "mutation")])
    return {
        file: OUT
        / "reach"
        / f"{hashlib.sha1((around + digest([ROOT / file])).encode()).hexdigest()[:16]}.json"
        for file in tests
    }


def read_reach(path: Path) -> Reach:
    """What was measured."""
    lines, seconds = json.loads(path.read_text(encoding="utf-8"))
    return Reach({file: {int(n): tests for n, tests in of.items()} for file, of in lines.items()}, seconds)


def remember(state: dict[str, str]) -> str:
    """Keep which files of tests there are, and how they are; a digest, by which `recall` finds it."""
    text = json.dumps(state)
    name = hashlib.sha1(text.encode()).hexdigest()[:16]
    (OUT / "reach" / f"tests-{name}.json").write_text(text)
    return name


def recall(name: str) -> dict[str, str]:
    """The files of tests of then; empty if it was not kept."""
    path = OUT / "reach" / f"tests-{name}.json"
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def again(fate: Fate, asked: str) -> bool:
    """Whether a survivor of other tests than these."""
    return fate.fate in ALIVE and fate.tests != asked


def read(results: Path) -> dict[str, Fate]:
    """The fates so far, by the mutant's id."""
    rows = map(json.loads, results.read_text(encoding="utf-8").splitlines()) if results.exists() else []
    return {row["id"]: Fate(row["fate"], row["tests"], row.get("limit", 0.0)) for row in rows}


if __name__ == "__main__":
    sys.exit(main())
