"""The state of a study at a glance."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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
    past = 0
    best: Trial | None = None
    reasons: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    last: dict[str, Trial] = {}  # of each status
    unfinished: list[Trial] = []
    key = ranking(head.direction)
    for trial in trials:
        if trial.status == "done":
            best = trial if best is None else min(best, trial, key=key)
        if trial.past and trial.evaluated:
            past += 1
            continue
        counts[trial.status] += 1
        last[trial.status] = trial
        if trial.status == "failed":
            reasons[trial.reason or "unknown"] += 1
        elif trial.status in ("asked", "running") and trial.repeats is None:
            unfinished.append(trial)
    return Summary(
        **head.as_dict(),
        best=best,
        evaluations=counts["done"] + counts["failed"],
        failures=dict(reasons.most_common()),
        last_failure=last.get("failed"),
        repeated=counts["repeated"],
        forgotten=counts["forgotten"],
        generations=max((trial.generation + 1 for trial in last.values()), default=0),
        restarts=max((snapshot.restarts for snapshot in snapshots), default=0),
        unfinished=unfinished,
        sessions=sessions,
        running=running,
        past=past,
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
