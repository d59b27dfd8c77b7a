"""What it costs and saves not to wait: python -m experiments.asynchronous [TABLE ...] [--trials 40]

The default is all tables but `real`:

    functions    the paper's functions at N = 20, 8 workers, log-normal evaluation times with sigma = 1
    workers      2 to 32 of them
    spread       of the evaluation times, from none to sigma = 1.5
    dimensions   N = 10 and 40
    strategies   others than the default
    real         processes and a real clock: `minimize(workers=8)` on an objective that sleeps

All but `real` have a simulated clock: a worker that is free asks for a candidate, and as soon as it has one
it is busy for a random time, 1 in the mean. Without a candidate it is idle until one is there. A run ends
when the target, 1e-10, is told. Start and sigma are the paper's; seeds are 0, 1, 2 and so on.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.harness import Trial, cells_of, markdown, one_thread_each, publish, summary
from saltus import Optimizer, minimize
from saltus._typing import FloatArray
from saltus.problems import PAPER

FUNCTIONS = {make(2).name: make for make in PAPER}
TARGET = 1e-10
BUDGET = 1000  # evaluations for each dimension
WORKERS = (2, 4, 8, 16, 32)
SPREADS = (0.0, 0.25, 0.5, 1.0, 1.5)
STRATEGIES = ("cma-es-margin", "dx-nes-ici")  # slow: a quarter of the trials is enough
REAL_MEDIAN, REAL_TRIALS = 0.02, 3  # seconds; a real clock has no time for more


class Setting(NamedTuple):
    """Everything about a run but the seed, and whether it waits."""

    function: str
    N: int = 20
    workers: int = 8
    spread: float = 1.0
    strategy: str = "saltus-es"


class Run(NamedTuple):
    """One run: time is in mean evaluation times, busy the share of it that workers had work."""

    success: bool
    evaluations: int
    time: float
    busy: float


def simulated(setting: Setting, asynchronous: bool, seed: int) -> Run:
    """One run with a simulated clock."""
    problem = FUNCTIONS[setting.function](setting.N)
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(
        problem.space,
        mean=problem.start(rng),
        sigma=1.0,
        seed=rng,
        strategy=setting.strategy,
        asynchronous=asynchronous,
    )
    times = np.random.default_rng([seed, setting.N])
    running: list[tuple[float, int, FloatArray]] = []
    waiting = {}
    now = worked = 0.0
    best = math.inf
    while best > TARGET and optimizer.evaluations < BUDGET * setting.N:
        while len(running) < setting.workers and (asked := optimizer.ask(1)):
            long = math.exp(setting.spread * times.standard_normal() - setting.spread**2 / 2)
            waiting[asked[0].id] = asked[0]
            heapq.heappush(running, (now + long, asked[0].id, np.asarray(asked[0].params)))
        end, id, x = heapq.heappop(running)
        worked += (len(running) + 1) * (end - now)
        now = end
        value = float(problem.fun(x))
        optimizer.tell(waiting.pop(id), value)
        best = min(best, value)
    return Run(best <= TARGET, optimizer.evaluations, now, worked / (setting.workers * now))


class Comparison(NamedTuple):
    """Runs that wait and runs that do not."""

    barrier: list[Run]
    stream: list[Run]

    @property
    def more(self) -> float:
        """Evaluations without a barrier, relative to those with it."""
        return per_success(self.stream) / per_success(self.barrier)

    @property
    def faster(self) -> float:
        """Time with a barrier, relative to that without it."""
        return time_per_success(self.barrier) / time_per_success(self.stream)

    @property
    def uncertainty(self) -> float:
        """Half the width of the 95% interval of `more`."""
        relative = (summary(trials(runs)) for runs in self)
        return self.more * math.hypot(*(s.half_width / s.mean for s in relative))


def trials(runs: Iterable[Run]) -> list[Trial]:
    """What the harness knows how to sum up."""
    return [Trial(run.success, run.evaluations) for run in runs]


def per_success(runs: list[Run]) -> float:
    """Evaluations of all runs for each that succeeded."""
    return summary(trials(runs)).per_success


def time_per_success(runs: list[Run]) -> float:
    """Likewise time."""
    successes = sum(run.success for run in runs)
    return sum(run.time for run in runs) / successes if successes else math.inf


def busy(runs: Iterable[Run]) -> float:
    """The share of all time in which workers had work."""
    runs = list(runs)
    return sum(run.busy * run.time for run in runs) / sum(run.time for run in runs)


def compared(settings: list[Setting], arguments: argparse.Namespace) -> dict[Setting, Comparison]:
    """Both kinds of runs of every setting, with the same seeds."""
    cells = [(setting, asynchronous) for setting in settings for asynchronous in (False, True)]
    runs = cells_of(simulated, cells, arguments)
    return {s: Comparison(runs[s, False], runs[s, True]) for s in settings}


def row(comparison: Comparison) -> list[str]:
    """Evaluations, time and busy, of both kinds."""
    waits, streams = comparison
    uncertainty = comparison.uncertainty
    return [
        *(str(summary(trials(runs))) for runs in comparison),
        _number(comparison.more) + (f" ± {uncertainty:.2f}" if math.isfinite(uncertainty) else ""),
        *(_number(time_per_success(runs), 0) for runs in comparison),
        _number(comparison.faster),
        f"{busy(waits):.0%}",
        f"{busy(streams):.0%}",
    ]


def _number(value: float, digits: int = 2) -> str:
    """Without a success there is none."""
    return f"{value:.{digits}f}" if 0 < value < math.inf else "–"


HEADER = [
    *("evaluations, synchronous", "asynchronous", "ratio"),
    *("time, synchronous", "asynchronous", "times faster"),
    *("busy, synchronous", "asynchronous"),
]


def table(name: str, labels: list[str], rows: list[tuple[list[str], Comparison]]) -> None:
    """Publish a table with a row for each comparison."""
    lines = [[*label, *row(comparison)] for label, comparison in rows]
    publish(name, markdown([*labels, *HEADER], lines), "asynchronous")


def by_function(
    name: str, label: str, given: dict[str, list[Setting]], runs: dict[Setting, Comparison]
) -> None:
    """Publish a table of ratios: a row for each value of a setting, with columns for the functions."""
    header = [label, *(f"{function}: evaluations, time" for function in FUNCTIONS)]
    header += ["busy, synchronous", "asynchronous"]
    rows = []
    for value, settings in given.items():
        comparisons = [runs[setting] for setting in settings]
        shares = (busy(itertools.chain(*kind)) for kind in zip(*comparisons, strict=True))
        cells = [f"× {c.more:.2f}, {c.faster:.2f} times faster" for c in comparisons]
        rows.append([value, *cells, *(f"{share:.0%}" for share in shares)])
    publish(name, markdown(header, rows), "asynchronous")


def everywhere(**setting: int | float | str) -> list[Setting]:
    """A setting on all functions."""
    return [Setting(function, **setting) for function in FUNCTIONS]  # type: ignore[arg-type]  # fields differ in type


def functions(arguments: argparse.Namespace) -> None:
    """The paper's functions."""
    runs = compared(everywhere(), arguments)
    table("asynchronous", ["function"], [([s.function], c) for s, c in runs.items()])


