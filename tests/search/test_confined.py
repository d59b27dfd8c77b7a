"""A search of which only allowed points are evaluated: what its phases hear of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus.search import begun
from saltus.search.confined import MOVED, Confined
from saltus.search.proposal import LONE, Domain, Late, Proposals, Results
from saltus.search.settings import Settings
from saltus.space import Encoding

SPACE = Space([Float(-1, 1), Float(-1, 1), Int(0, 9)], where="x0 <= 0.1")


def search_of(space: Space, strategy: str = "dx-nes-ici") -> Confined:
    encoding = Encoding(space)
    found = begun(Domain.of(encoding, Settings.checked(encoding.N, strategy, 12)), encoding.m)
    assert isinstance(found, Confined)
    return found


def test_without_rules_nothing_is_between() -> None:
    encoding = Encoding(Space([Float(-1, 1)]))
    search = begun(Domain.of(encoding, Settings.checked(1, "dx-nes-ici")), encoding.m)
    assert not isinstance(search, Confined)


def test_what_is_not_allowed_is_violated_and_what_was_told_is_in_its_place() -> None:
    search = search_of(SPACE)
    search.phase.draw(np.random.default_rng(1))
    phase, asked = search.phase, search.phase.propose()
    everything = search.inner.phase.propose()
    out = search.known.excess(*everything) > 0
    assert 0 < out.sum() < 12
    assert len(asked.x) == 12 - out.sum()
    values = np.arange(float(len(asked.x)))
    whole = phase.whole(Results(asked, values, None))
    assert whole.points.x.tolist() == everything.x.tolist()
    assert whole.values[~out].tolist() == values.tolist()
    assert np.isnan(whole.values[out]).all()
    assert whole.violations is not None
    assert (whole.violations[out] > 0).all()
    assert not whole.violations[~out].any()
    violated = phase.whole(Results(asked, values, np.ones(len(values))))
    assert violated.violations is not None
    assert violated.violations[~out].tolist() == [1.0] * len(values)


def test_some_of_a_batch_extra_points_and_late_ones() -> None:
    search = search_of(SPACE)
    rng = np.random.default_rng(1)
    search.phase.draw(rng)
    phase, asked = search.phase, search.phase.propose()
    extra = phase.extra(0, rng)
    assert extra is not None
    assert not search.known.excess(*extra).any()
    points = Proposals(*(np.concatenate(both) for both in zip(asked, extra, strict=True)))
    own, count = len(asked.x), len(points.x)
    known = np.arange(count) != 1
    late = Late(Results(Proposals(asked.x[:1], asked.plateaus[:1]), np.array([7.0]), None), np.array([]), rng)
    late = late._replace(pairs=np.array([LONE] * int(known.sum()) + [5]))
    whole = phase.whole(Results(points, np.arange(float(count)), None, known, late))
    assert whole.known is not None
    assert whole.late is not None
    assert len(whole.values) == 12 + count - own
    assert np.count_nonzero(~whole.known) == 1
    assert not whole.known[phase.rows[1]]
    assert whole.values[12:].tolist() == [float(i) for i in range(own, count)]
    assert whole.late.pairs.tolist() == [LONE] * int(whole.known.sum()) + [5]
    assert whole.told == 12 - 1 + count - own + 1


def test_generations_of_which_nothing_is_allowed_cost_nothing() -> None:
    """The mean is far away: it is told so until it has come near, or points are moved."""
    search = search_of(Space([Float(-1, 1)] * 2, where="x0 + x1 <= -1.5"), "cma-es")
    far: Any = search.inner.phase
    far.gaussian.state = far.gaussian.state._replace(m=np.array([6.0, 6.0]))
    search.phase.draw(np.random.default_rng(1))
    asked = search.phase.propose()
    assert len(asked.x) > 0
    assert not search.known.excess(*asked).any()


def test_what_no_generation_reaches_is_moved_and_the_search_hears_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("saltus.search.confined.MOST_FREE", 0)
    space = Space([Float(0, 1)] * 2, where=lambda x: bool(x[0] < 1e-4))
    encoding = Encoding(space, mean=[0.00005, 0.5])
    search = begun(Domain.of(encoding, Settings.checked(2, "saltus-es", 12)), encoding.m)
    assert isinstance(search, Confined)
    mixed: Any = search.inner.phase
    mixed.gaussian.state = mixed.gaussian.state._replace(m=np.array([30.0, 30.0]))
    search.phase.draw(np.random.default_rng(1))
    assert search.moved
    asked = search.phase.propose()
    assert len(asked.x) == MOVED
    assert not search.known.excess(*asked).any()
    search.observe(Results(asked, np.array([3.0, 1.0, 2.0, 4.0]), None), np.random.default_rng(1))
    inner: Any = search.inner
    assert inner.stray.value == 1.0
    assert search.known.excess(inner.stray.x[None], inner.stray.plateaus[None])[0] == 0


def test_the_search_observes_and_not_the_phase() -> None:
    phase = search_of(SPACE).phase
    phase.draw(np.random.default_rng(1))
    with pytest.raises(RuntimeError, match="the search observes"):
        phase.observe(phase.whole(None))
