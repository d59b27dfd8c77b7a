"""Each part of the model left out: what it is worth at small budgets on bbob-mixint.

    python -m experiments.ablation_model run [--dims 5 10] [--parts warping ...] [--seeds 1] [--jobs 2]
    python -m experiments.ablation_model show ...

Instances 4 to 6, up to 50 evaluations for each variable. The runs are those of `experiments.small`, in a file
of their own; a difference is taken problem by problem, and comes with its 95% interval.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from experiments.coco import FUNCTIONS
from experiments.harness import RESULTS, markdown, publish
from experiments.record import lengthen
from experiments.small import BOOK, Run, read, run_one, share
from experiments.suites import Key, command_line, wanted
from saltus.search.settings import OPTIONAL, OPTIONAL_WITH_A_MODEL

WHOLE = "saltus"
# for constraints, integers alone and continuous variables alone: bbob-mixint has none of them
ELSEWHERE = ("limits", "evolution", "lattice", "valley")
PARTS = [part for part in OPTIONAL_WITH_A_MODEL if part not in (*OPTIONAL, *ELSEWHERE)]
FILE = RESULTS / "ablation-model.csv"
BUDGETS = (10, 20, 50)


def difference(record: dict[Key, Run], method: str, D: int, budget: int, seeds: int) -> str:
    """How much the share of targets falls without a part, over the problems that both were run on."""
    rows = []
    for function in FUNCTIONS:
        for instance in (4, 5, 6):
            keys = [Key(method, D, function, instance, seed) for seed in range(seeds)]
            pairs = [(record[w], record[k]) for k in keys if k in record and (w := _whole(k)) in record]
            if pairs:
                whole, less = (share([pair[i] for pair in pairs], D, budget) for i in (0, 1))
                rows.append(less - whole)
    if len(rows) < 2:
        return ""
    half = 1.96 * float(np.std(rows, ddof=1)) / math.sqrt(len(rows))
    return f"{np.mean(rows):+.3f} ± {half:.3f}"


def _whole(key: Key) -> Key:
    return key._replace(method=WHOLE)


def table(record: dict[Key, Run], o: argparse.Namespace) -> str:
    """A row for each part, a column for each budget."""
    places = [(D, budget) for D in o.dims for budget in BUDGETS if budget <= o.budget]
    rows = []
    for part in o.parts:
        cells = [difference(record, f"{WHOLE} without {part}", D, budget, o.seeds) for D, budget in places]
        rows.append([f"without {part}", *cells])
    return markdown(["change of the share of targets", *(f"D = {D}, {b} D" for D, b in places)], rows)


def main() -> None:
    """The command line."""
    parser = command_line(__doc__, ["run", "show"], [5, 10], 50, [WHOLE], FILE)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.set_defaults(seeds=1)
    o = parser.parse_args()
    if o.what == "run":
        methods = [WHOLE, *(f"{WHOLE} without {part}" for part in o.parts)]
        lengthen(BOOK, wanted(o, methods), o.budget, run_one, o.file, o.jobs)
    text = table(read(o.file), o)
    if o.what == "show" and o.file == FILE:
        publish("ablation-model", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
