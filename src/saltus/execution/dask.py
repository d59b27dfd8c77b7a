"""A Dask cluster: `--on dask://scheduler:8786`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import uuid4

from .cluster import LostError

_FETCHERS = 8  # threads that fetch outcomes: one that was lost with its worker must not hold up the others
_LONGEST_FETCH = 5.0  # seconds; then it is asked whether there is still somebody


class DaskExecutor(Executor):
    """What a client of Dask does, as an executor that says when its scheduler is gone.

    Dask's own (`Client.get_executor`) fetches all outcomes in one thread, which hangs if one of them was lost
    with its worker.
    """

    def __init__(self, client: Any) -> None:
        """For a `dask.distributed.Client`, which is not closed here."""
        self._client = client
        self._open: set[Future[Any]] = set()
        self._fetchers = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="saltus-dask")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function on a worker."""
        if self._client.status != "running":
            raise LostError(f"the client is {self._client.status}")
        future: Future[Any] = Future()
        name = f"saltus-{uuid4().hex}"
        remote = self._client.submit(fn, *args, **kwargs, key=name, pure=False)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        future.add_done_callback(partial(_forget, remote))
        remote.add_done_callback(partial(self._ended, future))
        return future

    def _ended(self, future: Future[Any], remote: Any) -> None:
        """It has ended there: called in the one thread that Dask has for this."""
        try:
            self._fetchers.submit(self._fetch, future, remote)
        except RuntimeError:  # it was shut down
            future.cancel()

    def _fetch(self, future: Future[Any], remote: Any) -> None:
        from distributed.comm.core import CommClosedError

        while not future.done():
            try:
                result = remote.result(timeout=_LONGEST_FETCH)
            except TimeoutError:
                continue  # it was lost with its worker, and is evaluated again
            except (CancelledError, OSError, CommClosedError) as error:
                _settle(future, LostError(str(error)))
            except Exception as error:
                _settle(future, error)
            else:
                _settle(future, result)
        remote.release()  # what somebody still wants, Dask would evaluate again if its worker died

    def fail(self, error: Exception) -> None:
        """Nothing that is open will ever end, for this reason."""
        for future in list(self._open):
            _settle(future, error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Fetch nothing more."""
        self._fetchers.shutdown(wait=False, cancel_futures=True)


def _settle(future: Future[Any], result: Any) -> None:
    """Say how it ended, unless it was taken back or given up meanwhile."""
    if not future.done() and future.set_running_or_notify_cancel():
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


def _forget(remote: Any, future: Future[Any]) -> None:
    """Dask does not hear of a cancelled future by itself."""
    if future.cancelled():
        remote.cancel()


class DaskCluster:
    """A Dask scheduler at an address."""

    resubmissions = 1  # the scheduler has tried it on four workers by then

    def __init__(self, address: str) -> None:
        """`address` is that of the scheduler, such as tcp://node1:8786."""
        self._address = address
        self._client: Any = None
        self._executor: DaskExecutor | None = None

    @property
    def name(self) -> str:
        """What messages call this cluster."""
        return f"the Dask scheduler at {self._address}"

    def connect(self, seconds: float) -> Executor:
        """An executor by a new client, which has so many seconds to reach the scheduler."""
        try:
            import distributed
        except ImportError as error:
            raise ImportError("dask:// needs Dask: pip install 'saltus[dask]'") from error
        for name in ("distributed.client", "distributed.batched"):  # what they have to say, we say
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._disconnect()
        client: Any = distributed.Client
        self._client = client(self._where(), timeout=seconds, set_as_default=False)
        self._executor = DaskExecutor(self._client)
        return self._executor

    def _where(self) -> Any:
        """What a client connects to."""
        return self._address

    def slots(self) -> int:
        """All threads of all workers."""
        return sum(self._client.nthreads().values())

    def end(self) -> None:
        """Disconnect; the cluster is the user's."""
        self._disconnect()

    def _disconnect(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
        if self._client is not None:
            self._client.close(timeout=2)
            self._client = None
