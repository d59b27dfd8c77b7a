"""What a record holds, row by row."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from .._typing import Params
from ..order import Failure
from ..search.stopping import Stop
from ..space import Space

PAST = -1  # the generation of past data

Direction = Literal["minimize", "maximize"]
Status = Literal["asked", "running", "done", "failed", "repeated", "forgotten"]


@dataclass(frozen=True, slots=True)
class Head:
    """What a study is, from the beginning to the end: the row of the table `study`."""

    name: str
    space: Space
    direction: Direction
    strategy: str
    population: int
    batch: int
    seed: int | None
    noisy: bool | None
    asynchronous: bool
    created: float
    version: str

    def as_dict(self) -> dict[str, Any]:
        """Each field by its name, as it is."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate and what became of it.

    Attributes:
        id: its number, from 0, in the order asked.
        generation: the generation that it belongs to; `PAST` for past data, which was not asked here.
        params: what the objective gets: a dict, or a list for a space without names.
        status: "asked", "running", "done", "failed", "repeated": answered from an earlier trial, or
            "forgotten": what it gave counts no more.
        value: the objective's value in the user's direction; None unless there is one.
        violation: by how much constraints are violated in total; 0 if none is.
        constraints: the value of each constraint by its name; above 0 is violated. None without any.
        failure: the kind of failure, if it failed.
        reason: why it failed, in words; of one that is to be evaluated again, why it did not count.
        repeats: the trial that answered this one.
        attempts: how often it was evaluated: more than once if it failed and was tried again.
        exit_code: of the command; negative for a signal, as in Python's subprocess.
        stderr: the tail of the standard error, or of the traceback.
        worker: which worker evaluated it, from 0.
        started: when the evaluation began, in seconds since 1970.
        seconds: how long it took, all attempts together.
        process: the process that evaluates it, while it is running (see `processes.identity`).

    >>> Trial(3, 0, {"teeth": 37}, "done", value=0.5, constraints={"heat": -1.0}).feasible
    True
    """

    id: int
    generation: int
    params: Params
    status: Status
    value: float | None = None
    violation: float = 0.0
    constraints: dict[str, float] | None = None
    failure: Failure | None = None
    reason: str | None = None
    repeats: int | None = None
    attempts: int = 0
    exit_code: int | None = None
    stderr: str | None = None
    worker: int | None = None
    started: float | None = None
    seconds: float | None = None
    process: str | None = None

    @property
    def evaluated(self) -> bool:
        """Whether it was evaluated itself, with success or not, here or elsewhere."""
        return self.status in ("done", "failed")

    @property
    def past(self) -> bool:
        """Whether it was evaluated elsewhere: no evaluation of this study, so it counts against no budget."""
        return self.generation == PAST

    @property
    def over(self) -> bool:
        """Whether it has an outcome that counts, its own or that of another trial."""
        return self.evaluated or self.status == "repeated"

    @property
    def feasible(self) -> bool:
        """Whether there is a value that counts and every constraint holds."""
        return self.over and self.value is not None and self.violation == 0


@dataclass(frozen=True, slots=True)
class Tell:
    """That an asynchronous search was told an outcome, and when: what it asks next depends on that.

    Attributes:
        trial: whose outcome.
        asked: how many trials had been asked then.
        known: how many outcomes the memory of the search held then. What was told at the same number of them
            entered it together.
    """

    trial: int
    asked: int
    known: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where the search was looking when it asked a generation.

    Attributes:
        generation: its number, from 0.
        first: its first trial.
        restarts: how many runs there were before this one.
        mean: middle of the Gaussian, in the user's units and order of variables; integers are not rounded.
        sd: its standard deviations (of the logarithm where a variable has `log`).
    """

    generation: int
    first: int
    restarts: int
    mean: tuple[float, ...]
    sd: tuple[float, ...]


@dataclass(slots=True)
class Session:
    """One process that ran the study: from when to when, where, and what it evaluated.

    `stop` is the name of a `Stop`, or the error that ended it; None: it was killed, or runs.
    """

    started: float
    ended: float | None
    host: str
    pid: int
    workers: int
    stop: str | None
    objective: str

    @property
    def why(self) -> str | None:
        """Why it ended, in a sentence."""
        known = Stop.__members__.get(self.stop or "")
        return self.stop if known is None else known.value
