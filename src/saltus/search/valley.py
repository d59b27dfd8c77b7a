"""Valley: CMA-ES on the continuous variables to the bottom of a valley, with steps by quadratics.

A generation of the Gaussian and a step take turns. A step goes where a quadratic through the points around
the best one is lowest (`model/quadratic.py`): it costs one evaluation, since those points were paid for
already. As long as steps keep what they promise, the next one follows at once; if not, generations in between
become more. So where a function is smooth, a valley costs hardly more than the points that tell its shape,
and elsewhere hardly more than CMA-ES.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .._typing import FloatArray
from ..model.quadratic import coefficients, step_along
from ..order import Key
from ..strategy import Gaussian, Ranking, cmaes, default_population, no_integers
from ..strategy.late import embed_cmaes
from ..strategy.mirrored import Origins
from .gaussian_phase import GaussianPhase
from .proposal import Domain, Evaluated, Proposals, Results
from .settings import MANY_VARIABLES
from .stopping import LARGEST_CONDITION, LARGEST_SD, SAME_VALUE, SMALLEST_SD

KEPT = 0.3  # of what a step promises: then the next one follows at once
LEARNT = 0.5  # of the way to the shape of its quadratic goes the covariance then, ...
PARTLY = 0.2  # ... and this after a step that was an improvement, but not as promised
LONGEST_REACH = 8.0  # of steps that follow each other, relative to how far the points around them are apart
LONGEST_PAUSE = 8  # generations between two steps
FIT_SHARE = 20  # coefficients of a quadratic for each new point: it is not fitted more often
SAME = 1e-9  # of integers in the unit cube
PATIENCE, PATIENCE_PER_VARIABLE = 10, 30  # generations, and evaluations, in which something must change
LOCAL = 0.1  # it has found a valley when it has shrunk to this ...
RECENT = 10  # ... and if the gain of so many generations ...
HOPE = 10.0  # ... times this does not reach its goal, it ends
LOST = 0.03  # where steps fail it ends when it has shrunk to this, found nothing for half its patience, ...
STALE = 20  # ... at least so many generations, ...
RETURN = 2.0  # ... and the gain of its generations over as long, times this, does not reach its best
FRACTIONS = (1.0, 0.5, 2.0)  # of a step, for several workers


class Valley(GaussianPhase):
    """A Gaussian on the continuous variables, and steps by quadratics of what was evaluated."""

    gaussian: Gaussian[cmaes.Constants, cmaes.State, cmaes.Population]
    saved = (
        *("population", "goal", "start", "best", "first_sd", "trail", "bests", "price", "count"),
        *("points", "promised", "shape", "stepping", "pause", "waited", "fitted", "reach", "stale", "done"),
    )

    def __init__(
        self,
        domain: Domain,
        start: Evaluated,
        covariance: FloatArray,
        goal: Key | None = None,
        population: int | None = None,
    ) -> None:
        """From N(start, covariance), with the integers of the start.

        With a goal it also ends when it has shrunk and is unlikely to get there.
        """
        self.domain, self.goal = domain, goal
        usual = max(default_population(domain.n_continuous), domain.settings.batch)  # to fill a batch
        self.population = usual if population is None else population
        self.start = start
        self.best = start
        self.gaussian = self._gaussian(covariance)
        self.first_sd = float(self.gaussian.state.sd.max())
        self.trail: list[float] = []  # the best value so far, after each of the last generations
        self.bests: list[float] = []  # of the last generations, each for itself
        self.count = 0  # evaluations
        self.stale = 0  # generations since the best point was found
        self.points: FloatArray = np.empty((0, domain.N))  # of a step
        self.promised = 0.0  # by it
        self.shape: FloatArray = np.eye(domain.n_continuous)  # of its quadratic, in the axes of the Gaussian
        self.stepping = False  # whether the next batch is a step
        self.pause = self.waited = 0  # generations between two steps, and how many there were
        self.fitted = 0  # evaluations at the last step
        self.reach = 1.0  # of a step, relative to how far the points around the best are apart
        self.done = False

    def _gaussian(
        self, covariance: FloatArray | None
    ) -> Gaussian[cmaes.Constants, cmaes.State, cmaes.Population]:
        n = self.domain.n_continuous
        integers = no_integers(n)
        start = partial(cmaes.start, m=self.start.x[:n], integers=integers, C=covariance)
        return Gaussian(cmaes, embed_cmaes, integers, self.population, partial(cmaes.constants, n), start)

    def _prepare(self) -> None:
        self.gaussian = self._gaussian(None)
        self.points = self.points.reshape(-1, self.domain.N)

    # proposing

    def draw(self, rng: np.random.Generator) -> None:
        """A step, if there is one; else a generation."""
        if self.stepping:
            self.points, self.promised = self._step()
            self.stepping = len(self.points) > 0
        if not self.stepping:
            self.gaussian.draw(rng)

    def _step(self) -> tuple[FloatArray, float]:
        """Points along a step by a quadratic, and what it promises; none if there is no such step."""
        domain, n, model = self.domain, self.domain.n_continuous, self.domain.model
        self.fitted = self.count
        most = 4 * coefficients(n)
        u, merits = model.latest(min(self.count, most))
        here = model.cube.of_points(self.best.x[None], self.best.plateaus[None])[0]
        same = np.asarray((np.abs(u[:, n:] - here[n:]) < SAME).all(axis=1))
        state = self.gaussian.state
        axes = state.sigma * state.V * np.sqrt(state.axes) / domain.span[:n, None]
        found = step_along(
            u[same, :n], merits[same], axes, model.cube.low[:n], model.cube.high[:n], self.reach
        )
        if found is None:
            return self.points[:0], 0.0
        fractions = np.array(FRACTIONS[: domain.settings.batch])[:, None]
        points = np.tile(here, (len(fractions), 1))
        points[:, :n] += fractions * (found.x - here[:n])
        if domain.known is not None:
            points = domain.known.towards(points, here)
        self.shape = np.eye(n) if found.shape is None else found.shape
        return model.cube.points(points)[0], found.gain

    def propose(self) -> Proposals:
        """The step, or the next generation; with the integers of the start."""
        x = self.points[:, : self.domain.n_continuous] if self.stepping else self.gaussian.sample()
        return self.domain.proposals(self.domain.inside(x), self.start.plateaus[None, :])

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """One more of the same Gaussian."""
        x = self.domain.inside(self.gaussian.extra(rng))
        return self.domain.proposals(x, self.start.plateaus[None, :])

    def ready(self, results: Results) -> bool:
        """A whole step, or as many as a generation."""
        return results.complete if self.stepping else super().ready(results)

    def accepts(self, plateaus: FloatArray) -> bool:
        """Points with the same integers, for a generation."""
        return not self.stepping and bool(np.array_equal(plateaus, self.start.plateaus))

    # learning

    def observe(self, results: Results) -> None:
        """Learn from a generation; or see whether a step has kept its promise."""
        n = self.domain.n_continuous
        if not self.stepping:
            x = results.points.x[:, :n]
            if results.late is None and not np.array_equal(x, self.gaussian.sample()):
                origins = Origins(0, len(x), 0)
                self.gaussian.embed(x, results.points.plateaus, origins, np.random.default_rng(0))
            super().observe(results)
            return
        before, found = self.best, results.known_part().best()
        self.count += len(results.values)
        better = found.key < before.key
        self.stepping = better and before.value - found.value >= KEPT * self.promised
        if better:
            self.best, self.pause, self.stale = found, 0, 0
            gaussian, share = self.gaussian, LEARNT if self.stepping else PARTLY
            state = cmaes.reshaped(gaussian.state, self.shape, share)
            gaussian.state = cmaes.moved(gaussian.constants, state, found.x[:n])
        else:
            self.pause = min(max(1, 2 * self.pause), LONGEST_PAUSE)
        self.reach = min(2 * self.reach, LONGEST_REACH) if self.stepping else max(self.reach / 2, 1.0)
        self.waited = 0

    def _after(self, results: Results, ranking: Ranking) -> None:
        found = results.best()
        self.count += len(results.values)
        self.stale += 1
        if found.key < self.best.key:
            self.best, self.stale = found, 0
        self.trail = [*self.trail[-RECENT:], self.best.value]
        self.bests = [*self.bests[1 - self.patience :], found.value]
        self.waited += 1
        self.stepping = self._due()
        self.done = self._finished()

    def _due(self) -> bool:
        """Whether it is time for a step."""
        n = self.domain.n_continuous
        if self.domain.surrogate is None or "quadratic steps" in self.domain.settings.without:
            return False
        enough = n <= MANY_VARIABLES and FIT_SHARE * (self.count - self.fitted) >= coefficients(n)
        return self.waited > self.pause and enough and self.best.violation == 0 and self.domain.model.plain

    @property
    def patience(self) -> int:
        """Generations over which nothing must have changed before it ends."""
        return PATIENCE + PATIENCE_PER_VARIABLE * self.domain.n_continuous // self.population

    def _finished(self) -> bool:
        state = self.gaussian.state
        largest = float(state.sd.max())
        if largest < SMALLEST_SD or not largest < LARGEST_SD:
            return True
        if state.axes[-1] > LARGEST_CONDITION * state.axes[0]:
            return True
        if len(self.bests) == self.patience:
            spread = max(self.bests) - min(self.bests)
            if not spread > SAME_VALUE * abs(self.best.value):
                return True
        return self._lost(largest) or self._hopeless(largest)

    def _lost(self, largest: float) -> bool:
        """Whether it has shrunk on something rugged, and is unlikely to get below its best point."""
        half = self.patience // 2
        if not self.rugged or largest > LOST * self.first_sd or self.best.violation > 0:
            return False
        if self.stale < max(STALE, half) or len(self.bests) < 2 * half:
            return False
        before, now = min(self.bests[-2 * half : -half]), min(self.bests[-half:])
        return now - self.best.value >= RETURN * (before - now)

    def _hopeless(self, largest: float) -> bool:
        """Whether the goal is out of reach at the pace of the last generations."""
        if self.goal is None or self.best.key <= self.goal or len(self.trail) <= RECENT:
            return False
        if self.best.violation > 0 or self.goal[0] > 0 or largest > LOCAL * self.first_sd:
            return False
        return self.best.value - HOPE * (self.trail[0] - self.trail[-1]) > self.goal[1]

    @property
    def rugged(self) -> bool:
        """Whether steps have failed again and again: no quadratic tells the shape of this."""
        return self.pause == LONGEST_PAUSE

    def where(self) -> tuple[FloatArray, FloatArray]:
        """The Gaussian, and the integers as they are."""
        n = self.domain.n_continuous
        m, sd = self.start.x.copy(), np.zeros(self.domain.N)
        m[:n], sd[:n] = self.gaussian.state.m, self.gaussian.state.sd
        return m, sd


def only_valleys(domain: Domain) -> bool:
    """Whether runs of a search are valleys from their beginning: nothing but a few continuous variables."""
    if domain.surrogate is None or "valley" in domain.settings.without:
        return False
    return not domain.lattice.size and domain.N <= MANY_VARIABLES


def from_a_mean(domain: Domain, m: FloatArray) -> Evaluated:
    """A start of which nothing is known but where it is."""
    return domain.nowhere()._replace(x=m)
