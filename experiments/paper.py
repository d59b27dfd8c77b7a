"""The paper's tables and figures, ours beside the published ones.

table2   DX-NES-ICI and CMA-ES with Margin on four functions, N = 20, 40, 80
table3   leap on and off
table4   bias on and off
figure5  the mean's path on 40-D NIntTablet, with and without leap
figure6  standard deviations on 80-D EllipsoidInt, with and without bias
all      all of them

Settings, success, failure and measures are the paper's: experiments/runs.py. Every finished trial is kept
in OUT/trials.csv at once, and a trial that is there is not run again: a command that was stopped goes on.
Tables are written to OUT as Markdown and CSV, figures as PNG and SVG.

--population sweep runs all 13 population sizes, takes the best by the paper's two measures (most successes,
then fewest evaluations), and writes OUT/TABLE-sweep.*. Methods are the names of saltus.STRATEGIES.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import published
from experiments.harness import RESULTS, Summary, Trial, command_line, made_by, markdown, summary
from experiments.published import TABLE2, TABLE3, TABLE4, Published
from experiments.record import Cell, complete
from experiments.runs import paper_trial
from saltus import STRATEGIES
from saltus.problems import PAPER
from saltus.strategy import default_population

PROBLEMS = {make(2).name: make for make in PAPER}
TABLES = {"table2": TABLE2, "table3": TABLE3, "table4": TABLE4}
FIGURES = ("figure5", "figure6")


def run(cell: Cell, seed: int) -> Trial:
    """One trial of a cell."""
    return paper_trial(PROBLEMS[cell.function](cell.N), cell.population, seed=seed, strategy=cell.method)


class Row(NamedTuple):
    """A cell beside the paper's."""

    cell: Cell
    ours: Summary
    paper: Published | None

    @property
    def successes_agree(self) -> bool:
        """Whether the paper's rate of success lies in the 95% interval of ours."""
        from scipy.stats import (
            binomtest,
        )  # here, as are the figures: the processes that run trials need neither

        assert self.paper is not None
        low, high = binomtest(self.ours.successes, self.ours.trials).proportion_ci(0.95)
        return bool(low <= self.paper.successes / 100 <= high)

    @property
    def evaluations_agree(self) -> bool:
        """Whether the paper's mean lies in the 95% interval of ours, or within 5% of it."""
        assert self.paper is not None
        if math.isnan(self.paper.mean):
            return True  # tables 3 and 4 tell successes only
        return abs(self.ours.mean - self.paper.mean) <= max(0.05 * self.paper.mean, self.ours.half_width)

    @property
    def agreement(self) -> str:
        """In a word."""
        if self.paper is None:
            return "-"
        differ = []
        if not self.successes_agree:
            from scipy.stats import fisher_exact

            both = [
                [s, n - s] for s, n in ((self.ours.successes, self.ours.trials), (self.paper.successes, 100))
            ]
            differ.append(f"successes (two samples: p = {fisher_exact(np.array(both)).pvalue:.2f})")
        if not self.evaluations_agree:
            differ.append("evaluations")
        return f"no: {' and '.join(differ)}" if differ else "yes"

    def plain(self) -> dict[str, Any]:
        """As a flat dict, for CSV and JSON; numbers that there are not are None."""
        paper = self.paper or Published(-1)
        numbers = {
            "trials": self.ours.trials,
            "successes": self.ours.successes,
            "evaluations": self.ours.mean,
            "half_width": self.ours.half_width,
            "iqr": self.ours.iqr,
            "paper_successes": None if self.paper is None else paper.successes,
            "paper_evaluations": paper.mean,
            "paper_iqr": paper.iqr,
            "paper_population": paper.population,
        }
        known = {k: None if v is None or math.isnan(v) else round(v, 1) for k, v in numbers.items()}
        return {**self.cell._asdict(), **known, "agree": self.agreement}

    def cells(self) -> list[str]:
        """As a row of the Markdown table."""
        ours, paper = self.ours, self.paper or Published(-1)
        theirs = "-" if self.paper is None else f"{paper.successes}/100"
        mean = f"{ours.mean:.0f} ± {ours.half_width:.0f}" if ours.successes > 1 else _whole(ours.mean)
        return [
            self.cell.function,
            str(self.cell.N),
            self.cell.method,
            f"{ours.successes}/{ours.trials}",
            theirs,
            mean,
            _whole(paper.mean),
            _whole(ours.iqr),
            _whole(paper.iqr),
            str(self.cell.population),
            "-" if paper.population is None else str(paper.population),
            self.agreement,
        ]


