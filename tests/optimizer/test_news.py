"""What was told and not learnt from: late results, strays, and what is taken back."""

from __future__ import annotations

import math

import numpy as np

from saltus.optimizer.news import News
from saltus.search.batch import InFlight, LateResult
from saltus.search.proposal import LONE
from saltus.space import Encoding

from .playing import SPACES

POINT = np.array([1.0, 3.0, 0.5, 1.0, 3.0])
ENCODING = Encoding(SPACES["mixed"], None, None)


def flown(news: News, *ids: int) -> None:
    x, plateaus = ENCODING.located(POINT)
    news.in_flight |= {id: InFlight(x, plateaus, LONE, 1, POINT) for id in ids}


def heard(news: News, id: int, value: float, kin: bool = True) -> None:
    news.hear(LateResult(id, *ENCODING.located(POINT), LONE, value, 0.0), POINT, kin)
    news.told[id] = (value, 0.0)


def ids(results: list[LateResult]) -> list[int]:
    return [result.id for result in results]


def test_late_results_are_of_one_phase() -> None:
    news = News()
    heard(news, 0, 1.0)
    news.begin(phase=1, enough=0)
    assert (ids(news.late), ids(news.strays)) == ([0], [])
    news.begin(phase=1, enough=2)  # a few would only disturb
    assert (ids(news.late), ids(news.strays)) == ([], [0])
    heard(news, 1, 1.0)
    heard(news, 2, 1.0, kin=False)
    news.begin(phase=2, enough=0)
    assert (ids(news.late), ids(news.strays)) == ([], [0, 2, 1])


def test_what_was_told_since_the_batch_began_is_taken_back() -> None:
    news = News()
    flown(news, 0, 1, 2)
    news.landed(0)
    heard(news, 0, 1.0)
    news.clear()
    news.begin(phase=1, enough=0)
    for id, value in ((1, math.nan), (2, 5.0)):
        news.landed(id)
        heard(news, id, value, kin=id == 1)
    assert news.forget() == (1, 2)
    assert news.in_flight.keys() == {1, 2}
    assert (ids(news.late), ids(news.strays)) == ([0], [])
    assert (news.told, news.elsewhere) == ({}, {})
    assert news.forget() == (0, 0)


def test_rows_are_in_the_order_of_ids() -> None:
    news = News()
    heard(news, 5, 2.0)
    news.told[3] = (1.0, 0.5)
    known, x, values, violations = news.rows(lambda id: np.full(2, float(id)))
    assert (known, x.tolist()) == ([3, 5], [[3.0, 3.0], [5.0, 5.0]])
    assert (values.tolist(), violations.tolist()) == ([1.0, 2.0], [0.5, 0.0])


def test_what_is_restored_is_not_taken_back() -> None:
    news, other = News(), News()
    flown(news, 4)
    heard(news, 0, 1.0)
    heard(news, 1, 2.0, kin=False)
    other.restore(news.state(), ENCODING)
    assert repr(other.state()) == repr(news.state())
    other.forget()
    assert (ids(other.late), ids(other.strays), [*other.in_flight]) == ([0], [1], [4])
