"""Objectives that worker processes can import: at little cost, which a module of tests is not."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus import Bool, Float, Int, Space

SPACE = Space({"x": Float(-5, 5), "k": Int(0, 20), "on": Bool()})


def bowl(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + (p["k"] - 7) ** 2 + (not p["on"]))


def slow_bowl(p: dict[str, Any]) -> float:
    time.sleep(random.random() * 0.005)
    return bowl(p)


def fails_sometimes(p: dict[str, Any]) -> float:
    if p["k"] % 5 == 4:
        raise ArithmeticError(f"no value at k={p['k']}")
    return bowl(p)


class Untransportable(Exception):
    """Pickles, but does not unpickle."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"{code}: {what}")


def fails_with_its_own_exception(p: dict[str, Any]) -> float:
    if p["k"] % 5 == 4:
        raise Untransportable(3, "bad mesh")
    return bowl(p)


def first_is_slow(p: dict[str, Any]) -> float:
    """The first evaluation of a process takes a second, the others 20 ms."""
    time.sleep(0.02 if _called else 1.0)
    _called.append(True)
    return bowl(p)


_called: list[bool] = []


def overwrites(p: dict[str, Any]) -> float:
    k = p["k"]
    p.clear()
    if k % 5 == 4:
        raise ArithmeticError("after writing")
    return float(k)


def returns_nothing(p: dict[str, Any]) -> None:
    return None


def kills_its_process(p: dict[str, Any]) -> float:
    os._exit(3)


def blas_threads(p: dict[str, Any]) -> float:
    np.ones((300, 300)) @ np.ones((300, 300))
    return float(os.environ.get("OPENBLAS_NUM_THREADS", "99"))


def constrained(p: dict[str, Any]) -> tuple[float, list[float]]:
    """The best k within p["k"] >= 10 is 10."""
    return bowl(p), [10 - p["k"], p["x"] - 100]


def hangs_sometimes(p: dict[str, Any]) -> float:
    time.sleep(60 if p["k"] % 3 == 0 else 0)
    return bowl(p)


def is_killed_sometimes(p: dict[str, Any]) -> float:
    if p["k"] % 3 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(p)


def slow_square(p: dict[str, Any]) -> float:
    time.sleep(1.0)
    return float(p["x"] ** 2)


def very_slow_square(p: dict[str, Any]) -> float:
    time.sleep(10.0)
    return float(p["x"] ** 2)


def takes_long_to_load() -> Any:
    time.sleep(60)
    return bowl


class Interrupted:
    """An objective during whose n-th call the user presses Ctrl-C."""

    def __init__(self, fun: Callable[[dict[str, Any]], float], call: int) -> None:
        self.fun, self.calls, self.last = fun, 0, call

    def __call__(self, p: dict[str, Any]) -> float:
        self.calls += 1
        if self.calls == self.last:
            raise KeyboardInterrupt
        return self.fun(p)


def switches(p: dict[str, Any]) -> float:
    return float(not p["a"]) + 2.0 * float(p["b"])


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raises_unspeakable(p: Any) -> float:
    raise Unspeakable


def raises_at_length(p: Any) -> float:
    raise ValueError("x" * 5_000_000)


def forked() -> bool:
    """Whether this is the child. One that is called again ends: children of children would be without end."""
    if os.environ.get("SALTUS_TEST_CHILD"):
        os._exit(3)
    if os.fork() == 0:
        os.environ["SALTUS_TEST_CHILD"] = "1"
        return True
    return False


def forks(p: Any) -> float:
    """Both processes come back; the child is late, and says something else."""
    if forked():
        time.sleep(0.02)
        return -1e6
    time.sleep(0.01)
    return bowl(p)


def forks_and_raises(p: Any) -> float:
    if forked():
        raise ValueError("this is the child")
    return bowl(p)