Every = dict[tuple[str, int, str], list[Row]]  # by function, dimension and method: a row for each population
HEADER = ["function", "N", "method", "successes", "paper", "evaluations", "paper"]
HEADER += ["IQR", "paper", "λ", "paper", "agree"]


def _whole(number: float) -> str:
    return "-" if math.isnan(number) else f"{number:.0f}"


def names_of(table: str, arguments: argparse.Namespace) -> list[tuple[str, int, str]]:
    """Function, dimension and method of each row of a table."""
    keys = list(TABLES[table])
    functions = arguments.functions or list(dict.fromkeys(f for f, _, _ in keys))
    dims = arguments.dims or list(dict.fromkeys(N for _, N, _ in keys))
    methods = arguments.methods or list(dict.fromkeys(m for _, _, m in keys))
    return [(f, N, m) for f in functions for N in dims for m in methods]


def populations(name: tuple[str, int, str], choice: str) -> Iterable[int]:
    """The population sizes of a row."""
    if choice == "sweep":
        return published.SWEEP
    if choice != "paper":
        return [int(choice)]
    if name[:2] not in {key[:2] for key in TABLE2}:
        raise SystemExit(f"--population paper: the paper has no N = {name[1]}; give a number, or sweep")
    return [published.population(*name)]


def best_of(rows: list[Row]) -> Row:
    """By the paper's two measures in order: most successes, then fewest evaluations."""
    return min(rows, key=lambda row: (-row.ours.successes, row.ours.mean))


def measured(name: str, arguments: argparse.Namespace) -> Every:
    """The rows of a table, at every population size; what is missing of them is run."""
    cells = {
        key: [Cell(*key, size) for size in populations(key, arguments.population)]
        for key in names_of(name, arguments)
    }
    everything = [cell for some in cells.values() for cell in some]
    record = complete(everything, arguments.trials, run, arguments.out / "trials.csv", arguments.jobs)
    return {key: [Row(c, summary(record[c].values()), None) for c in some] for key, some in cells.items()}


def beside_the_paper(name: str, every: Every) -> list[Row]:
    """Each row at its best, with the paper's cell: of the same population, or at its own best."""
    best = []
    for key, rows in every.items():
        row, theirs = best_of(rows), TABLES[name].get(key)
        if theirs and (len(rows) > 1 or theirs.population in (None, row.cell.population)):
            row = row._replace(paper=theirs)
        best.append(row)
    return best


def write(name: str, every: Every, best: list[Row], arguments: argparse.Namespace) -> None:
    """The table as Markdown and CSV, and the picture of a sweep."""
    sweep = arguments.population == "sweep"
    if not (sweep or arguments.whole) and arguments.out.resolve() == RESULTS:
        print(f"{name}: a part of the table is not written to {RESULTS}, which has it all", file=sys.stderr)
        return
    path = arguments.out / (f"{name}-sweep" if sweep else name)
    text = markdown(HEADER, [row.cells() for row in best])
    lines = best
    if sweep:
        text += f"\n\n{what_the_default_costs(every)}"
        lines = [row for rows in every.values() for row in rows]
        from experiments import figures

        figures.sweep({row.cell: row.ours for row in lines}, path)
    keep(path, command_line("paper"), arguments.trials, text, [row.plain() for row in lines])


