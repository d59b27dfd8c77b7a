"""What a generation and an evaluation cost in another version of the code, side by side with this one.

python -m experiments.versions OLD/src [--rounds 60]

A process for each version, with one BLAS thread; they take turns, so that a busy machine slows both alike,
and count their own CPU time. A figure is the median over the rounds; the ratio is the median of the rounds'
ratios, with the middle half of them behind it. A generation is `ask` and `tell` of whole batches on an
ellipsoid of which half of the variables are integers; an evaluation is one of `minimize` on a free function.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
SOURCE = HERE.parent.parent / "src"
CASES = (
    *(
        ("generation", strategy, N)
        for strategy in ("dx-nes-ici", "saltus-es", "cma-es")
        for N in (10, 20, 80)
    ),
    *(("evaluation", "saltus-es", N) for N in (2, 10)),
)
Figures = list[float]  # microseconds, one for each of CASES


def measure() -> None:
    """In a process of one version: a line of figures for each line that comes in."""
    import time

    import numpy as np

    import saltus
    from saltus.problems import ellipsoid_int

    def known(strategy: str) -> str:  # what it is called in this version
        return strategy if strategy in saltus.STRATEGIES else strategy.removesuffix("-es")

    def generations(strategy: str, N: int) -> float:
        problem = ellipsoid_int(N)
        optimizer = saltus.Optimizer(problem.space, strategy=known(strategy), mean=2.0, sigma=1.0, seed=1)
        spent, count = 0.0, 60
        for generation in range(count + 5):
            began = time.process_time()
            candidates = optimizer.ask()
            asked = time.process_time()
            values = problem.fun(np.array([c.params for c in candidates])).tolist()
            told = time.process_time()
            optimizer.tell(candidates, values)
            if generation >= 5:
                spent += asked - began + time.process_time() - told
        return spent / count

    def evaluations(strategy: str, N: int) -> float:
        space = saltus.Space([saltus.Float(-5, 5)] * (N // 2) + [saltus.Int(-9, 9)] * (N // 2))
        began = time.process_time()
        saltus.minimize(lambda x: float(x @ x), space, strategy=known(strategy), seed=1, budget=600)
        return (time.process_time() - began) / 600

    for _ in sys.stdin:
        figures = [
            1e6 * (generations if what == "generation" else evaluations)(strategy, N)
            for what, strategy, N in CASES
        ]
        print(json.dumps(figures), flush=True)


class Version:
    """A process that measures the code in a folder."""

    def __init__(self, source: Path) -> None:
        """Start it; the module is run by its path, so that nothing of another version is imported."""
        env = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE), "--measure"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def round(self) -> Figures:
        """One more line of figures."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process has no pipes")
        stdin.write("\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError("the process that measures has ended; its error stands above")
        figures: Figures = json.loads(line)
        return figures


def table(old: list[Figures], new: list[Figures]) -> str:
    """In Markdown: microseconds of both, and the ratio."""
    rows = ["| | N | old, us | new, us | ratio | middle half |", "|---|---:|---:|---:|---:|---|"]
    for i, (what, strategy, N) in enumerate(CASES):
        ratios = sorted(b[i] / a[i] for a, b in zip(old, new, strict=True))
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        medians = [statistics.median(figures[i] for figures in each) for each in (old, new)]
        what = f"{what} of `{strategy}`"
        cells = [what, N, *(f"{m:.0f}" for m in medians), f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, nargs="?", help="folder of saltus in the other version")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure()
        return
    if args.old is None or not (args.old / "saltus").is_dir():
        parser.error(f"expected a folder that holds the package saltus, got {args.old}")
    one, other = Version(args.old.resolve()), Version(SOURCE)
    old: list[Figures] = []
    new: list[Figures] = []
    for k in range(args.rounds + 1):
        pair = (one.round(), other.round()) if k % 2 else (other.round(), one.round())[::-1]
        if k:  # the first round warms up
            old.append(pair[0])
            new.append(pair[1])
    print(table(old, new))


if __name__ == "__main__":
    main()
