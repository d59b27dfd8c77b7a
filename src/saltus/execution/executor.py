"""Evaluations in an executor that the user brings: `concurrent.futures`, Dask, Ray, loky and others."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, replace
from uuid import uuid4

from .._typing import Params
from ..result import Candidate
from .evaluation import Answer, Objective, Run, WorkerError, described, evaluate
from .evaluator import Begun, Job
from .local import timed
from .worker_process import Sent

# How Dask and Ray say that an evaluation took its workers with it, however often it was begun again. They are
# known by name: neither library need be there.
_DIED_OF_IT = {"KilledWorker", "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "ObjectLostError"}


def died_of_it(error: BaseException) -> bool:
    """Whether an executor says by this exception that an evaluation was lost with its workers."""
    return any(kind.__name__ in _DIED_OF_IT for kind in type(error).__mro__)


@dataclass(slots=True)
class _RemoteJob:
    """A job in the user's executor, which may lose it."""

    future: Future[Run]
    withdrawn: bool = False

    def result(self) -> Run:
        """What the objective raised is in the run: all that is raised here is the executor's own failure."""
        try:
            return self.future.result()
        except CancelledError:
            if self.withdrawn:
                raise
            raise WorkerError(
                "the executor dropped an evaluation: it was shut down, or lost its machines"
            ) from None
        except BrokenExecutor:
            raise
        except Exception as error:
            if died_of_it(error):
                kind = type(error).__name__
                died = WorkerError(f"the worker died ({kind})", stderr=str(error))
                died.add_note(str(error))
                return Run.failed(died)
            raise WorkerError(f"the executor cannot evaluate: {described(error)}") from error

    def cancel(self) -> bool:
        self.withdrawn = self.future.cancel()
        return self.withdrawn

    def add_done_callback(self, callback: Callable[[object], object], /) -> None:
        self.future.add_done_callback(callback)  # without this job, which would keep the future alive


class Remote:
    """An evaluator that submits to the user's executor, and notices when that loses what it took."""

    def __init__(self, fun: Objective, executor: Executor, retries: int) -> None:
        """The executor is the user's: it is neither started nor ended here. Retries are made there, too."""
        self._fun, self._executor, self._retries = fun, executor, retries
        self._open: set[Future[Run]] = set()

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Submit a candidate at once: the executor has a line of its own. When it begins is not known here.

        Dask evaluates a call once for all that look the same: the random word makes each its own, as a noisy
        objective wants it.
        """
        arguments = self._fun, candidate.params.copy(), self._retries, uuid4().hex
        try:
            future = self._executor.submit(_run_remotely, *arguments)
        except BrokenExecutor:
            raise
        except Exception as error:
            raise WorkerError(f"the executor takes no evaluation: {described(error)}") from error
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return _RemoteJob(future)

    def finish(self) -> None:
        """Nothing: what runs there is the user's."""

    def end(self) -> None:
        """Stop waiting (called from a signal handler): what runs there is the user's."""
        raise KeyboardInterrupt

    def close(self) -> None:
        """Take back what nobody waits for any more: the executor is the user's, and has other work."""
        for future in list(self._open):
            future.cancel()


def _run_remotely(fun: Objective, params: Params, retries: int, word: str) -> Run:
    """Evaluate in an executor, and make sure that an exception arrives: some break it on their way."""
    run = timed(lambda: Answer(evaluate(fun, params.copy())), retries=retries)
    return run if run.error is None else replace(run, error=Sent.of(run.error).error())
