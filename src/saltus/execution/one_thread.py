"""One thread for linear algebra: on the small matrices of a search, several only wait for each other."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# What libraries for linear algebra read when they are loaded
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
# Two threads that start processes at a time must not restore each other's variables
_lock = threading.Lock()


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for what is started or loaded meanwhile; then they are as before."""
    with _lock:
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


def load_with_one_thread() -> None:
    """Load NumPy's and SciPy's linear algebra with one thread here, unless the user says otherwise.

    For the command `saltus` alone: in a program of the user's it is not ours to decide. The environment is as
    before afterwards, so a simulator that the command starts has the threads that it would have.
    """
    if "numpy" in sys.modules or ONE_THREAD.keys() & os.environ.keys():
        return
    with environment(ONE_THREAD):
        import scipy.linalg  # noqa: F401  (it loads NumPy's, too)
