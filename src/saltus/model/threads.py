"""One thread for linear algebra while a model computes.

Its matrices are small: several threads hardly help on an idle machine, and on one whose cores are busy with
evaluations they wait for each other, many times as long as the work itself would take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Args = ParamSpec("_Args")
_Given = TypeVar("_Given")


@functools.cache
def _libraries() -> Any:
    """What sets the number of threads of the libraries that NumPy and SciPy use; None without threadpoolctl.

    Both are loaded before it looks for them. Without threadpoolctl nothing is done: the number is then that
    of the environment, which is read when the libraries are loaded (docs/executors.md).
    """
    import scipy.linalg  # noqa: F401

    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


def with_one_thread(function: Callable[_Args, _Given]) -> Callable[_Args, _Given]:
    """A function during which linear algebra has one thread, if threadpoolctl is installed.

    Afterwards it has as many as before: those of the user's objective are not ours to decide.
    """

    @functools.wraps(function)
    def limited(*args: _Args.args, **kwargs: _Args.kwargs) -> _Given:
        libraries = _libraries()
        if libraries is None:
            return function(*args, **kwargs)
        with libraries.limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
