"""One pass through the record: what the page needs of it, however long it is."""

from __future__ import annotations

import bisect
import math
from array import array
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import TypeVar

from ..search.learnt import MOST_LOOKED_AT
from ..space import Space
from ..study.summary import Summary, ranking
from ..study.trial import Session, Snapshot, Trial
from .designs import Pool

T = TypeVar("T")
Place = tuple[int, Trial]  # a trial, and how many evaluations there were with it

_MOST_POINTS = 1500
_MOST_SNAPSHOTS = 400
_MOST_FAILED = 200
_MOST_ENVELOPES = 480
MOST_RESTARTS = 20


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


class Envelope(list[list[float]]):
    """The least and the largest of many numbers, over pieces of equal length: [least, largest] each.

    >>> envelope = Envelope(most=2)
    >>> for value in (3.0, 1.0, 2.0, 5.0, 4.0):
    ...     envelope.add(value)
    >>> envelope, envelope.length
    ([[1.0, 5.0], [4.0, 4.0]], 4)
    """

    def __init__(self, most: int) -> None:
        """At most so many pieces; their length grows with the numbers."""
        super().__init__()
        self._most, self._seen, self.length = most, 0, 1

    def add(self, value: float) -> None:
        """Take the next number; NaN has its place, and is neither."""
        if self._seen == self._most * self.length:
            pairs = zip(self[::2], self[1::2], strict=True)
            self[:] = [[min(a[0], b[0]), max(a[1], b[1])] for a, b in pairs]
            self.length *= 2
        if self._seen % self.length == 0:
            self.append([math.inf, -math.inf])
        self._seen += 1
        if math.isfinite(value):
            last = self[-1]
            self[-1] = [min(last[0], value), max(last[1], value)]


@dataclass(slots=True)
class Kept:
    """How often a constraint held, and which trial violated it last."""

    held: int = 0
    violated: int = 0
    last: int | None = None


