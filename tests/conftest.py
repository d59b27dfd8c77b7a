"""What all tests rely on."""

import gc
import os
import shutil
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# where tests run in the background, SIGINT may be ignored, and all that they start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

# a study waits for the disk at each of its steps; its tests need not, where there is a disk in memory
_MEMORY = "/dev/shm"
if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)

# timing never decides a test: a busy machine is no error
# half of the usual number of examples, since they run at every change; `make fuzz` takes thousands
settings.register_profile("saltus", deadline=None, max_examples=50)
settings.load_profile("saltus")


@pytest.fixture
def other_processor(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, this process goes on as if on a machine whose `exp` rounds otherwise, as with AVX-512."""
    exact = np.exp

    def rounded(*arguments: Any, **options: Any) -> Any:
        return np.nextafter(exact(*arguments, **options), np.inf)

    return lambda: monkeypatch.setattr(np, "exp", rounded)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: whoever looks for garbage need not look at them."""
    gc.collect()
    gc.freeze()
