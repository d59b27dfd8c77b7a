"""One evaluation: what the objective gave, or why it gave nothing, and where, when and how long it ran.

`evaluate` calls a Python objective and `checked_outcome` checks what it returned; other kinds of objectives,
such as commands, have modules of their own. A `Run` is all that the rest of the library ever sees of an
evaluation.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import as_number
from .._typing import Params
from ..order import Failure, Outcome

if TYPE_CHECKING:
    from ..optimizer import Optimizer

LONGEST_MESSAGE = 10_000  # characters of an exception
Constraints = Mapping[str, float] | Iterable[float]  # as users give them
Objective = Callable[[Params], Any]  # returns a number, or a number and Constraints: `evaluate` checks that


class Answer(NamedTuple):
    """What a worker gives back: the outcome, and how the process that found it ended and what it said."""

    outcome: Outcome
    exit_code: int | None = None
    stderr: str | None = None


class EvaluationError(RuntimeError):
    """An evaluation that gave nothing.

    Attributes:
        reason: why, as a phrase that is the same for failures of the same kind.
        exit_code: of the process that evaluated; negative for a signal, None if it is not known.
        stderr: what the process said last, or a traceback.
        failure: the kind of failure.
    """

    failure = Failure.EXCEPTION

    def __init__(
        self,
        reason: str,
        exit_code: int | None = None,
        stderr: str | None = None,
        failure: Failure | None = None,
    ) -> None:
        """Without a `failure`, the kind is that of the class."""
        super().__init__(reason)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr = stderr
        if failure is not None:
            self.failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: an error may come out of another process."""
        return type(self), (self.reason, self.exit_code, self.stderr, self.failure)


class NotCountedError(EvaluationError):
    """Raised by an objective whose evaluation is not to count: the licence server is down, the disk is full.

    It says nothing about the point, so no search learns from it, and no budget pays for it. A study evaluates
    the point again; too many in a row stop it. `minimize` raises an `ObjectiveError`.

    >>> raise NotCountedError("the licence server does not answer")
    Traceback (most recent call last):
    saltus.execution.evaluation.NotCountedError: the licence server does not answer
    """


class WorkerError(EvaluationError):
    """A worker process could not be started, or it died, or an executor broke.

    If it ends a search, `optimizer` holds everything that was told before: its `state()` can be saved, and
    its `pending` lists what is still to be evaluated.
    """

    failure = Failure.DIED
    optimizer: Optimizer | None = None


class MachineError(RuntimeError):
    """This machine cannot evaluate anything now, whatever the point: no search is to learn from that."""


class Ended(BaseException):
    """An evaluation was ended on request: it counts as not begun."""


@dataclass(slots=True)  # one is made for each evaluation, and frozen it would take a microsecond more
class Run:
    """An evaluation that is over.

    Attributes:
        outcome: what it gave; after an exception there is no value, only the kind of failure.
        error: the exception, if one was raised.
        started: when it began, in seconds since 1970; NaN if it is not known.
        seconds: how long it took, all attempts together; NaN if it is not known.
        worker: which worker did it, from 0; None if it is not known.
        attempts: how often it was tried.
        exit_code, stderr: of the process that evaluated, if it is one of its own.
    """

    outcome: Outcome
    error: Exception | None = None
    started: float = math.nan
    seconds: float = math.nan
    worker: int | None = None
    attempts: int = 1
    exit_code: int | None = None
    stderr: str | None = None

    @classmethod
    def failed(cls, error: Exception) -> Run:
        """An evaluation of which nothing is known but the exception that ended it.

        >>> Run.failed(EvaluationError("timeout after 2 s", failure=Failure.TIMEOUT)).outcome.failure.name
        'TIMEOUT'
        """
        outcome, exit_code, stderr = answer_of(error)
        return cls(outcome, error, exit_code=exit_code, stderr=stderr)

    @property
    def result(self) -> Outcome:
        """What a search learns: the outcome, but nothing of one that failed except the kind of failure.

        >>> Run(checked_outcome(3.0, {"mass": math.nan})).result
        Outcome(value=nan, constraints={}, failure=<Failure.CONSTRAINT: 'a constraint is not finite'>)
        """
        failure = self.outcome.failure
        return self.outcome if failure is None else Outcome(math.nan, failure=failure)

    @property
    def withheld(self) -> bool:
        """Whether it is not to count."""
        return isinstance(self.error, NotCountedError)

    @property
    def failure_reason(self) -> str | None:
        """Why it failed, as a phrase that is the same for failures of the same kind; None if it did not.

        >>> Run(checked_outcome(math.inf)).failure_reason, Run.failed(OSError("no licence")).failure_reason
        ('the value is infinite', 'OSError: no licence')
        """
        if isinstance(self.error, EvaluationError):
            return self.error.reason
        if self.error is not None:
            return described(self.error)
        if self.outcome.failure is Failure.VALUE:
            return f"the value is {_word(self.outcome.value)}"
        if self.outcome.failure is Failure.CONSTRAINT:
            return f"a constraint is {_word(self.outcome.violation)}"
        return None


