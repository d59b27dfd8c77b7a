"""COCO's suites: our strategies and their peers, in one harness.

    python -m experiments.coco run --suite bbob --dims 5 10 --instances 4 5 6 --budget 500 --methods saltus
    python -m experiments.coco show ...         final and area of each method, and the best peer
    python -m experiments.coco functions ...    the same, function by function
    python -m experiments.coco plot ...         ECDFs of all functions, a panel for each dimension
    python -m experiments.coco data --methods saltus --dims 5     COCO's own data, for cocopp, in out/exdata

The suite is bbob-mixint unless another is named. `run` appends each finished run to a file, one for each
suite, and goes on where it was; the others read that file. The budget is in evaluations per dimension.
Instances 1 to 3 are for tuning, 4 to 6 for validation; others are refused.

A run counts what it has reached of 51 targets, from 1e2 to 1e-8 above the optimum: *final* is the share of
all pairs of problem and target that were hit, *area* the mean of that share over log10(evaluations / D) from
0 to log10(budget). Two suites are judged by duels instead: of two methods the one with the lower value after
so many evaluations is ahead, equal values count half. The value is that of the best feasible point on
bbob-constrained (see experiments.constrained), and on bbob-noisy the value without noise of the point that is
recommended (see experiments.noise).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from experiments import duels
from experiments.guests import divided
from experiments.harness import markdown, publish
from experiments.record import Book, lengthen
from experiments.small_peers import ALL_PEERS, solver
from experiments.solvers import Enough
from experiments.suites import INSTANCES, MIXINT, SUITES, Key, Suite, command_line, optimum, problem, wanted
from experiments.tasks import BUDGETS, TARGETS, CocoTask, ConstrainedTask
from saltus._typing import FloatArray
from saltus.search.settings import MANY_PHASES

FUNCTIONS = SUITES[MIXINT].functions
FILE = SUITES[MIXINT].file
OUT = Path("out")


class Run(NamedTuple):
    """The budget it had, in evaluations per dimension, and the evaluation that hit each target."""

    budget: int
    hits: tuple[int, ...]


def _row(key: Key, run: Run) -> list[Any]:
    return [*key, run.budget, " ".join(map(str, run.hits))]


def _parse(row: list[str]) -> tuple[tuple[Key, int], Run]:
    method, *numbers, budget, hits = row
    D, function, instance, seed = map(int, numbers)
    run = Run(int(budget), tuple(map(int, hits.split())))
    return (Key(method, D, function, instance, seed), run.budget), run


BOOK: Book[Any, Run] = Book(
    ["method", "D", "function", "instance", "seed", "budget", "hits"],
    lambda keyed, run: _row(keyed[0], run),
    _parse,
)


def run_one(keyed: tuple[Key, int], suite: str = MIXINT) -> Run:
    """One run, to its last target or the end of its budget."""
    key, budget = keyed
    coco = problem(key.D, key.function, key.instance, suite)
    task = CocoTask(coco, optimum(coco), budget * key.D)
    # no two runs of a method share their random numbers, and all methods see the same seeds
    rng = np.random.default_rng([key.D, key.function, key.instance, key.seed])
    with suppress(Enough):
        solver(key.method)(task, rng)
    return Run(budget, tuple(task.hits))


def read(path: Path, budget: int) -> dict[Key, Run]:
    """All runs of the file that had at least this budget, looked at as if it had been this."""
    record: dict[Key, Run] = {}
    for (key, _), run in BOOK.read(path).items():
        if run.budget >= budget or len(run.hits) == len(TARGETS):
            hits = tuple(h for h in run.hits if h <= budget * key.D)
            record[key] = Run(budget, hits)
    return record


def completed(keys: list[Key], budget: int, path: Path, jobs: int, suite: str = MIXINT) -> dict[Key, Run]:
    """The record with these runs; what is missing is run now."""
    record = read(path, budget)
    missing = [(key, budget) for key in keys if key not in record]
    if missing:
        BOOK.run(missing, partial(run_one, suite=suite), path, jobs, len(keys))
        record = read(path, budget)
    return record


class Score(NamedTuple):
    """Final and area, over some runs."""

    final: float
    area: float


def score(runs: list[Run], D: int, budget: int) -> Score:
    """The two figures of some runs at the same dimension."""
    reach = math.log10(budget)
    final = sum(len(run.hits) for run in runs) / (len(runs) * len(TARGETS))
    late = sum(min(max(math.log10(h / D) / reach, 0.0), 1.0) for run in runs for h in run.hits)
    return Score(final, final - late / (len(runs) * len(TARGETS)))


def table(o: argparse.Namespace) -> dict[str, dict[int, list[Score]]]:
    """Scores by method and dimension, one for each seed that is complete."""
    record = read(o.file, o.budget)
    scores: dict[str, dict[int, list[Score]]] = {}
    for method in o.methods:
        for D in o.dims:
            for seed in range(o.first_seed, o.first_seed + o.seeds):
                keys = [Key(method, D, f, i, seed) for i in o.instances for f in o.functions]
                if all(key in record for key in keys):
                    runs = [record[key] for key in keys]
                    scores.setdefault(method, {}).setdefault(D, []).append(score(runs, D, o.budget))
    return scores


def ours(methods: Iterable[str]) -> str:
    """Of some methods the one that is compared with the peers: the default, if it was run."""
    return next((name for name in MANY_PHASES if name in set(methods)), MANY_PHASES[0])


def shown(scores: dict[str, dict[int, list[Score]]], dims: list[int]) -> str:
    """The table as Markdown: final / area, means over seeds, and how far ours is above the best peer."""
    rows = []
    means: dict[tuple[str, int], FloatArray] = {}
    for method, by_D in scores.items():
        row = [method]
        for D in dims:
            some = by_D.get(D, [])
            if some:
                means[method, D] = np.mean(some, axis=0)
            row.append("{:.3f} / {:.3f} ({})".format(*means[method, D], len(some)) if some else "")
        rows.append(row)
    own = ours(scores)
    row = [f"{own}, above the best peer"]
    for D in dims:
        peers = [means[peer, D] for peer in ALL_PEERS if (peer, D) in means]
        above = means[own, D] / np.max(peers, axis=0) - 1 if peers and (own, D) in means else ()
        row.append(" / ".join(f"{share:+.0%}" for share in above))
    return markdown(["final / area (seeds)", *(f"D = {D}" for D in dims)], [*rows, row])


def functions(o: argparse.Namespace) -> str:
    """Final by function, dimension and method: where each is strong and weak."""
    record = read(o.file, o.budget)
    rows = []
    for f in o.functions:
        row = [f"f{f}"]
        for D in o.dims:
            for method in o.methods:
                runs = [
                    record[key]
                    for seed in range(o.first_seed, o.first_seed + o.seeds)
                    for i in o.instances
                    if (key := Key(method, D, f, i, seed)) in record
                ]
                row.append(f"{score(runs, D, o.budget).final:.2f}" if runs else "")
        rows.append(row)
    return markdown(["final", *(f"{m} {D}" for D in o.dims for m in o.methods)], rows)


def finals(record: dict[Key, Run], o: argparse.Namespace, D: int, function: int) -> dict[str, FloatArray]:
    """The share of targets of each run on a function, by method; the same problems and seeds in a row."""
    shares = {}
    for method in o.methods:
        seeds = range(o.first_seed, o.first_seed + o.seeds)
        keys = [Key(method, D, function, i, seed) for seed in seeds for i in o.instances]
        if all(key in record for key in keys):
            shares[method] = np.array([len(record[key].hits) / len(TARGETS) for key in keys])
    return shares


def weak(o: argparse.Namespace, least: float, surely: bool = False) -> str:
    """Functions on which ours is below this part of the best peer's final; surely: by more than chance.

    The differences of runs on the same problem with the same seed say what chance is: 95% of Student's t.
    """
    record = read(o.file, o.budget)
    found = []
    for D in o.dims:
        for f in o.functions:
            shares = finals(record, o, D, f)
            own = shares.pop(ours(shares), None)
            rest = [shares[peer] for peer in ALL_PEERS if peer in shares]
            if own is None or not rest:
                continue
            best = max(rest, key=np.mean)
            short = least * best - own
            if short.mean() > (_chance(short) if surely else 0.0):
                found.append(f"f{f} at D = {D}: {own.mean():.2f} against {best.mean():.2f}")
    return "; ".join(found) or "none"


def _chance(differences: FloatArray) -> float:
    if len(differences) < 2:
        return math.inf
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    return float(student.ppf(0.975, len(differences) - 1)) * error


def plot(o: argparse.Namespace) -> None:
    """Shares of targets hit, over evaluations per dimension: a panel for each dimension."""
    import matplotlib.pyplot as plt

    record = read(o.file, o.budget)
    figure, panels = plt.subplots(
        1, len(o.dims), figsize=(4 * len(o.dims), 3.6), sharey=True, squeeze=False, layout="constrained"
    )
    for D, panel in zip(o.dims, panels[0], strict=True):
        for method in o.methods:
            runs = [
                run for key, run in record.items() if key[:2] == (method, D) and key.instance in o.instances
            ]
            if not runs:
                continue
            hits = np.sort([h / D for run in runs for h in run.hits])
            shares = np.arange(1, len(hits) + 1) / (len(runs) * len(TARGETS))
            hits, shares = np.append(hits, o.budget), np.append(shares, shares[-1:])
            own = method in MANY_PHASES
            panel.step(
                hits, shares, where="post", label=method, lw=2.2 if own else 1.2, zorder=3 if own else 2
            )
        panel.set(xscale="log", xlim=(0.1, o.budget), ylim=(0, 1), title=f"D = {D}", xlabel="evaluations / D")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("share of targets hit")
    panels[0][0].legend(fontsize=8)
    picture = o.file.parent / f"{o.file.stem}-ecdf-{o.budget}.png"
    figure.savefig(picture, dpi=130)
    print(picture)


def data(o: argparse.Namespace, suite: Suite) -> None:
    """COCO's own record of such runs, for its post-processing: with its own noise, if there is some."""
    import cocoex

    OUT.mkdir(exist_ok=True)
    os.chdir(OUT)  # its observer writes to exdata in the current folder
    for method in o.methods:
        folder = f"{suite.name}-{method}".replace(" ", "-").replace(",", "")
        observer = cocoex.Observer(suite.name, f"result_folder: {folder} algorithm_name: {method}")
        for D, function, instance in sorted({key[1:4] for key in wanted(o, [method])}):
            budget, targets = o.budget * D, suite.measure == "targets"
            best = optimum(problem(D, function, instance, suite.name)) if targets else -math.inf
            observed = problem(D, function, instance, suite.name)
            observed.observe_with(observer)
            limited = suite.measure == "feasible"
            task = ConstrainedTask(observed, budget) if limited else CocoTask(observed, best, budget)
            task.noisy = suite.measure == "noise-free"
            with suppress(Enough):
                solver(method)(task, np.random.default_rng([D, function, instance, o.first_seed]))
            observed.free()
        path = OUT / observer.result_folder
        print(f"{path}: see it with python -m cocopp {path}")


