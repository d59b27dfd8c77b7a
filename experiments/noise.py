"""The noise of bbob-noisy, and its problems without it.

Every objective of the suite comes with three kinds of noise: f101, f102 and f103 are one objective with
Gaussian, uniform and Cauchy noise, and so on, moderate up to f106 and severe from f107 on. COCO's values
alone do not say what is noise. But four of five values with Cauchy noise are the objective plus a constant: a
value that comes twice has none. So an objective without noise is evaluated exactly, for all three. And
COCO's noise depends on all that a process has evaluated before; here it is drawn from the seed of the run,
by the same formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.suites import NOISY, best_point, problem
from saltus._typing import FloatArray

FIRST = 101  # of the functions
SEVERE = 107  # from here on
MULTIMODAL = 122  # and from here on
KINDS = ("Gaussian", "uniform", "Cauchy")
SHIFT = 1000.0  # of Cauchy noise, before it is scaled
ABOVE = 1.01e-8  # is added to every value


def kind(function: int) -> str:
    """Its noise."""
    return KINDS[(function - FIRST) % 3]


def noisy(above: float, function: int, D: int, rng: np.random.Generator) -> float:
    """What is seen of a value so much above the optimum."""
    severe = function >= SEVERE
    if kind(function) == "Gaussian":
        seen = above * np.exp((1.0 if severe else 0.01) * rng.standard_normal())
    elif kind(function) == "uniform":
        alpha, beta = (0.49 + 1 / D) * (1.0 if severe else 0.01), 1.0 if severe else 0.01
        peak = (1e9 / (above + 1e-99)) ** (alpha * rng.random())
        seen = above * rng.random() ** beta * max(1.0, peak)
    else:
        alpha, chance = (1.0, 0.2) if severe else (0.01, 0.05)
        outlier = rng.standard_cauchy() if rng.random() < chance else 0.0
        seen = above + alpha * max(0.0, SHIFT + outlier)
    return float(seen + ABOVE)


class NoiseFree:
    """An objective of bbob-noisy without its noise: how much a point is above the optimum."""

    def __init__(self, D: int, function: int, instance: int) -> None:
        """Of any of the three functions with this objective."""
        with_cauchy = function + 2 - (function - FIRST) % 3
        self._coco: Any = problem(D, with_cauchy, instance, NOISY)
        self._best = self._repeated(best_point(self._coco))

    def __call__(self, x: FloatArray) -> float:
        """At least 0."""
        return max(0.0, self._repeated(x) - self._best)

    def _repeated(self, x: FloatArray) -> float:
        seen = set()
        while (value := float(self._coco(x))) not in seen:
            seen.add(value)
        return value
