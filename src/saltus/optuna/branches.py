"""Branches of an objective, as its trials show them: which parameters there are, and when.

An objective that asks for a parameter inside an `if` has it in some trials and not in others. Where one other
parameter explains that, it is a condition as of a `Space`: then the search knows where the parameter means
something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial

from ..space.conditions import Wanted, Within

Conditions = Mapping[str, Mapping[str, Wanted]]  # by parameter: what is wanted of others


class Branches(NamedTuple):
    """Parameters that can be searched, with their conditions."""

    distributions: dict[str, BaseDistribution]
    conditions: Conditions

    def part(self, names: Collection[str]) -> Branches:
        """Some of the parameters; what others decided of them is left out."""
        kept = {name: range for name, range in self.distributions.items() if name in names}
        conditions = {
            name: {parent: wanted for parent, wanted in own.items() if parent in names}
            for name, own in self.conditions.items()
            if name in names
        }
        return Branches(kept, {name: own for name, own in conditions.items() if own})

    def rooted(self) -> Branches:
        """Without parameters whose condition names one that is not there, and so on."""
        lost = {name for name, own in self.conditions.items() if not own.keys() <= self.distributions.keys()}
        if not lost:
            return self
        kept = {name: range for name, range in self.distributions.items() if name not in lost}
        return Branches(kept, {n: own for n, own in self.conditions.items() if n not in lost}).rooted()

    def active(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether a parameter means something where others have these values."""
        return all(
            parent in params and holds(wanted, params[parent]) and self.active(parent, params)
            for parent, wanted in self.conditions.get(name, {}).items()
        )


def holds(wanted: Wanted, value: Any) -> bool:
    """Whether a value is what a condition wants."""
    if not isinstance(wanted, Within):
        return value in wanted
    low, high = wanted.at_least, wanted.at_most
    return (low is None or value >= low) and (high is None or value <= high)


class Evidence:
    """What trials show of the parameters: the same, in whatever order they are added.

    A parameter that has had several distributions is left out, and so is one whose presence no single other
    parameter explains: by some of the values of a categorical one, or by a threshold of an integer.
    """

    def __init__(self) -> None:
        """No trial was seen yet."""
        self._found: dict[str, BaseDistribution] = {}
        self._varying: set[str] = set()
        # by what trials have had: the values of each integer or categorical parameter (places of choices)
        self._values: dict[frozenset[str], dict[str, set[float]]] = {}
        self._branches: Branches | None = Branches({}, {})  # None: not known yet

    def __contains__(self, name: str) -> bool:
        """Whether a trial has had a parameter."""
        return name in self._found

    def add(self, trial: FrozenTrial) -> None:
        """Take what a trial shows."""
        had = trial.distributions
        values = self._values.get(frozenset(had))
        if values is None:
            values = self._values[frozenset(had)] = {}
            self._branches = None
        for name, distribution in had.items():
            if self._found.setdefault(name, distribution) != distribution and name not in self._varying:
                self._varying.add(name)
                self._branches = None
            if isinstance(distribution, CategoricalDistribution | IntDistribution):
                seen = values.setdefault(name, set())
                value = float(distribution.to_internal_repr(trial.params[name]))
                if value not in seen:
                    seen.add(value)
                    self._branches = None

    def branches(self) -> Branches:
        """The parameters that all trials have, and those with a condition on which all trials agree."""
        if self._branches is None:
            self._branches = self._explained()
        return self._branches

    def _explained(self) -> Branches:
        same = {name: range for name, range in self._found.items() if name not in self._varying}
        likely = sorted(same, key=lambda name: _likely(name, same[name]))
        conditions: dict[str, Mapping[str, Wanted]] = {}
        known = {}
        for name in sorted(same):
            if not all(name in had for had in self._values):
                reasons = ((parent, self._reason(name, parent, same[parent])) for parent in likely)
                found = next(((parent, wanted) for parent, wanted in reasons if wanted is not None), None)
                if found is None:
                    continue
                conditions[name] = dict([found])
            known[name] = same[name]
        return Branches(known, conditions).rooted()

    def _reason(self, name: str, parent: str, distribution: BaseDistribution) -> Wanted | None:
        """Which values of another parameter a parameter is there for, if those tell; one never seen is none.

        The other one must be in more trials than the parameter, so reasons never go round in a circle.
        """
        if name == parent or not isinstance(distribution, CategoricalDistribution | IntDistribution):
            return None
        there: set[float] = set()
        missing: set[float] = set()
        for had, values in self._values.items():
            if parent in had:
                (there if name in had else missing).update(values[parent])
            elif name in had:
                return None
        if not there or not missing or there & missing:
            return None
        if isinstance(distribution, CategoricalDistribution):
            return tuple(choice for i, choice in enumerate(distribution.choices) if i in there)
        if min(there) > max(missing):
            return Within(at_least=int(min(there)))
        return Within(at_most=int(max(there))) if max(there) < min(missing) else None


def _likely(name: str, distribution: BaseDistribution) -> tuple[bool, float, str]:
    """Of several parameters that may be the reason: first categorical ones, and those with few values."""
    if isinstance(distribution, CategoricalDistribution):
        return False, len(distribution.choices), name
    return True, getattr(distribution, "high", 0) - getattr(distribution, "low", 0), name
