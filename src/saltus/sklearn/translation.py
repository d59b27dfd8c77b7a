"""What scikit-learn's searches take as distributions, as a space, and points of it as parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple, Protocol, runtime_checkable

from scipy import stats

from .._typing import Params
from ..space import Categorical, Space
from ..space.variables import Float, Int, Ordinal, Variable

# what is cut off on either side of a distribution without an end, or with another density than a flat one
TAIL = 0.001


@runtime_checkable
class Distribution(Protocol):
    """What is asked of a distribution: SciPy's have it, frozen or not."""

    def ppf(self, q: float) -> float:
        """The value that is not exceeded with probability q."""

    def support(self) -> tuple[float, float]:
        """The least and the largest value."""


class Column(NamedTuple):
    """A variable, and what a value of it is for the estimator."""

    variable: Variable
    outward: Callable[[Any], Any]


class Translation:
    """Between `param_distributions` and a `Space`; parameters are sorted by name.

    >>> translation = Translation({"kernel": ["rbf", "poly"], "C": stats.loguniform(0.1, 10)})
    >>> translation.space.variables[0]
    Float(low=0.1, high=10.0, log=True, init=None, scale=None, step=None)
    >>> translation.outward({"C": 2.0, "kernel": 1})
    {'C': 2.0, 'kernel': 'poly'}
    """

    def __init__(self, distributions: Any) -> None:
        """Take a dict of lists, distributions and variables by the parameters' names."""
        if isinstance(distributions, list | tuple) and len(distributions) == 1:
            distributions = distributions[0]
        if not isinstance(distributions, Mapping):
            advice = "; search each of several dicts by itself" if isinstance(distributions, list) else ""
            raise TypeError(
                "param_distributions must be a dict of lists, distributions and variables by name, "
                f"got {distributions!r:.200}{advice}"
            )
        if not distributions:
            raise ValueError("param_distributions must name at least one parameter, got none")
        self.columns = {name: _column(name, distributions[name]) for name in sorted(distributions)}
        self.space = Space({name: column.variable for name, column in self.columns.items()})

    def outward(self, params: Params) -> dict[str, Any]:
        """A point of the space as parameters of the estimator."""
        return {name: column.outward(params[name]) for name, column in self.columns.items()}


def _column(name: str, given: Any) -> Column:
    if isinstance(given, Variable):
        return Column(given, _unchanged)
    try:
        if isinstance(given, Distribution):
            return _distribution(given)
        if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping | Set):
            # by their places: then they need neither hashes nor to differ
            choices = list(given)
            return Column(Categorical(range(len(choices))), choices.__getitem__)
    except ValueError as error:
        raise ValueError(f"param_distributions of {name!r}: {error}") from None
    raise TypeError(
        f"param_distributions of {name!r} must be a list of values, a distribution of scipy.stats such as "
        f"loguniform(1e-3, 1e3), or a variable such as Float(0, 1), got {given!r:.200}"
    )


def _distribution(given: Distribution) -> Column:
    low, high = map(float, given.support())
    kind = getattr(given, "dist", given)  # a frozen one knows what it was
    if not low <= high:
        raise ValueError(
            f"expected a distribution with values for its parameters, got support [{low}, {high}]"
        )
    if hasattr(given, "xk"):  # rv_discrete(values=...) lists its values
        return Column(Ordinal(given.xk.tolist()), _unchanged)
    if isinstance(kind, stats.rv_discrete):
        first = low if math.isfinite(low) else float(given.ppf(TAIL))
        last = high if math.isfinite(high) else float(given.ppf(1 - TAIL))
        return Column(Int(int(first), int(last)), _unchanged)
    if isinstance(kind, type(stats.uniform)):
        return Column(Float(low, high), _unchanged)
    if isinstance(kind, type(stats.loguniform)) and math.isclose(given.ppf(0.5), math.sqrt(low * high)):
        return Column(Float(low, high, log=True), _unchanged)  # not if it is shifted
    return Column(Float(TAIL, 1 - TAIL), lambda quantile: float(given.ppf(quantile)))


def _unchanged(value: Any) -> Any:
    return value
