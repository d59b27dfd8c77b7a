"""A solver that takes its time: the truss, and a note of who computed it and when."""

from __future__ import annotations

import threading
import time

from examples.truss.truss import weight

SINCE = time.monotonic()
DONE: list[tuple[str, float, float]] = []


def slow(params: dict[str, float]) -> tuple[float, dict[str, float]]:
    """The weight of the truss, by a solver that takes 30 to 90 ms."""
    begin = time.monotonic() - SINCE
    time.sleep(0.03 + 0.06 * (params["bar0"] / 33.5))
    DONE.append((threading.current_thread().name, begin, time.monotonic() - SINCE))
    return weight(params)
