"""COCO's suite bbob-constrained: our strategies and peers that take constraints, in one harness.

    python -m experiments.constrained run --dims 5 10 --instances 4 5 6 --seeds 1
    python -m experiments.constrained show ...        in how many problems ours is ahead of each peer
    python -m experiments.constrained functions ...   the same, objective by objective

`run` appends each finished run to a file and goes on where it was; the others read that file. A run is judged
by the best feasible value after 10, 20, 50, 100 and 200 evaluations for each variable: of two methods the one
with the lower value is ahead, equal values and nothing feasible on both sides count half. Objective and
constraints at a point together are one evaluation, for everybody; a point that is asked again is free.
Everybody begins in the middle of the box, where most problems are violated: COCO's feasible first point is
not used. Instances 1 to 3 are for tuning, 4 to 6 for validation; others are refused.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.coco import Key, command_line, wanted
from experiments.harness import RESULTS, markdown, publish
from experiments.record import Book, longest
from experiments.small import lengthened
from experiments.solvers import FIRST_STEP, Enough
from experiments.suites import INSTANCES
from saltus import Float, Optimizer, Outcome, Space
from saltus._typing import FloatArray

FUNCTIONS = range(1, 55)  # nine objectives with six numbers of constraints each
OBJECTIVES = ("sphere", "ellipsoid", "linear slope", "rotated ellipsoid", "discus", "bent cigar",
              "different powers", "Rastrigin", "rotated Rastrigin")  # fmt: skip
BUDGETS = (5, 10, 20, 50, 100, 200)  # evaluations for each variable
FILE = RESULTS / "constrained.csv"
GUESTS = ("NOMAD",)  # peers with an environment of their own
_HUGE = 1e20  # for solvers that want a number where the run is over


class Run(NamedTuple):
    """The budget, in evaluations for each variable, seconds, and the best feasible values at `BUDGETS`."""

    budget: int
    seconds: float
    values: tuple[float, ...]


def _row(keyed: tuple[Key, int], run: Run) -> list[Any]:
    return [*keyed[0], run.budget, f"{run.seconds:.2f}", " ".join(map(repr, run.values))]


def _parse(row: list[str]) -> tuple[tuple[Key, int], Run]:
    method, *numbers, budget, seconds, values = row
    D, function, instance, seed = map(int, numbers)
    run = Run(int(budget), float(seconds), tuple(map(float, values.split())))
    return (Key(method, D, function, instance, seed), run.budget), run


BOOK: Book[Any, Run] = Book(
    ["method", "D", "function", "instance", "seed", "budget", "seconds", "values"], _row, _parse
)


@cache
def _suite(D: int) -> Any:
    import cocoex

    return cocoex.Suite("bbob-constrained", "", f"dimensions:{D} instance_indices:1-{INSTANCES[-1]}")


def problem(D: int, function: int, instance: int) -> Any:
    """A fresh problem of the suite."""
    if instance not in INSTANCES:
        raise ValueError(f"instances are {INSTANCES[0]} to {INSTANCES[-1]}, got {instance}")
    return _suite(D).get_problem_by_function_dimension_instance(function, D, instance)


class ConstrainedTask:
    """A problem of the suite that notes the best feasible value after each of `BUDGETS`."""

    def __init__(self, coco: Any, budget: int) -> None:
        """The budget is in evaluations."""
        self.coco, self.N, self.budget = coco, int(coco.dimension), budget
        self.low, self.high = np.array(coco.lower_bounds), np.array(coco.upper_bounds)
        self.constraints = int(coco.number_of_constraints)
        self.evaluations = 0
        self.best = math.inf
        self.trail: list[float] = []  # the best feasible value after each evaluation
        self._known: dict[bytes, tuple[float, FloatArray]] = {}

    def measure(self, x: Any) -> tuple[float, FloatArray]:
        """Value and constraints, above 0 is violated; raises Enough when the budget is spent."""
        x = np.minimum(np.maximum(np.asarray(x, dtype=float), self.low), self.high)
        name = x.tobytes()
        if name not in self._known:
            if self.evaluations >= self.budget:
                raise Enough
            self.evaluations += 1
            value, g = float(self.coco(x)), np.array(self.coco.constraint(x))
            if (g <= 0).all():
                self.best = min(self.best, value)
            self.trail.append(self.best)
            self._known[name] = value, g
        return self._known[name]

    def values(self) -> tuple[float, ...]:
        """The best feasible values at the budgets; if it has ended before, what it had then."""
        last = self.trail[-1] if self.trail else math.inf
        places = [b * self.N for b in BUDGETS if b * self.N <= self.budget]
        return tuple(self.trail[n - 1] if n <= len(self.trail) else last for n in places)


Solver = Callable[[ConstrainedTask, np.random.Generator], None]


def saltus(strategy: str) -> Solver:
    """One of our strategies, which is told each constraint by its name; or "saltus without ..."."""
    name, _, left_out = strategy.partition(" without ")

    def solve(task: ConstrainedTask, rng: np.random.Generator) -> None:
        space = Space([Float(float(a), float(b)) for a, b in zip(task.low, task.high, strict=True)])
        without = [left_out] if left_out else []
        optimizer = Optimizer(space, strategy=name, seed=rng, auto_restart=True, without=without)
        while True:
            candidates = optimizer.ask()
            outcomes = []
            for candidate in candidates:
                value, g = task.measure(candidate.params)
                named = {f"g{i}": float(amount) for i, amount in enumerate(g)}
                outcomes.append(Outcome(value, named))
            optimizer.tell(candidates, outcomes)

    return solve


def _starts(task: ConstrainedTask, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The middle of the box, then random points."""
    yield (task.low + task.high) / 2
    while True:
        yield rng.uniform(task.low, task.high)


