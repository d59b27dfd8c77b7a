"""Checks of arguments: the value, or an error that says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

LONGEST_TIMEOUT = 2_000_000  # seconds that the operating system can wait for


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A hint at the nearest of several names, or nothing.

    >>> did_you_mean("budgett", ["name", "budget"])
    "; did you mean 'budget'?"
    """
    near = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def as_number(what: str, value: Any) -> float:
    """A float, from any real number or one-element array; anything else is a clear TypeError."""
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "fiub":
        return float(value.item())
    if isinstance(value, Real | np.bool_):
        try:
            return float(value)
        except OverflowError:
            pass
    hint = "does the objective return something?" if value is None else "float(...) may help"
    raise TypeError(f"{what} must be a real number, got {value!r}; {hint}")


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


def checked_count(k: Any) -> int:
    """How many candidates are asked for."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"ask takes a positive whole number, or nothing, got {k!r}")
    return int(k)


def as_numbers(what: str, given: Any, count: int) -> list[float]:
    """A list of floats of that length, or an error that says what was there instead."""
    try:
        numbers = [as_number(what, v) for v in given]
    except TypeError as error:
        if "not iterable" not in str(error):
            raise
        raise TypeError(f"tell takes a {what} for each candidate, got {given!r}") from None
    if len(numbers) != count:
        raise ValueError(f"tell takes a {what} for each of {count} candidates, got {len(numbers)}")
    return numbers
