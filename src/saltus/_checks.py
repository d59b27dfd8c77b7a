"""Checks of arguments: the value, or an error that says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
import inspect
import math
import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

LONGEST_TIMEOUT = 2_000_000  # seconds that the operating system can wait for


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A hint at the nearest of several names, or nothing.

    >>> did_you_mean("budgett", ["name", "budget"])
    "; did you mean 'budget'?"
    >>> did_you_mean("cat", ["float", "categorical"])
    "; did you mean 'categorical'?"
    """
    known, typed = list(names), str(name)
    longer = [each for each in known if typed and each.startswith(typed)]
    near = longer if len(longer) == 1 else difflib.get_close_matches(typed, known, n=1, cutoff=0.5)
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
    raise TypeError(f"{what} must be a real number, got {value!r:.200}; {_hint(value)}")


def _hint(value: Any) -> str:
    """What may help with something that is no number."""
    if value is None:
        return "does the objective return something?"
    if inspect.isawaitable(value):
        close = getattr(value, "close", None)  # else Python warns that it was never awaited
        if close is not None:
            close()
        return "the objective must not be async; asyncio.run(...) inside it may help"
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping | list):
        return "constraints are told as Outcome(value, constraints)"
    if np.ndim(value) > 0 if isinstance(value, np.ndarray) else isinstance(value, list | tuple):
        return "there is one objective: return a single number of it, such as its sum or its largest"
    if isinstance(value, complex):
        return "abs(...) or .real may be meant"
    return "float(...) may help"


def whole_number(rule: str, value: Any, least: int, most: float = math.inf) -> int:
    """A whole number of any type between two ends, or a ValueError that gives the rule and what came instead.

    >>> whole_number("retries must be a whole number, 0 or more", np.int64(3), 0)
    3
    >>> whole_number("retries must be a whole number, 0 or more", True, 0)
    Traceback (most recent call last):
    ValueError: retries must be a whole number, 0 or more, got True
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise ValueError(f"{rule}, got {value!r}")
    return int(value)


def checked_count(k: Any, what: str = "ask takes a positive whole number, or nothing") -> int:
    """How many candidates are asked for."""
    return whole_number(what, k, 1)


def as_numbers(what: str, given: Any, count: int, of: str = "candidate") -> list[float]:
    """A list of floats of that length, one for each of something, or an error that says what was there."""
    try:
        numbers = [as_number(what, v) for v in given]
    except TypeError as error:
        if "not iterable" not in str(error):
            raise
        raise TypeError(f"there must be a {what} for each {of}, got {given!r}") from None
    if len(numbers) != count:
        raise ValueError(f"there must be a {what} for each of {count} {of}s, got {len(numbers)}")
    return numbers


def check_points(params: Any) -> None:
    """A clear TypeError for what is neither a point nor several of them."""
    if isinstance(params, str) or not isinstance(params, Iterable):
        raise TypeError(f"a point, or a list of points, is expected, got {params!r}")


def check_limits(
    budget: Any, target: Any, max_seconds: Any, patience: Any = None, min_gain: Any = None
) -> None:
    """A clear error for a limit of a search that is none; a budget may also be a float, such as 1e4."""
    if isinstance(budget, bool) or not isinstance(budget, Real) or budget < 1 or budget % 1 != 0:
        raise ValueError(f"budget must be a positive whole number, got {budget!r}")
    for name, value in (("target", target), ("max_seconds", max_seconds)):
        if value is not None and (not isinstance(value, Real) or math.isnan(value)):
            raise ValueError(f"{name} must be a number or None, got {value!r}")
    if max_seconds is not None and max_seconds < 0:
        raise ValueError(f"max_seconds must be 0 or more, or None, got {max_seconds!r}")
    if patience is not None:
        whole_number("patience must be a positive whole number of evaluations, or None", patience, 1)
    if min_gain is not None:
        number = isinstance(min_gain, Real) and not isinstance(min_gain, bool)
        if not (number and 0 <= float(min_gain) < math.inf):
            raise ValueError(f"min_gain must be a number, 0 or more, or None, got {min_gain!r}")
        if patience is None:
            raise ValueError("min_gain says what patience counts as a gain: give patience, too")


def check_callable(**given: Any) -> None:
    """A clear error for something to be called, by its argument's name, that cannot be; None is nothing.

    >>> check_callable(callback=print, on_evaluation=3)
    Traceback (most recent call last):
    TypeError: on_evaluation must be callable, or None, got 3
    """
    for name, what in given.items():
        if what is not None and not callable(what):
            raise TypeError(f"{name} must be callable, or None, got {what!r}")


def check_attempts(timeout: Any, retries: Any) -> None:
    """A clear error for a timeout or a number of retries that is none."""
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout <= LONGEST_TIMEOUT):
        limit = f"{LONGEST_TIMEOUT:,} (23 days)"
        raise ValueError(f"timeout must be a positive number of seconds, at most {limit}, got {timeout!r}")
    whole_number("retries must be a whole number, 0 or more", retries, 0)


def wants_maximum(maximize: Any, direction: Any) -> bool:
    """Whether larger values are better, said in either way.

    >>> wants_maximum(False, "maximize"), wants_maximum(True, None), wants_maximum(False, None)
    (True, True, False)
    """
    if not isinstance(maximize, bool | np.bool_):
        raise TypeError(f"maximize must be True or False, got {maximize!r}")
    if direction not in (None, "minimize", "maximize"):
        hint = did_you_mean(direction, ("minimize", "maximize"))
        raise ValueError(f"direction must be 'minimize' or 'maximize', got {direction!r}{hint}")
    if maximize and direction == "minimize":
        raise ValueError("maximize=True and direction='minimize' contradict each other: leave one out")
    return bool(maximize) or direction == "maximize"


def check_seed(seed: Any) -> None:
    """A clear error for a seed that SQLite cannot hold; None is one to be drawn."""
    if seed is not None:
        whole_number("seed must be a whole number from 0 to 2**63 - 1", seed, 0, 2**63 - 1)


def worker_count(workers: Any) -> int:
    """How many workers are meant: -1 is one for each core that this process may use.

    >>> worker_count(3), worker_count(-1) >= 1
    (3, True)
    """
    if not isinstance(workers, Integral) or workers != -1:
        return whole_number("workers must be a positive whole number, or -1 for all", workers, 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
