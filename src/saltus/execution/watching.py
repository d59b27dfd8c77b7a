"""Who looks on while a search goes on: the user's `on_evaluation`, and the log of Python's `logging`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from ..order import WORST, Key, key
from ..result import Candidate, Evaluation, Notes
from ..search.stopping import Stop
from .evaluation import Run

LOGGER = logging.getLogger("saltus.search")
OnEvaluation = Callable[[Evaluation], Any]


class Watch:
    """Is told of every evaluation that was paid, in the order in which the search learns of them."""

    def __init__(self, on_evaluation: OnEvaluation | None, sign: float) -> None:
        """What the user wants to be called, if anything; `sign` turns values that are maximised."""
        self._on_evaluation, self._sign = on_evaluation, sign
        self._number = 0
        self._best: Key = WORST
        self._restarts, self._phase = 0, ""
        self.notes = Notes()
        self.wants_stop = False  # since the user's function returned True, or raised StopIteration

    def begin(self, optimizer: Optimizer, evaluations: int, budget: int) -> None:
        """A search begins, or goes on, with so many evaluations."""
        best = optimizer.best
        self._number = evaluations
        self._best = WORST if best is None else key(best.value, best.violation)
        self._restarts, self._phase = optimizer.restarts, optimizer.phase
        verb = "goes on" if evaluations else "begins"
        LOGGER.info(
            "the search %s: %d of %d evaluations, %d variables, strategy %s",
            *(verb, evaluations, budget, optimizer.space.dimension, optimizer.strategy),
        )

    def heard(self, candidate: Candidate, run: Run) -> None:
        """An evaluation is over."""
        self._number += 1
        told, reason = run.result, run.failure_reason
        self.notes.add(candidate.id, run.seconds, reason)
        found = key(self._sign * told.value, told.violation)
        improved = found < self._best
        if improved:
            self._best = found
            LOGGER.info("evaluation %d: new best %s", self._number, described(told.value, told.violation))
        if reason is not None:
            LOGGER.warning("evaluation %d failed: %s", self._number, reason)
        if self._on_evaluation is None:
            return
        facts = candidate.id, self._number, candidate.params, told.value, dict(told.constraints)
        try:
            violation = 0.0 if reason is not None else told.violation
            seen = Evaluation(*facts, violation, reason, run.seconds, improved)
            self.wants_stop = bool(self._on_evaluation(seen)) or self.wants_stop
        except StopIteration:
            self.wants_stop = True

    def generation(self, optimizer: Optimizer) -> None:
        """A generation is over."""
        if optimizer.restarts != self._restarts:
            self._restarts = optimizer.restarts
            LOGGER.info("evaluation %d: restart %d", self._number, self._restarts)
        if LOGGER.isEnabledFor(logging.DEBUG) and optimizer.phase != self._phase:
            self._phase = optimizer.phase
            LOGGER.debug("evaluation %d: phase %s", self._number, self._phase)

    def end(self, stop: Stop, evaluations: int) -> None:
        """The search has stopped, and why."""
        LOGGER.info("the search stopped after %d evaluations: %s", evaluations, stop.value)


def described(value: float, violation: float) -> str:
    """What an evaluation gave, in a few words.

    >>> described(1.5, 0.0), described(1.5, 0.25)
    ('1.5', '1.5, which violates constraints by 0.25')
    """
    return f"{value:.6g}" + (f", which violates constraints by {violation:.3g}" if violation else "")
