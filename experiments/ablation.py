"""Each part of the strategy without a model left out: what it is worth on bbob-mixint.

    python -m experiments.ablation [--dims 5 10 20] [--parts scan ...] [--seeds 3] [--jobs 2]

Instances 4 to 6, 1000 evaluations per dimension. The runs are those of `experiments.coco`, in its file; a
difference is taken problem by problem, and comes with its 95% interval.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from experiments.coco import FILE, FUNCTIONS, Run, completed, score
from experiments.harness import markdown, publish
from experiments.suites import Key

PARTS = ("scaling", "newton", "deep", "sweep", "neighbours", "scan", "local runs", "global runs")
WHOLE = "saltus-es"
INSTANCES = (4, 5, 6)
BUDGET = 1000


def difference(record: dict[Key, Run], method: str, D: int, seeds: int) -> str:
    """How much final and area fall when the method is used instead of the whole strategy."""
    rows = []
    for function in FUNCTIONS:
        for instance in INSTANCES:
            keys = [(function, instance, seed) for seed in range(seeds)]
            whole = score([record[Key(WHOLE, D, *key)] for key in keys], D, BUDGET)
            less = score([record[Key(method, D, *key)] for key in keys], D, BUDGET)
            rows.append([less.final - whole.final, less.area - whole.area])
    mean = np.mean(rows, axis=0)
    half = 1.96 * np.std(rows, axis=0, ddof=1) / math.sqrt(len(rows))
    return " / ".join(f"{m:+.3f} ± {h:.3f}" for m, h in zip(mean, half, strict=True))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dims", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", type=Path, default=FILE)
    o = parser.parse_args()
    methods = [WHOLE, *(f"{WHOLE} without {part}" for part in o.parts)]
    keys = [
        Key(method, D, function, instance, seed)
        for seed in range(o.seeds)
        for D in o.dims
        for method in methods
        for instance in INSTANCES
        for function in FUNCTIONS
    ]
    record = completed(keys, BUDGET, o.file, o.jobs)
    rows = [
        [method.removeprefix(f"{WHOLE} "), *(difference(record, method, D, o.seeds) for D in o.dims)]
        for method in methods[1:]
    ]
    text = markdown(["change of final / area", *(f"D = {D}" for D in o.dims)], rows)
    if tuple(o.parts) == PARTS:
        publish("ablation", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
