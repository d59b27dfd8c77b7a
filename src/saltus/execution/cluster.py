"""Evaluations on a cluster that comes and goes: what it loses is submitted again; if it is away, we wait.

A `Cluster` is a place that can be connected to, and that gives an executor: Dask (`dask.py`), Ray (`ray.py`),
SLURM (`slurm.py`). `OnCluster` is the evaluator that uses one. The record stays where the search is: a worker
gets a point and gives an outcome, and knows nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol
from uuid import uuid4

from ..result import Candidate
from .evaluation import Answer, MachineError, Run, WorkerError, described
from .evaluator import Begun, Job
from .executor import died_of_it
from .local import timed
from .worker_process import Sent

RECONNECT = 600.0  # seconds that a run waits for a cluster that has gone away
FIRST_CONNECTION = 60.0  # the same when a run begins: then the address may be wrong
_SOON = 3.0  # seconds after which somebody may want to know what is waited for
DISCONNECTIONS = 20  # how often one is submitted again since the whole cluster was lost
_PAUSE = 1.0  # seconds between two attempts to connect

Task = Callable[[Candidate], Answer]  # what a worker does with a candidate; it must travel there
Say = Callable[[str], None]


class LostError(RuntimeError):
    """The connection to a cluster is lost, and what was submitted with it."""


class Cluster(Protocol):
    """A place where evaluations can be submitted, if it is there."""

    resubmissions: int  # how often an evaluation is submitted again whose workers died, as the cluster says

    @property
    def name(self) -> str:
        """For messages, such as "the Dask scheduler at tcp://node1:8786"."""

    def connect(self, seconds: float) -> Executor:
        """Connect within about so many seconds, or raise why not; called again after a `LostError`.

        The executor's futures raise `LostError` if the connection is lost.
        """

    def slots(self) -> int:
        """How many evaluations run there at a time, as far as it is known now; 0 if there is nobody yet."""

    def end(self) -> None:
        """Disconnect, and end what was started."""


@dataclass(eq=False, slots=True)
class _Sent:
    """An evaluation under way there, perhaps for the second time."""

    candidate: Candidate
    future: Future[Run] = field(default_factory=Future)
    there: Future[Run] | None = None  # as the executor knows it
    connection: int = -1  # by which it was submitted
    deaths: int = 0  # of its workers
    losses: int = 0  # of the whole cluster


class OnCluster:
    """An evaluator that submits to a cluster.

    An evaluation whose worker died is submitted again, a few times. If the cluster is gone, all that it had
    is submitted again as soon as it is back; if it stays away for too long, a `WorkerError` ends the run,
    which can be continued later.
    """

    def __init__(
        self,
        task: Task,
        cluster: Cluster,
        *,
        retries: int = 0,
        own_errors: bool = False,
        patience: float = RECONNECT,
        say: Say = lambda line: None,
    ) -> None:
        """Connect.

        Args:
            task: evaluates a candidate there.
            cluster: where.
            retries: how often an evaluation that failed is tried again there.
            own_errors: whether exceptions come back themselves, and not only described.
            patience: seconds to wait for a cluster that has gone away.
            say: is called with a line for the user, from any thread, when something is lost or found again.
        """
        self._call = partial(run_there, task, retries, own_errors)
        self._cluster, self._patience, self._say = cluster, patience, say
        self._lock = threading.RLock()
        self._open: dict[int, _Sent] = {}  # in the order submitted
        self._connection, self._executor = 0, self._first(min(patience, FIRST_CONNECTION))
        self._closed = False
        self.slots = cluster.slots()

    def _first(self, seconds: float) -> Executor | None:
        """The first connection; if it takes long, it is said why nothing happens."""
        waiting = f"waiting for {self._cluster.name}, which does not answer yet; for {seconds:g} s in all"
        soon = threading.Timer(_SOON, self._say, [waiting])
        soon.daemon = True
        soon.start()
        try:
            return self._connected(seconds)
        finally:
            soon.cancel()

    def _connected(self, seconds: float) -> Executor | None:
        """Try for so long."""
        limit = time.monotonic() + seconds
        while True:
            left = limit - time.monotonic()
            try:
                return self._cluster.connect(max(_PAUSE, min(left, FIRST_CONNECTION)))
            except ImportError:
                raise
            except Exception as error:
                if time.monotonic() + _PAUSE >= limit:
                    raise WorkerError(
                        f"{self._cluster.name} does not answer ({described(error)}); tried for {seconds:g} s"
                    ) from error
            time.sleep(_PAUSE)

    def submit(self, candidate: Candidate, begun: Begun) -> Job:
        """Submit a candidate; if the cluster is away, as soon as it is back. When it begins is not known."""
        sent = _Sent(candidate)
        with self._lock:
            self._open[id(sent)] = sent
            self._send(sent)
        return _Job(sent, self)

    def _send(self, sent: _Sent) -> None:
        """Submit to the present connection, if there is one."""
        with self._lock:
            executor, sent.connection = self._executor, self._connection
            if executor is None or sent.future.done():
                return
            try:
                params = sent.candidate.params.copy()
                candidate = Candidate(sent.candidate.id, params)
                sent.there = executor.submit(self._call, candidate, uuid4().hex)
            except LostError as error:
                self._lose(sent.connection, error)
                return
            except Exception as error:
                self._finish(
                    sent, WorkerError(f"{self._cluster.name} takes no evaluation: {described(error)}")
                )
                return
        sent.there.add_done_callback(partial(self._over, sent, sent.connection))

    def _over(self, sent: _Sent, connection: int, there: Future[Run]) -> None:
        """An evaluation has ended there, in whatever way; called in any thread."""
        try:
            self._finish(sent, there.result())
        except (CancelledError, LostError) as error:
            if not (sent.future.done() or self._closed):
                sent.losses += 1
                if sent.losses > DISCONNECTIONS:
                    where = f"lost {sent.losses} times with {self._cluster.name}"
                    self._finish(sent, WorkerError(f"an evaluation was {where}"))
                else:
                    self._lose(connection, error)
        except Exception as error:
            if not died_of_it(error):
                what = str(error) if isinstance(error, MachineError) else described(error)
                self._finish(sent, WorkerError(f"{self._cluster.name} cannot evaluate: {what}"))
                return
            sent.deaths += 1
            most = self._cluster.resubmissions
            if sent.deaths <= most:
                again = f"it is submitted again ({sent.deaths} of at most {most} times)"
                self._say(f"trial {sent.candidate.id} was lost with its worker; {again}")
                self._send(sent)
            else:
                kind = type(error).__name__
                died = WorkerError(f"its workers died, {sent.deaths} times ({kind})", stderr=str(error))
                self._finish(sent, Run.failed(died))

    def _finish(self, sent: _Sent, result: Run | Exception) -> None:
        with self._lock:
            self._open.pop(id(sent), None)
            if sent.future.done():
                return  # taken back, or the second result of one that was submitted twice
            if isinstance(result, Run):
                sent.future.set_result(result)
            else:
                sent.future.set_exception(result)

    def _lose(self, connection: int, error: BaseException) -> None:
        """The cluster is gone, as the first who notices it says."""
        with self._lock:
            if connection != self._connection or self._executor is None or self._closed:
                return
            self._executor = None
        self._say(
            f"{self._cluster.name} is gone; trying to reach it for {self._patience:g} s, "
            "then what it had is submitted again"
        )
        threading.Thread(target=self._recover, name="saltus-reconnect", daemon=True).start()

    def _recover(self) -> None:
        """Connect again, and submit all that is open; or give up."""
        try:
            executor = self._connected(self._patience)
        except Exception as error:
            lost = error if isinstance(error, WorkerError) else WorkerError(described(error))
            for sent in list(self._open.values()):
                self._finish(sent, lost)
            return
        with self._lock:
            if self._closed:
                return
            self._executor = executor
            self._connection += 1
            left = list(self._open.values())
            self._say(f"{self._cluster.name} is back; submitting {len(left)} again")
        for sent in left:
            self._send(sent)

    def take_back(self, sent: _Sent) -> bool:
        """Whether one could be taken back: those submitted first have begun, as many as run at a time."""
        with self._lock:
            begun = list(self._open)[: max(self.slots, 1)] if self._executor is not None else []
            if sent.future.done() or id(sent) in begun:
                return False
            self._open.pop(id(sent), None)
            sent.future.cancel()
        if sent.there is not None:
            sent.there.cancel()
        return True

    def finish(self) -> None:
        """Nothing: what runs there is waited for."""

    def end(self) -> None:
        """Stop waiting (called from a signal handler)."""
        raise KeyboardInterrupt

    def close(self) -> None:
        """Take back what nobody waits for any more, and disconnect."""
        with self._lock:
            self._closed, left = True, list(self._open.values())
            self._open.clear()
        for sent in left:
            if sent.there is not None:
                sent.there.cancel()
        self._cluster.end()


@dataclass(slots=True)
class _Job:
    """An evaluation on the cluster: a job of the driver, however often it is sent."""

    sent: _Sent
    evaluator: OnCluster

    def result(self) -> Run:
        return self.sent.future.result()

    def cancel(self) -> bool:
        return self.evaluator.take_back(self.sent)

    def add_done_callback(self, callback: Callable[[object], object], /) -> None:
        self.sent.future.add_done_callback(callback)


def run_there(task: Task, retries: int, own_errors: bool, candidate: Candidate, word: str) -> Run:
    """Evaluate on a worker, and make sure that an exception arrives: some break on their way.

    The word makes each call its own: Dask evaluates calls that look the same once.
    """

    def attempt() -> Answer:
        return task(Candidate(candidate.id, candidate.params.copy()))

    run = timed(attempt, retries=retries)
    return run if run.error is None else replace(run, error=Sent.of(run.error, own_errors).error())
