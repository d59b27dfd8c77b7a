"""Small budgets on bbob-mixint, 3 to 100 evaluations for each variable: ours and the peers.

    python -m experiments.small run --dims 5 10 20 --instances 4 5 6 --seeds 3
    python -m experiments.small show ...        shares of targets hit at each budget, with intervals
    python -m experiments.small plot ...        the same as curves
    python -m experiments.small functions ...   function by function, at one budget (--at)

Targets, records and instances are those of `experiments.coco`; a run that is stopped goes on where it was.
Peers that need packages which are not in `dev` run in an environment of their own, `out/peers-env`, which is
made when it is needed.
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.guests import divided
from experiments.harness import RESULTS, markdown, publish
from experiments.record import Book, lengthen, longest
from experiments.small_peers import SMALL_PEERS
from experiments.solvers import Enough, saltus
from experiments.suites import Key, command_line, optimum, problem, wanted
from experiments.tasks import TARGETS, CocoTask

FILE = RESULTS / "small.csv"
RESAMPLES = 2000  # for an interval
BUDGETS = (3, 5, 10, 20, 30, 50, 100)  # evaluations for each variable
METHODS = ["saltus", "saltus-es", *SMALL_PEERS]
FEW_FUNCTIONS = [1, 3, 6, 8, 10, 12, 13, 15, 17, 20, 21, 24]  # for peers whose points cost seconds


class Run(NamedTuple):
    """The budget, in evaluations per dimension, the evaluation that hit each target, and seconds in all."""

    budget: int
    hits: tuple[int, ...]
    seconds: float

    def evaluations(self, D: int) -> int:
        """It ended with the last target, or with its budget."""
        return self.hits[-1] if len(self.hits) == len(TARGETS) else self.budget * D


def _row(keyed: tuple[Key, int], run: Run) -> list[Any]:
    return [*keyed[0], run.budget, f"{run.seconds:.2f}", " ".join(map(str, run.hits))]


def _parse(row: list[str]) -> tuple[tuple[Key, int], Run]:
    method, *numbers, budget, seconds, hits = row
    D, function, instance, seed = map(int, numbers)
    run = Run(int(budget), tuple(map(int, hits.split())), float(seconds))
    return (Key(method, D, function, instance, seed), run.budget), run


BOOK: Book[Any, Run] = Book(
    ["method", "D", "function", "instance", "seed", "budget", "seconds", "hits"], _row, _parse
)


def run_one(keyed: tuple[Key, int]) -> Run:
    """One run, to its last target or the end of its budget."""
    key, budget = keyed
    coco = problem(key.D, key.function, key.instance)
    task = CocoTask(coco, optimum(coco), budget * key.D)
    rng = np.random.default_rng([key.D, key.function, key.instance, key.seed])
    start = time.process_time()
    with suppress(Enough):
        (SMALL_PEERS[key.method] if key.method in SMALL_PEERS else saltus(key.method))(task, rng)
    return Run(budget, tuple(task.hits), time.process_time() - start)


def read(path: Path) -> dict[Key, Run]:
    """The longest run of each kind in the file."""
    return longest(BOOK, path)


def complete(o: argparse.Namespace) -> None:
    """Run what is missing; in the environment of the peers, if it is theirs."""
    divided(o, "small", lambda own: lengthen(BOOK, wanted(o, own), o.budget, run_one, o.file, o.jobs))


def share(runs: list[Run], D: int, budget: int) -> float:
    """Of all pairs of a run and a target, those that are hit within so many evaluations per dimension."""
    hits = sum(sum(h <= budget * D for h in run.hits) for run in runs)
    return hits / (len(runs) * len(TARGETS))


def runs_of(record: dict[Key, Run], o: argparse.Namespace, method: str, D: int) -> dict[Key, Run]:
    """The runs of a method that were asked for and are there."""
    keys = wanted(o, [method])
    return {k: record[k] for k in keys if k.D == D and k in record}


def table(record: dict[Key, Run], o: argparse.Namespace, D: int) -> str:
    """Shares by method and budget; those that did not run everything, with ours on the same problems."""
    rows = []
    ours = runs_of(record, o, o.methods[0], D)
    for method in o.methods:
        runs = runs_of(record, o, method, D)
        if not runs:
            continue
        most = min((r.budget for r in runs.values() if len(r.hits) < len(TARGETS)), default=o.budget)
        budgets = [b for b in BUDGETS if b <= o.budget]
        label = method if len(runs) == len(ours) else f"{method} ({len(runs)} of {len(ours)} runs)"
        cells = [f"{share(list(runs.values()), D, b):.3f}" if b <= most else "" for b in budgets]
        spent = sum(r.seconds for r in runs.values()) / sum(r.evaluations(D) for r in runs.values())
        rows.append([label, *cells, f"{1e3 * spent:.1f}"])
        if len(runs) != len(ours):
            same = [ours[k] for key in runs if (k := key._replace(method=o.methods[0])) in ours]
            if same:
                cells = [f"{share(same, D, b):.3f}" if b <= most else "" for b in budgets]
                rows.append([f"... {o.methods[0]} on these", *cells, ""])
    header = [f"D = {D}", *(f"{b} D" for b in BUDGETS if b <= o.budget), "ms per evaluation"]
    return markdown(header, rows)


def ratios(record: dict[Key, Run], o: argparse.Namespace, D: int) -> str:
    """Our share over that of each other method, on the problems that it was run on, with 95% intervals.

    Problems are drawn again and again, with all their seeds: so much would it differ on other functions
    and instances of this kind.
    """
    budgets = [b for b in BUDGETS if 5 <= b <= o.budget]
    mine = runs_of(record, o, o.methods[0], D)
    rows = []
    for method in o.methods[1:]:
        runs = runs_of(record, o, method, D)
        pairs: dict[tuple[int, int], list[tuple[Run, Run]]] = {}
        for key, other in runs.items():
            if (own := key._replace(method=o.methods[0])) in mine:
                pairs.setdefault((key.function, key.instance), []).append((mine[own], other))
        if not pairs:
            continue
        most = min((r.budget for r in runs.values() if len(r.hits) < len(TARGETS)), default=o.budget)
        cells = [_ratio(list(pairs.values()), D, b) if b <= most else "" for b in budgets]
        rows.append([f"{o.methods[0]} / {method} ({len(pairs)} problems)", *cells])
    return markdown([f"D = {D}", *(f"{b} D" for b in budgets)], rows)


def _ratio(problems: list[list[tuple[Run, Run]]], D: int, budget: int) -> str:
    shares = np.array([[share([pair[i] for pair in pairs], D, budget) for i in (0, 1)] for pairs in problems])
    drawn = np.random.default_rng(1).integers(0, len(shares), (RESAMPLES, len(shares)))
    sums = shares[drawn].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nanquantile(sums[:, 0] / sums[:, 1], [0.025, 0.975], method="nearest")
        return f"{shares[:, 0].sum() / shares[:, 1].sum():.2f} ({low:.2f} to {high:.2f})"


def functions(record: dict[Key, Run], o: argparse.Namespace) -> str:
    """The share of targets by function, at one budget."""
    rows = []
    for f in o.functions:
        row = [f"f{f}"]
        for D in o.dims:
            for method in o.methods:
                runs = [r for k, r in runs_of(record, o, method, D).items() if k.function == f]
                row.append(f"{share(runs, D, o.at):.2f}" if runs else "")
        rows.append(row)
    return markdown([f"at {o.at} D", *(f"{m} {D}" for D in o.dims for m in o.methods)], rows)


def plot(record: dict[Key, Run], o: argparse.Namespace) -> None:
    """Shares of targets hit over evaluations per dimension: a panel for each dimension."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(o.dims), figsize=(4 * len(o.dims), 3.6), sharey=True, squeeze=False, layout="constrained"
    )
    places = np.geomspace(1, o.budget, 200)
    for D, panel in zip(o.dims, panels[0], strict=True):
        for method in o.methods:
            runs = list(runs_of(record, o, method, D).values())
            if not runs:
                continue
            most = min((r.budget for r in runs if len(r.hits) < len(TARGETS)), default=o.budget)
            hits = np.sort([h / D for run in runs for h in run.hits])
            at = places[places <= most]
            shares = np.searchsorted(hits, at, side="right") / (len(runs) * len(TARGETS))
            ours = method == "saltus"
            style: dict[str, Any] = {"color": f"C{o.methods.index(method) % 10}", "lw": 2.2 if ours else 1.2}
            panel.plot(at, shares, label=method, zorder=3 if ours else 2, **style)
        panel.set(xscale="log", xlim=(1, o.budget), title=f"D = {D}", xlabel="evaluations / D")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("share of targets hit")
    panels[0][0].legend(fontsize=8)
    picture = o.file.parent / "small-ecdf.png"
    figure.savefig(picture, dpi=130)
    print(picture)


def main() -> None:
    """The command line."""
    verbs = ["run", "show", "functions", "plot"]
    parser = command_line(__doc__, verbs, [5, 10, 20], 100, METHODS, FILE)
    parser.add_argument("--at", type=int, default=30, help="the budget that `functions` looks at")
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "run":
        complete(o)
        return
    record = read(o.file)
    if o.what == "plot":
        plot(record, o)
    elif o.what == "functions":
        print(functions(record, o))
    else:
        text = "\n\n".join(show(record, o, D) for D in o.dims for show in (table, ratios))
        if o.file == FILE:
            publish("small", text)
        else:
            print(text)


if __name__ == "__main__":
    main()
