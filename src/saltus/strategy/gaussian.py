"""A core with its constants and its state, as one object: what a phase of a search holds.

`with_categories` puts the probabilities of categories beside it. Where there are none, it is the Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from . import categories, empty
from .core import C, Core, GaussianState, P, S
from .integers import Integers
from .late import sample_missing_integers
from .mirrored import Origins
from .ranking import Ranking, rank

# makes a population of points that the Gaussian did not draw (late.py)
Embed = Callable[[S, FloatArray, Origins], P]


class Gaussian(Generic[C, S, P]):
    """The Gaussian of a core, generation after generation: draw, sample, update.

    Attributes:
        state: the frozen state of the core.
        z: what was drawn for the generation that is on its way, or None.
    """

    def __init__(
        self,
        core: Core[C, S, P],
        embed: Embed[S, P],
        integers: Integers,
        population: int,
        constants: Callable[[int], C],
        start: Callable[[C], S],
    ) -> None:
        """`constants` gives those of the core for a population, `start` the first state."""
        self._core, self._embed, self._constants_for = core, embed, constants
        self.integers = integers
        self.size = population
        self.constants = constants(population)
        self.state = start(self.constants)
        self.z: FloatArray | None = None
        self._population: P | None = None

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation along each coordinate."""
        return self.state.m, self.state.sd

    @property
    def doubt(self) -> float:
        """How many categories differ from their likeliest values, on average: there are none."""
        return 0.0

    def draw(self, rng: np.random.Generator) -> None:
        """Draw what is random about the next generation."""
        self.z = self._core.draw(self.constants, rng)

    def resize(self, population: int) -> None:
        """From the next generation on there are so many candidates."""
        self.size, self.constants = population, self._constants_for(population)

    def sample(self) -> FloatArray:
        """The points of the next generation: the same ones until it is updated."""
        if self.z is None:
            raise RuntimeError("draw before sample")
        self._population = self._core.sample(self.constants, self.state, self.z)
        return self._population.x

    def extra(self, rng: np.random.Generator) -> FloatArray:
        """One more candidate of the same Gaussian, or one more pair."""
        return self._core.sample(self.constants, self.state, self._core.draw(self.constants, rng)[:1]).x

    def plateaus(self, x: FloatArray) -> FloatArray:
        """The plateaus that points are evaluated on."""
        return self.integers.plateaus(self.state.integer_state, self.state.m, x)

    def candidates(self) -> tuple[FloatArray, FloatArray]:
        """The points of the next generation, and their plateaus."""
        x = self.sample()
        return x, self.plateaus(x)

    def embed(self, x: FloatArray, plateaus: FloatArray, origins: Origins, rng: np.random.Generator) -> None:
        """Take these points as the next generation, instead of those that were drawn."""
        s = self.state
        x = sample_missing_integers(self.integers, x, plateaus, s.m, s.sd, rng)
        self._population = self._embed(s, x, origins)

    def update(self, values: FloatArray, violations: FloatArray | None) -> Ranking:
        """Learn from the generation that was sampled or embedded last."""
        population = self._population
        if population is None:
            population = self._core.sample(self.constants, self.state, self._drawn())
        ranking = rank(values, violations, population, self.integers)
        c = self.constants if len(values) == self.size else self._constants_for(len(values))
        self.state = self._core.update(c, self.state, population, ranking, self.integers)
        self.z = self._population = None
        return ranking

    def _drawn(self) -> FloatArray:
        if self.z is None:
            raise RuntimeError("nothing was drawn")
        return self.z

    def saved(self) -> dict[str, object]:
        """What `restore` needs, for `_serialize.pack`."""
        return {"state": self.state, "z": self.z}

    def restore(self, saved: dict[str, object]) -> None:
        """Go on as the Gaussian that was saved; it must have the same dimension and population."""
        self.state = _serialize.like(self.state, saved["state"], "gaussian")
        drawn = self._core.draw(self.constants, np.random.default_rng(0))  # for its shape
        z = saved["z"]
        self.z = None if z is None else _serialize.shaped(z, drawn.shape, "z")


