"""SaltusSampler beside other samplers of Optuna: evaluations, two models to tune, and time per trial.

    python -m experiments.optuna_compare [PART ...] [--seeds 20] [--jobs 2]      all parts by default

functions  the paper's four functions at N = 20, by Optuna's ask and tell; 4000 trials, target 1e-10
tuning     two models on data sets of scikit-learn; 150 trials, 10 seeds
overhead   milliseconds per trial in the sampler, and in the rest of Optuna (one process; best when idle)

The peers are slow: on the functions they have 10 seeds, TPESampler 5, and 1000 trials. Every finished run is
a line of a CSV file in experiments/results; a command that was stopped goes on, and one whose runs are all
there prints the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
import scipy.stats

from experiments import optuna_overhead
from experiments.harness import RESULTS, Trial, command_line, made_by, markdown, summary
from experiments.optuna_problems import FUNCTIONS, TARGET, TUNING, Problem, problem_of
from experiments.optuna_samplers import CATCMAWM, GIVEN, MARGIN, RANDOM, SALTUS, SAMPLERS, STRATEGY, TPE
from experiments.record import Book
from saltus import Space, minimize
from saltus.optuna.translation import Translation

MINIMIZE = "saltus.minimize"
PARTS = ["functions", "tuning", "overhead"]
TRIALS = {"functions": 4000, "tuning": 150}
TPE_TRIALS = 1000
FEWER_SEEDS = {MARGIN: 10, CATCMAWM: 10, TPE: 5}  # on the functions, of what is slow
TUNING_SEEDS = 10
MARKS = {"functions": (500, 1000), "tuning": (50, 100)}  # where the best value is noted, and at the end
METHODS = {
    "functions": [MINIMIZE, GIVEN, SALTUS, MARGIN, CATCMAWM, TPE],
    "tuning": [SALTUS, MARGIN, CATCMAWM, TPE, RANDOM],
}
PROBLEMS = {"functions": list(FUNCTIONS), "tuning": list(TUNING)}


class Key(NamedTuple):
    """One run."""

    problem: str
    method: str
    seed: int
    trials: int  # its budget


class Run(NamedTuple):
    """What came out of it."""

    success: bool
    evaluations: int
    best: tuple[float, float, float]  # at two marks, and at the end
    digest: str  # of all values: equal for runs that are equal trial by trial


def _row(key: Key, run: Run) -> list[Any]:
    return [*key, int(run.success), run.evaluations, *(f"{v:.6g}" for v in run.best), run.digest]


def _parse(row: list[str]) -> tuple[Key, Run]:
    problem, method, seed, trials, success, evaluations, first, second, end, digest = row
    best = float(first), float(second), float(end)
    return Key(problem, method, int(seed), int(trials)), Run(
        bool(int(success)), int(evaluations), best, digest
    )


BOOK = Book([*Key._fields, "success", "evaluations", "first", "second", "end", "digest"], _row, _parse)


def values_of(problem: Problem, method: str, seed: int, trials: int) -> list[float]:
    """All values of a run, up to the first that is good enough."""
    if method == MINIMIZE:
        return _minimized(problem, seed, trials)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=SAMPLERS[method](seed, problem.space))
    values: list[float] = []
    while len(values) < trials and (not values or values[-1] > problem.target):
        trial = study.ask(problem.space)
        values.append(problem.value(trial.params))
        study.tell(trial, values[-1])
    return values


def _minimized(problem: Problem, seed: int, trials: int) -> list[float]:
    """Without Optuna, on the same space."""
    translation = Translation(problem.space)
    space: Space = translation.space
    values: list[float] = []

    def objective(params: Mapping[str, Any]) -> float:
        values.append(problem.value(translation.outward(params)))
        return values[-1]

    minimize(objective, space, strategy=STRATEGY, seed=seed, budget=trials, target=problem.target)
    enough = [i for i, value in enumerate(values) if value <= problem.target]
    return values[: enough[0] + 1] if enough else values[:trials]


def run_one(key: Key) -> Run:
    """One run."""
    part = "functions" if key.problem in FUNCTIONS else "tuning"
    problem = problem_of(key.problem, key.seed)
    values = np.array(values_of(problem, key.method, key.seed, key.trials))
    best = np.minimum.accumulate(values)
    first, second = (float(best[min(mark, len(best)) - 1]) for mark in MARKS[part])
    digest = blake2b(values.tobytes(), digest_size=6).hexdigest()
    return Run(bool(best[-1] <= problem.target), len(values), (first, second, float(best[-1])), f"#{digest}")


def keys_of(part: str, seeds: int, trials: int | None) -> list[Key]:
    """All runs of a part, seed by seed, so that a part of them is a fair sample; what is slow comes last."""
    keys = []
    for seed in range(seeds):
        for method in METHODS[part]:
            if seed >= (FEWER_SEEDS.get(method, seeds) if part == "functions" else TUNING_SEEDS):
                continue
            budget = trials or TRIALS[part]
            if part == "functions" and method == TPE:
                budget = min(budget, TPE_TRIALS)
            keys += [Key(problem, method, seed, budget) for problem in PROBLEMS[part]]
    return sorted(keys, key=lambda key: part == "functions" and key.method in FEWER_SEEDS)


Record = dict[Key, Run]


def functions_table(record: Record) -> str:
    """Successes, evaluations and best values; then whether the sampler is `minimize`."""
    rows = []
    for problem in PROBLEMS["functions"]:
        for method in METHODS["functions"]:
            runs = [run for key, run in record.items() if (key.problem, key.method) == (problem, method)]
            if not runs:
                continue
            s = summary(Trial(run.success, run.evaluations) for run in runs)
            spent = f"{s.mean:.0f}" if s.successes else "–"
            if s.successes > 1:
                spent += f" ± {s.half_width:.0f}"
            medians = np.median([run.best for run in runs], axis=0)
            rows.append([problem, method, f"{s.successes}/{s.trials}", spent, *map(_value, medians)])
    most = max(key.trials for key in record)
    header = ["function", "sampler", "successes", "evaluations", "best at 500", "at 1000", f"at {most}"]
    pairs = [
        (run, record.get(key._replace(method=GIVEN))) for key, run in record.items() if key.method == MINIMIZE
    ]
    ours = [a == b for a, b in pairs if b is not None]
    return (
        f"{markdown(header, rows)}\n\nMedians of the best value; evaluations are those of successful runs, "
        f"with the 95% interval of their mean. {TPE} ends at {min(TPE_TRIALS, most)} trials.\n\n"
        f"{GIVEN} gave the same values as {MINIMIZE}, trial by trial, in {sum(ours)} of {len(ours)} runs."
    )


def _value(value: float) -> str:
    return "done" if value <= TARGET else f"{value:.2g}"


def tuning_table(record: Record) -> str:
    """Best values after some trials, and the mean rank among the samplers."""
    rows = []
    for problem in PROBLEMS["tuning"]:
        cells: dict[str, Any] = {m: [] for m in METHODS["tuning"]}
        for key, run in record.items():
            if key.problem == problem:
                cells[key.method].append(run.best)  # by seed, as the keys are
        complete = min(map(len, cells.values()))  # seeds that all have; with --show some may be missing
        cells = {method: runs[:complete] for method, runs in cells.items()}
        ends = np.array([[best[-1] for best in runs] for runs in cells.values()])
        ranks = scipy.stats.rankdata(ends, axis=0).mean(axis=1)
        for (method, runs), rank in zip(cells.items(), ranks, strict=True):
            low, middle, high = np.quantile(np.array(runs), [0.25, 0.5, 0.75], axis=0)
            shown = [f"{m:.4f} ({a:.4f}–{b:.4f})" for a, m, b in zip(low, middle, high, strict=True)]
            rows.append([problem, method, str(complete), *shown, f"{rank:.1f}"])
    most = max(key.trials for key in record)
    header = ["problem", "sampler", "runs", "best at 50", "at 100", f"at {most}", "mean rank at the end"]
    return f"{markdown(header, rows)}\n\nMedians and quartiles over the seeds; less is better."


TABLES = {"functions": functions_table, "tuning": tuning_table}


def keep(out: Path, part: str, what: str, text: str) -> None:
    """Print a table, and keep it with what made it."""
    versions = f"Optuna {optuna.__version__}, {what}"
    made = made_by(command_line("optuna_compare"))
    (out / f"optuna-{part}.md").write_text(f"{made}, {versions}\n\n{text}\n")
    print(text, end="\n\n")


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, help="of a run, if not as above")
    parser.add_argument("--repetitions", type=int, default=3, help="of the overhead's measurements")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="the tables of what has been run; run nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder (experiments/results)")
    o = parser.parse_args(words)
    if unknown := set(o.parts) - set(PARTS):
        parser.error(f"expected {', '.join(PARTS)}, got {', '.join(unknown)}")
    for part in o.parts or PARTS:
        if part == "overhead":
            text = optuna_overhead.table(o.out, 0 if o.show else o.repetitions)
            keep(o.out, part, "in-memory storage and SQLite in a temporary folder", text)
            continue
        file = o.out / f"optuna-{part}.csv"
        keys = keys_of(part, o.seeds, o.trials)
        record = BOOK.read(file)
        missing = [key for key in keys if key not in record]
        if missing and not o.show:
            BOOK.run(missing, run_one, file, o.jobs, len(keys))
            record = BOOK.read(file)
        done = {key: record[key] for key in keys if key in record}
        keep(o.out, part, f"seeds from 0 on, {len(done)} runs", TABLES[part](done))


if __name__ == "__main__":
    main()
