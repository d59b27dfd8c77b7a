"""Categories: evaluations to 1e-8 on functions of mixed variables, beside CatCMA with Margin, and an SVM.

    python -m experiments.categories run --size 5 --seeds 100     runs that are not in the record yet
    python -m experiments.categories show --size 5 --seeds 100    mean evaluations, and ratios to the peer
    python -m experiments.categories run --seeds 5 --methods dx-nes-ici CatCMAwM      a table of its own
    python -m experiments.categories run --categories none --methods dx-nes-ici CatCMAwM --seeds 10
                                                                  the same without any category
    python -m experiments.categories svm --seeds 10               an SVM on digits, its kernels in all orders
    python -m experiments.categories switches --seeds 10          Bool beside a category of two values

The functions are those of the papers on CatCMA: a continuous part of so many variables, an integer part
likewise, and as many categories of five values, of which one is right. A run succeeds with a value of 1e-8,
and fails after 20,000 evaluations for 5 + 5 + 5 variables, 100,000 for more. The choices are permuted in each
run.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import RESULTS, Trial, in_parallel, markdown, publish, summary
from experiments.record import Book
from experiments.tuning_problems import scores
from saltus import Bool, Categorical, Float, Int, Space, minimize
from saltus._typing import FloatArray

FILE, SVM = RESULTS / "categories.csv", RESULTS / "categories-svm.csv"
SVM_POINTS = Path("out/svm-points.csv")
VALUES = 5  # of a category
TARGET = 1e-8
REACH = 5  # continuous variables and integers go from minus this to this
PEER = "CatCMAwM"
NONE = "none"  # no categories at all
METHODS = ("saltus", "saltus-es", "dx-nes-ici", "dx-nes-ici+d", "cma-es-margin", PEER)


def sphere(x: FloatArray) -> float:
    """A ball."""
    return float(x @ x)


def ellipsoid(x: FloatArray) -> float:
    """A bowl with a condition of a million."""
    return float((1e6 ** (np.arange(len(x)) / max(1, len(x) - 1))) @ (x * x))


def rosenbrock(x: FloatArray) -> float:
    """A bent valley; its optimum is at 0 here."""
    y = x + 1.0
    return float((100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2).sum())


def count(right: list[bool]) -> float:
    """How many categories are wrong."""
    return float(right.count(False))


def leading(right: list[bool]) -> float:
    """How many come after the first that is wrong, itself included."""
    return float(len(right) - next((i for i, each in enumerate(right) if not each), len(right)))


def pairs(right: list[bool]) -> float:
    """How many pairs of neighbours have one that is wrong; a last one alone is a pair with itself."""
    return float(sum(not all(right[i : i + 2]) for i in range(0, len(right), 2)))


PARTS: dict[str, Callable[[FloatArray], float]] = {
    part.__name__: part for part in (sphere, ellipsoid, rosenbrock)
}
CATEGORIES: dict[str, Callable[[list[bool]], float]] = {
    part.__name__: part for part in (count, leading, pairs)
}


class Key(NamedTuple):
    """A run."""

    method: str
    size: int  # variables of each of the three kinds
    part: str
    categories: str
    seed: int


class Task:
    """What is minimised; it counts."""

    def __init__(self, key: Key) -> None:
        """Choices in an order of their own for each seed."""
        self.key, n = key, key.size
        rng = np.random.default_rng([key.seed, n])
        self.choices = [[f"v{k}" for k in rng.permutation(VALUES)] for _ in range(n)]
        if key.categories == NONE:
            self.choices = []
        self.budget = 20_000 if n <= 5 else 100_000
        self.evaluations, self.best = 0, float("inf")

    def at(self, x: FloatArray, z: FloatArray, c: list[str]) -> float:
        """The value of a point."""
        part = PARTS[self.key.part]
        wrong = CATEGORIES[self.key.categories]([each == "v0" for each in c]) if self.choices else 0.0
        value = part(x) + part(z) + wrong
        self.evaluations += 1
        self.best = min(self.best, value)
        return value

    def __call__(self, p: Mapping[str, Any]) -> float:
        """The same by names."""
        names = [f"{kind}{i}" for kind in ("xzc" if self.choices else "xz") for i in range(self.key.size)]
        given, n = [p[name] for name in names], self.key.size
        return self.at(np.array(given[:n]), np.array(given[n : 2 * n], dtype=float), given[2 * n :])

    @property
    def space(self) -> Space:
        """Its variables."""
        n = self.key.size
        floats = {f"x{i}": Float(-REACH, REACH) for i in range(n)}
        integers = {f"z{i}": Int(-REACH, REACH) for i in range(n)}
        return Space(floats | integers | {f"c{i}": Categorical(each) for i, each in enumerate(self.choices)})

    @property
    def trial(self) -> Trial:
        """What has come out."""
        return Trial(self.best <= TARGET, self.evaluations, self.best)


def run(key: Key) -> Trial:
    """One run."""
    task = Task(key)
    if key.method == PEER:
        _peer(task)
    else:
        how: dict[str, Any] = {"strategy": key.method, "seed": key.seed}
        minimize(task, task.space, budget=task.budget, target=TARGET, **how)
    return task.trial


def _peer(task: Task) -> None:
    """As its authors run it: default settings, no restarts."""
    from cmaes import CatCMAwM

    n, seed = task.key.size, task.key.seed
    peer = CatCMAwM(
        x_space=[[-REACH, REACH]] * n,
        z_space=[list(range(-REACH, REACH + 1))] * n,
        c_space=[VALUES] * n if task.choices else None,
        seed=seed + 1,
    )
    while task.evaluations < task.budget and not peer.should_stop():
        told = []
        for _ in range(peer.population_size):
            point = peer.ask()
            c = [each[int(point.c[i].argmax())] for i, each in enumerate(task.choices)]
            told.append((point, task.at(point.x, point.z, c)))
            if task.best <= TARGET:
                return
        peer.tell(told)


def _row(key: Key, trial: Trial) -> list[Any]:
    return [*key, int(trial.success), trial.evaluations, f"{trial.best:.4g}"]


def _parse(row: list[str]) -> tuple[Key, Trial]:
    method, size, part, categories, seed, success, evaluations, best = row
    trial = Trial(bool(int(success)), int(evaluations), float(best))
    return Key(method, int(size), part, categories, int(seed)), trial


BOOK: Book[Key, Trial] = Book(
    ["method", "size", "part", "categories", "seed", "success", "evaluations", "best"], _row, _parse
)


def wanted(o: argparse.Namespace) -> list[Key]:
    """The runs that were asked for, all methods of a seed before the next seed."""
    cells = itertools.product(range(o.seeds), o.categories, o.parts, o.methods)
    return [Key(method, o.size, part, kind, seed) for seed, kind, part, method in cells]


def table(record: dict[Key, Trial], o: argparse.Namespace) -> str:
    """Mean evaluations; the ratio of those of all runs, to the peer's, in brackets."""
    rows = []
    for kind, part in itertools.product(o.categories, o.parts):
        sums = {}
        for method in o.methods:
            keys = (Key(method, o.size, part, kind, seed) for seed in range(o.seeds))
            trials = [record[key] for key in keys if key in record]
            sums[method] = summary(trials) if trials else None
        peer, cells = sums.get(PEER), []
        for method, found in sums.items():
            cell = "" if found is None else str(found)
            if found is not None and peer is not None and peer.successes and method != PEER:
                cell += f" [{found.per_success / peer.per_success:.2g}]"
            cells.append(cell)
        rows.append([f"{kind}, {part}", *cells])
    kinds = " + ".join([str(o.size)] * (2 if o.categories == [NONE] else 3))
    return markdown([f"{kinds} variables, {o.seeds} runs", *o.methods], rows)


