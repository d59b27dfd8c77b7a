"""What evaluates candidates, as protocols: an evaluator, a worker, and an evaluation under way.

An evaluator takes any number of candidates and evaluates them in its own way: in this process
or by workers of our own (`local.py`), or in the user's executor (`executor.py`).
A worker runs one evaluation at a time: a process for a Python function (`worker_process.py`), or an external
command (`command.py`). Another evaluator needs the three methods of `Evaluator` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from .evaluation import Answer, Run

if TYPE_CHECKING:  # a worker process is not to load the search
    from ..result import Candidate

# called with the worker's number and its process, each None if it is not known; None: nobody wants to know
Begun = Callable[[int | None, int | None], None] | None
Started = Callable[[int], None] | None  # the same of one worker: with its process


class Job(Protocol):
    """An evaluation under way; `concurrent.futures.Future` is one."""

    def result(self) -> Run:
        """Wait for its end. Raises `CancelledError` if it was taken back, `Ended` if it was ended."""

    def cancel(self) -> bool:
        """Take the job back unless it has begun; whether that was possible."""

    def add_done_callback(self, callback: Callable[[object], object], /) -> None:
        """Call this when there is a result or the job was taken back, at once if so; in any thread.

        What the callback gets is of no use: the job, or the future behind it.
        """


class Evaluator(Protocol):
    """Evaluates candidates, several at a time if it can."""

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Begin to evaluate a candidate, or put it in line; `begun` is called when it really begins."""

    def finish(self) -> None:
        """Nothing more is wanted than what is running: make no second attempts."""

    def end(self) -> None:
        """End what is running, now: the jobs raise `Ended`. May be called from a signal handler."""


class Worker(Protocol):
    """Runs one evaluation at a time, in a process of its own."""

    def evaluate(self, candidate: Candidate, begun: Started) -> Answer:
        """Evaluate a candidate; an exception is a failed attempt. `begun` gets the id of the process."""

    def end(self) -> None:
        """End what is running, from any thread; the worker is not used again."""


def settled(run: Run) -> Job:
    """A job whose result is known already."""
    future: Future[Run] = Future()
    future.set_result(run)
    return future
