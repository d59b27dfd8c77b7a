"""What the paper left open, with the machinery of its own experiment.

cma-leap   leap and bias on CMA-ES: the cells of table 2, at the paper's population sizes
epistasis  quadratic functions with the integer block rotated, and with all variables rotated, at N = 20;
           epistasis-40 the same at N = 40
shares     10%, 50%, 90% and 100% of the variables are integers
many       the paper's functions with 320 and 1000 variables
domains    integers of 2, 5, 100 and 10^4 values, uneven grids, log-integers; the optimum at a random place
all        all of them

All but the first: all strategies and the peers CatCMAwM and pycma, at the default population of Saltus. One
run without restarts, ended as in the paper. Each entry is the mean number of evaluations; (k/n) tells
successes where not all runs succeeded, and f the median of the values reached where none did. Bold is the
best of a row, by successes, then evaluations; an arrow up or down is better or worse than the first method
by more than chance (successes by Fisher's test, then all runs by Mann and Whitney's, 5%). Trials are recorded
and continued as in experiments.paper.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact, mannwhitneyu

from experiments import published
from experiments.harness import RESULTS, Trial, command_line, markdown, summary
from experiments.paper import PROBLEMS, check_common, keep, positive
from experiments.peers import catcmawm, pycma
from experiments.record import Cell, Record, complete
from experiments.runs import generations, until_the_end
from saltus import Float, Int, Ordinal, Space
from saltus._typing import FloatArray
from saltus.problems import Problem
from saltus.search.settings import MANY_PHASES
from saltus.space.encoding import Encoding
from saltus.strategy import STRATEGIES, default_population

PEERS = {"CatCMAwM": catcmawm, "pycma": pycma}
STEEP = 1000.0  # the ratio of the longest and the shortest axis of the paper's ellipsoids


def axes_of(shape: str, n_co: int, n_int: int, ratio: float) -> FloatArray:
    """How steep a quadratic function is along each variable, continuous ones first; the least is 1."""
    N = n_co + n_int
    ellipsoid = np.asarray(ratio ** (np.arange(N) / (N - 1)))
    if shape == "tablet":
        return np.repeat([ratio, 1.0], [n_co, n_int])
    return np.roll(ellipsoid, n_co) if shape == "reversed" else ellipsoid


def rotated(shape: str, what: str, condition: float, N: int, rng: np.random.Generator) -> Problem:
    """A quadratic function of that condition number; `what` is turned by a random rotation."""
    half = N // 2
    axes = axes_of(shape, half, half, float(np.sqrt(condition)))
    block = {"all": slice(0, N), "integers": slice(half, N), "continuous": slice(0, half)}[what]
    size = block.stop - block.start
    turn, _ = np.linalg.qr(rng.standard_normal((size, size)))

    def fun(x: FloatArray) -> FloatArray:
        y = x.copy()
        y[:, block] = x[:, block] @ turn
        return np.asarray(((axes * y) ** 2).sum(-1))

    return Problem(f"{shape}, {what} rotated", fun, Space([Float()] * half + [Int(-10, 10)] * half), 0.0)


def moved(name: str, N: int, rng: np.random.Generator) -> Problem:
    """One of the paper's functions, its optimum anywhere, its variables in random order and units."""
    problem = PROBLEMS[name](N)
    half = N // 2
    order, units = rng.permutation(N), 10.0 ** rng.uniform(-3, 3, half)
    switches = name == "SphereOneMax"
    places = rng.integers(0, 2, half) if switches else rng.integers(-8, 9, half)
    optimum = np.concatenate((rng.uniform(-8, 8, half), places.astype(float)))

    def fun(x: FloatArray) -> Any:
        u = np.empty_like(x)
        u[:, order] = x  # variable i of the problem stands at some other place
        u[:, :half] /= units
        u -= optimum
        if switches:
            u[:, half:] = 1.0 - np.abs(u[:, half:])
        return problem.fun(u)

    variables = [Float(init=0.0, scale=3.0 * unit) for unit in units]
    shuffled = [(*variables, *problem.space.variables[half:])[i] for i in order]
    return Problem(f"{name}, moved", fun, Space(shuffled), 0.0)


