"""The search where the same point has many values: a Gaussian that averages, and believes no single value.

Nothing here compares two values and keeps the better one. CMA-ES moves by the order of a whole generation, so
noise averages out over its points, the more of them there are. How many that takes is measured: some points
of a generation are evaluated twice, in the same batch. If a and b are the places of the two values in the
order of the generation, from -1 to 1, then

    reliability = sum a b / sum (a^2 + b^2) / 2

over the last repeats is the share of the differences between values that is not noise: 1 without any, 0 if a
second value has nothing to do with the first. A mean over k values has k times less variance, so the
population becomes `population / reliability^POWER`: less than inverse, since larger steps, which come with a
larger population, make differences larger by themselves. Places, and not values, are compared: a rare value
that is far off counts no more than any other wrong place.

The mean of the Gaussian is what such a search has found (`recommendation.py`).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .. import _serialize, order
from .._typing import FloatArray
from ..strategy import (
    Gaussian,
    Leap,
    MovingGaussian,
    Ranking,
    cmaes,
    crfmnes,
    integers_of,
    no_gaussian,
    with_categories,
)
from ..strategy.late import embed_cmaes, embed_crfmnes
from ..strategy.mirrored import Origins
from .gaussian_phase import GaussianPhase
from .proposal import Domain, Evaluated, Proposals, Results
from .settings import LARGEST_MATRIX
from .stopping import LARGEST_CONDITION, LARGEST_SD, SMALLEST_SD, Stop
from .surrogate import merits

REPEATED = 0.1  # of a generation is evaluated twice
MEMORY = 30.0  # repeats that the reliability is a mean of
TRUST = 5.0  # repeats that agreed, before the first one
POWER = 0.7  # of the reliability in the population
LEAST = 1e-3  # reliability
MOST = 20.0  # times the first population
PACE = 1.1  # from one generation to the next
STUCK = 50  # generations of the largest population, or without any difference between values
WITHIN = 0.2  # further runs start this share of the range away from its ends


class NoisyRun(GaussianPhase):
    """A run of CMA-ES whose population follows from how much of what it sees is noise.

    With more than `LARGEST_MATRIX` variables it is one of CR-FM-NES.
    """

    saved = ("population", "size", "repeats", "agreed", "compared", "still", "price", "best", "done")

    def __init__(
        self,
        domain: Domain,
        m: FloatArray,
        sd: FloatArray | float = 1.0,
        population: int | None = None,
    ) -> None:
        """From N(m, sd^2); the population is the smallest it may have."""
        self.domain = domain
        self.population = domain.settings.population if population is None else population
        self.size = self.population
        self.gaussian = self._gaussian(m, sd)
        self.repeats = 0  # of the present generation
        self.agreed = self.compared = TRUST / 3  # a place squared is 1/3 on average
        self.still = 0  # generations that say nothing
        self.best = domain.nowhere()
        self.done = False

    def _gaussian(self, m: FloatArray, sd: FloatArray | float) -> MovingGaussian:
        domain, N = self.domain, self.domain.n_ordered
        ordered = self._ordered(m[:N], sd if isinstance(sd, float) else sd[:N])
        return with_categories(ordered, domain.sizes, domain.settings.margin)

    def _ordered(self, m: FloatArray, sd: FloatArray | float) -> MovingGaussian:
        """Of all variables but the categories."""
        domain, N = self.domain, self.domain.n_ordered
        integers = integers_of(
            *(domain.integers, domain.n_continuous, self.population, domain.settings.margin),
            *(Leap(bias=True), domain.n_categories),
        )
        if not N:
            return no_gaussian(integers, self.size)
        if N > LARGEST_MATRIX:
            first = partial(crfmnes.start, m=m, integers=integers, scales=sd)
            wide = partial(crfmnes.constants, N)
            return Gaussian(crfmnes, embed_crfmnes, integers, self.size, wide, first)
        C = None if isinstance(sd, float) and sd == 1.0 else np.diag(np.broadcast_to(sd, N) ** 2)
        start = partial(cmaes.start, m=m, integers=integers, C=C)
        return Gaussian(cmaes, embed_cmaes, integers, self.size, partial(cmaes.constants, N), start)

    def _prepare(self) -> None:
        self.gaussian = self._gaussian(np.zeros(self.domain.N), 1.0)

    @property
    def reliability(self) -> float:
        """The share of the differences between values that is not noise."""
        return max(self.agreed / self.compared, LEAST)

    # proposing

    def draw(self, rng: np.random.Generator) -> None:
        """A generation, and how many of its points are evaluated twice."""
        super().draw(rng)
        self.repeats = int(REPEATED * self.size + rng.random())

    def propose(self) -> Proposals:
        """The generation, before it the first of its points: who does not wait hears of both early."""
        x, plateaus = self._within(self.gaussian.candidates())
        rows = np.concatenate((np.arange(self.repeats), np.arange(self.size)))
        return Proposals(x[rows], plateaus[rows])

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """One more of the same Gaussian."""
        x = self.gaussian.extra(rng)
        return self._within((x, self.gaussian.plateaus(x)))

    def _within(self, points: tuple[FloatArray, FloatArray]) -> Proposals:
        """The nearest points within the bounds."""
        x, n = points[0].copy(), self.domain.n_continuous
        x[:, :n] = self.domain.inside(x[:, :n])
        return Proposals(x, points[1])

    def accepts(self, plateaus: FloatArray) -> bool:
        """Any point: a Gaussian can learn from points that it did not draw."""
        return True

    # learning

    def observe(self, results: Results) -> None:
        """Learn from a generation, and from its repeats how far to believe the next one."""
        own, k = self._priced(results), self.repeats
        first, second = own[k : k + self.size], own[:k]
        if results.late is not None:  # not all of it, or more: repeats are points like any others
            known = np.ones(len(own), dtype=bool) if results.known is None else results.known
            told, both = first[known[k : k + self.size]], known[:k] & known[k : 2 * k]
            if both.any() and len(told) > 1:
                before = first[:k][both]
                self._compare(places(before, told, before), places(second[both], told, before))
            super().observe(results)
        else:
            place = places(first, first, first)
            if k:
                again = places(second, first, first[:k])
                self._compare(place[:k], again)
                place[:k] = (place[:k] + again) / 2
            whole = results.part(slice(k, None))
            failed = order.keys(whole.values, whole.violations)[0] == math.inf
            place[failed] = math.nan
            if not np.array_equal(whole.points.x, self.gaussian.sample()):
                origins = Origins(0, self.size, 0)
                x, plateaus = whole.points
                x = x[:, : self.domain.n_ordered]
                self.gaussian.embed(x, plateaus, origins, np.random.default_rng(0))
            self._after(results, self.gaussian.update(place, None))
        self._resize()

    def _priced(self, results: Results) -> FloatArray:
        """One number for each row of the batch, the smaller the better."""
        values, violations = results.values, results.violations
        if violations is not None and results.late is None:
            with np.errstate(over="ignore", invalid="ignore"):
                values, violations = self._penalised(values, violations)
        return merits(values, np.zeros(len(values)) if violations is None else violations)

    def _compare(self, a: FloatArray, b: FloatArray) -> None:
        """Places of the first and the second values of some points."""
        kept = (1 - 1 / MEMORY) ** len(a)
        self.agreed = kept * self.agreed + float(a @ b)
        self.compared = kept * self.compared + float(a @ a + b @ b) / 2

    def _after(self, results: Results, ranking: Ranking) -> None:
        part = results.known_part()
        found = part.best()
        if found.key < self.best.key:
            self.best = found
        same = len(part.values) > 1 and len(set(part.values.tolist())) == 1
        stuck = same or self.size >= int(MOST * self.population)
        self.still = self.still + 1 if stuck else 0
        self.done = self.still >= STUCK or self._degenerate()

    def _degenerate(self) -> bool:
        """Whether the Gaussian has shrunk to a point, grown beyond all bounds or become a line."""
        if not self.domain.n_ordered:
            return False
        state = self.gaussian.state
        ill = state.eigenvalues.max() > LARGEST_CONDITION * state.eigenvalues.min()
        return bool(ill or not SMALLEST_SD < state.sd.max() < LARGEST_SD)

    def _resize(self) -> None:
        """The population that the reliability asks for, a step at a time; even, where a core has pairs."""
        wanted = self.population * min(self.reliability**-POWER, MOST)
        step = 2 if self.domain.N > LARGEST_MATRIX else 1
        if abs(wanted - self.size) < step:
            return
        size = step * round(min(max(wanted, self.size / PACE), PACE * self.size) / step)
        if size == self.size:
            size += step if wanted > size else -step
        self.size = min(max(size, self.population), int(MOST * self.population))
        self.gaussian.resize(self.size)


def places(values: FloatArray, generation: FloatArray, own: FloatArray) -> FloatArray:
    """Where values stand in the order of a generation, from -1, the best, to 1; equals are in the middle.

    >>> generation = np.array([3.0, 1.0, 2.0])
    >>> places(generation, generation, generation).tolist()
    [1.0, -1.0, 0.0]

    Args:
        values: of some points.
        generation: the values of all.
        own: which of those are of the same points, and so do not count.
    """
    ordered = np.sort(generation)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    below = below - 2 * (own < values) - (own == values)
    return np.asarray(below / (len(generation) - 1) - 1.0)


class Noisy:
    """Searches by one such run at a time; the next one, with twice the population, begins anywhere."""

    def __init__(
        self, domain: Domain, m: FloatArray, sd: FloatArray | float = 1.0, restarts: int = 0, phases: int = 0
    ) -> None:
        """From N(m, sd^2); there may have been restarts and phases of another search before."""
        self.domain = domain
        self.restarts, self.phases = restarts, phases + 1
        self.phase = NoisyRun(domain, m, sd)
        self.ends: list[FloatArray] = []  # the means of earlier runs

    @property
    def stop(self) -> Stop | None:
        """Why the run should end, or None."""
        return Stop.CONVERGED if self.phase.done else None

    @property
    def population(self) -> int:
        """Candidates in a generation."""
        return self.phase.size

    def centres(self) -> list[FloatArray]:
        """The mean, and those that earlier runs have ended with."""
        return [self.phase.where()[0], *self.ends]

    def observe(self, results: Results, rng: np.random.Generator) -> None:
        """Learn from a generation."""
        self.phase.observe(results)

    def inject(self, point: Evaluated) -> None:
        """A result that the run cannot learn from: the memory has it."""

    def restart(self, rng: np.random.Generator) -> None:
        """Begin another run, with twice the population, from anywhere in the ranges."""
        self.ends.append(self.phase.where()[0])
        self.restarts += 1
        self.phases += 1
        m = self.domain.low + self.domain.span * rng.uniform(WITHIN, 1 - WITHIN, self.domain.N)
        m = self.domain.anywhere(m, rng)
        self.phase = NoisyRun(self.domain, m, population=2 * self.phase.population)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, for `_serialize.pack`."""
        names = ("restarts", "phases", "ends")
        return {name: getattr(self, name) for name in names} | {"run": self.phase.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the search whose state this is."""
        self.restarts, self.phases = int(state["restarts"]), int(state["phases"])
        self.ends = [_serialize.shaped(end, (self.domain.N,), "ends") for end in state["ends"]]
        self.phase = NoisyRun.restored(self.domain, state["run"])