def ratios(name: str, label: str, given: dict[str, list[Setting]], arguments: argparse.Namespace) -> None:
    """Run all settings, and publish their ratios."""
    runs = compared([s for settings in given.values() for s in settings], arguments)
    by_function(name, label, given, runs)


def workers(arguments: argparse.Namespace) -> None:
    """How many."""
    given = {str(count): everywhere(workers=count) for count in WORKERS}
    ratios("asynchronous-workers", "workers", given, arguments)


def spread(arguments: argparse.Namespace) -> None:
    """Of the evaluation times."""
    given = {f"{sigma:g}": everywhere(spread=sigma) for sigma in SPREADS}
    ratios("asynchronous-spread", "sigma of the times", given, arguments)


def dimensions(arguments: argparse.Namespace) -> None:
    """More and fewer variables."""
    runs = compared([s for N in (10, 40) for s in everywhere(N=N)], arguments)
    labels = ["function", "N"]
    table("asynchronous-dimensions", labels, [([s.function, str(s.N)], c) for s, c in runs.items()])


def strategies(arguments: argparse.Namespace) -> None:
    """One core and one treatment of integers, as in the paper."""
    arguments = argparse.Namespace(trials=max(1, arguments.trials // 4), jobs=arguments.jobs)
    runs = compared([s for name in STRATEGIES for s in everywhere(strategy=name)], arguments)
    labels = ["strategy", "function"]
    table("asynchronous-strategies", labels, [([s.strategy, s.function], c) for s, c in runs.items()])


def sleeping(x: FloatArray, function: str, folder: str) -> float:
    """A function that takes a log-normal time, always the same at a point, and says when it was busy."""
    begin = time.time()
    rng = np.random.default_rng(zlib.crc32(x.tobytes()))
    time.sleep(REAL_MEDIAN * math.exp(rng.standard_normal()))
    value = float(FUNCTIONS[function](len(x)).fun(x))
    with open(Path(folder) / "log", "ab", buffering=0) as log:
        log.write(b"%f %f\n" % (begin, time.time()))
    return value


def really(setting: Setting, asynchronous: bool, seed: int) -> Run:
    """One run with processes and a real clock, from the begin of the first evaluation on."""
    problem = FUNCTIONS[setting.function](setting.N)
    with tempfile.TemporaryDirectory() as folder:
        result = minimize(
            partial(sleeping, function=setting.function, folder=folder),
            problem.space,
            strategy=setting.strategy,
            mean=problem.start(np.random.default_rng(seed)),
            sigma=1.0,
            seed=seed,
            target=TARGET,
            budget=BUDGET * setting.N,
            workers=setting.workers,
            asynchronous=asynchronous,
        )
        spans = np.loadtxt(Path(folder) / "log")
    took = float(spans[:, 1].max() - spans[:, 0].min())
    worked = float((spans[:, 1] - spans[:, 0]).sum())
    return Run(result.success, result.nfev, took, worked / (setting.workers * took))


def real(arguments: argparse.Namespace) -> None:
    """Real processes, one run after the other."""
    one_thread_each()
    rows = []
    for setting in everywhere():
        runs: tuple[list[Run], list[Run]] = ([], [])
        for seed, asynchronous in itertools.product(range(arguments.real_trials), (False, True)):
            runs[asynchronous].append(really(setting, asynchronous, seed))
            print(
                setting.function,
                seed,
                "asynchronous" if asynchronous else "synchronous",
                runs[asynchronous][-1],
                flush=True,
            )
        comparison = Comparison(*runs)
        rows.append(
            [
                setting.function,
                *(f"{per_success(kind):.0f}" for kind in comparison),
                *(f"{time_per_success(kind):.1f} s" for kind in comparison),
                f"{comparison.faster:.2f}",
                *(f"{busy(kind):.0%}" for kind in comparison),
            ]
        )
    header = ["function", *(label for label in HEADER if label != "ratio")]
    publish("asynchronous-real", markdown(header, rows), "asynchronous")


TABLES = {table.__name__: table for table in (functions, workers, spread, dimensions, strategies, real)}


def main() -> None:
    """Make the tables that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], metavar="TABLE")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--real-trials", type=int, default=REAL_TRIALS)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    for name in arguments.tables or [name for name in TABLES if name != "real"]:
        begin = time.monotonic()
        print(name, flush=True)
        TABLES[name](arguments)
        print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