def augmented_lagrangian(task: ConstrainedTask, rng: np.random.Generator) -> None:
    """Pycma with its augmented Lagrangian, `fmin_con2`; when it stops, again from a random point."""
    import cma

    for start in _starts(task, rng):
        options = {
            "bounds": [task.low.tolist(), task.high.tolist()],
            "seed": int(rng.integers(1, 2**31)),
            "verbose": -9,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cma.fmin_con2(
                lambda x: task.measure(x)[0],
                start.tolist(),
                FIRST_STEP * float((task.high - task.low).mean()),
                constraints=lambda x: task.measure(x)[1].tolist(),
                options=options,
            )


def cobyqa(task: ConstrainedTask, rng: np.random.Generator) -> None:
    """SciPy's COBYQA, whose models are quadratics; when it stops, again from a random point."""
    from scipy.optimize import NonlinearConstraint, minimize

    holds = NonlinearConstraint(lambda x: task.measure(x)[1], -math.inf, 0.0)
    options: Any = {"maxfev": task.budget + 1}

    def value(x: FloatArray) -> float:
        return task.measure(x)[0]

    for start in _starts(task, rng):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            minimize(
                value,
                start,
                method="COBYQA",
                bounds=list(zip(task.low.tolist(), task.high.tolist(), strict=True)),
                constraints=[holds],
                options=options,
            )


def nomad(task: ConstrainedTask, rng: np.random.Generator) -> None:
    """NOMAD 4 with a progressive barrier, mesh adaptive direct search; when it stops, from a random point."""
    import PyNomad

    over: list[bool] = []

    def black_box(point: Any) -> int:
        numbers = [_HUGE] * (1 + task.constraints)
        if not over:
            try:
                value, g = task.measure([point.get_coord(i) for i in range(task.N)])
                numbers = [value, *g.tolist()]
            except Enough:  # nothing may be raised through it
                over.append(True)
        point.setBBO(" ".join(map(repr, numbers)).encode())
        return 1

    for start in _starts(task, rng):
        options = [
            "BB_OUTPUT_TYPE OBJ" + " PB" * task.constraints,
            f"MAX_BB_EVAL {task.budget - task.evaluations + 1}",
            "DISPLAY_DEGREE 0",
            f"SEED {int(rng.integers(1, 1000))}",
            "NB_THREADS_PARALLEL_EVAL 1",
        ]
        PyNomad.optimize(black_box, start.tolist(), task.low.tolist(), task.high.tolist(), options)
        if over or task.evaluations >= task.budget:
            raise Enough


PEERS: dict[str, Solver] = {"pycma-AL": augmented_lagrangian, "NOMAD": nomad, "COBYQA": cobyqa}
METHODS = ["saltus", "saltus-es", *PEERS]


def run_one(keyed: tuple[Key, int]) -> Run:
    """One run, to the end of its budget."""
    key, budget = keyed
    task = ConstrainedTask(problem(key.D, key.function, key.instance), budget * key.D)
    rng = np.random.default_rng([key.D, key.function, key.instance, key.seed])
    start = time.perf_counter()
    with suppress(Enough):
        (PEERS[key.method] if key.method in PEERS else saltus(key.method))(task, rng)
    return Run(budget, time.perf_counter() - start, task.values())


def read(path: Path) -> dict[Key, Run]:
    """The longest run of each kind in the file."""
    return longest(BOOK, path)


def ahead(own: float, other: float) -> float:
    """1 if the first of two values is lower, one half if they are equal, else 0."""
    return 0.5 if own == other else float(own < other)


class Share(NamedTuple):
    """Of some problems those in which one method is ahead of another, and how many problems there are."""

    share: float
    problems: int

    def __str__(self) -> str:
        """Two digits, and which they are a share of."""
        return f"{self.share:.2f} ({self.problems})" if self.problems else ""


def duel(record: dict[Key, Run], keys: list[Key], other: str, place: int) -> Share:
    """Runs of one method against the same of another, after `BUDGETS[place]`."""
    won = []
    for key in keys:
        own, peer = record.get(key), record.get(key._replace(method=other))
        if own is not None and peer is not None and min(len(own.values), len(peer.values)) > place:
            won.append(ahead(own.values[place], peer.values[place]))
    return Share(float(np.mean(won)) if won else math.nan, len(won))


def table(record: dict[Key, Run], o: argparse.Namespace, D: int) -> str:
    """Shares of problems won by the first of the methods against each other one, and what was feasible."""
    first, *others = o.methods
    keys = [key for key in wanted(o, [first]) if key.D == D]
    places = [i for i, b in enumerate(BUDGETS) if b <= o.budget]
    rows = [
        [f"{first} ahead of {other}", *(str(duel(record, keys, other, i)) for i in places), ""]
        for other in others
    ]
    for method in o.methods:
        runs = [record[k] for key in keys if (k := key._replace(method=method)) in record]
        if not runs:
            continue
        cells = []
        for i in places:
            found = [math.isfinite(run.values[i]) for run in runs if len(run.values) > i]
            cells.append(f"{np.mean(found):.2f}" if found else "")
        spent = sum(run.seconds for run in runs) / sum(run.budget * D for run in runs)
        rows.append([f"something feasible: {method}", *cells, f"{1e3 * spent:.1f}"])
    header = [f"D = {D}", *(f"{BUDGETS[i]} D" for i in places), "ms per evaluation"]
    return markdown(header, rows)


def functions(record: dict[Key, Run], o: argparse.Namespace) -> str:
    """The same for each objective and each number of constraints, at one budget."""
    first, *others = o.methods
    place = BUDGETS.index(o.at)
    kinds = {f"{name}": {6 * i + j + 1 for j in range(6)} for i, name in enumerate(OBJECTIVES)}
    kinds |= {f"constraints: the {j + 1}. number": {6 * i + j + 1 for i in range(9)} for j in range(6)}
    rows = []
    for label, members in kinds.items():
        row = [label]
        for D in o.dims:
            keys = [key for key in wanted(o, [first]) if key.D == D and key.function in members]
            row += [str(duel(record, keys, other, place)) for other in others]
        rows.append(row)
    return markdown([f"at {o.at} D", *(f"{m}, D = {D}" for D in o.dims for m in others)], rows)


def main() -> None:
    """The command line."""
    verbs = ["run", "show", "functions"]
    parser = command_line(__doc__, verbs, [5, 10], 200, METHODS, FILE, FUNCTIONS)
    parser.set_defaults(seeds=1)
    parser.add_argument("--at", type=int, default=50, choices=BUDGETS, help="of `functions`")
    parser.add_argument("--here", action="store_true", help="in this environment, whatever a peer needs")
    o = parser.parse_args()
    if o.what == "run":
        lengthened(o, "constrained", BOOK, run_one, GUESTS)
        return
    record = read(o.file)
    if o.what == "functions":
        print(functions(record, o))
        return
    text = "\n\n".join(table(record, o, D) for D in o.dims)
    if o.file == FILE:
        publish("constrained", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
