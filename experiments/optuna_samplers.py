"""Samplers of the comparison through Optuna, by name, and one around CatCMAwM of the package cmaes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cmaes import CatCMAwM
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, CmaEsSampler, RandomSampler, TPESampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from saltus.optuna import SaltusSampler

STRATEGY = "saltus-es"  # what is on record was measured without a model
Distributions = dict[str, BaseDistribution]


class CatCMAwMSampler(BaseSampler):
    """CatCMA with Margin, in the manner of OptunaHub's: it asks in sample_relative, and tells generations.

    For one worker. Its optimizer stays in memory, which makes it faster than one that is kept in the trials.
    Whatever has two values is a category, as cmaes recommends. When the optimizer says that it should stop,
    a new one begins: beyond that, its matrices overflow.
    """

    def __init__(self, seed: int) -> None:
        """The space is what the trials have in common, so the first trial is random."""
        self._seeds = np.random.default_rng(seed)
        self._random = RandomSampler(seed=seed)
        self._intersection = IntersectionSearchSpace()
        self._space: Distributions = {}
        self._floats: list[str] = []
        self._grids: list[tuple[str, list[Any], Any]] = []  # name, values, and their coordinates
        self._choices: list[tuple[str, Sequence[Any]]] = []
        self._asked: dict[int, Any] = {}
        self._told: list[tuple[Any, float]] = []

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        """What the trials have in common."""
        space = self._intersection.calculate(study)
        return {name: distribution for name, distribution in space.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Distributions
    ) -> dict[str, Any]:
        """The next candidate."""
        if not search_space:
            return {}
        if search_space != self._space:
            self._space = search_space
            self._begin()
        asked = self._method.ask()
        self._asked[trial.number] = asked
        params = {n: self._float(n, x) for n, x in zip(self._floats, _numbers(asked.x), strict=True)}
        for (name, values, places), z in zip(self._grids, _numbers(asked.z), strict=True):
            params[name] = values[int(np.abs(places - z).argmin())]
        for (name, choices), row in zip(self._choices, [] if asked.c is None else asked.c, strict=True):
            params[name] = choices[int(row.argmax())]
        return params

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """At random."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Tell a generation when it is complete."""
        if values is None or trial.number not in self._asked:
            return
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        self._told.append((self._asked.pop(trial.number), sign * values[0]))
        if len(self._told) < self._method.population_size:
            return
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self._method.tell(self._told)
            self._told.clear()
            if self._method.should_stop():
                self._begin()

    def _begin(self) -> None:
        self._floats, self._grids, self._choices = [], [], []
        ranges = []
        for name, d in self._space.items():
            values = _values(d)
            if values is None:
                assert isinstance(d, FloatDistribution)
                self._floats.append(name)
                ranges.append([math.log(d.low), math.log(d.high)] if d.log else [d.low, d.high])
            elif isinstance(d, CategoricalDistribution) or len(values) == 2:
                self._choices.append((name, values))
            else:
                log = isinstance(d, IntDistribution) and d.log
                self._grids.append((name, values, np.log(values) if log else np.array(values, dtype=float)))
        self._method = CatCMAwM(
            x_space=ranges or None,
            z_space=[places.tolist() for _, _, places in self._grids] or None,
            c_space=[len(choices) for _, choices in self._choices] or None,
            seed=int(self._seeds.integers(2**31)),
        )
        self._asked, self._told = {}, []

    def _float(self, name: str, x: float) -> float:
        d = self._space[name]
        assert isinstance(d, FloatDistribution)
        return min(max(math.exp(x) if d.log else x, d.low), d.high)


def _numbers(array: Any) -> list[float]:
    return [] if array is None else list(array.tolist())


def _values(d: BaseDistribution) -> list[Any] | None:
    """All values, or None for an interval."""
    if isinstance(d, CategoricalDistribution):
        return list(d.choices)
    assert isinstance(d, FloatDistribution | IntDistribution)
    if d.step is None:
        return None
    kind: type = int if isinstance(d, IntDistribution) else float
    return [kind(d.low + k * d.step) for k in range(round((d.high - d.low) / d.step) + 1)]


def _cma(seed: int, with_margin: bool) -> CmaEsSampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the margin is an experiment of Optuna's
        return CmaEsSampler(seed=seed, with_margin=with_margin, warn_independent_sampling=False)


GIVEN = "SaltusSampler(search_space)"
SALTUS = "SaltusSampler"
MARGIN = "CmaEsSampler(with_margin)"
PLAIN = "CmaEsSampler"
CATCMAWM = "CatCMAwM"
TPE = "TPESampler"
RANDOM = "RandomSampler"

# all but the first find out the space by themselves, from the first trial
SAMPLERS: dict[str, Callable[[int, Distributions], BaseSampler]] = {
    GIVEN: lambda seed, space: SaltusSampler(strategy=STRATEGY, seed=seed, search_space=space, warn=False),
    SALTUS: lambda seed, space: SaltusSampler(strategy=STRATEGY, seed=seed, warn=False),
    MARGIN: lambda seed, space: _cma(seed, True),
    PLAIN: lambda seed, space: _cma(seed, False),
    CATCMAWM: lambda seed, space: CatCMAwMSampler(seed),
    TPE: lambda seed, space: TPESampler(seed=seed),
    RANDOM: lambda seed, space: RandomSampler(seed=seed),
}
