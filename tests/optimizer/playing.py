"""Problems for optimizers, with and without waiting, and workers that end in random order."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

from saltus import Bool, Candidate, Float, Int, Optimizer, Ordinal, Space
from saltus._typing import FloatArray
from saltus.order import Failure, Outcome

SPACE = Space(
    {
        "k": Int(-10, 10),
        "x": Float(-5, 5),
        "lr": Float(1e-4, 1, log=True),
        "grid": Ordinal([0.5, 1, 4]),
        "on": Bool(),
    }
)


def objective(p: dict[str, Any]) -> float:
    return float(
        (p["k"] - 3) ** 2
        + (p["x"] - 1.5) ** 2
        + math.log(p["lr"] / 0.01) ** 2
        + (p["grid"] - 1) ** 2
        + (not p["on"])
    )


def trace(optimizer: Optimizer, generations: int) -> list[Any]:
    seen: list[Any] = []
    for _ in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [objective(c.params) for c in candidates])
        seen.extend(c.params for c in candidates)
    return seen


Pair = tuple[float, float]  # value and violation


SPACES = {
    "continuous": Space([Float(-5, 5), Float(), Float(1e-3, 10, log=True)]),
    "discrete": Space([Int(-10, 10), Ordinal([0.5, 1, 4]), Bool()]),
    "mixed": Space([Float(-5, 5), Int(-10, 10), Float(), Bool(), Int(1, 500, log=True)]),
    "one float": Space([Float(-3, 9)]),
    "one integer": Space([Int(-3, 90)]),
    "one switch": Space([Bool()]),
}


LOGS = Space({"rate": Float(1e-4, 1e2, log=True), "width": Float(1e-3, 10, log=True), "k": Int(0, 20)})


def asynchronous(space: Space, **options: Any) -> Optimizer:
    return Optimizer(space, asynchronous=True, **options)


def distance(x: FloatArray) -> float:
    return float(((x - 0.7) ** 2).sum())


def treacherous(x: FloatArray) -> Pair:
    """Some points fail in one way or another, some violate something: always the same ones."""
    kind = random.Random(x.tobytes()).random()
    violation = 0.3 * kind if kind < 0.2 else math.inf if kind > 0.99 else 0.0
    value = math.nan if 0.2 < kind < 0.3 or kind < 0.05 else math.inf if 0.3 < kind < 0.35 else distance(x)
    return value, violation


class World:
    """Workers that end in random order."""

    def __init__(self, optimizer: Optimizer, workers: int, seed: int) -> None:
        self.optimizer, self.workers = optimizer, workers
        self.random = random.Random(seed)
        self.running: list[Candidate] = []
        self.seen: list[Candidate] = []

    def fill(self) -> None:
        missing = self.workers - len(self.running)
        if missing:
            asked = self.optimizer.ask(missing)
            assert len(asked) == missing
            self.running += asked
            self.seen += asked

    def end(self, count: int = 1) -> list[Candidate]:
        self.random.shuffle(self.running)
        ended, self.running = self.running[:count], self.running[count:]
        return ended

    def run(self, evaluations: int, fun: Callable[[FloatArray], Pair] = lambda x: (distance(x), 0.0)) -> None:
        for _ in range(evaluations):
            self.fill()
            (done,) = self.end()
            value, violation = fun(done.params)
            self.optimizer.tell(done, value, violation)


def through_json(optimizer: Optimizer) -> Optimizer:
    return Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))


def in_mid_air(strategy: str = "saltus-es") -> Optimizer:
    """With a batch on its way, candidates of older ones, and outcomes of those that wait to be used."""
    optimizer = asynchronous(SPACES["mixed"], strategy=strategy, seed=1)
    world = World(optimizer, 9, seed=1)
    state: dict[str, Any] = {"late": [], "in_flight": []}
    while not (state["late"] and state["in_flight"] and state["asked"] and state["news"]):
        world.run(1)
        world.fill()
        state = optimizer.state()
        assert optimizer.evaluations < 1000
    return optimizer


def remembered(optimizer: Optimizer) -> Any:
    memory = optimizer.memory
    parts = [memory.ids, memory.x, memory.values, memory.violations]
    parts += [memory.constraint(name) for name in memory.constraint_names]
    return [part.tobytes() for part in parts], memory.constraint_names, memory.failures


def eventful(p: dict[str, Any]) -> Any:
    """Constraints by name and kinds of failure, always the same at the same point."""
    if p["grid"] == 4:
        return Outcome(math.nan, failure=Failure.TIMEOUT)
    if p["x"] > 3:
        return math.inf
    if p["k"] > 2:
        return Outcome(objective(p), {"high": p["k"] - 5.0, "on": -1.0 if p["on"] else 1.0})
    return objective(p)
