"""How large the house is, and how far one evaluation walks in it: one script for all versions of the code.

python -m experiments.house [--src src] [--runs 5] [--list]

Lines of code: lines on which a token stands that is neither a comment nor white space, without those of
docstrings. A string over several lines counts with all of them. So counted, 0.1 has 8,424 lines.

The way of an evaluation: `minimize(workers=2)` without a model on one float and one integer, seed 1, for the
six evaluations of its first generation; every call of a function of `saltus` in the parent process, of all
threads, in the order in which they begin. A switch is a call in another file than the call before it; the
first call, out of the user's file, is one. Functions, files and types are those of the first run in the
process, when no cache is filled. Threads take turns a little differently each time, so calls and switches are
medians of some runs. So counted, 0.1 takes 185 functions in 28 files with 264 switches, give or take two.
What one more evaluation adds, without setting up and closing, is the difference to a run of eleven
generations, for each of the sixty evaluations that this has more.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import sys
import threading
import tokenize
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

GENERATION = 6  # the population for two variables
MORE = 10  # generations of the longer run, besides the first
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of_code(text: str) -> int:
    """Lines without docstrings, comments and blank lines."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def size(package: Path) -> tuple[int, int]:
    """How many modules a package has, and how many lines of code."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))]
    return len(texts), sum(map(lines_of_code, texts))


class Call(NamedTuple):
    """A function that was called."""

    file: str
    function: str


class Walk:
    """While it is entered, notes every call of a function of the package, in the order of beginning."""

    def __init__(self, package: Path) -> None:
        """Nothing is noted before `with`."""
        self._root = f"{package}/"
        self.calls: list[Call] = []
        self.types: Counter[str] = Counter()  # classes of the package, by how often they were arguments

    def __enter__(self) -> Walk:
        """Also threads that begin from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        """The end."""
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self._root):
            return
        self.calls.append(Call(code.co_filename.removeprefix(self._root), code.co_qualname))
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            kind = type(frame.f_locals.get(name))
            if name != "self" and kind.__module__.split(".")[0] == "saltus":
                self.types[kind.__qualname__] += 1

    @property
    def switches(self) -> int:
        """How often a call is in another file than the one before it; the first one is."""
        files = ["", *(call.file for call in self.calls)]
        return sum(a != b for a, b in pairwise(files))


def cost(p: dict[str, float]) -> float:
    """The objective; module level, for the workers."""
    return (p["x"] - 1.0) ** 2 + (p["k"] - 7) ** 2


def walk(package: Path, evaluations: int) -> Walk:
    """A short run of `minimize`, watched."""
    import saltus

    home = Path(saltus.__file__).resolve().parent
    if home != package:
        raise RuntimeError(f"saltus was to be imported from {package}, and is from {home}")
    space = saltus.Space({"x": saltus.Float(-5, 5), "k": saltus.Int(0, 20)})
    # what older versions call saltus
    strategy = "saltus-es" if "saltus-es" in saltus.STRATEGIES else "saltus"
    saltus.minimize(cost, space, strategy=strategy, seed=1, budget=1, workers=2)  # loads what is loaded late
    with Walk(home) as seen:
        saltus.minimize(cost, space, strategy=strategy, seed=1, budget=evaluations, workers=2)
    return seen


def table(package: Path, walks: list[Walk], longer: list[Walk]) -> str:
    """All figures, in Markdown."""
    modules, lines = size(package)
    switches = statistics.median(w.switches for w in walks)
    long = statistics.median(w.switches for w in longer)
    first = walks[0]
    rows = [
        ("modules", f"{modules}"),
        ("lines of code", f"{lines:,}"),
        ("functions on the way of a generation", f"{len(set(first.calls))}"),
        ("files", f"{len({call.file for call in first.calls})}"),
        ("types handed on", f"{len(first.types)}"),
        ("calls", f"{statistics.median(len(w.calls) for w in walks):.0f}"),
        ("switches of file", f"{switches:.0f}"),
        ("switches of one more evaluation", f"{(long - switches) / (MORE * GENERATION):.1f}"),
    ]
    return "\n".join(["| | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)])


def listing(seen: Walk) -> str:
    """Functions by file, in the order of their first call, with how often; and the types."""
    counts = Counter(seen.calls)
    by_file: dict[str, list[str]] = {}
    for call, n in counts.items():
        by_file.setdefault(call.file, []).append(f"{call.function} {n}")
    parts = [f"{file}: {', '.join(functions)}" for file, functions in by_file.items()]
    kinds = ", ".join(f"{kind} {n}" for kind, n in seen.types.most_common())
    return "\n\n".join([*parts, f"types: {kinds}"])


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--src", type=Path, default=Path(__file__).parent.parent / "src", help="folder of saltus"
    )
    parser.add_argument("--runs", type=int, default=5, help="of each length, for the medians")
    parser.add_argument("--list", action="store_true", help="also name the functions and types, with counts")
    args = parser.parse_args(arguments)
    source = args.src.resolve()
    sys.path.insert(0, str(source))
    package = source / "saltus"
    walks = [walk(package, GENERATION) for _ in range(args.runs)]
    longer = [walk(package, (1 + MORE) * GENERATION) for _ in range(args.runs)]
    print(table(package, walks, longer))
    if args.list:
        print(f"\n{listing(walks[0])}")


if __name__ == "__main__":
    main()
