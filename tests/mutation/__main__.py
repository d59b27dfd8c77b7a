"""Try the mutants, and compare the survivors with those that are listed."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.mutation import ALIVE, ROOT, SOURCE
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.running import ARGUMENTS, Foreman, Reach, measure

TARGETS = ("strategy/*.py", "search/*.py", "order.py")
# the direct tests: those of whole studies and processes reach all of this too, slowly
WORDS = ("optimizer", "order", "serialize")
FOLDERS = ("golden", "reference", "strategy", "search", "space")
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
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before NumPy is loaded; threads do not survive a fork
    settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate)
    )
    settings.load_profile("mutants")
    tests = [str(ROOT / "tests" / name) for name in FOLDERS if (ROOT / "tests" / name).exists()]
    tests += [str(p) for word in WORDS for p in sorted((ROOT / "tests").glob(f"test_{word}*.py"))]
    if args.measure:
        args.measure.write_text(json.dumps(measure(tests)))
        return 0
    OUT.mkdir(exist_ok=True)
    results, state = OUT / "mutants.jsonl", digest([*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
    reached = OUT / f"mutants-reach-{state[:12]}.json"
    if args.fresh:
        results.unlink(missing_ok=True)
    if not reached.exists():
        print("which test reaches which line ...", flush=True)
        subprocess.run(
            [sys.executable, "-m", "tests.mutation", "--measure", str(reached)], cwd=ROOT, check=True
        )
    lines, seconds = json.loads(reached.read_text())
    reach = Reach({file: {int(n): t for n, t in of.items()} for file, of in lines.items()}, seconds)
    mutants = [m for pattern in args.only for path in sorted(SOURCE.glob(pattern)) for m in mutants_of(path)]
    known = listed(LISTED.read_text()) if LISTED.exists() else {}
    fates, asked = read(results), digest([*(ROOT / "tests").rglob("test_*.py")])
    todo = [m for m in mutants if m.id not in fates or (again(fates[m.id], asked) and m[:3] not in known)]
    print(f"{len(mutants)} mutants, {len(todo)} to be tried with {len(seconds)} tests", flush=True)
    if todo:
        foreman = Foreman(todo, reach, args.jobs, args.seconds, results, asked)
        pytest.main([*ARGUMENTS, *tests], plugins=[foreman])
    return report(mutants, {key: fate for key, (fate, _) in read(results).items()}, known)


def again(fate: tuple[str, str], asked: str) -> bool:
    """Whether a survivor of other tests than these."""
    return fate[0] in ALIVE and fate[1] != asked


def read(results: Path) -> dict[str, tuple[str, str]]:
    """The fates so far and a digest of the tests that decided them, by the mutant's id."""
    rows = map(json.loads, results.read_text().splitlines()) if results.exists() else []
    return {row["id"]: (row["fate"], row["tests"]) for row in rows}


if __name__ == "__main__":
    sys.exit(main())
