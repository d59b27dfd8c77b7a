"""What a user says of the search space before the first trial: distributions of Optuna, or a `Space`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from .._checks import did_you_mean
from ..space import Categorical, Space
from ..space.variable import Variable
from ..space.variables import Bool, Float, Int, Ordinal
from ..space.where import Rule
from .branches import Branches
from .translation import Translation, names_in, spoken


class Given(NamedTuple):
    """All that is known: parameters with their conditions (or None), where to start, known constraints."""

    branches: Branches | None
    starts: dict[str, Any]
    rules: tuple[Rule, ...]

    def rules_of(self, names: Mapping[str, object]) -> list[Rule]:
        """The constraints that can be checked where these parameters are known.

        If the space was given, all of them can. Otherwise some parameters may not be known yet, or not be
        searched: what needs those cannot tell, and holds.
        """
        if self.branches is not None:
            return list(self.rules)
        known = [
            rule for rule in self.rules if not isinstance(rule, str) or set(names_in(rule)) <= set(names)
        ]
        return [rule if isinstance(rule, str) else _patient(rule) for rule in known]

    def allows(self, distributions: Mapping[str, BaseDistribution], params: Mapping[str, Any]) -> bool:
        """Whether parameters break no constraint."""
        rules = self.rules_of(distributions)
        functions = (spoken(rule, distributions) if isinstance(rule, str) else rule for rule in rules)
        return all(function(dict(params)) for function in functions)


def _patient(function: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A constraint that holds while it asks for a parameter that is not there."""

    @functools.wraps(function)
    def allowed(params: Any) -> bool:
        try:
            return function(params)
        except KeyError:
            return True

    return allowed


def given(
    search_space: Mapping[str, BaseDistribution] | Space | None,
    x0: Mapping[str, Any] | None,
    where: Rule | Sequence[Rule] | None,
) -> Given:
    """Check what the user says; what is wrong is an error that names it."""
    starts = dict(x0 or {})
    rules = () if where is None else _listed(where)
    if search_space is None:
        return Given(None, starts, rules)
    if isinstance(search_space, Space):
        if search_space.names is None:
            raise ValueError(
                "search_space must have names: Space({...}), since Optuna's parameters have them"
            )
        variables = dict(zip(search_space.names, search_space.variables, strict=True))
        branches = Branches(
            {name: _distribution(name, variable) for name, variable in variables.items()},
            {name: variable.when for name, variable in variables.items() if variable.when is not None},
        )
        inits = {name: v.init for name, v in variables.items() if v.init is not None}
        starts, rules = inits | starts, (*search_space.where.given, *rules)
    else:
        branches = Branches(dict(search_space), {})
    for name, distribution in branches.distributions.items():
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"search_space of {name!r} must be a distribution of Optuna, such as "
                f"FloatDistribution(0, 1), got {distribution!r}"
            )
    searched = [name for name, range in branches.distributions.items() if not range.single()]
    if not searched:
        raise ValueError("search_space must name at least one parameter with more than one value")
    for name in starts:
        if name not in branches.distributions:
            hint = did_you_mean(name, list(branches.distributions))
            raise ValueError(f"x0 names {name!r}, which is not in search_space{hint}")
    Translation(*branches.part(searched), rules)  # a clear error now, not at the first trial
    return Given(branches, starts, rules)


def _listed(where: Rule | Sequence[Rule]) -> tuple[Rule, ...]:
    """One rule or several, each text or a function."""
    rules = (where,) if isinstance(where, str) or not isinstance(where, Sequence) else tuple(where)
    for rule in rules:
        if not (isinstance(rule, str) or callable(rule)):
            raise TypeError(
                "where takes text such as '2*a + b <= 10', a function that says whether parameters are "
                f"allowed, or a list of them, got {rule!r}"
            )
    return rules


def _distribution(name: str, variable: Variable) -> BaseDistribution:
    """As the objective has to ask for it."""
    match variable:
        case Float(low=low, high=high, log=log, step=step):
            if low is None or high is None:
                raise ValueError(f"search_space: {name!r} needs both bounds, as suggest_float does")
            return FloatDistribution(low, high, log=log, step=step)
        case Int(low=low, high=high, log=log):
            return IntDistribution(low, high, log=log)
        case Bool():
            return CategoricalDistribution([False, True])
        case Ordinal(values=values):
            return CategoricalDistribution(values)
        case Categorical(choices=choices):
            return CategoricalDistribution(choices)
    raise TypeError(f"search_space: {name!r}: Optuna has no parameter like {variable!r}")