@dataclass(slots=True)
class Digest:
    """What the page shows of trials and snapshots. Each x counts evaluations, from 1.

    Attributes:
        ids: the number of the trial of each evaluation.
        points: evenly chosen evaluations.
        sample: more of them, with a value: what a model is made of.
        values: every finite value, those that violate constraints included.
        envelope: of the values of feasible evaluations.
        seconds: how long each evaluation took.
        failed: where evaluations failed, evenly chosen.
        improvements: the best feasible trial so far, wherever it changed.
        best: the best trial by the order of the study.
        pool: the best trials of all parts of the space.
        limits: for each constraint by name, how often it held.
        constrained: whether any trial had constraints.
        snapshots: evenly chosen ones, and where.
        restarts: where runs after the first began; empty if that would be too many lines.
        wall: seconds that sessions lasted.
        busy: share of the workers' time spent in evaluations; None if unknown.
    """

    pool: Pool
    ids: array[int] = field(default_factory=lambda: array("q"))
    points: Thinned[Place] = field(default_factory=lambda: Thinned(_MOST_POINTS))
    sample: Thinned[Trial] = field(default_factory=lambda: Thinned(MOST_LOOKED_AT))
    values: array[float] = field(default_factory=lambda: array("d"))
    envelope: Envelope = field(default_factory=lambda: Envelope(_MOST_ENVELOPES))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    failed: Thinned[int] = field(default_factory=lambda: Thinned(_MOST_FAILED))
    improvements: Thinned[Place] = field(default_factory=lambda: Thinned(_MOST_POINTS // 2))
    best: Trial | None = None
    limits: dict[str, Kept] = field(default_factory=dict)
    constrained: bool = False
    snapshots: Thinned[tuple[int, Snapshot]] = field(default_factory=lambda: Thinned(_MOST_SNAPSHOTS))
    restarts: list[int] = field(default_factory=list)
    wall: float = 0.0
    busy: float | None = None

    def place(self, trial: int) -> int:
        """How many evaluations there were before a trial."""
        return bisect.bisect_left(self.ids, trial)

    def copy(self) -> Digest:
        """Another one, which grows by itself."""
        other = copy(self)
        for name in ("pool", "ids", "points", "sample", "values", "envelope", "seconds", "failed"):
            setattr(other, name, copy(getattr(self, name)))
        other.improvements, other.snapshots = copy(self.improvements), copy(self.snapshots)
        other.limits = {name: copy(kept) for name, kept in self.limits.items()}
        other.restarts = list(self.restarts)
        return other


class _Clock:
    """How long sessions lasted and how busy their workers were."""

    def __init__(self, sessions: list[Session]) -> None:
        self._sessions = sorted(sessions, key=lambda s: s.started)
        self._starts = [s.started for s in self._sessions]
        self._last_seen = list(self._starts)
        self._workers: dict[tuple[int, int], tuple[float, float, float]] = {}  # first start, last end, busy

    def copy(self) -> _Clock:
        other = copy(self)
        other._last_seen, other._workers = list(self._last_seen), dict(self._workers)
        return other

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

    def wall(self, sessions: list[Session] | None) -> float:
        # a session without an end runs, or died: the record only tells when it was last heard of
        now = self._sessions if sessions is None else sorted(sessions, key=lambda s: s.started)
        known = zip(now, self._last_seen, strict=True)
        return sum(max(0.0, (seen if s.ended is None else s.ended) - s.started) for s, seen in known)

    def busy(self) -> float | None:
        available = sum(last - first for first, last, _ in self._workers.values())
        if not 0 < available < math.inf:
            return None
        return min(1.0, sum(busy for _, _, busy in self._workers.values()) / available)


class Gathering:
    """A digest that grows trial by trial."""

    def __init__(self, space: Space, direction: str, sessions: list[Session]) -> None:
        """Nothing has come yet; sessions are needed to tell times apart."""
        self._key = ranking(direction)
        self._digest = Digest(Pool(space, self._key))
        self._clock = _Clock(sessions)
        self.restarts = 0  # so far

    def copy(self) -> Gathering:
        """Another one, which grows by itself."""
        other = copy(self)
        other._digest, other._clock = self._digest.copy(), self._clock.copy()
        return other

    def trial(self, trial: Trial) -> None:
        """The next trial in the order asked."""
        digest = self._digest
        self._clock.note(trial)
        if not trial.evaluated:
            return
        digest.ids.append(trial.id)
        place = len(digest.ids), trial
        digest.points.add(place)
        if trial.seconds is not None and 0 <= trial.seconds < math.inf:
            digest.seconds.append(trial.seconds)
        for name, amount in (trial.constraints or {}).items():
            self._limit(digest.limits.setdefault(name, Kept()), amount, trial.id)
        value = math.nan if trial.value is None else trial.value
        digest.envelope.add(value if trial.feasible else math.nan)
        if trial.status == "failed":
            digest.failed.add(place[0])
            return
        digest.constrained |= bool(trial.constraints) or trial.violation > 0
        if not math.isfinite(value):
            return
        digest.values.append(value)
        digest.sample.add(trial)
        digest.pool.add(place)
        if digest.best is None or self._key(trial) < self._key(digest.best):
            digest.best = trial
            if trial.feasible:
                digest.improvements.add(place)

    @staticmethod
    def _limit(kept: Kept, amount: float, trial: int) -> None:
        if amount <= 0:
            kept.held += 1
        else:
            kept.violated, kept.last = kept.violated + 1, trial

    def snapshot(self, snapshot: Snapshot) -> None:
        """The next snapshot, after all trials before it."""
        x = bisect.bisect_left(self._digest.ids, snapshot.first)
        self._digest.snapshots.add((x, snapshot))
        if snapshot.restarts > self.restarts:
            self.restarts = snapshot.restarts
            self._digest.restarts.append(x)

    def digest(self, sessions: list[Session] | None = None) -> Digest:
        """What there is so far; this one must not grow any more.

        Args:
            sessions: the same ones, as they are now: one may have ended.
        """
        digest = self._digest
        if len(digest.restarts) > MOST_RESTARTS:
            digest.restarts = []
        digest.wall, digest.busy = self._clock.wall(sessions), self._clock.busy()
        return digest


def gather(summary: Summary, trials: Iterable[Trial], snapshots: Iterable[Snapshot]) -> Digest:
    """What the page shows of a study: both streams are read once, from their beginning to their end."""
    gathering = Gathering(summary.space, summary.direction, summary.sessions)
    for trial in trials:
        gathering.trial(trial)
    for snapshot in snapshots:
        gathering.snapshot(snapshot)
    return gathering.digest()
