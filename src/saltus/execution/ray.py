"""Ray: an executor for `minimize` and `Study.optimize`, and a cluster: `--on ray`, `--on ray://node1:10001`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from .cluster import LostError


class RayExecutor(Executor):
    """Evaluates in Ray tasks: `minimize(fun, space, executor=RayExecutor(num_cpus=2))`.

    Starting and ending Ray is yours: `ray.init()`, `ray.shutdown()`. Options are those of a Ray task:
    `num_cpus`, `resources`, `max_retries` (how often a task whose worker died is begun again, by default 3).
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of the tasks, and check that Ray is there."""
        try:
            import ray
        except ImportError as error:
            raise ImportError("RayExecutor needs Ray: pip install ray") from error
        self._ray: Any = ray
        self._task = self._ray.remote(_call).options(**options)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a task of Ray, which begins it or puts it in line; a future of what it gives."""
        reference = self._task.remote(fn, args, kwargs)
        future: Future[Any] = reference.future()
        future.add_done_callback(partial(self._forget, reference))
        return future

    def _forget(self, reference: Any, future: Future[Any]) -> None:
        """Ray does not hear of a cancelled future by itself."""
        if future.cancelled():
            self._ray.cancel(reference)


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that travels as an argument: Ray would keep a copy of each that is itself a task."""
    return fn(*args, **kwargs)


class RayCluster:
    """A Ray cluster at an address, or one on this machine that lasts as long as the run."""

    resubmissions = 3  # Ray itself does not try again, so that it can be said

    def __init__(self, address: str | None) -> None:
        """`address` is that of Ray's client server, such as ray://node1:10001; None: this machine."""
        self._address = address
        self._ray: Any = None

    @property
    def name(self) -> str:
        """For messages."""
        return "Ray on this machine" if self._address is None else f"Ray at {self._address}"

    def connect(self, seconds: float) -> Executor:
        """Connect, or start; what was connected before is left."""
        try:
            import ray
        except ImportError as error:
            raise ImportError("ray needs Ray: pip install 'saltus[ray]'") from error
        self.end()
        self._ray = ray
        how: dict[str, Any] = {} if self._address is not None else {"include_dashboard": False}
        ray.init(self._address, logging_level=logging.ERROR, log_to_driver=False, **how)
        return _LosingRayExecutor(num_cpus=1, max_retries=0)

    def slots(self) -> int:
        """All cores of all nodes."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def end(self) -> None:
        """Disconnect; what was started here ends."""
        if self._ray is not None:
            with suppress(Exception):  # it may be gone
                self._ray.shutdown()
            self._ray = None


class _LosingRayExecutor(RayExecutor):
    """A `RayExecutor` that says when the connection is lost.

    Who waits for its futures is called in a thread of its own: in that of Ray's client, for whose answer
    `submit` waits, whoever submits again, or waits for somebody who submits, would wait for ever.
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of the tasks."""
        super().__init__(**options)
        self._settling = ThreadPoolExecutor(1, thread_name_prefix="saltus-ray")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a task of Ray."""
        try:
            there = super().submit(fn, *args, **kwargs)
        except (ConnectionError, self._ray.exceptions.RaySystemError) as error:
            raise LostError(str(error)) from error
        future: Future[Any] = Future()
        future.add_done_callback(lambda own: there.cancel() if own.cancelled() else None)
        there.add_done_callback(lambda done: self._settling.submit(self._settle, future, done))
        return future

    def _settle(self, future: Future[Any], there: Future[Any]) -> None:
        if there.cancelled() or not future.set_running_or_notify_cancel():
            future.cancel()
            return
        error = there.exception()
        if error is None:
            future.set_result(there.result())
        elif isinstance(error, ConnectionError | self._ray.exceptions.RaySystemError):
            future.set_exception(LostError(str(error)))
        else:
            future.set_exception(getattr(error, "cause", None) or error)
