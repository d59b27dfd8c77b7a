"""A phase that moves a Gaussian over some coordinates: what single runs, mixed runs and the polish share."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from .._typing import FloatArray
from ..strategy import MovingGaussian, Ranking
from .phase import Phase
from .proposal import Domain, Proposals, Results

VIOLATED_SHARE = 0.7  # of a generation: the price of a violation rises above this, and falls below, ...
PRICE_PACE = 0.3  # ... by this much for each generation, in logarithms


class GaussianPhase(Phase):
    """Generation after generation of a Gaussian; subclasses say over which coordinates, and when to end."""

    priced: ClassVar[bool] = True  # whether violations have a price in units of the value
    gaussian: MovingGaussian
    price: float = 0.0  # of a violation, once there was one

    def draw(self, rng: np.random.Generator) -> None:
        """The random half of the next generation."""
        self.gaussian.draw(rng)

    def propose(self) -> Proposals:
        """The next generation, from what `draw` drew: as many points as the population, with plateaus."""
        return Proposals(*self.gaussian.candidates())

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian, where it is over all coordinates."""
        return self.gaussian.where()

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """One more pair of the same Gaussian."""
        x = self.gaussian.extra(rng)
        return Proposals(x, self.gaussian.plateaus(x))

    def ready(self, results: Results) -> bool:
        """At least as many as a generation, whichever they are."""
        return results.told >= self.gaussian.size

    def observe(self, results: Results) -> None:
        """Learn from a generation; late points count as if this Gaussian had drawn them."""
        if results.late is not None:
            late, (results, origins) = results.late, results.arranged()
            x, plateaus = results.points
            # the Gaussian may be over the continuous coordinates alone
            self.gaussian.embed(x[:, : len(self.gaussian.state.m)], plateaus, origins, late.rng)
            results = results._replace(points=self.domain.with_values(results.points))
        values, violations = results.values, results.violations
        if violations is not None and self.priced:
            with np.errstate(over="ignore", invalid="ignore"):  # of values near the end of all numbers
                values, violations = self._penalised(values, violations)
        ranking = self.gaussian.update(values, violations)
        self._after(results, ranking)

    @abstractmethod
    def _after(self, results: Results, ranking: Ranking) -> None:
        """The Gaussian was updated with these results, ranked like this: see whether to go on."""

    def _penalised(self, values: FloatArray, violations: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Values with a price on violations, which rises and falls with how many there are.

        Were all that is violated worse than all that is not, the Gaussian would shrink wherever it meets a
        constraint before it has moved along it.
        """
        share = np.count_nonzero(violations > 0) / len(values)
        if not np.isfinite(values + violations).all() or (self.price == 0.0 and share in (0.0, 1.0)):
            return values, violations
        if self.price == 0.0:
            # at first, to violate as much as the worst is worth as much as all values differ
            self.price = float(np.ptp(values) / violations.max())
        else:
            self.price *= math.exp(PRICE_PACE * (share - VIOLATED_SHARE))
        return values + self.price * violations, None

    def state(self) -> dict[str, Any]:
        """Its own, and the Gaussian's."""
        return super().state() | {"gaussian": self.gaussian.saved()}

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Self:
        """The phase whose state this is; `_prepare` has made a Gaussian of the right kind."""
        own = dict(state)
        gaussian = own.pop("gaussian")
        self = super().restored(domain, own)
        self.gaussian.restore(gaussian)
        return self