def judged_by_targets(o: argparse.Namespace, suite: Suite, module: str) -> None:
    """All but `data` of a suite whose runs are judged by the targets that they hit."""
    if o.what == "run":

        def run(methods: list[str]) -> None:
            completed(wanted(o, methods), o.budget, o.file, o.jobs, suite.name)

        divided(o, "coco", run, ["--suite", suite.name])
    if o.what == "plot":
        plot(o)
    elif o.what == "functions":
        print(functions(o))
    elif o.json:
        print(json.dumps(table(o)))
    else:
        text = f"{shown(table(o), o.dims)}\n\nBelow half of the best peer: {weak(o, 0.5)}.\n\n"
        text += f"Below 0.8 of the best peer by more than chance: {weak(o, 0.8, surely=True)}."
        if o.what == "show" and o.file == suite.file:
            part = o.functions != list(suite.functions)
            group = f"-f{o.functions[0]}-{o.functions[-1]}" if part else ""
            publish(f"{suite.file.stem}-{o.budget}{group}", text, module)
        else:
            print(text)


def judged_by_duels(o: argparse.Namespace, suite: Suite, module: str) -> None:
    """The same of a suite whose runs are judged by one value after so many evaluations."""
    if o.what == "run":
        one = partial(duels.run_one, suite=suite.name)

        def run(methods: list[str]) -> None:
            lengthen(duels.BOOK, wanted(o, methods), o.budget, one, o.file, o.jobs)

        divided(o, "coco", run, ["--suite", suite.name])
        return
    record = duels.read(o.file)
    if o.what == "functions":
        print(duels.functions(record, o, suite.name))
        return
    text = "\n\n".join(duels.table(record, o, D, suite.name) for D in o.dims)
    if o.file == suite.file:
        publish(suite.file.stem, text, module)
    else:
        print(text)


