"""Do equal candidates share their weights in CMA-ES with Margin, or is each given its own?

python -m experiments.ties [--trials 100] [--dims 20] [--jobs 2]

The cells of table 2 in which runs fail, at the paper's population sizes: successes, mean evaluations with
their 95% interval, interquartile range, and the evaluations after which the median failure ended.
"""

from __future__ import annotations

import statistics

from experiments import published
from experiments.harness import Trial, cells_of, markdown, options, publish, summary
from experiments.paper import PROBLEMS
from experiments.runs import paper_trial
from saltus.strategy.margin import Margin

METHOD = "cma-es-margin"
RULES = {"shared": True, "by order": False}


def trial(rule: str, function: str, N: int, seed: int) -> Trial:
    """One run at the paper's settings."""
    Margin.equals_share = RULES[rule]
    size = published.population(function, N, METHOD)
    return paper_trial(PROBLEMS[function](N), size, seed=seed, strategy=METHOD)


def main() -> None:
    """Run all cells and compare with the paper."""
    arguments = options(__doc__, trials=100, dims=[20])
    functions = ["NIntTablet", "ReversedEllipsoidInt"]
    cells = [(rule, f, N) for N in arguments.dims for f in functions for rule in RULES]
    rows = []
    for (rule, function, N), trials in cells_of(trial, cells, arguments).items():
        s = summary(trials)
        failures = [t.evaluations for t in trials if not t.success]
        end = f"{statistics.median(failures):.0f}" if failures else "-"
        mean = f"{s.mean:.0f} ± {s.half_width:.0f}"
        rows.append([function, str(N), rule, f"{s.successes}/{s.trials}", mean, f"{s.iqr:.0f}", end])
        if rule == list(RULES)[-1]:
            paper = published.TABLE2[function, N, METHOD]
            rows.append(
                [
                    function,
                    str(N),
                    "the paper",
                    f"{paper.successes}/100",
                    f"{paper.mean}",
                    f"{paper.iqr}",
                    "-",
                ]
            )
    publish(
        "ties",
        markdown(["function", "N", "equals", "successes", "evaluations", "IQR", "median failure"], rows),
    )


if __name__ == "__main__":
    main()
