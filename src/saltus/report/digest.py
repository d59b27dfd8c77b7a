"""One pass through the record: what the page needs of it, however long it is."""

from __future__ import annotations

import bisect
import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from ..study.summary import Summary, ranking
from ..study.trial import Session, Snapshot, Trial

T = TypeVar("T")
_Place = tuple[int, Trial]  # a trial, and how many evaluations there were with it

_MOST_POINTS = 1500
_MOST_SNAPSHOTS = 400
_MOST_FAILED = 200
MOST_RESTARTS = 20
_BEST = 10


class Thinned(list[T]):
    """Evenly chosen items of a stream of unknown length: at most `most`, the first and the last included.

    >>> thinned = Thinned[int](most=5)
    >>> for item in range(12):
    ...     thinned.add(item)
    >>> thinned
    [0, 4, 8, 11]
    """

    def __init__(self, most: int) -> None:
        """Nothing has come yet."""
        super().__init__()
        self._most, self._stride, self._seen = most - 1, 1, 0

    def add(self, item: T) -> None:
        """Take the next item of the stream."""
        if (self._seen - 1) % self._stride:  # the one before was there only for being the last
            self.pop()
        if self._seen % self._stride == 0 and len(self) == self._most:
            del self[1::2]
            self._stride *= 2
        self.append(item)
        self._seen += 1


@dataclass(slots=True)
class Digest:
    """What the page shows of trials and snapshots. Each x counts evaluations, from 1.

    Attributes:
        ids: the number of the trial of each evaluation.
        points: evenly chosen evaluations.
        values: every finite value, those that violate constraints included.
        seconds: how long each evaluation took.
        failed: where evaluations failed, evenly chosen.
        improvements: the best feasible trial so far, wherever it changed.
        best: the ten best trials, feasible ones first.
        constrained: whether any trial had constraints.
        snapshots: evenly chosen ones, and where.
        restarts: where runs after the first began; empty if that would be too many lines.
        wall: seconds that sessions lasted.
        busy: share of the workers' time spent in evaluations; None if unknown.
    """

    ids: array[int] = field(default_factory=lambda: array("q"))
    points: Thinned[_Place] = field(default_factory=lambda: Thinned(_MOST_POINTS))
    values: array[float] = field(default_factory=lambda: array("d"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    failed: Thinned[int] = field(default_factory=lambda: Thinned(_MOST_FAILED))
    improvements: Thinned[_Place] = field(default_factory=lambda: Thinned(_MOST_POINTS))
    best: list[Trial] = field(default_factory=list)
    constrained: bool = False
    snapshots: Thinned[tuple[int, Snapshot]] = field(default_factory=lambda: Thinned(_MOST_SNAPSHOTS))
    restarts: list[int] = field(default_factory=list)
    wall: float = 0.0
    busy: float | None = None

    def place(self, trial: int) -> int:
        """How many evaluations there were before a trial."""
        return bisect.bisect_left(self.ids, trial)


class _Clock:
    """How long sessions lasted and how busy their workers were."""

    def __init__(self, sessions: list[Session]) -> None:
        self._sessions = sorted(sessions, key=lambda s: s.started)
        self._starts = [s.started for s in self._sessions]
        self._last_seen = list(self._starts)
        self._workers: dict[tuple[int, int], tuple[float, float, float]] = {}  # first start, last end, busy

    def note(self, trial: Trial) -> None:
        if trial.started is None or not math.isfinite(trial.started):
            return
        seconds = trial.seconds if trial.seconds is not None and math.isfinite(trial.seconds) else 0.0
        end = trial.started + seconds
        session = bisect.bisect_right(self._starts, trial.started) - 1
        if session >= 0:
            self._last_seen[session] = max(self._last_seen[session], end)
        if trial.worker is not None and seconds > 0:
            key = session, trial.worker
            first, last, busy = self._workers.get(key, (trial.started, end, 0.0))
            self._workers[key] = min(first, trial.started), max(last, end), busy + seconds

    def wall(self) -> float:
        # a session without an end runs, or died: the record only tells when it was last heard of
        known = zip(self._sessions, self._last_seen, strict=True)
        return sum(max(0.0, (seen if s.ended is None else s.ended) - s.started) for s, seen in known)

    def busy(self) -> float | None:
        available = sum(last - first for first, last, _ in self._workers.values())
        if not 0 < available < math.inf:
            return None
        return min(1.0, sum(busy for _, _, busy in self._workers.values()) / available)


def gather(summary: Summary, trials: Iterable[Trial], snapshots: Iterable[Snapshot]) -> Digest:
    """What the page shows of a study: both streams are read once, from their beginning to their end."""
    key = ranking(summary.direction)
    digest = Digest()
    ids, best = digest.ids, digest.best
    clock = _Clock(summary.sessions)
    for trial in trials:
        clock.note(trial)
        if not trial.evaluated:
            continue
        ids.append(trial.id)
        x = len(ids)
        digest.points.add((x, trial))
        if trial.seconds is not None and 0 <= trial.seconds < math.inf:
            digest.seconds.append(trial.seconds)
        if trial.status == "failed":
            digest.failed.add(x)
            continue
        digest.constrained |= bool(trial.constraints) or trial.violation > 0
        if trial.value is None or not math.isfinite(trial.value):
            continue
        digest.values.append(trial.value)
        if trial.feasible and (not best or key(trial) < key(best[0])):
            digest.improvements.add((x, trial))
        if len(best) < _BEST or key(trial) < key(best[-1]):
            bisect.insort(best, trial, key=key)
            del best[_BEST:]

    runs = 0
    for snapshot in snapshots:
        x = bisect.bisect_left(ids, snapshot.first)
        digest.snapshots.add((x, snapshot))
        if snapshot.restarts > runs:
            runs = snapshot.restarts
            digest.restarts.append(x)
    if len(digest.restarts) > MOST_RESTARTS:
        digest.restarts = []
    digest.wall, digest.busy = clock.wall(), clock.busy()
    return digest