# an SVM


KERNELS = ("rbf", "poly", "sigmoid")
SVM_BUDGET = 80


@functools.cache
def _digits() -> Any:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def svm(p: Mapping[str, Any]) -> float:
    """Minus the accuracy of three folds; what was evaluated once costs nothing again."""
    own = {name: p[name] for name in ("kernel", "C", "gamma")}
    if p["kernel"] == "poly":  # for the others it means nothing
        own["degree"] = p["degree"]
    return scores(SVM_POINTS).kept(list(own.values()), lambda: _evaluated(own))


def _evaluated(p: Mapping[str, Any]) -> float:
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    x, y = _digits()
    model = SVC(**p, max_iter=20_000)  # some would take minutes, and come to nothing
    return -float(np.mean(cross_val_score(model, x, y, cv=3)))


class Tuning(NamedTuple):
    """A run on the SVM, with the kernels in this order; with "conditions" the degree has one."""

    method: str
    order: str
    seed: int


def tune(key: Tuning) -> float:
    """The accuracy that it comes to."""
    import warnings

    warnings.simplefilter("ignore")  # of fits that do not converge
    if key.method == "random":
        rng = np.random.default_rng(key.seed)
        found = []
        for _ in range(SVM_BUDGET):
            C, gamma = (10 ** rng.uniform(-4, 4) for _ in range(2))
            name, degree = KERNELS[rng.integers(3)], int(rng.integers(2, 6))
            found.append(svm({"C": C, "gamma": gamma, "degree": degree, "kernel": name}))
        return -min(found)
    kernel = Categorical(key.order.split())
    sizes = {name: Float(1e-4, 1e4, log=True) for name in ("C", "gamma")}
    strategy, _, conditions = key.method.partition(", ")
    degrees = Int(2, 5, when={"kernel": "poly"} if conditions else None)
    space = Space({**sizes, "degree": degrees, "kernel": kernel})
    found_by = minimize(svm, space, budget=SVM_BUDGET, seed=key.seed, strategy=strategy)
    return -float(found_by.fun)


