"""Where evaluations run: here, in worker processes, or in an executor that the user brings."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

from .candidates import Candidate, as_number
from .optimizer import Optimizer

Objective = Callable[[Any], Any]

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_BROKEN = (
    "a worker process ended abruptly. If this happened at the start: a script that uses workers must "
    "guard its main part with `if __name__ == '__main__':`, and the objective must be a function "
    "of a module, not of an interactive session. Otherwise: the objective crashed the process, "
    "or the memory was used up"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one evaluation gave."""

    value: float
    violation: float = 0.0


def evaluate(fun: Objective, params: Any) -> Outcome:
    """Call the objective: it returns a number, or a pair of number and violation.

    The violation is a number or several, one for each constraint; those above 0 are violated.

    >>> evaluate(lambda p: (3.0, [-1.0, 0.5]), {})
    Outcome(value=3.0, violation=0.5)
    """
    returned = fun(params)
    if not isinstance(returned, tuple):
        return Outcome(as_number("the objective's value", returned))
    if len(returned) != 2:
        raise TypeError(f"the objective must return a number or (number, violation), got {returned!r}")
    value, violation = returned
    try:
        parts = list(violation)
    except TypeError:
        parts = [violation]
    amounts = [as_number("a violation", v) for v in parts]
    total = sum(a for a in amounts if not a <= 0)  # NaN stays: the constraint is unknown
    return Outcome(as_number("the objective's value", value), float(total))


class Job(Protocol):
    """An evaluation under way; `concurrent.futures.Future` is one."""

    def result(self, timeout: float | None = None) -> Outcome:
        """Wait for the outcome, or raise what the objective raised; TimeoutError if it takes longer."""

    def done(self) -> bool:
        """Whether there is an outcome."""

    def cancel(self) -> bool:
        """Take the job back unless it has begun."""


Submit = Callable[[Any], Job]


class WorkerError(RuntimeError):
    """A worker process could not be started, or it died; `optimizer` holds everything told before."""

    optimizer: Optimizer | None = None


class RemoteError(RuntimeError):
    """Stands for an exception that cannot travel between processes: its type, message and traceback."""


@dataclass(frozen=True, slots=True)
class _Here:
    """A job that runs in this process, when its outcome is wanted."""

    fun: Objective
    params: Any

    def result(self, timeout: float | None = None) -> Outcome:
        return evaluate(self.fun, self.params)

    def done(self) -> bool:
        return True

    def cancel(self) -> bool:
        return True


@contextmanager
def evaluating(fun: Objective, workers: int, executor: Executor | None) -> Iterator[Submit]:
    """How to begin an evaluation, in the way the user chose; cleans up what it started."""
    if executor is not None:
        if not hasattr(executor, "submit"):
            raise TypeError(
                "executor must have a submit method, like concurrent.futures.Executor, "
                f"got {type(executor).__name__}"
            )
        if workers != 1:
            raise ValueError("give either workers or executor, not both")
        yield lambda params: executor.submit(_evaluate_remotely, fun, params)
        return
    if isinstance(workers, bool) or not isinstance(workers, Integral) or (workers < 1 and workers != -1):
        raise ValueError(f"workers must be a positive whole number, or -1 for all, got {workers!r}")
    count = _cores() if workers == -1 else int(workers)
    if count == 1:
        yield lambda params: _Here(fun, params)
        return
    pool = _process_pool(fun, count)
    try:
        yield lambda params: pool.submit(_evaluate_installed, params)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # running evaluations end by themselves


class Batch:
    """Evaluations of several candidates, begun together; outcomes come in the candidates' order."""

    def __init__(self, submit: Submit, candidates: Sequence[Candidate], deadline: float = math.inf) -> None:
        """Begin all of them; after the deadline (of `time.monotonic`) what has not begun is taken back."""
        try:  # a copy each: the objective may write into what it gets
            self._waiting = deque((c, submit(c.params.copy())) for c in candidates)
        except BrokenExecutor as error:
            raise WorkerError(_BROKEN) from error
        self._deadline = deadline
        self.late = False

    def __iter__(self) -> Iterator[tuple[Candidate, Outcome | Exception]]:
        """Wait for each outcome in turn, whatever ends first: results do not depend on timing."""
        while self._waiting:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0 and not self.late:
                self.late = True
                self.withdraw()
                continue
            candidate, job = self._waiting[0]
            outcome: Outcome | Exception
            try:
                outcome = job.result(None if self.late or remaining == math.inf else remaining)
            except BrokenExecutor as error:
                raise WorkerError(_BROKEN) from error
            except Exception as error:
                if isinstance(error, TimeoutError) and not job.done():
                    continue  # the deadline, not the objective
                outcome = error
            self._waiting.popleft()
            yield candidate, outcome

    def withdraw(self) -> None:
        """Take back what has not begun; iterating on then waits for the rest only."""
        self._waiting = deque(pair for pair in self._waiting if not pair[1].cancel())


def _process_pool(fun: Objective, workers: int) -> ProcessPoolExecutor:
    """Worker processes with one BLAS thread each; the objective is sent to each of them once."""
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise TypeError(
            f"the objective {fun!r} cannot be sent to worker processes ({error}); "
            "define it with def at the top level of a module, or pass executor="
        ) from error
    context = multiprocessing.get_context("spawn")  # a clean process: no threads, no locks
    pool = ProcessPoolExecutor(workers, context, initializer=_install, initargs=(fun,))
    try:
        with _environment(dict.fromkeys(_ONE_THREAD, "1")):
            list(pool.map(_ready, range(workers)))  # a task each: all processes start now
    except BrokenExecutor as error:
        raise WorkerError(_BROKEN) from error
    return pool


_installed: Objective  # in a worker process: its objective


def _install(fun: Objective) -> None:
    global _installed
    _installed = fun


def _evaluate_installed(params: Any) -> Outcome:
    return _evaluate_remotely(_installed, params)


def _evaluate_remotely(fun: Objective, params: Any) -> Outcome:
    """Evaluate, and make sure that an exception arrives: some break the pool on their way."""
    try:
        return evaluate(fun, params)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RemoteError("".join(traceback.format_exception(error)).strip()) from None
        raise


def _ready(_: int) -> None:
    return None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