def keep(path: Path, command: str, trials: int, text: str, lines: list[dict[str, Any]]) -> None:
    """PATH.md with what made it and the text, and PATH.csv with a line for each dict."""
    path.with_suffix(".md").write_text(f"{made_by(command)}, seeds 0 to {trials - 1}\n\n{text}\n")
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def what_the_default_costs(every: Every) -> str:
    """The best population of the sweep, the paper's and the default one, as a table.

    What a population costs is evaluations of all runs for each success: failures are paid, too.
    """
    lines = []
    for (function, N, method), rows in every.items():
        by_size = {row.cell.population: row for row in rows}
        paper = TABLE2.get((function, N, method))
        best, default = best_of(rows), by_size.get(default_population(N))
        extra = default.ours.per_success / best.ours.per_success - 1 if default else math.nan
        lines.append(
            [
                function,
                str(N),
                method,
                _at(best),
                _at(by_size.get(paper.population)) if paper and paper.population else "-",
                _at(default),
                "-" if math.isnan(extra) else f"{extra:+.0%}",
            ]
        )
    header = ["function", "N", "method", "best λ", "paper's λ", "default λ", "default costs"]
    return markdown(header, lines)


def _at(row: Row | None) -> str:
    return "-" if row is None else f"{row.cell.population}: {row.ours}"


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=[*TABLES, *FIGURES, "all"], metavar="TABLE")
    parser.add_argument("--trials", type=positive, default=100, help="runs of each cell (100)")
    parser.add_argument("--dims", type=int, nargs="+", help="dimensions (the table's)")
    parser.add_argument("--functions", nargs="+", choices=PROBLEMS, metavar="NAME", help=", ".join(PROBLEMS))
    parser.add_argument(
        "--methods", nargs="+", choices=STRATEGIES, metavar="NAME", help=", ".join(STRATEGIES)
    )
    parser.add_argument("--population", type=_population, default="paper", help="paper, sweep or a number")
    parser.add_argument("--jobs", type=positive, default=2, help="processes (2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder (experiments/results)")
    parser.add_argument("--json", action="store_true", help="print rows as JSON instead of a table")
    chosen = parser.parse_args(arguments)
    check_common(parser, chosen)
    of_tables = ("trials", "dims", "functions", "methods", "population")
    given = [f"--{name}" for name in of_tables if getattr(chosen, name) != parser.get_default(name)]
    chosen.whole = not given
    if given and chosen.what in FIGURES:
        parser.error(f"{chosen.what} has no {' and no '.join(given)}: its settings are the paper's")
    return chosen


def check_common(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    """What this command line and that of experiments.beyond demand alike."""
    for N in chosen.dims or []:
        if N < 2 or N % 2:
            parser.error(f"argument --dims: expected even numbers from 2 on, got {N}")
    if chosen.out.exists() and not chosen.out.is_dir():
        parser.error(f"argument --out: expected a folder, got the file {chosen.out}")


def positive(text: str) -> int:
    """A number of trials or processes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive whole number, got {text}")
    return int(text)


def _population(text: str) -> str:
    if text in ("paper", "sweep"):
        return text
    if not text.isdecimal() or int(text) < 4 or int(text) % 2:
        raise argparse.ArgumentTypeError(f"expected paper, sweep or an even number from 4 on, got {text}")
    return text


def main() -> None:
    """Run, write and print."""
    arguments = options()
    arguments.out.mkdir(parents=True, exist_ok=True)
    chosen = [*TABLES, *FIGURES] if arguments.what == "all" else [arguments.what]
    printed: dict[str, Any] = {}
    for name in chosen:
        if name in TABLES:
            every = measured(name, arguments)
            rows = beside_the_paper(name, every)
            write(name, every, rows, arguments)
            printed[name] = [row.plain() for row in rows]
            text = markdown(HEADER, [row.cells() for row in rows])
        else:
            from experiments import figures

            draw = {"figure5": figures.figure5, "figure6": figures.figure6}[name]
            printed[name] = [str(path) for path in draw(arguments.out)]
            text = "\n".join(printed[name])
        if not arguments.json:
            print(f"\n{name}\n\n{text}", flush=True)
    if arguments.json:
        print(json.dumps(printed, indent=1))


if __name__ == "__main__":
    main()
