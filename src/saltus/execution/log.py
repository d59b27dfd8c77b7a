"""What remembers a search while it goes on: the protocol of a log, and the log of `minimize`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, Protocol

from ..optimizer import Optimizer
from ..result import Candidate
from ..search.stopping import Stop
from .evaluation import Run
from .evaluator import Job, settled

Point = tuple[object, ...]  # what tells points apart
# Candidates in a row that were all known, for each dimension: nothing new is to be expected then.
REPEATS_IN_A_ROW = 200
# evaluations, best value, value and size of a generation, restarts before it
HistoryRow = tuple[float, float, float, float, float]


class Log(Protocol):
    """Is told of every step of every evaluation. A study's writes all of it to disk (`study.journal`)."""

    @property
    def evaluations(self) -> int:
        """How many count against the budget."""

    @property
    def failures(self) -> int:
        """How many of them gave no finite value."""

    @property
    def stop(self) -> Stop | None:
        """A reason to stop that only the log can see."""

    def knows(self, candidate: Candidate) -> bool:
        """Whether this candidate, which is pending, has an outcome already."""

    def begin(self, candidates: list[Candidate], submit: Callable[[Candidate], Job]) -> Iterable[Job]:
        """Remember that these candidates are asked, then begin what has to be evaluated: a job for each."""

    @property
    def begun(self) -> Callable[[Candidate, int | None, int | None], None] | None:
        """Called when an evaluation has begun, with the worker's number and process; None: of no interest."""

    @property
    def heard(self) -> Callable[[Candidate, Run], None] | None:
        """Called when an outcome is known, in whatever order; None: of no interest."""

    def withheld(self, candidate: Candidate, run: Run) -> bool:
        """Whether an evaluation that is not to count is done again; if not, its error is raised."""

    def told(self, row: HistoryRow) -> None:
        """A generation, or a part of it, was told to the optimizer."""


@dataclass
class HistoryLog:
    """Remembers the history of a search and nothing else."""

    optimizer: Optimizer
    rows: list[HistoryRow] = field(default_factory=list)
    stop: ClassVar[None] = None
    begun: ClassVar[None] = None
    heard: ClassVar[None] = None
    evaluations = property(attrgetter("optimizer.evaluations"))  # all that were told
    failures = property(attrgetter("optimizer.failures"))

    def knows(self, candidate: Candidate) -> bool:
        """Never: this log keeps no outcomes, so every candidate has to be evaluated."""
        return False

    def begin(self, candidates: list[Candidate], submit: Callable[[Candidate], Job]) -> Iterable[Job]:
        """Begin all of them."""
        return map(submit, candidates)

    def withheld(self, candidate: Candidate, run: Run) -> bool:
        """No: nobody would see when it makes no sense any more."""
        return False

    def told(self, row: HistoryRow) -> None:
        """Keep the row: all of them together are the `History` of the result."""
        self.rows.append(row)


@dataclass
class AnsweringLog(HistoryLog):
    """Remembers outcomes too, and answers points that are known.

    For a space with a finite number of them, or with conditions.

    When all of them are known, or the search proposes nothing new, that is a reason to stop. What is answered
    is no evaluation. Once the objective is known to be noisy, nothing is answered any more.
    """

    evaluations: int = 0  # those that were paid
    failures: int = 0
    _known: dict[Point, Run] = field(default_factory=dict)
    _begun: dict[Point, Job] = field(default_factory=dict)  # evaluations under way
    _repeats_in_a_row: int = 0

    def __post_init__(self) -> None:
        """The space has so many points; and so many repeats in a row are too many."""
        space = self.optimizer.space
        self._points, self._too_many = space.count_points(), REPEATS_IN_A_ROW * space.dimension

    @property
    def stop(self) -> Stop | None:  # type: ignore[override]
        """EXHAUSTED if all points are known, or all that is proposed is."""
        if self.optimizer.noisy:
            return None
        over = len(self._known) >= self._points or self._repeats_in_a_row >= self._too_many
        return Stop.EXHAUSTED if over else None

    def knows(self, candidate: Candidate) -> bool:
        """Whether the point was evaluated."""
        return not self.optimizer.noisy and _point(candidate) in self._known

    def begin(self, candidates: list[Candidate], submit: Callable[[Candidate], Job]) -> Iterable[Job]:
        """Begin those whose points are neither known nor under way."""
        if self.optimizer.noisy:
            yield from map(submit, candidates)
            return
        for candidate in candidates:
            point = _point(candidate)
            run, job = self._known.get(point), self._begun.get(point)
            self._repeats_in_a_row = 0 if run is None and job is None else self._repeats_in_a_row + 1
            if run is not None:
                yield settled(run)
                continue
            if job is None:
                job = self._begun[point] = submit(candidate)
            yield job

    def heard(self, candidate: Candidate, run: Run) -> None:  # type: ignore[override]
        """Keep the outcome."""
        point = _point(candidate)
        self._begun.pop(point, None)
        if point not in self._known or self.optimizer.noisy:
            self._known[point] = run
            self.evaluations += 1
            self.failures += run.outcome.failure is not None


def _point(candidate: Candidate) -> Point:
    """What is equal for equal points."""
    params = candidate.params
    return tuple(params.items()) if isinstance(params, dict) else tuple(params.tolist())