def shared(shape: str, percent: int, N: int) -> Problem:
    """One of the paper's functions with this percentage of integers."""
    n_int = round(N * percent / 100)
    n_co = N - n_int
    if shape == "one-max":
        space = Space([Float()] * n_co + [Int(0, 1)] * n_int)
        return Problem(shape, lambda x: (x[:, :n_co] ** 2).sum(-1) + (1 - x[:, n_co:]).sum(-1), space, 0.0)
    axes = axes_of(shape, n_co, n_int, 100.0 if shape == "tablet" else STEEP)
    space = Space([Float()] * n_co + [Int(-10, 10)] * n_int)
    return Problem(shape, lambda x: ((axes * x) ** 2).sum(-1), space, 0.0)


# the kinds of integers in `domains`, and their values as the function sees them, from -10 to 10
_UNEVEN = 10 * np.linspace(-1, 1, 21) ** 3
KINDS: dict[str, tuple[Int | Ordinal, Callable[[FloatArray], FloatArray]]] = {
    "2 values": (Int(0, 1), lambda v: 20 * v - 10),
    "5 values": (Int(0, 4), lambda v: 5 * v - 10),
    "100 values": (Int(0, 99), lambda v: 20 / 99 * v - 10),
    "10000 values": (Int(0, 9999), lambda v: 20 / 9999 * v - 10),
    "uneven grid": (Ordinal(_UNEVEN.tolist()), lambda v: v),
    "log-integers": (Int(1, 10**4, log=True), lambda v: 5 * np.log10(v) - 10),
}


def domain(shape: str, kind: str, N: int, rng: np.random.Generator) -> Problem:
    """A quadratic function with its optimum at a random place; its integers are of that kind."""
    half = N // 2
    variable, position = KINDS[kind]
    axes = axes_of(shape, half, half, 100.0 if shape == "tablet" else STEEP)
    if variable.log:
        values = np.round(10 ** rng.uniform(0.4, 3.6, half))
    else:
        grid = np.arange(variable.high + 1.0) if isinstance(variable, Int) else np.array(variable.values)
        inside = grid if len(grid) == 2 else grid[np.abs(position(grid)) <= 8]
        values = rng.choice(inside, half)
    optimum = np.concatenate((rng.uniform(-8, 8, half), position(values)))

    def fun(x: FloatArray) -> FloatArray:
        u = np.concatenate((x[:, :half], position(x[:, half:])), axis=1)
        return np.asarray(((axes * (u - optimum)) ** 2).sum(-1))

    return Problem(
        f"{shape}, {kind}", fun, Space([Float(init=0.0, scale=3.0)] * half + [variable] * half), 0.0
    )


def instance(function: str, N: int, seed: int) -> tuple[Problem, bool]:
    """The problem of a cell's name and seed, and whether it starts as in the paper."""
    if function in PROBLEMS:
        return PROBLEMS[function](N), True
    group, shape, *how = function.split("/")
    rng = np.random.default_rng([seed, N, 2023])  # of the instance; the run has its own
    if group == "rotated":
        return rotated(shape, how[0], float(how[1]), N, rng), True
    if group == "moved":
        return moved(shape, N, rng), False
    if group == "share":
        return shared(shape, int(how[0]), N), True
    return domain(shape, how[0], N, rng), False


def run(cell: Cell, seed: int) -> Trial:
    """One trial of a cell."""
    problem, as_in_the_paper = instance(cell.function, cell.N, seed)
    rng = np.random.default_rng(seed)
    encoding = (
        Encoding(problem.space, problem.start(rng), 1.0) if as_in_the_paper else Encoding(problem.space)
    )
    if cell.method in PEERS:
        return until_the_end(PEERS[cell.method](problem, encoding, cell.population, rng), cell.N)
    return until_the_end(generations(problem, encoding, cell.method, cell.population, rng), cell.N)