def checked_outcome(value: Any, constraints: Constraints | None = None) -> Outcome:
    """The outcome that a user's objective describes, or a TypeError that says what was expected.

    Args:
        value: any real number, or an array that holds one. NaN and infinity are failures.
        constraints: their values, of which those above 0 are violated: a mapping by name, a sequence (the
            names are then "0", "1" and so on, in its order). A bare number is refused: it may be meant as a
            second value.

    >>> checked_outcome(3, {"stress": -1, "mass": 0.5})
    Outcome(value=3.0, constraints={'stress': -1.0, 'mass': 0.5}, failure=None)
    >>> checked_outcome(3, [-1, 0.5]).constraints
    {'0': -1.0, '1': 0.5}
    >>> checked_outcome(math.nan).failure.value
    'its value is not finite'
    """
    number = as_number("the objective's value", value)
    if constraints is None:
        return Outcome(number) if math.isfinite(number) else Outcome(number, failure=Failure.VALUE)
    outcome = Outcome(number, _named(constraints))
    violation = outcome.violation
    if not violation < math.inf:
        return Outcome(number, outcome.constraints, Failure.CONSTRAINT)
    if violation == 0 and not math.isfinite(number):
        return Outcome(number, outcome.constraints, Failure.VALUE)
    return outcome


def _named(constraints: Constraints) -> dict[str, float]:
    """Each constraint with its name, checked."""
    if isinstance(constraints, Mapping):
        for name in constraints:
            if not isinstance(name, str):
                raise TypeError(f"the name of a constraint must be text, got {name!r}")
        return {name: as_number(f"constraint {name!r}", c) for name, c in constraints.items()}
    if not isinstance(constraints, Iterable) or getattr(constraints, "ndim", 1) == 0:
        raise TypeError(
            f"constraints must be a dict by name or a list, got {constraints!r}; write value, "
            f'{{"stress": {constraints!r}}} or value, [{constraints!r}] if that is one, and return a single '
            "value: there is one objective"
        )
    return {str(i): as_number("a constraint", c) for i, c in enumerate(constraints)}


def evaluate(fun: Objective, params: Params) -> Outcome:
    """Call a Python objective; what it raises is raised here.

    >>> evaluate(lambda p: (p["x"] ** 2, {"stress": p["x"] - 1}), {"x": 3.0}).violation
    2.0
    """
    with only_here():
        returned = fun(params)
    if not isinstance(returned, tuple):
        return checked_outcome(returned)
    if len(returned) != 2:
        raise TypeError(
            f"the objective must return a number or (number, constraints), got a tuple of {len(returned)}"
        )
    return checked_outcome(*returned)


@contextmanager
def only_here() -> Iterator[None]:
    """A process that a user's code forks meanwhile never comes back from it: it ends.

    Otherwise two processes would go on with one search, or answer for one worker.
    """
    here, code = os.getpid(), 0
    try:
        yield
    except BaseException as error:
        if os.getpid() == here:
            raise
        code = 1
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
    if os.getpid() != here:
        os._exit(code)


def described(error: BaseException) -> str:
    """The type and the message of an exception, cut if it is long; some have none that can be shown.

    >>> described(OSError("no licence"))
    'OSError: no licence'
    """
    try:
        message = str(error)[:LONGEST_MESSAGE]
    except Exception as another:
        message = f"(no message: its __str__ raised {type(another).__name__})"
    return f"{type(error).__name__}: {message}"


def answer_of(error: Exception) -> Answer:
    """What an evaluation that raised this has given: nothing but the kind of failure, and what was said."""
    if isinstance(error, EvaluationError):
        return Answer(Outcome(math.nan, failure=error.failure), error.exit_code, error.stderr)
    return Answer(Outcome(math.nan, failure=Failure.EXCEPTION))


def _word(number: float) -> str:
    return "NaN" if math.isnan(number) else "infinite"
