"""When to stop because nothing worth mentioning is gained any more."""

from __future__ import annotations

import math
from dataclasses import dataclass

# A gain, if nobody says what is one: this share of the best value, or of all that was gained if that is less
SHARE = 1e-3
# ... but not what is nothing beside all that was gained: values that go to 0 would never be good enough.
NOTHING = 1e-9
# What was gained is counted from the best of so many evaluations: the very first may be a penalty of 1e20.
FIRST = 10


@dataclass(slots=True)
class Patience:
    """Counts evaluations since the best value has improved by more than a trifle.

    It is told of generations, as a history has them, and knows neither the clock nor the search: so it
    decides the same for a search that was stopped and goes on. Small improvements add up until they are one
    that counts. It begins to count at the first feasible value.

    Args:
        evaluations: how many without a gain are too many.
        min_gain: what counts as one, in units of the value. None: a thousandth of the best value's size, or
            of what was gained since the first ten evaluations if that is less.

    >>> patience = Patience(100, min_gain=0.5)
    >>> for evaluations, best in [(10, 8.0), (60, 5.0), (120, 4.9), (159, 4.8)]:
    ...     patience.told(evaluations, best)
    >>> patience.over, patience.without_gain
    (False, 99)
    >>> patience.told(160, 4.7)
    >>> patience.over
    True
    """

    evaluations: int
    min_gain: float | None = None
    without_gain: int = 0
    _level: float = math.nan  # the best of the first evaluations ...
    _since: int = 0  # the evaluations at the last gain ...
    _best: float = math.nan  # ... and the best value then

    def told(self, evaluations: float, best: float) -> None:
        """After a generation there are so many evaluations, and this is the best feasible value, or NaN.

        Values are those to be minimised.
        """
        now = int(evaluations)
        if math.isnan(best):
            self._since = now
        elif now <= FIRST or math.isnan(self._level):
            self._level = best
        if math.isnan(self._best) or self._best - best > self.trifle(best):
            self._since, self._best = now, best
        self.without_gain = now - self._since

    def trifle(self, best: float) -> float:
        """An improvement of the best value to this one that is no larger does not count.

        >>> patience = Patience(100)
        >>> patience.told(10, 300.0)
        >>> patience.trifle(299.0), patience.trifle(100.0)
        (0.001, 0.1)
        """
        if self.min_gain is not None:
            return self.min_gain
        gained = max(0.0, self._level - best)
        return max(SHARE * min(abs(best), gained), NOTHING * gained)

    @property
    def over(self) -> bool:
        """Whether so many evaluations have gained nothing."""
        return self.without_gain >= self.evaluations
