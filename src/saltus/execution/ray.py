"""Executors for `minimize` and `Study.optimize`, where a library has none of its own."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any


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
