"""What the page needs of a record, from one pass through it."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.report.digest import Thinned, gather
from saltus.study.trial import Session, Snapshot, Trial

from .samples import recorded, summed_up


def test_thinning_is_even_and_keeps_both_ends() -> None:
    for n in (0, 1, 2, 9, 10, 11, 57, 1000):
        items = Thinned[int](10)
        for i in range(n):
            items.add(i)
        assert len(items) <= 10
        assert items == sorted(set(items))
        assert items == list(range(n)) if n <= 9 else (items[0], items[-1]) == (0, n - 1)
        assert len(set(np.diff(items[:-1]).tolist())) <= 1


def test_time_is_counted_by_session() -> None:
    def trial(i: int, worker: int, started: float, seconds: float) -> Trial:
        return Trial(i, 0, {}, "done", value=1.0, worker=worker, started=started, seconds=seconds)

    sessions = [Session(100, 200, "a", 1, 2, "Done.", ""), Session(1000, None, "a", 2, 1, None, "")]
    trials = [trial(0, 0, 110, 40), trial(1, 1, 110, 10), trial(2, 1, 130, 20), trial(3, 0, 1010, 30)]
    digest = gather(summed_up(trials, sessions=sessions), trials, [])
    assert digest.wall == 100 + 40  # the second session was last heard of at 1040
    assert digest.busy == pytest.approx((40 + 30 + 30) / (40 + 40 + 30))
    assert gather(summed_up([], sessions=[]), [], []).busy is None


def test_evaluations_are_counted_without_repeated_trials() -> None:
    trials = recorded()[0]
    digest = gather(summed_up(trials), trials, [Snapshot(0, 0, 0, (), ()), Snapshot(3, 30, 1, (), ())])
    repeated = [t.id for t in trials if t.status == "repeated"]
    assert len(digest.ids) == 300 - len(repeated)
    assert digest.restarts == [30 - sum(i < 30 for i in repeated)]
    assert digest.best is not None
    assert digest.best.value == min(t.value for t in trials if t.feasible and t.status == "done")  # type: ignore[type-var]
    values = [t.value for _, t in digest.improvements]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert digest.improvements[-1][1] == digest.best
