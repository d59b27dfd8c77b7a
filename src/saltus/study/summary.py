"""The state of a study at a glance."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass

from .. import order
from ..execution.log import HistoryRow
from .trial import Head, Session, Snapshot, Trial


@dataclass(frozen=True, slots=True)
class Summary(Head):
    """What `saltus show` prints.

    Attributes:
        name, space, direction ("minimize" or "maximize"), strategy, population, batch, seed, noisy: as
            created.
        created, version: when, in seconds since 1970, and by which Saltus.
        best: the best trial: feasible if there is one, else the least violated; None before the first value.
        evaluations: trials that were evaluated, failed ones included, repeated ones not, nor past data.
        past: trials that were evaluated elsewhere, and count as known.
        failures: how often each reason for a failure occurred, the most frequent first.
        last_failure: the most recent trial that failed.
        repeated: candidates answered from the record.
        forgotten: trials that count no more.
        in_line: points that were put in line and are not asked yet.
        generations, restarts: how many there have been.
        unfinished: trials that are asked or running.
        sessions: the processes that ran the study, oldest first.
        running: whether the last one still does.
    """

    best: Trial | None
    evaluations: int
    failures: dict[str, int]
    last_failure: Trial | None
    repeated: int
    generations: int
    restarts: int
    unfinished: list[Trial]
    sessions: list[Session]
    running: bool = False
    forgotten: int = 0
    past: int = 0
    in_line: int = 0


def summarise(
    head: Head,
    trials: Iterable[Trial],
    snapshots: Iterable[Snapshot],
    sessions: list[Session],
    running: bool,
    in_line: int = 0,
) -> Summary:
    """The state of a study, from one pass through what is on record.

    Args:
        head: what the study is.
        trials, snapshots: all of them, in the order asked.
        sessions: the processes that ran it, oldest first.
        running: whether the last of them still does.
        in_line: how many points are in line.
    """
    tally = Tally(head)
    for trial in trials:
        tally.add(trial)
    restarts = max((snapshot.restarts for snapshot in snapshots), default=0)
    return tally.summary(restarts, sessions, running, in_line)


class Tally:
    """A summary that grows trial by trial.

    >>> from saltus import Int, Space
    >>> head = Head("a", Space({"k": Int(0, 9)}), "minimize", "saltus", 4, 1, 1, None, False, 0.0, "1")
    >>> tally = Tally(head)
    >>> tally.add(Trial(0, 0, {"k": 3}, "done", 2.5))
    >>> tally.summary(0, [], running=False).best.value
    2.5
    """

    def __init__(self, head: Head) -> None:
        """Nothing has come yet."""
        self._head, self._key = head, ranking(head.direction)
        self._best: Trial | None = None
        self._past = 0
        self._reasons: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._last: dict[str, Trial] = {}  # of each status
        self._unfinished: list[Trial] = []

    def add(self, trial: Trial) -> None:
        """The next trial in the order asked."""
        if trial.status == "done":
            self._best = trial if self._best is None else min(self._best, trial, key=self._key)
        if trial.past and trial.evaluated:
            self._past += 1
            return
        self._counts[trial.status] += 1
        self._last[trial.status] = trial
        if trial.status == "failed":
            self._reasons[trial.reason or "unknown"] += 1
        elif trial.status in ("asked", "running") and trial.repeats is None:
            self._unfinished.append(trial)

    def copy(self) -> Tally:
        """Another one, which grows by itself."""
        other = copy(self)
        other._reasons, other._counts = self._reasons.copy(), self._counts.copy()
        other._last, other._unfinished = self._last.copy(), self._unfinished.copy()
        return other

    def summary(self, restarts: int, sessions: list[Session], running: bool, in_line: int = 0) -> Summary:
        """What there is so far; the arguments are what trials do not tell."""
        counts = self._counts
        return Summary(
            **self._head.as_dict(),
            best=self._best,
            evaluations=counts["done"] + counts["failed"],
            failures=dict(self._reasons.most_common()),
            last_failure=self._last.get("failed"),
            repeated=counts["repeated"],
            forgotten=counts["forgotten"],
            generations=max((trial.generation + 1 for trial in self._last.values()), default=0),
            restarts=restarts,
            unfinished=list(self._unfinished),
            sessions=sessions,
            running=running,
            past=self._past,
            in_line=in_line,
        )


def ranking(direction: str) -> Callable[[Trial], tuple[order.Key, int]]:
    """A key that sorts trials with an outcome, the best first; of equals the first asked.

    >>> light, heavy = Trial(0, 0, {}, "done", 1.0), Trial(1, 0, {}, "done", 9.0)
    >>> min(light, heavy, key=ranking("maximize")).id
    1
    """
    sign = sign_of(direction)
    return lambda t: (order.key(math.nan if t.value is None else sign * t.value, t.violation), t.id)


def sign_of(direction: str) -> float:
    """What values are multiplied with so that the smaller is better: -1 if the study maximises."""
    return order.sign(direction == "maximize")


def history_rows(
    direction: str, trials: Iterable[Trial], snapshots: Iterable[Snapshot]
) -> Iterator[HistoryRow]:
    """The rows of a `History`, one for each generation, of trials in the order asked."""
    sign = sign_of(direction)
    restarts = {snapshot.generation: snapshot.restarts for snapshot in snapshots}
    best, evaluations = math.inf, 0
    last = 0
    for number, generation in itertools.groupby(trials, key=lambda t: t.generation):
        members, last = list(generation), restarts.get(number, last)
        evaluations += sum(t.evaluated and not t.past for t in members)
        value = min((sign * t.value for t in members if t.feasible and t.value is not None), default=math.inf)
        best = min(best, value)
        known = [sign * v if v < math.inf else math.nan for v in (best, value)]
        yield evaluations, known[0], known[1], len(members), last
