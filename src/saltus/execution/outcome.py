"""One evaluation: what the objective gave, or why it gave nothing, and how long it took."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .._checks import as_number

Objective = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one evaluation gave; constraints above 0 are violated, and `violation` is their sum.

    `exit_code` and `stderr` are those of a command.
    """

    value: float
    violation: float = 0.0
    constraints: tuple[float, ...] | None = None
    exit_code: int | None = field(default=None, repr=False, compare=False)
    stderr: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, value: Any, constraints: Any = None) -> Outcome:
        """Checked, from a number and no, one or several constraints.

        >>> Outcome.of(3, [-1.0, 0.5])
        Outcome(value=3.0, violation=0.5, constraints=(-1.0, 0.5))
        """
        number = as_number("the objective's value", value)
        if constraints is None:
            return cls(number)
        parts = constraints if isinstance(constraints, Iterable) else [constraints]
        amounts = tuple(as_number("a constraint", part) for part in parts)
        total = sum(a for a in amounts if not a <= 0)  # NaN stays: the constraint is unknown
        return cls(number, float(total), amounts)

    @property
    def trouble(self) -> str | None:
        """Why this counts as a failure, or None."""
        if math.isnan(self.violation) or math.isinf(self.violation):
            return f"a constraint is {_word(self.violation)}"
        if not math.isfinite(self.value) and self.violation == 0:
            return f"the value is {_word(self.value)}"
        return None


class EvaluationError(RuntimeError):
    """An evaluation that gave nothing: why, and what is known about it."""

    def __init__(self, reason: str, exit_code: int | None = None, stderr: str | None = None) -> None:
        """The reason is a phrase, the same for failures of the same kind."""
        super().__init__(reason)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr = stderr

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: an error may come out of another process."""
        return type(self), (self.reason, self.exit_code, self.stderr)


class MachineError(RuntimeError):
    """This machine cannot evaluate anything now, whatever the point: nobody is to learn from that."""


class Ended(BaseException):
    """An evaluation was ended on request: it counts as not begun."""


@dataclass(frozen=True, slots=True)
class Run:
    """An evaluation that is over: its outcome or the exception, and where, when and how long it ran."""

    outcome: Outcome | Exception
    started: float = math.nan  # seconds since 1970
    seconds: float = math.nan
    worker: int | None = None
    attempts: int = 1

    @property
    def told(self) -> Outcome:
        """What the optimizer is told: a failure of any kind has no value."""
        outcome = self.outcome
        return outcome if isinstance(outcome, Outcome) and outcome.trouble is None else Outcome(math.nan)


def evaluate(fun: Objective, params: Any) -> Outcome:
    """Call the objective: it returns a number, or a pair of number and constraints.

    >>> evaluate(lambda p: (3.0, [-1.0, 0.5]), {}).violation
    0.5
    """
    returned = fun(params)
    if not isinstance(returned, tuple):
        return Outcome.of(returned)
    if len(returned) != 2:
        raise TypeError(
            f"the objective must return a number or (number, constraints), got a tuple of {len(returned)}"
        )
    return Outcome.of(*returned)


def timed(
    attempt: Callable[[], Outcome],
    *,
    retries: int = 0,
    worker: int | None = None,
    hurry: Callable[[], bool] = lambda: False,
) -> Run:
    """Make an attempt, and others as long as they fail and there are retries left.

    In a hurry there is no other attempt: what is worth one then counts as not begun.
    """
    started, tick = time.time(), time.monotonic()
    attempts = 0
    while True:
        attempts += 1
        outcome: Outcome | Exception
        try:
            outcome = attempt()
        except MachineError:
            raise
        except Exception as error:
            outcome = error
        if isinstance(outcome, Outcome) or attempts > retries:
            return Run(outcome, started, time.monotonic() - tick, worker, attempts)
        if hurry():
            raise Ended


def _word(number: float) -> str:
    return "NaN" if math.isnan(number) else "infinite"
