"""What may be asked of a study: clear errors for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

LONGEST_TIMEOUT = 2_000_000  # seconds that the operating system can wait for


def check_evaluations(timeout: Any, retries: Any) -> None:
    """A clear error for a timeout or a number of retries that is none."""
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout <= LONGEST_TIMEOUT):
        limit = f"{LONGEST_TIMEOUT:,} (23 days)"
        raise ValueError(f"timeout must be a positive number of seconds, at most {limit}, got {timeout!r}")
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries must be a whole number, 0 or more, got {retries!r}")


def check_seed(seed: Any) -> None:
    """A clear error for a seed that SQLite cannot hold; None is one to be drawn."""
    if seed is None:
        return
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, got {seed!r}")