def _tuned(row: list[str]) -> tuple[Tuning, float]:
    method, order, seed, accuracy = row
    return Tuning(method, order, int(seed)), float(accuracy)


SVM_BOOK: Book[Tuning, float] = Book(
    ["method", "order", "seed", "accuracy"], lambda key, found: [*key, f"{found:.6f}"], _tuned
)


def svm_table(record: dict[Tuning, float]) -> str:
    """Accuracies by order."""
    rows = []
    which = [(key.method, order) for key in record for order in dict.fromkeys(("", key.order))]
    for method, order in sorted(dict.fromkeys(which)):
        found = np.array(
            [a for key, a in record.items() if key.method == method and order in ("", key.order)]
        )
        cells = [f"{found.mean():.4f}", f"{np.median(found):.4f}", f"{found.min():.4f}", str(len(found))]
        rows.append([method, order or "any", *cells])
    return markdown(["", "kernels", "mean accuracy", "median", "worst", "runs"], rows)


# switches


def switches(strategy: str, kind: str, categories: str, seed: int) -> Trial:
    """Three continuous variables and ten switches, to 1e-6."""
    n = 10
    right = np.random.default_rng(seed).random(n) < 0.5
    each = Bool() if kind == "Bool" else Categorical([False, True])
    floats = {f"x{i}": Float(-REACH, REACH) for i in range(3)}
    space = Space(floats | {f"b{i}": each for i in range(n)})

    def fun(p: Mapping[str, Any]) -> float:
        same = [bool(p[f"b{i}"] == right[i]) for i in range(n)]
        return sphere(np.array([p[f"x{i}"] for i in range(3)])) + CATEGORIES[categories](same)

    found = minimize(fun, space, strategy=strategy, seed=seed, budget=8000, target=1e-6)
    return Trial(found.success, found.nfev)


def switches_table(o: argparse.Namespace) -> str:
    """Mean evaluations with both kinds of variable."""
    kinds = ("Bool", "Categorical")
    cells = list(itertools.product(("saltus", "saltus-es", "dx-nes-ici"), CATEGORIES, kinds))
    tasks = [(strategy, kind, what, seed) for strategy, what, kind in cells for seed in range(o.seeds)]
    found = iter(in_parallel(switches, tasks, o.jobs))
    means = {cell: str(summary([next(found) for _ in range(o.seeds)])) for cell in cells}
    rows = [
        [f"{strategy}, {what}", *(means[strategy, what, kind] for kind in kinds)]
        for strategy, what in itertools.product(("saltus", "saltus-es", "dx-nes-ici"), CATEGORIES)
    ]
    return markdown([f"{o.seeds} runs", "`Bool()`", "`Categorical([False, True])`"], rows)


def main() -> None:
    """Run, or show."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show", "svm", "switches"])
    parser.add_argument("--size", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["saltus", PEER])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--categories", nargs="+", choices=[*CATEGORIES, NONE], default=list(CATEGORIES))
    parser.add_argument("--jobs", type=int, default=2)
    o = parser.parse_args()
    if o.what == "svm":
        orders = [" ".join(order) for order in itertools.permutations(KERNELS)]
        keys = []
        for turn, seed in itertools.product(range(len(orders)), range(o.seeds)):  # each order soon has a run
            keys += [Tuning("random", "", seed)] if not turn else []
            keys.append(Tuning("saltus", orders[(seed + turn) % len(orders)], seed))
            keys += [Tuning("saltus, conditions", orders[seed % len(orders)], seed)] if turn == 1 else []
        SVM_BOOK.complete(keys, tune, SVM, o.jobs)
        publish("categories-svm", svm_table(SVM_BOOK.read(SVM)), "categories")
        return
    if o.what == "switches":
        publish("categories-switches", switches_table(o), "categories")
        return
    if o.what == "run":
        BOOK.complete(wanted(o), run, FILE, o.jobs)
    name = "categories-none" if o.categories == [NONE] else f"categories-{o.size}"
    if "saltus" not in o.methods and o.categories != [NONE]:
        name += "-others"
    publish(name, table(BOOK.read(FILE), o), "categories")


if __name__ == "__main__":
    main()
