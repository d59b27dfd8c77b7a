"""Evaluations in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..result import Candidate
from .evaluator import Begun, Job
from .outcome import Objective, Outcome, Run, evaluate, timed


@dataclass(slots=True)
class _HereJob:
    """A job that runs in this process, when its outcome is wanted."""

    run: Callable[[], Run]
    over: Run | None = None

    def result(self) -> Run:
        if self.over is None:
            self.over = self.run()
        return self.over

    def cancel(self) -> bool:
        return True

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        callback(self)


class Here:
    """Evaluates in this process, one after the other."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        """Nothing to start."""
        self._fun, self._retries = fun, retries
        self._busy = self._hurry = False

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """In line, until the outcome is wanted."""
        return _HereJob(partial(self._run, candidate, begun))

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        begun(0, None)
        self._busy = True
        try:  # a copy for each attempt: the objective may write into what it gets
            attempt = partial(self._evaluate, candidate)
            return timed(attempt, retries=self._retries, worker=0, hurry=lambda: self._hurry)
        finally:
            self._busy = False

    def _evaluate(self, candidate: Candidate) -> Outcome:
        return evaluate(self._fun, candidate.params.copy())

    def finish(self) -> None:
        """No second attempts."""
        self._hurry = True

    def end(self) -> None:
        """Interrupt the objective, as Ctrl-C would (called from a signal handler)."""
        if self._busy:
            raise KeyboardInterrupt
