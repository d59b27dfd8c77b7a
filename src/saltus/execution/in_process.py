"""Evaluations in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..result import Candidate
from .evaluation import Answer, Objective, Run, evaluate, timed
from .evaluator import Begun, Job


@dataclass(slots=True)
class _Deferred:
    """A job that is evaluated when its result is wanted."""

    run: Callable[[], Run]
    over: Run | None = None

    def result(self) -> Run:
        if self.over is None:
            self.over = self.run()
        return self.over

    def cancel(self) -> bool:
        return True

    def add_done_callback(self, callback: Callable[[object], object], /) -> None:
        callback(self)


class InProcess:
    """An evaluator that calls the objective in this process, when an outcome is waited for."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        """`retries` is how often an evaluation that raised is tried again."""
        self._fun, self._retries = fun, retries
        self._busy = self._hurry = False

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Put a candidate in line; it is evaluated when its result is wanted."""
        return _Deferred(partial(self._run, candidate, begun))

    def _run(self, candidate: Candidate, begun: Begun) -> Run:
        def attempt() -> Answer:
            """With a copy for each: the objective may write into what it gets."""
            return Answer(evaluate(self._fun, candidate.params.copy()))

        begun(0, None)
        self._busy = True
        try:
            return timed(attempt, retries=self._retries, worker=0, hurry=lambda: self._hurry)
        finally:
            self._busy = False

    def finish(self) -> None:
        """Make no second attempts."""
        self._hurry = True

    def end(self) -> None:
        """Interrupt the objective, as Ctrl-C would (called from a signal handler)."""
        if self._busy:
            raise KeyboardInterrupt
