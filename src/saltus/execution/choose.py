"""Which evaluator goes with the arguments of `minimize` and `Study.optimize`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from functools import partial

from .evaluation import Objective
from .evaluator import Evaluator
from .executor import Remote
from .local import InProcess, pooled


@contextmanager
def evaluating(
    fun: Objective, workers: int, executor: Executor | None, timeout: float | None = None, retries: int = 0
) -> Iterator[Evaluator]:
    """An evaluator for a Python objective, in the way the user chose; what it starts is ended afterwards.

    Args:
        fun: the objective. To be sent to worker processes, it must be a function of a module.
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
        with closing(Remote(fun, executor, retries)) as remote:
            yield remote
        return
    if workers == 1 and timeout is None:
        yield InProcess(fun, retries)
        return
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise TypeError(
            f"the objective {fun!r} cannot be sent to worker processes ({error}); "
            "define it with def at the top level of a module, or pass executor="
        ) from error
    with pooled(partial(_itself, fun), workers, timeout, retries) as pool:
        yield pool


def _itself(fun: Objective) -> Objective:
    return fun
