"""Several studies on one page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from saltus import Float, Space
from saltus.report.compare import MOST_STUDIES, compare
from saltus.report.digest import gather
from saltus.study.trial import Trial

from .samples import HOSTILE, NOW, checked, recorded, summed_up


def study(values: list[float], **other: Any) -> Any:
    space = other.pop("space", Space({"x": Float(0, 1)}))
    params = dict.fromkeys(space.keys, 0.5)
    trials = [Trial(i, 0, params, "done", value) for i, value in enumerate(values)]
    summary = summed_up(trials, space=space, **other)
    return summary, gather(summary, trials, [])


def test_beside_each_other() -> None:
    page = compare([study([9, 5, 3, 1], name="slow"), study([9, 3, 3.5], name="fast")], now=NOW)
    words = checked(page).text
    assert "slow and fast" in words
    assert "All of them have reached 3: compare how soon." in words
    assert "evaluations to 3 3 2" in words  # the third of the one, the second of the other
    assert "best value 1 3" in words
    assert page.count('class="line c0"') == page.count('class="line c1"') == 2  # in two shapes
    assert "Lower is better." in words


def test_points_tell_of_which_study_they_are() -> None:
    other = Space({"y": Float(0, 1), "x": Float(0, 1)})
    page = compare([study([9, 5, 6, 1]), study([8, 2], space=other, name="other")], now=NOW)
    known = json.loads(re.findall(r"<script.*?>(.*?)</script>", page, re.S)[0])
    assert known["studies"] == ["A small network", "other"]
    assert known["names"] == ["x", "y"]
    rows = [(row[0], row[1], row[4], row[7]) for row in known["rows"]]
    assert rows == [
        (0, "9", ["0.5", None], 0),
        (1, "5", ["0.5", None], 0),
        (3, "1", ["0.5", None], 0),
        (0, "8", ["0.5", "0.5"], 1),
        (1, "2", ["0.5", "0.5"], 1),
    ]
    wide = re.findall(r'class="dots step c(\d)"[^>]*data-i="([^"]*)"', page)[:2]
    assert wide == [("0", "0 1 2"), ("1", "3 4")]
    assert '<span data-trial="3" data-study="0">3</span>' in page


def test_of_a_long_study_some_points_tell_more() -> None:
    long = study(
        [float(1e6 - i) for i in range(5000)], space=Space({f"v{i}": Float(0, 1) for i in range(30)})
    )
    page = compare([long] * MOST_STUDIES, now=NOW)
    checked(page)
    known = json.loads(re.findall(r"<script.*?>(.*?)</script>", page, re.S)[0])
    assert known["rows"][-1][0] == 4999
    assert len(page) < 1_000_000


def test_larger_is_better() -> None:
    both = [study([1, 5], direction="maximize"), study([2, 4, 4], direction="maximize")]
    words = checked(compare(both, now=NOW)).text
    assert "Higher is better." in words
    assert "All of them have reached 4" in words
    assert "evaluations to 4 2 2" in words
    assert "A small network (2)" in words  # both have one name


def test_other_variables_nothing_found_and_foreign_text() -> None:
    trials, snapshots = recorded(60)
    whole = summed_up(trials, snapshots)
    empty = study([], name=HOSTILE, space=Space({HOSTILE: Float(0, 1), "x": Float(0, 1)}))
    full = whole, gather(whole, trials, snapshots)
    words = checked(compare([full, empty], now=NOW)).text
    assert "<script>alert(1)</script>" in words
    assert "learning rate" in words
    assert "All of them" not in words
    words = checked(compare([empty, empty], now=NOW)).text
    assert "No study has a value yet" in words


@pytest.mark.parametrize("count", [2, 3, MOST_STUDIES])
def test_up_to_so_many(count: int) -> None:
    studies = [study([9.0, 1.0 + k], name=f"s{k}") for k in range(count)]
    studies[0] = replace(studies[0][0], name="n" * 500), studies[0][1]
    page = compare(studies, now=NOW)
    checked(page)
    assert f'class="line c{count - 1}"' in page