OTHERS = ("dx-nes-ici+d", "cr-fm-nes", "cr-fm-nes+leap", "cr-fm-nes+leap+bias")  # in questions of their own
METHODS = (*(name for name in STRATEGIES if name not in OTHERS), *PEERS, "saltus-es")


class Question(NamedTuple):
    """Which cells answer it."""

    functions: list[str]
    dims: tuple[int, ...] = (20,)
    methods: tuple[str, ...] = METHODS
    trials: int = 10
    tuned: bool = False  # the paper's populations, instead of the default


QUADRATIC = ("tablet", "reversed", "ellipsoid")
# a rotation does not change the integer block of the tablet, a sphere; and rotated as a whole, the reversed
# ellipsoid is the ellipsoid
ROTATED = [
    f"rotated/{shape}/{what}/{condition}"
    for what, shape in (
        ("integers", "ellipsoid"),
        ("integers", "reversed"),
        ("all", "ellipsoid"),
        ("all", "tablet"),
    )
    for condition in (10, 100, 1000)
]
DEFAULTS = ("dx-nes-ici", "dx-nes-ici+d", "saltus-es")
QUESTIONS = {
    "cma-leap": Question(
        list(PROBLEMS),
        (20, 40, 80),
        ("cma-es-margin", "cma-es+leap", "cma-es+leap+bias", "dx-nes-ici"),
        trials=20,
        tuned=True,
    ),
    "default": Question(list(PROBLEMS), (20, 40, 80), DEFAULTS, 100),
    "default-rotated": Question(
        [f"rotated/{shape}/continuous/1000000" for shape in ("ellipsoid", "reversed")],
        (20, 40, 80),
        DEFAULTS,
        trials=100,
    ),
    "default-moved": Question([f"moved/{name}" for name in PROBLEMS], (20, 40), DEFAULTS, trials=100),
    "many": Question(list(PROBLEMS), (320, 1000), ("cr-fm-nes+leap+bias", "saltus-es"), trials=1),
    "epistasis": Question(ROTATED, trials=10),
    "epistasis-40": Question(ROTATED, (40,), trials=4),
    "shares": Question(
        [
            f"share/{shape}/{percent}"
            for shape in (*QUADRATIC, "one-max")
            for percent in (10, 50, 90, 100)
            if (shape, percent) != ("reversed", 100)  # it is the ellipsoid
        ]
    ),
    "domains": Question([f"domain/{shape}/{kind}" for shape in QUADRATIC for kind in KINDS]),
}


def population(function: str, N: int, method: str, tuned: bool) -> int:
    """The default, or the paper's."""
    if not tuned:
        return default_population(N)
    if (function, N, "dx-nes-ici") not in published.TABLE2:
        raise SystemExit(f"cma-leap: the paper has N = 20, 40 and 80, got --dims {N}")
    return published.population(function, N, method)


def possible(function: str, method: str) -> bool:
    """Pycma's integers are 1 apart."""
    return method != "pycma" or not function.endswith(("uneven grid", "log-integers"))


def score(trial: Trial) -> tuple[bool, float]:
    """Trials in order: successes by evaluations, then failures by the value that they reached."""
    return (False, trial.evaluations) if trial.success else (True, trial.best)


def difference(ours: Sequence[Trial], others: Sequence[Trial]) -> int:
    """1 if the others are better than ours, -1 if worse, 0 if chance can explain it.

    First the numbers of successes are compared (Fisher, 5%), then all trials in order (Mann-Whitney, 5%).
    """
    a, b = sum(t.success for t in ours), sum(t.success for t in others)
    if fisher_exact(np.array([[a, len(ours) - a], [b, len(others) - b]])).pvalue < 0.05:
        return 1 if b / len(others) > a / len(ours) else -1
    order = {s: i for i, s in enumerate(sorted({score(t) for t in (*ours, *others)}))}
    u, p = mannwhitneyu([order[score(t)] for t in ours], [order[score(t)] for t in others])
    if len(order) == 1 or p >= 0.05:
        return 0
    return 1 if u > len(ours) * len(others) / 2 else -1


