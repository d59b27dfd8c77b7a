"""A study's record as it grows: what is new is read, what was read before is not read again."""

from __future__ import annotations

import itertools
import os
from contextlib import closing
from typing import NamedTuple

from ..study import Study
from ..study.database import Database
from ..study.known import in_line
from ..study.lock import is_held
from ..study.summary import Summary, Tally
from ..study.trial import Session
from .digest import Digest, Gathering

AT_A_TIME = 5_000  # trials of a long record, until there is something to be seen

Signs = tuple[tuple[int, int], ...]  # by which it is noticed that a record has changed


class Seen(NamedTuple):
    """A study as it is on record, or as much of it as was read so far."""

    summary: Summary
    digest: Digest
    complete: bool


class Reader:
    """Reads a record again and again. The record is opened for reading only, and only while it is read."""

    def __init__(self, study: Study) -> None:
        """Nothing is read yet."""
        self._study = study
        self._history: tuple[int, ...] | None = None
        self._begin((), [])

    def _begin(self, history: tuple[int, ...], sessions: list[Session]) -> None:
        head = self._study.head
        self._history, self._trials, self._generations = history, 0, 0
        self._tally = Tally(head)
        self._gathering = Gathering(head.space, head.direction, sessions)

    def signs(self) -> Signs:
        """What changes whenever the record does: sizes and times of its files, and whether it is running.

        Nothing is opened but the lock's file, so that it can be asked many times a second.
        """
        path, found = self._study.path, []
        for file in (path, path.with_name(path.name + "-wal")):
            try:
                about = os.stat(file)
                found.append((about.st_size, about.st_mtime_ns))
            except OSError:
                found.append((-1, -1))
        return (*found, (int(is_held(path)), 0))

    def read(self, most: int = AT_A_TIME) -> Seen:
        """What is on record now; of a long record, the next so many trials of it.

        Trials that are over are kept in mind. Those that are not are read each time; so are all if some that
        were read before count no more, or a session has begun since.
        """
        with closing(Database(self._study.path, write=False)) as database:
            sessions = database.sessions()
            history = len(sessions), database.count_forgotten(), database.count_past()
            if history != self._history:
                self._begin(history, sessions)
            rows = list(itertools.islice(database.trials(self._trials), most + 1))
            complete = len(rows) <= most
            over = list(
                itertools.takewhile(lambda trial: trial.over or trial.status == "forgotten", rows[:most])
            )
            for trial in over:
                self._tally.add(trial)
                self._gathering.trial(trial)
            self._trials += len(over)
            read = self._trials + len(rows[:most]) - len(over)
            later = database.snapshots(self._generations)
            snapshots = list(itertools.takewhile(lambda s: complete or s.first < read, later))
            waiting = len(in_line(database))
        # the last one may be written again, with what is asked of its generation later
        past = len(list(itertools.takewhile(lambda s: s.first < self._trials, snapshots[:-1])))
        for snapshot in snapshots[:past]:
            self._gathering.snapshot(snapshot)
            self._generations = snapshot.generation + 1
        tally, gathering = self._tally.copy(), self._gathering.copy()
        for trial in rows[len(over) : most]:
            tally.add(trial)
            gathering.trial(trial)
        for snapshot in snapshots[past:]:
            gathering.snapshot(snapshot)
        summary = tally.summary(gathering.restarts, sessions, is_held(self._study.path), waiting)
        return Seen(summary, gathering.digest(sessions), complete)


def all_of(study: Study) -> Seen:
    """A study as it is on record now: every row is read once, and a long record does not fill the memory."""
    reader = Reader(study)
    while not (seen := reader.read()).complete:
        pass
    return seen
