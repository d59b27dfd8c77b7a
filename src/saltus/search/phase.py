"""What every phase of a search is: it proposes points, observes their results, and says when it is done.

The life of a batch: `draw` what is random about it, `propose` its points (the same ones until something is
observed, so that a search can be saved in between), then `observe` their results. A generation, a mirrored
pair, a stencil are a phase's own matter: whoever drives it sees proposals and results only.

A driver that does not wait for whole batches asks `ready` whether the phase can go on with what is known so
far, gives free workers `extra` proposals, and may pass on results of older batches where the phase `accepts`
them. A phase that does not care leaves these three as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from .. import _serialize
from .._typing import FloatArray
from .proposal import Domain, Evaluated, Proposals, Results


class Phase(ABC):
    """A phase of a search.

    All that changes while it runs, and all that it was given but the domain, is listed in `saved`. The rest
    follows from it, in `_prepare`.

    Attributes:
        best: where it has got to.
        done: whether it has nothing more to propose.
        waits_for_pairs: whether it can learn from a mirrored candidate only together with its other side.
    """

    saved: ClassVar[tuple[str, ...]]
    waits_for_pairs: bool = False
    domain: Domain
    best: Evaluated
    done: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return type(self).__name__

    def draw(self, rng: np.random.Generator) -> None:  # noqa: B027  # most phases draw nothing
        """Draw what is random about the next batch."""

    @abstractmethod
    def propose(self) -> Proposals:
        """The next points to be evaluated: a batch."""

    @abstractmethod
    def observe(self, results: Results) -> None:
        """Learn from the results of the batch: incomplete ones only if the phase was `ready` for them."""

    def ready(self, results: Results) -> bool:
        """Whether it can go on with what is known of the batch and of its extra proposals."""
        return results.complete

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        """Further proposals, the k-th few, for workers that are free before the batch is known; or None."""
        return None

    def accepts(self, plateaus: FloatArray) -> bool:
        """Whether it can learn from a point with these integers that is not in its present batch."""
        return False

    def where(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviations of where it is looking: its best point, unless it has a Gaussian."""
        return self.best.x, np.zeros(len(self.best.x))

    def _prepare(self) -> None:  # noqa: B027  # most phases have nothing to prepare
        """Make what is not saved."""

    def state(self) -> dict[str, Any]:
        """What `restored` needs, for `_serialize.pack`."""
        return {name: getattr(self, name) for name in self.saved}

    @classmethod
    def restored(cls, domain: Domain, state: dict[str, Any]) -> Self:
        """The phase whose state this is."""
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
        return _serialize.like(domain.nowhere(), value, name)
    if name == "goal" and value is not None:
        return _serialize.like((0.0, 0.0), value, name)
    return value
