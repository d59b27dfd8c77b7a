"""Settings of a search: what it was asked to be, checked once, and known to all of its phases."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from .._checks import did_you_mean, whole_number
from ..strategy import STRATEGIES as SINGLE
from ..strategy import default_population

DEFAULT_STRATEGY, WITHOUT_MODEL = "saltus", "saltus-es"
MANY_PHASES = (DEFAULT_STRATEGY, WITHOUT_MODEL)
STRATEGIES = (*MANY_PHASES, *SINGLE)
# what can be left out of them, to see what it is worth (`experiments.ablation`)
OPTIONAL = ("scaling", "newton", "deep", "sweep", "neighbours", "pairs", "scan", "local runs", "global runs")
ASKED = ("asking in runs", "asking in sweeps")
OF_THE_MODEL = ("quadratic kernel", "warping", "region", "quadratic steps", "short descent")
MORE_RUNS = ("evolution", "valley", "lattice")
OPTIONAL_WITH_A_MODEL = ("model", "asking", "limits", *MORE_RUNS, *ASKED, *OF_THE_MODEL, *OPTIONAL)


MANY_VARIABLES = 50  # more than these: no model, and slopes instead of curvatures
LARGEST_MATRIX = 200  # variables: of more, a Gaussian has a shape of 2N numbers


class Settings(NamedTuple):
    """What a search was asked to be; `Optimizer` explains the arguments.

    >>> Settings.checked(5, "saltus", without=["scan"]).population
    8
    """

    strategy: str
    population: int
    margin: float | None = None
    exact: bool = False
    without: frozenset[str] = frozenset()
    batch: int = 1
    noisy: bool | None = None

    @classmethod
    def checked(
        cls,
        N: int,
        strategy: Any,
        population: Any = None,
        margin: Any = None,
        exact: bool = False,
        without: Collection[str] = (),
        batch: Any = 1,
        noisy: Any = None,
    ) -> Settings:
        """The settings for N variables, or a ValueError that says what was expected instead."""
        even = mirrored(strategy)
        population = default_population(N) if population is None else population
        whole = isinstance(population, int | np.integer) and not isinstance(population, bool)
        if not whole or population < 4 or (even and population % 2):
            rule = "even and at least 4" if even else "at least 4"
            near = max(4, population + population % 2) if whole else "a whole number"
            raise ValueError(f"population must be {rule}, got {population!r}; try {near}")
        number = isinstance(margin, int | float | np.floating)
        if margin is not None and not (number and 0 < margin < 0.5):
            raise ValueError(f"margin must be a probability between 0 and 0.5, got {margin!r}")
        if type(batch) is not int or batch < 1:
            batch = whole_number("batch must be a whole number, at least 1", batch, 1)
        known = {DEFAULT_STRATEGY: OPTIONAL_WITH_A_MODEL, WITHOUT_MODEL: OPTIONAL}.get(strategy, ())
        parts = frozenset([without] if isinstance(without, str) else without)
        for name in parts - set(known):
            which = ", ".join(map(repr, known)) or f"nothing of {strategy!r}"
            raise ValueError(f"without takes {which}; got {name!r}{did_you_mean(name, known)}")
        if not (noisy is None or isinstance(noisy, bool | np.bool_)):
            raise TypeError(f"noisy must be True, False or None, got {noisy!r}")
        noisy = None if noisy is None else bool(noisy)
        margin = None if margin is None else float(margin)
        return cls(strategy, int(population), margin, exact, parts, batch, noisy)


def mirrored(strategy: Any) -> bool:
    """Whether its population must be even; if there is no such strategy, a ValueError that lists them."""
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        hint = did_you_mean(strategy, STRATEGIES)
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}{hint}")
    return strategy in MANY_PHASES or SINGLE[strategy].mirrored
