"""Four workers beside one on bbob-mixint: how many more evaluations the same share of targets needs.

    python -m experiments.workers run --dims 5 10 --instances 4 5 6 --seeds 1
    python -m experiments.workers show ...

Four workers get four points at a time, of which none knows the values of the others. What one worker hits
within 10, 20, 30 and 50 evaluations for each variable, four hit after so many times as many evaluations; 1
would be no loss at all, and four times as fast. Targets and instances are those of `experiments.coco`; a run
that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse

import numpy as np

from experiments.harness import RESULTS, markdown, publish
from experiments.record import lengthen
from experiments.small import BOOK, Run, read, run_one, share
from experiments.solvers import AT_A_TIME
from experiments.suites import Key, command_line, wanted

ONE, FOUR = "saltus", f"saltus, 4{AT_A_TIME}"
FILE = RESULTS / "workers.csv"
BUDGET = 100  # evaluations for each variable: more than four workers are to need
AT = (10, 20, 30, 50)
RESAMPLED = 1000


def needed(runs: list[Run], hits: int) -> float:
    """After how many evaluations these runs have hit so many targets, all together; infinite if never."""
    every = sorted(hit for run in runs for hit in run.hits)
    return float(every[hits - 1]) if 0 < hits <= len(every) else float("inf") if hits else 0.0


def ratio(one: list[Run], four: list[Run], evaluations: int) -> float:
    """How many times the evaluations four workers need for what one hits within so many."""
    return needed(four, sum(hit <= evaluations for run in one for hit in run.hits)) / evaluations


def interval(
    one: list[Run], four: list[Run], evaluations: int, rng: np.random.Generator
) -> tuple[float, float]:
    """95% of the ratio over problems that are drawn with replacement; both lists in the same order."""
    drawn: list[float] = []
    for _ in range(RESAMPLED):
        rows = rng.integers(len(one), size=len(one)).tolist()
        drawn.append(ratio([one[i] for i in rows], [four[i] for i in rows], evaluations))
    low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
    return float(low), float(high)


def table(record: dict[Key, Run], o: argparse.Namespace) -> str:
    """A row for each dimension and budget."""
    rows = []
    for D in o.dims:
        keys = [k for k in wanted(o, [ONE]) if k.D == D]
        keys = [k for k in keys if k in record and k._replace(method=FOUR) in record]
        if not keys:
            continue
        one, four = [record[k] for k in keys], [record[k._replace(method=FOUR)] for k in keys]
        for b in AT:
            low, high = interval(one, four, b * D, np.random.default_rng(0))
            shares = [f"{share(runs, D, b):.3f}" for runs in (one, four)]
            rows.append(
                [
                    str(D),
                    f"{b} D",
                    *shares,
                    f"{ratio(one, four, b * D):.2f} ({low:.2f}–{high:.2f})",
                    str(len(keys)),
                ]
            )
    header = [
        "D",
        "evaluations",
        "share, 1 worker",
        "4 workers",
        "evaluations for the same share, times",
        "runs",
    ]
    return markdown(header, rows)


def main() -> None:
    """The command line."""
    parser = command_line(__doc__, ["run", "show"], [5, 10], BUDGET, [ONE, FOUR], FILE)
    o = parser.parse_args()
    if o.what == "run":
        lengthen(BOOK, wanted(o, [ONE, FOUR]), o.budget, run_one, o.file, o.jobs)
    text = table(read(o.file), o)
    if o.what == "show" and o.file == FILE:
        publish("workers", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