def quality(trials: Sequence[Trial]) -> tuple[float, ...]:
    """The paper's order, less is better: more successes, fewer evaluations; without any, the median value."""
    s = summary(trials)
    return (-s.successes, s.mean) if s.successes else (0.0, _median(trials))


def entry(trials: Sequence[Trial]) -> str:
    """Mean evaluations of successes; if there are none, the median of the values reached."""
    s = summary(trials)
    if s.successes == s.trials:
        return f"{s.mean:.0f}"
    reached = f"{s.mean:.0f}" if s.successes else f"f = {_median(trials):.2g}"
    return f"{reached} ({s.successes}/{s.trials})"


def _median(trials: Sequence[Trial]) -> float:
    return float(np.median([t.best for t in trials]))


def label(function: str) -> str:
    """A cell's function in words: "domain/tablet/2 values" is "tablet, 2 values"."""
    return ", ".join(function.split("/")[1:]) or function


def table(record: Record, methods: Sequence[str]) -> str:
    """A row for each problem, and how often each method is better or worse than the first one."""
    rows = []
    verdicts: dict[str, list[int]] = {m: [] for m in methods[1:]}
    for function, N in dict.fromkeys((c.function, c.N) for c in record):
        by_method = {c.method: list(t.values()) for c, t in record.items() if c[:2] == (function, N)}
        best = min(by_method, key=lambda m: quality(by_method[m]))
        row = [label(function), str(N)]
        for method in methods:
            text = entry(by_method[method]) if method in by_method else "-"
            if method in verdicts and {method, methods[0]} <= by_method.keys():
                verdicts[method].append(difference(by_method[methods[0]], by_method[method]))
                text += {1: " ↑", 0: "", -1: " ↓"}[verdicts[method][-1]]
            row.append(f"**{text}**" if method == best else text)
        rows.append(row)
    count = [[m, str(v.count(1)), str(v.count(0)), str(v.count(-1))] for m, v in verdicts.items()]
    versus = ["method", f"better than {methods[0]}", "no difference", "worse"]
    return f"{markdown(['problem', 'N', *methods], rows)}\n\n{markdown(versus, count)}"


def plain(record: Record) -> list[dict[str, Any]]:
    """A flat dict for each cell, for CSV and JSON."""
    lines = []
    for cell, by_seed in record.items():
        trials = list(by_seed.values())
        s = summary(trials)
        numbers = {"trials": s.trials, "successes": s.successes}
        mean = round(s.mean, 1) if s.successes else None
        lines.append({**cell._asdict(), **numbers, "evaluations": mean, "median_best": _median(trials)})
    return lines


def main() -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.beyond",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=[*QUESTIONS, "all"])
    names = (*MANY_PHASES, *STRATEGIES, *PEERS)
    parser.add_argument("--trials", type=positive, help="runs of each cell (the question's)")
    parser.add_argument("--dims", type=int, nargs="+", help="dimensions (the question's)")
    parser.add_argument("--methods", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--jobs", type=positive, default=2, help="processes (2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder (experiments/results)")
    parser.add_argument("--json", action="store_true", help="print cells as JSON instead of a table")
    arguments = parser.parse_args()
    check_common(parser, arguments)
    whole = not (arguments.trials or arguments.dims or arguments.methods)
    printed = {}
    for what in QUESTIONS if arguments.what == "all" else [arguments.what]:
        question = QUESTIONS[what]
        methods = arguments.methods or question.methods
        trials = arguments.trials or question.trials
        cells = [
            Cell(function, N, method, population(function, N, method, question.tuned))
            for N in arguments.dims or question.dims
            for function in question.functions
            for method in methods
            if possible(function, method)
        ]
        record = complete(cells, trials, run, arguments.out / "trials.csv", arguments.jobs)
        text = table(record, methods)
        printed[what] = plain(record)
        if whole or arguments.out.resolve() != RESULTS:
            keep(arguments.out / what, command_line("beyond"), trials, text, printed[what])
        if not arguments.json:
            print(f"\n{what}\n\n{text}", flush=True)
    if arguments.json:
        print(json.dumps(printed, indent=1))


if __name__ == "__main__":
    main()