def _named(words: Sequence[str]) -> tuple[str, str]:
    """The verb and the suite of a command line; they decide what the defaults of the other words are."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("what", nargs="?")
    parser.add_argument("--suite", default=MIXINT)
    known = parser.parse_known_args(words)[0]
    return known.what, known.suite


def main(suite: Suite | None = None, text: str | None = __doc__, module: str = "coco") -> None:
    """The command line; of one suite alone, if it is given."""
    what, name = _named(sys.argv[1:])
    given, suite = suite, suite or SUITES.get(name, SUITES[MIXINT])
    verbs = ["run", "show", "functions", "data"] + ["plot"] * (suite.measure == "targets")
    parser = command_line(text, verbs, suite.dims, suite.budget, suite.methods, suite.file, suite.functions)
    if given is None:
        parser.add_argument("--suite", choices=SUITES, default=MIXINT)
    if suite.measure != "targets":
        parser.set_defaults(seeds=1)
        parser.add_argument("--at", type=int, default=50, choices=BUDGETS, help="of `functions`")
    else:
        parser.add_argument("--json", action="store_true", help="figures for a program to read")
    if what == "data":
        parser.set_defaults(instances=list(INSTANCES), methods=["saltus"])
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "data":
        data(o, suite)
    else:
        (judged_by_targets if suite.measure == "targets" else judged_by_duels)(o, suite, module)


if __name__ == "__main__":
    main()
