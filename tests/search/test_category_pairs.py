"""Pairs of categories: what counts only together is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus import Categorical, Float, Int, Space
from saltus._typing import FloatArray
from saltus.search import category_pairs
from saltus.search.asking import askable
from saltus.search.category_pairs import MOST_SPARED, CategoryPairs, SparedCategories, pairs, singles
from saltus.search.integer_neighbours import affordable, beside
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.proposal import Proposals
from saltus.space.encoding import Encoding

from .playing import domain_of, evaluated, modelled, play

SPACE = Space(
    {
        "c": Categorical(range(20)),
        "k": Int(0, 9),
        "a": Categorical(range(3)),
        "x": Float(0, 1),
        "b": Categorical(range(4)),
    }
)
DOMAIN = domain_of(SPACE)  # x, k, c, a, b


def together(x: FloatArray) -> FloatArray:
    """The last two categories count only together."""
    return np.asarray(1.0 - ((x[:, 3] == 2) & (x[:, 4] == 1)) + 0.001 * x[:, 2])


def start(plateaus: list[float]) -> Any:
    return evaluated(DOMAIN, together, [0.5], plateaus)


def test_what_counts_only_together_is_found() -> None:
    phase = CategoryPairs(DOMAIN, start([3, 0, 0, 0]), np.random.default_rng(1))
    assert len(phase.queue) == 2 * 3 + 19 * 2 + 19 * 3
    play(phase, together)
    assert phase.best.plateaus.tolist() == [3, 0, 2, 1]
    assert phase.best.x[0] == phase.start.x[0]


def test_it_ends_when_nothing_is_better() -> None:
    phase = CategoryPairs(DOMAIN, start([3, 0, 2, 1]), np.random.default_rng(1))
    assert play(phase, together) == 101
    assert phase.best is phase.start


def test_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_pairs, "MOST", 4)
    plateaus = np.array([3.0, 0.0, 0.0, 0.0])
    rows = pairs(DOMAIN, plateaus, np.random.default_rng(1))
    assert len(rows) == 20 == len({*map(tuple, rows)})
    columns = rows[:, ::2].astype(int)
    assert (rows[:, 1::2] != plateaus[columns]).all()
    assert (rows[:, 1::2] <= DOMAIN.lattice.last[columns]).all()


@pytest.mark.parametrize("queue", [np.zeros((3, 2)), np.full((2, 4), 9.0), np.array([[1.0, 30.0, 2.0, 0.0]])])
def test_nonsense_is_not_restored(queue: FloatArray) -> None:
    phase = CategoryPairs(DOMAIN, start([3, 0, 0, 0]), np.random.default_rng(1))
    point = phase.start._asdict()
    state = phase.state() | {"queue": queue, "start": point, "best": point}
    with pytest.raises(ValueError, match="state: queue must"):
        CategoryPairs.restored(DOMAIN, state)


def test_what_a_model_has_spared_is_evaluated_after_all() -> None:
    """Every other value of every category, one at a time, but for those that are known here."""
    encoding = Encoding(SPACE)
    domain = modelled(encoding)

    def remember(points: Proposals) -> None:
        first, x = len(domain.memory), encoding.numbers(*points)
        domain.memory.extend(range(first, first + len(x)), x, [1.0] * len(x), [0.0] * len(x))

    point = evaluated(domain, together, [0.5], [3, 0, 0, 0])
    rows = singles(domain, point.plateaus, np.random.default_rng(1))
    assert len(rows) == 19 + 2 + 3 == len({*map(tuple, rows)})
    phase = SparedCategories(domain, point, np.random.default_rng(1))
    assert len(phase.queue) == 24
    remember(phase._changed(phase.queue[:10]))
    fewer = SparedCategories(domain, point, np.random.default_rng(1))
    assert {*map(tuple, fewer.queue)} == {*map(tuple, phase.queue[10:])}
    assert not askable(fewer)
    remember(fewer._changed(fewer.queue))
    assert SparedCategories(domain, point, np.random.default_rng(1)).done


def test_of_many_values_not_all_that_were_spared() -> None:
    domain = modelled(Encoding(Space({"c": Categorical(range(1000)), "x": Float(0, 1)})))
    point = evaluated(domain, lambda x: np.zeros(len(x)), [0.5], [3])
    assert len(SparedCategories(domain, point, np.random.default_rng(1)).queue) == 2 * MOST_SPARED


def test_they_end_with_the_first_that_is_better() -> None:
    domain = modelled(Encoding(SPACE))

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(1.0 - (x[:, 3] == 2))

    phase = SparedCategories(domain, evaluated(domain, fun, [0.5], [3, 0, 0, 0]), np.random.default_rng(1))
    play(phase, fun)
    assert phase.done
    assert phase.best.plateaus.tolist() == [3, 0, 2, 0]


def test_a_sweep_tries_all_values_of_a_category() -> None:
    """However many there are; of an integer those at growing distances."""

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray((x[:, 2] != 13) * 1.0 + (x[:, 3] != 1))

    phase = IntegerSweep(DOMAIN, evaluated(DOMAIN, fun, [0.5], [3, 0, 0, 0]), np.random.default_rng(1))
    play(phase, fun)
    assert phase.best.plateaus.tolist() == [3, 13, 1, 0]


def test_neighbours_are_the_next_integers_and_all_other_values() -> None:
    rows = beside(DOMAIN, np.array([0.0, 5.0, 1.0, 0.0]))
    assert len(rows) == 1 + 19 + 2 + 3 == len({*map(tuple, rows)})
    assert ((rows != [0, 5, 1, 0]).sum(axis=1) == 1).all()
    assert rows[0].tolist() == [1, 5, 1, 0]
    assert not affordable(DOMAIN)
    assert affordable(domain_of(Space({"a": Categorical(range(3)), "x": Float(0, 1), "y": Float(0, 1)})))
