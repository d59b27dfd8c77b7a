"""Which evaluator goes with the arguments of `minimize` and `Study.optimize`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from functools import partial

from .evaluation import Objective, WorkerError, described
from .evaluator import Evaluator
from .local import InProcess, pooled
from .sending import packed


@contextmanager
def evaluating(
    fun: Objective, workers: int, executor: Executor | None, timeout: float | None = None, retries: int = 0
) -> Iterator[Evaluator]:
    """An evaluator for a Python objective, in the way the user chose; what it starts is ended afterwards.

    Args:
        fun: the objective. It is sent to worker processes by pickle, or by cloudpickle if it is a lambda or
            of a notebook (`sending.py`).
        workers: processes of our own; 1 evaluates in this process.
        executor: evaluate there instead, for instance on a cluster; it remains the user's to end.
        timeout: seconds after which an evaluation is ended. Also a single worker is then a process of its
            own: only that can be ended.
        retries: how often an evaluation that raised is tried again.

    >>> from saltus import Candidate
    >>> with evaluating(lambda p: p["x"] ** 2, workers=1, executor=None) as evaluator:
    ...     job = evaluator.submit(Candidate(0, {"x": 3.0}), begun=lambda worker, process: None)
    ...     job.result().outcome.value
    9.0
    """
    if executor is not None:
        if not hasattr(executor, "submit"):
            raise TypeError(
                "executor must have a submit method, like concurrent.futures.Executor, "
                f"got {type(executor).__name__}"
            )
        if workers != 1:
            raise ValueError("give either workers or executor, not both")
        if timeout is not None:
            raise ValueError("timeout needs workers of our own; an executor's cannot be ended from here")
        from .executor import Remote  # here: a search in this process needs none

        with closing(Remote(fun, executor, retries)) as remote:
            yield remote
        return
    if workers == 1 and timeout is None:
        yield InProcess(fun, retries)
        return
    sent = packed(fun, f"the objective {getattr(fun, '__name__', None) or fun!r}")
    with pooled(partial(_unpacked, sent), workers, timeout, retries) as pool:
        yield pool


def _unpacked(sent: bytes) -> Objective:
    """In a worker process: the objective."""
    try:
        fun: Objective = pickle.loads(sent)
    except Exception as error:
        raise WorkerError(
            f"the objective cannot be loaded in a worker process ({described(error)}); what it uses must be "
            "in modules that a new Python process can import"
        ) from error
    return fun
