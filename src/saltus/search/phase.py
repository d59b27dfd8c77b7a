"""What every piece of a search is: it offers batches until it is done, and it can be saved in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from .proposal import Batch, Domain, Mask, Others, Point, Told


class Piece(ABC):
    """A piece of a search; `best` is where it has got to.

    All that changes while it runs, and all that it was given but the domain, is listed in `saved`. The rest
    follows from it, in `_prepare`.
    """

    saved: ClassVar[tuple[str, ...]]
    domain: Domain
    best: Point
    done: bool

    def draw(self, rng: np.random.Generator) -> None:  # noqa: B027  # most pieces draw nothing
        """What is random about the next batch."""

    @abstractmethod
    def batch(self) -> Batch:
        """The next points to be evaluated, all at once."""

    @abstractmethod
    def take(self, told: Told) -> None:
        """Learn from the outcome of the batch."""

    @abstractmethod
    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviations of where it is looking."""

    def spare(self, k: int, rng: np.random.Generator) -> Batch | None:
        """Asynchronously: further points, the k-th few, for who is free while the batch is on its way."""
        return None

    def enough(self, told: Told, known: Mask, others: int) -> bool:
        """Asynchronously: whether it can go on with what is known of the batch and of its spares.

        `others` is how many points were told besides that it `welcomes`.
        """
        return bool(known.all())

    def take_some(self, told: Told, known: Mask, others: Others, rng: np.random.Generator) -> None:
        """Asynchronously: learn from what is known, when it is enough."""
        self.take(told)

    @property
    def paired(self) -> bool:
        """Whether candidates come in pairs, which it can learn from only when both sides are known."""
        return False

    def welcomes(self, plateaus: FloatArray) -> bool:
        """Asynchronously: whether a point with these integers, from elsewhere, can teach it something."""
        return False

    def _prepare(self) -> None:  # noqa: B027  # most pieces have nothing to prepare
        """Make what is not saved."""

    def state(self) -> dict[str, Any]:
        """What `restored` needs, for `_serialize.pack`."""
        return {name: getattr(self, name) for name in self.saved}

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Self:
        """The piece whose state this is."""
        if state.keys() != set(cls.saved):
            raise ValueError(f"state: {cls.__name__} has {', '.join(cls.saved)}, got {', '.join(state)}")
        self = cls.__new__(cls)
        self.domain = domain
        for name in cls.saved:
            setattr(self, name, _checked(domain, name, state[name]))
        self._prepare()
        return self


_POINTS = ("start", "best", "centre", "probed")


def _checked(domain: Domain, name: str, value: Any) -> Any:
    if name in _POINTS:
        if not isinstance(value, Point):
            raise ValueError(f"state: {name} must be a point, got {type(value).__name__}")
        _serialize.shaped(value.x, (domain.N,), name)
        _serialize.shaped(value.plateaus, (domain.lattice.size,), name)
    if name == "goal" and value is not None:
        violation, value = value
        return (float(violation), float(value))
    return value


def at_rest(point: Point) -> tuple[FloatArray, FloatArray]:
    """Where a piece without a Gaussian is looking: at a point."""
    return point.x, np.zeros(len(point.x))
