"""COCO's suites of one objective, as they are measured here: which problems, and who belongs in their tables.

Instances are numbered as COCO numbers them, not by their place in a suite: bbob and bbob-boxed offer 1 to 5
and others from 71 on by default. Here they are 1 to 6 everywhere, 1 to 3 for tuning and 4 to 6 for showing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from experiments.harness import RESULTS
from saltus._typing import FloatArray

INSTANCES = range(1, 7)  # 7 to 15 are for others to judge by, never for us
MIXINT, CONSTRAINED, NOISY = "bbob-mixint", "bbob-constrained", "bbob-noisy"

# what a run is judged by: the targets that it hits, or the value of one point after so many evaluations, the
# best feasible one or the one that it recommends, without noise
Measure = Literal["targets", "feasible", "noise-free"]


@dataclass(frozen=True)
class Suite:
    """What is run by default, and the file that keeps it; of the methods ours comes first."""

    name: str
    functions: range
    dims: tuple[int, ...]
    budget: int  # evaluations for each variable
    methods: tuple[str, ...]
    slow: tuple[str, ...] = ()  # peers that are run to 100 evaluations for each variable, up to D = 10
    measure: Measure = "targets"
    stem: str = ""  # of its files; else made of its name

    @property
    def file(self) -> Path:
        """The record."""
        return RESULTS / f"{self.stem or f'coco-{self.name}'}.csv"


_BBOB = range(1, 25)
_CONTINUOUS = ("saltus", "pycma", "pycma-BIPOP", "CR-FM-NES", "BiteOpt", "DE")
_SLOW = ("lq-CMA-ES", "COBYQA", "NOMAD")
_LARGE = ("saltus", "pycma", "pycma-sep", "pycma-VD", "pycma-VkD", "CR-FM-NES")
_MIXED = ("saltus", "saltus-es", "dx-nes-ici", "pycma", "CatCMAwM", "CMAwM", "DE")
_LIMITED = ("saltus", "saltus-es", "pycma-AL", "NOMAD", "COBYQA")
_UNCERTAIN = ("saltus", "pycma", "pycma-noise")

SUITES = {
    suite.name: suite
    for suite in (
        Suite(MIXINT, _BBOB, (5, 10, 20, 40), 1000, _MIXED, stem="coco"),
        Suite("bbob", _BBOB, (3, 5, 10, 20), 500, _CONTINUOUS, _SLOW),
        Suite("bbob-boxed", _BBOB, (5, 10, 20), 500, _CONTINUOUS, _SLOW),
        Suite("bbob-largescale", _BBOB, (80, 160, 320), 200, _LARGE),
        # nine objectives with six numbers of constraints each
        Suite(CONSTRAINED, range(1, 55), (5, 10), 200, _LIMITED, measure="feasible", stem="constrained"),
        Suite(NOISY, range(101, 131), (5, 10, 20), 500, _UNCERTAIN, measure="noise-free"),
    )
}


class Key(NamedTuple):
    """One run."""

    method: str
    D: int
    function: int
    instance: int
    seed: int


@cache
def _problems(name: str, D: int) -> Any:
    import cocoex

    return cocoex.Suite(name, f"instances: {INSTANCES[0]}-{INSTANCES[-1]}", f"dimensions: {D}")


def problem(D: int, function: int, instance: int, suite: str = MIXINT) -> Any:
    """A fresh problem of the suite."""
    if instance not in INSTANCES:
        raise ValueError(f"instances are {INSTANCES[0]} to {INSTANCES[-1]}, got {instance}")
    return _problems(suite, D).get_problem_by_function_dimension_instance(function, D, instance)


def best_point(coco: Any) -> FloatArray:
    """The optimum; COCO tells it through a file in the current folder."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            coco._best_parameter("print")
            return np.loadtxt("._bbob_problem_best_parameter.txt")
        finally:
            os.chdir(here)


def optimum(coco: Any) -> float:
    """The best value."""
    return float(coco(best_point(coco)))


def command_line(
    text: str | None,
    what: list[str],
    dims: Sequence[int],
    budget: int,
    methods: Sequence[str],
    file: Path,
    functions: Sequence[int] = _BBOB,
) -> argparse.ArgumentParser:
    """The arguments that experiments on COCO's suites share, with their defaults."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=what)
    parser.add_argument("--dims", type=int, nargs="+", default=list(dims))
    parser.add_argument("--instances", type=int, nargs="+", default=[4, 5, 6], choices=INSTANCES)
    parser.add_argument("--functions", type=int, nargs="+", default=list(functions), choices=functions)
    parser.add_argument("--budget", type=int, default=budget, help="evaluations per dimension")
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=list(methods))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--file", type=Path, default=file)
    return parser


def wanted(o: argparse.Namespace, methods: Sequence[str]) -> list[Key]:
    """The runs that the command line asks for: seed after seed, so that a part is a fair sample."""
    return [
        Key(method, D, function, instance, seed)
        for seed in range(o.first_seed, o.first_seed + o.seeds)
        for D in o.dims
        for method in methods
        for instance in o.instances
        for function in o.functions
    ]