class MovingGaussian(Protocol):
    """A `Gaussian` of whichever core: what a phase sees of it. The methods are explained there."""

    integers: Integers
    size: int

    @property
    def state(self) -> GaussianState:
        """Where the Gaussian is."""

    @property
    def doubt(self) -> float:
        """How many categories differ from their likeliest values, on average."""

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation along each coordinate."""

    def draw(self, rng: np.random.Generator) -> None:
        """Draw what is random about the next generation."""

    def resize(self, population: int) -> None:
        """From the next generation on there are so many candidates."""

    def sample(self) -> FloatArray:
        """The points of the next generation."""

    def extra(self, rng: np.random.Generator) -> FloatArray:
        """One more candidate, or pair."""

    def plateaus(self, x: FloatArray) -> FloatArray:
        """The plateaus that points are evaluated on."""

    def candidates(self) -> tuple[FloatArray, FloatArray]:
        """The points of the next generation, and their plateaus."""

    def embed(self, x: FloatArray, plateaus: FloatArray, origins: Origins, rng: np.random.Generator) -> None:
        """Take these points as the next generation."""

    def update(self, values: FloatArray, violations: FloatArray | None) -> Ranking:
        """Learn from the generation."""

    def saved(self) -> dict[str, object]:
        """What `restore` needs."""

    def restore(self, saved: dict[str, object]) -> None:
        """Go on as the Gaussian that was saved."""


def no_gaussian(integers: Integers, population: int) -> MovingGaussian:
    """What stands beside categories where there is nothing else."""
    make = Gaussian(
        empty,
        empty.embed,
        integers,
        population,
        lambda size: empty.constants(0, size),
        lambda c: empty.start(c, np.zeros(0), integers),
    )
    return make


def with_categories(
    gaussian: MovingGaussian,
    sizes: tuple[int, ...],
    margin: float | None = None,
    about: FloatArray | None = None,
    share: float = 0.0,
) -> MovingGaussian:
    """A Gaussian, and beside it categories with so many values each.

    They begin with all values alike, or around some, from which each differs with probability `share`. All
    values but the likeliest one keep the margin.
    """
    return _WithCategories(gaussian, sizes, margin, about, share) if sizes else gaussian


class _WithCategories:
    """Both draw, sample and learn together; the coordinates and the plateaus of categories are the last ones.

    A coordinate of a category is the number of its value, as its plateau is.
    """

    def __init__(
        self,
        gaussian: MovingGaussian,
        sizes: tuple[int, ...],
        margin: float | None,
        about: FloatArray | None,
        share: float,
    ) -> None:
        self._gaussian, self._sizes, self._margin = gaussian, sizes, margin
        self.integers, self.size = gaussian.integers, gaussian.size
        self._constants = self._constants_for(self.size)
        self.categories = categories.start(self._constants, about, share)
        self.u: FloatArray | None = None  # what was drawn
        self._embedded: FloatArray | None = None  # values that were given instead

    def _constants_for(self, population: int) -> categories.Constants:
        return categories.constants(self._sizes, population, self._margin)

    @property
    def state(self) -> GaussianState:
        return self._gaussian.state

    @property
    def doubt(self) -> float:
        return float(self.categories.doubt.sum())

    def where(self) -> tuple[FloatArray, FloatArray]:
        m, sd = self._gaussian.where()
        return np.concatenate((m, self.categories.mode)), np.concatenate((sd, self.categories.doubt))

    def draw(self, rng: np.random.Generator) -> None:
        self._gaussian.draw(rng)
        self.u = categories.draw(self._constants, rng)

    def resize(self, population: int) -> None:
        self._gaussian.resize(population)
        self.size, self._constants = population, self._constants_for(population)

    def sample(self) -> FloatArray:
        return np.concatenate((self._gaussian.sample(), self._values()), axis=1)

    def _values(self) -> FloatArray:
        if self.u is None:
            raise RuntimeError("draw before sample")
        return categories.sample(self._constants, self.categories, self.u)

    def extra(self, rng: np.random.Generator) -> FloatArray:
        x = self._gaussian.extra(rng)
        u = rng.random((len(x), len(self._sizes)))
        return np.concatenate((x, categories.sample(self._constants, self.categories, u)), axis=1)

    def plateaus(self, x: FloatArray) -> FloatArray:
        n = len(self._sizes)
        return np.concatenate((self._gaussian.plateaus(x[:, :-n]), x[:, -n:]), axis=1)

    def candidates(self) -> tuple[FloatArray, FloatArray]:
        x = self.sample()
        return x, self.plateaus(x)

    def embed(self, x: FloatArray, plateaus: FloatArray, origins: Origins, rng: np.random.Generator) -> None:
        n = len(self._sizes)
        self._gaussian.embed(x, plateaus[:, :-n], origins, rng)
        self._embedded = plateaus[:, -n:]

    def update(self, values: FloatArray, violations: FloatArray | None) -> Ranking:
        given, drawn = self._embedded, self._embedded is None
        had = self._values() if given is None else given
        ranking = self._gaussian.update(values, violations)
        c = self._constants if len(values) == self.size else self._constants_for(len(values))
        self.categories = categories.update(c, self.categories, had, ranking, drawn)
        self.u = self._embedded = None
        return ranking

    def saved(self) -> dict[str, object]:
        return self._gaussian.saved() | {"categories": self.categories, "u": self.u}

    def restore(self, saved: dict[str, object]) -> None:
        self._gaussian.restore(saved)
        self.categories = _serialize.like(self.categories, saved["categories"], "categories")
        shape, u = (self.size, len(self._sizes)), saved["u"]
        self.u = None if u is None else _serialize.shaped(u, shape, "u")
