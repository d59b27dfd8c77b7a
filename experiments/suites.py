"""COCO's suites of one objective, as they are measured here: which problems, and who belongs in their tables.

Instances are numbered as COCO numbers them, not by their place in the suite: bbob and bbob-boxed offer 1 to 5
and others from 71 on by default. Here they are 1 to 6 everywhere, 1 to 3 for tuning and 4 to 6 for showing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import RESULTS

INSTANCES = range(1, 7)  # 7 to 15 are for others to judge by, never for us
MIXINT = "bbob-mixint"


class Suite(NamedTuple):
    """What is run by default, and the file that keeps it; of the methods ours comes first."""

    name: str
    functions: Sequence[int]
    dims: tuple[int, ...]
    budget: int  # evaluations for each variable
    methods: tuple[str, ...]
    file: Path


_CONTINUOUS = ("saltus", "pycma", "pycma-BIPOP", "lq-CMA-ES", "CR-FM-NES", "BiteOpt", "DE", "COBYQA", "NOMAD")
_LARGE = ("saltus", "pycma", "pycma-sep", "pycma-VD", "pycma-VkD", "CR-FM-NES")
_MIXED = ("saltus", "saltus-es", "dx-nes-ici", "pycma", "CatCMAwM", "CMAwM", "DE")

SUITES = {
    suite.name: suite
    for suite in (
        Suite(MIXINT, range(1, 25), (5, 10, 20, 40), 1000, _MIXED, RESULTS / "coco.csv"),
        Suite("bbob", range(1, 25), (3, 5, 10, 20), 500, _CONTINUOUS, RESULTS / "coco-bbob.csv"),
        Suite("bbob-boxed", range(1, 25), (5, 10, 20), 500, _CONTINUOUS, RESULTS / "coco-bbob-boxed.csv"),
        Suite(
            "bbob-largescale", range(1, 25), (80, 160, 320), 200, _LARGE, RESULTS / "coco-bbob-largescale.csv"
        ),
    )
}


@cache
def _problems(name: str, D: int) -> Any:
    import cocoex

    return cocoex.Suite(name, f"instances: {INSTANCES[0]}-{INSTANCES[-1]}", f"dimensions: {D}")


def problem(D: int, function: int, instance: int, suite: str = MIXINT) -> Any:
    """A fresh problem of the suite."""
    if instance not in INSTANCES:
        raise ValueError(f"instances are {INSTANCES[0]} to {INSTANCES[-1]}, got {instance}")
    return _problems(suite, D).get_problem_by_function_dimension_instance(function, D, instance)


def optimum(coco: Any) -> float:
    """The best value; COCO tells the best point, through a file in the current folder."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            coco._best_parameter("print")
            return float(coco(np.loadtxt("._bbob_problem_best_parameter.txt")))
        finally:
            os.chdir(here)
