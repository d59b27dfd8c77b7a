"""What evaluates candidates: the protocols of an evaluator, of a worker and of an evaluation under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..result import Candidate
from .outcome import Outcome, Run


class Job(Protocol):
    """An evaluation under way; `concurrent.futures.Future` is one."""

    def result(self) -> Run:
        """Wait for its end."""

    def cancel(self) -> bool:
        """Take the job back unless it has begun."""

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Call this when there is a result, or the job was taken back."""


Begun = Callable[[int | None, int | None], None]  # called with the worker's number and its process


class Evaluator(Protocol):
    """Begins evaluations."""

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Begin one, or put it in line."""

    def finish(self) -> None:
        """Nothing more is wanted than what is running: no second attempts."""

    def end(self) -> None:
        """End what is running, now: their jobs raise `Ended`."""


class Place(Protocol):
    """Runs one evaluation at a time."""

    def evaluate(self, candidate: Candidate, begun: Callable[[int], None]) -> Outcome:
        """The outcome, or an exception; `begun` gets the process that does the work."""

    def end(self) -> None:
        """End what is running; the place is not used again."""


@dataclass(slots=True)
class Settled:
    """A job whose result is known."""

    run: Run

    def result(self) -> Run:
        """The result."""
        return self.run

    def cancel(self) -> bool:
        """Too late."""
        return False

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """At once."""
        callback(self)
