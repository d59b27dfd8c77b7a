"""Evaluations by a function that takes many points at a time, in this process: an array program, a GPU."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import as_number
from .._typing import FloatArray, Params
from ..order import Outcome
from ..result import Candidate
from .evaluation import Run, checked_outcome, only_here
from .evaluator import Begun, Job

# gets a list of dicts, or an array with a row for each point; gives values, or those and constraints
ManyObjective = Callable[[list[Params] | FloatArray], Any]


class _Shared:
    """The job of one candidate, evaluated together with all that are in line when its result is wanted."""

    def __init__(self, evaluator: Vectorized, candidate: Candidate, begun: Begun) -> None:
        self.candidate, self.begun = candidate, begun
        self.over: Run | None = None
        self._evaluator = evaluator

    def result(self) -> Run:
        if self.over is None:
            self._evaluator.evaluate_all()
        if self.over is None:
            raise RuntimeError("this evaluation was taken back")
        return self.over

    def cancel(self) -> bool:
        return self.over is None and self._evaluator.take_back(self)

    def add_done_callback(self, callback: Callable[[object], object], /) -> None:
        callback(self)


class Vectorized:
    """An evaluator that calls the function once for all candidates in line."""

    def __init__(self, fun: ManyObjective) -> None:
        """The function is called in this process, when an outcome is waited for."""
        self._fun = fun
        self._line: list[_Shared] = []
        self._busy = False

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Put a candidate in line."""
        job = _Shared(self, candidate, begun)
        self._line.append(job)
        return job

    def take_back(self, job: _Shared) -> bool:
        """Take a candidate out of the line; whether it was there."""
        there = job in self._line
        if there:
            self._line.remove(job)
        return there

    def evaluate_all(self) -> None:
        """Evaluate what is in line, in one call; if that raises, each of them has failed."""
        jobs, self._line = self._line, []
        for job in jobs:
            if job.begun is not None:
                job.begun(0, None)
        started, tick = time.time(), time.monotonic()
        self._busy = True
        error: Exception | None = None
        outcomes: list[Outcome] = []
        try:
            outcomes = evaluate_many(self._fun, [job.candidate.params for job in jobs])
        except Exception as raised:
            error = raised
        finally:
            self._busy = False
        seconds = (time.monotonic() - tick) / len(jobs)  # of each its share
        for i, job in enumerate(jobs):
            job.over = Run(outcomes[i], None, started, seconds, 0) if error is None else Run.failed(error)

    def finish(self) -> None:
        """There are no second attempts."""

    def end(self) -> None:
        """Interrupt the function, as Ctrl-C would (called from a signal handler)."""
        if self._busy:
            raise KeyboardInterrupt


def evaluate_many(fun: ManyObjective, points: Sequence[Params]) -> list[Outcome]:
    """Call a function of many points; what it raises is raised here.

    >>> outcomes = evaluate_many(lambda x: (x**2).sum(axis=1), [np.array([1.0, 2.0]), np.array([3.0, 0.0])])
    >>> [outcome.value for outcome in outcomes]
    [5.0, 9.0]
    """
    count = len(points)
    dicts = isinstance(points[0], dict)
    given: list[Params] | FloatArray = [p.copy() for p in points] if dicts else np.array(points)
    with only_here():
        returned = fun(given)
    values, constraints = returned, None
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise TypeError(
                f"a vectorized objective must return {count} values, or (values, constraints), "
                f"got a tuple of {len(returned)}; give values as a list or an array"
            )
        values, constraints = returned
    numbers = _column(values, count, "a value")
    if constraints is None:
        return [checked_outcome(number) for number in numbers]
    return [checked_outcome(n, c) for n, c in zip(numbers, _rows(constraints, count), strict=True)]


def _column(given: Any, count: int, what: str) -> list[float]:
    """One number for each point."""
    shape = _shape(given)
    if shape is None or shape[:1] != (count,) or math.prod(shape) != count:
        raise TypeError(
            f"a vectorized objective gives {what} for each of the {count} points that it got, in a list or "
            f"an array, got {_described(given, shape)}"
        )
    return [as_number(what, each) for each in np.asarray(given).reshape(count).tolist()]


def _rows(given: Any, count: int) -> list[Any]:
    """The constraints of each point, from a dict of columns or a row for each."""
    if isinstance(given, Mapping):
        columns = {name: _column(column, count, f"constraint {name!r}") for name, column in given.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(count)]
    shape = _shape(given)
    if shape is None or len(shape) != 2 or shape[0] != count:
        raise TypeError(
            "constraints of a vectorized objective are a dict of lists by name, or a row for each of the "
            f"{count} points, got {_described(given, shape)}"
        )
    return list(np.asarray(given).tolist())


def _shape(given: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(given))
    except ValueError:  # rows of different lengths
        return None


def _described(given: Any, shape: tuple[int, ...] | None) -> str:
    return f"the shape {shape}" if shape else f"{given!r:.200}"
