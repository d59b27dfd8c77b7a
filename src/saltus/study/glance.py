"""A study at a glance, looked at again and again while it runs: only what is new is read."""

from __future__ import annotations

import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from .database import Database
from .lock import is_held
from .summary import ranking
from .trial import Head, Session, Trial

RECENT = 200  # evaluations that say how fast it goes


@dataclass(frozen=True, slots=True)
class Glance:
    """What a person wants to see of a study.

    Attributes:
        head: what the study is.
        evaluations: how many there were, those of earlier sessions included, and those that failed.
        best: the best trial: feasible if there is one, else the least violated; None before the first value.
        since_best: evaluations after it.
        trend: evaluations and the best feasible value then, wherever it has become better.
        failures, last_failure: how many failed, and why the last one did.
        restarts: how many runs there were before this one.
        running, waiting: the trials that are being evaluated, and how many are asked and not yet begun.
        session: the last process that ran it, if any; `alive` says whether it still does.
        pace: evaluations in a second, lately in this session; None if it cannot be said.
        seconds: how long an evaluation takes, lately; None if it is not known.
        now: when this was read, in seconds since 1970.
    """

    head: Head
    evaluations: int
    best: Trial | None
    since_best: int
    trend: tuple[tuple[int, float], ...]
    failures: int
    last_failure: str | None
    restarts: int
    running: tuple[Trial, ...]
    waiting: int
    session: Session | None
    alive: bool
    pace: float | None
    seconds: float | None
    now: float


@dataclass(slots=True)
class _Tally:
    """What trials have given so far, told one after the other."""

    head: Head
    evaluations: int = 0
    failures: int = 0
    last_failure: str | None = None
    best: Trial | None = None
    best_at: int = 0
    trend: list[tuple[int, float]] = field(default_factory=list)
    ended: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=RECENT + 1))

    def add(self, trial: Trial) -> None:
        if not trial.evaluated:
            return
        if not trial.past:
            self.evaluations += 1
            if trial.started is not None and trial.seconds is not None:
                self.ended.append((trial.started + trial.seconds, trial.seconds))
        if trial.status == "failed":
            self.failures += not trial.past
            self.last_failure = trial.reason
            return
        key = ranking(self.head.direction)
        if self.best is None or key(trial)[0] < key(self.best)[0]:
            self.best, self.best_at = trial, self.evaluations
            if trial.feasible and trial.value is not None:
                self.trend.append((self.evaluations, trial.value))

    def copy(self) -> _Tally:
        return replace(self, trend=self.trend.copy(), ended=self.ended.copy())


class Watcher:
    """Looks at a record again and again.

    >>> import tempfile
    >>> from saltus import Int, Space, Study
    >>> study = Study.create(tempfile.mkdtemp() + "/gears.db", Space({"teeth": Int(12, 60)}), seed=3)
    >>> watcher = Watcher(study.path)
    >>> watcher.look().evaluations
    0
    >>> result = study.optimize(lambda p: abs(p["teeth"] - 37), budget=10)
    >>> watcher.look().evaluations, watcher.look().trend[-1][1] == result.fun
    (10, True)
    """

    def __init__(self, path: Path) -> None:
        """The record need not be there yet: until it is, `look` raises a RecordError."""
        self._path = path
        self._tally: _Tally | None = None  # of all trials before ...
        self._next = 0  # ... this one
        self._sessions = -1

    def look(self) -> Glance:
        """How it is now; a RecordError if the record is not there, or cannot be read."""
        with closing(Database(self._path, write=False)) as database:
            sessions, head = database.sessions(), database.head
            if self._tally is None or len(sessions) != self._sessions:  # trials may be forgotten in between
                self._tally, self._next, self._sessions = _Tally(head), 0, len(sessions)
            tally, restarts = self._tally, database.restarts()
            later: list[Trial] = []
            for trial in database.trials_from(self._next):
                if not later and (trial.over or trial.status == "forgotten"):
                    tally.add(trial)
                    self._next = trial.id + 1
                else:
                    later.append(trial)
        tally = tally.copy()
        for trial in later:
            tally.add(trial)
        session, now = sessions[-1] if sessions else None, time.time()
        alive = session is not None and session.ended is None and is_held(self._path)
        pace, seconds = _pace(tally.ended, session, now)
        return Glance(
            head,
            tally.evaluations,
            tally.best,
            tally.evaluations - tally.best_at,
            tuple(tally.trend),
            tally.failures,
            tally.last_failure,
            restarts,
            tuple(t for t in later if t.status == "running"),
            sum(t.status == "asked" and t.repeats is None for t in later),
            session,
            alive,
            pace,
            seconds,
            now,
        )


def _pace(
    ended: deque[tuple[float, float]], session: Session | None, now: float
) -> tuple[float | None, float | None]:
    """Evaluations in a second, and seconds of one: of the last ones of a session, up to now or its end."""
    if session is None:
        return None, None
    here = [(end, seconds) for end, seconds in ended if end >= session.started]
    if len(here) > RECENT:
        begun, *here = here
        since = begun[0]
    else:
        since = session.started
    if not here:
        return None, None
    span = (session.ended or max(now, here[-1][0])) - since
    return (len(here) / span if span > 0 else None), sum(seconds for _, seconds in here) / len(here)
