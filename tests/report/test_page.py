"""The page: complete, safe, and right for every record."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Ordinal, Share, Space
from saltus.report import Insight, render
from saltus.report.words import number
from saltus.study.trial import Session, Snapshot, Trial

from .samples import HOSTILE, NOW, SHARES, checked, recorded, summed_up


def test_what_matters_in_words_and_bars() -> None:
    trials, snapshots = recorded()
    summary = summed_up(trials, snapshots)
    page = render(summary, trials, snapshots, Insight(SHARES), now=NOW)
    words = checked(page).text
    assert "<h2>What matters</h2>" in page
    assert (
        "Around the best point, 72 % of the differences in value have to do with learning rate "
        "(between 65 % and 80 % in 9 of 10 cases). There, hardly anything depends on width, dropout."
    ) in words
    assert page.count('<rect class="share"') == page.count('<rect class="alone"') == 2 * 6
    assert page.count('<path class="whisker"') == 2
    assert "within a quarter of each range" in words
    for none in (None, {}, {"alone": Share(1.0, 1.0, 1.0, 1.0)}):  # nothing to be said
        assert render(summary, trials, snapshots, Insight(none), now=NOW) == render(
            summary, trials, snapshots, now=NOW
        )


def test_of_many_variables_those_that_matter_most_are_drawn() -> None:
    trials, snapshots = recorded()
    many = {f"v{i}": Share(1 / (i + 1), 0.0, 0.01 if i else 1.0, 0.0) for i in range(30)}
    page = render(summed_up(trials, snapshots), trials, snapshots, Insight(many), now=NOW)
    words = checked(page).text
    assert "The first 20 of 30 variables." in words
    assert "hardly anything depends on v1, v2, v3, v4, v5, v6, v7, v8 and 21 more." in words
    assert page.count('<rect class="share"') == 2 * 20
    foreign = {HOSTILE: Share(1.0, 0.0, 1.0, 1.0), HOSTILE * 90: Share(0.0, 0.0, 0.0, 0.0)}
    checked(render(summed_up(trials, snapshots), trials, snapshots, Insight(foreign), now=NOW))


def test_the_whole_page() -> None:
    trials, snapshots = recorded()
    summary = summed_up(trials, snapshots)
    page = render(summary, iter(trials), iter(snapshots), now=NOW)
    words = checked(page).text
    assert summary.best is not None
    for expected in (
        "A small network",
        "The budget of evaluations was used up.",
        number(summary.best.value),
        "1e-05 to 0.1, log",
        "1 … 12",
        "one of 16, 32, 64, 96, 128",
        "switch",
        "✓ satisfied",
        "depth",
        "Lower is better.",
        "Fixed, and not drawn: gain.",
        "the command was killed by signal 9",
        "Trial 283",
        "Traceback: <boom 283>",
        "2025-11-16 08:00 UTC",
    ):
        assert expected in words
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        "Best point",
        "Convergence",
        "Best designs that differ",
        "All variables at once",
        "Constraints",
        "Path of each variable",
        "How far the search has narrowed",
        "Failures",
        "Timing",
    ]
    assert page.count("<svg") == 6 + 2 + 2 * 4  # variables, constraints; the large ones come in two shapes
    assert page.count('<path class="restart"') == 6 + 2 * 2
    assert page == render(summary, trials, snapshots, now=NOW)


def test_an_exit_code_is_said_once() -> None:
    for why, said in (
        ("the command ended with exit code 5", "Trial 0; the command ended with exit code 5."),
        ("no number on the last line", "Trial 0; no number on the last line; exit code 5."),
    ):
        failed = replace(recorded(1)[0][0], status="failed", value=None, reason=why, exit_code=5)
        words = checked(render(summed_up([failed]), [failed], [], now=NOW)).text
        assert said in words


def test_before_anything_happened() -> None:
    summary = summed_up([], sessions=[])
    words = checked(render(summary, [], [], now=NOW)).text
    assert "Not started yet." in words
    assert "none yet" in words
    assert "No evaluation has failed." in words


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("status", ["done", "failed", "running", "repeated"])
def test_few_trials(n: int, status: Any) -> None:
    trials = [replace(t, status=status) for t in recorded(8)[0][:n]]
    if status != "done":
        trials = [replace(t, value=None, constraints=None, violation=0.0) for t in trials]
    checked(render(summed_up(trials), trials, recorded(8)[1], now=NOW))


@pytest.mark.parametrize(
    "values",
    [
        [1.0] * 20,
        [0.0] * 20,
        [-3e300, 5e-324, 1e300],
        [1.7e308, -1.7e308, 0.0],
        [1.7e308, 1.7e308],
        [5e-324, 0.0],
        [5e-324, 1e-310, 2e-308],
        [1.0, 1.0 + 2e-16, 1.0 - 1e-16],
        [1e15, 1e15 + 1, 1e15 + 2],
        [-(10.0**k) for k in range(-8, 8)],
        [10.0**k for k in range(-300, 300, 7)],
        [*np.linspace(3, 4, 90), 1e300],
        [math.nan, math.inf, -math.inf, 2.0],
    ],
)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_hostile_values(values: list[float], direction: str) -> None:
    trials = [replace(recorded(12)[0][0], id=i, value=float(v)) for i, v in enumerate(values)]
    summary = summed_up(trials, direction=direction)
    words = checked(render(summary, trials, [], now=NOW)).text
    assert ("Higher is better." if direction == "maximize" else "Lower is better.") in words


def test_outliers_are_said_to_be_on_the_edge() -> None:
    values = [*np.linspace(3, 4, 90), 1e9, 2e9]
    trials = [replace(recorded(12)[0][0], id=i, value=float(v)) for i, v in enumerate(values)]
    assert "2 values beyond the range of most" in render(summed_up(trials), trials, [], now=NOW)


def test_nothing_feasible() -> None:
    trials = [
        replace(t, violation=1.5, constraints={"stress": 1.5, "mass": -1.0})
        for t in recorded(60)[0]
        if t.status == "done"
    ]
    words = checked(render(summed_up(trials), trials, [], now=NOW)).text
    assert "No feasible point has been found." in words
    assert "violated by 1.5" in words
    assert "✗ violated" in words
    assert "stress 1.5 ✗ violated mass -1 ✓ satisfied" in " ".join(words.split())
    assert "best so far" not in words


def test_a_space_without_names_and_with_open_ends() -> None:
    space = Space(
        [Float(), Float(low=0), Float(high=3), Float(1, log=True), Int(0, 10**9), Bool(), Ordinal([1, 2])]
    )
    trials = [
        Trial(i, 0, [-1e30 * i, 1.0, 2.0, 10.0 ** (i + 1), 5e8, float(i % 2), 1.0], "done", value=float(i))
        for i in range(20)
    ]
    shots = [
        Snapshot(0, 0, 0, (0.0, 1.0, 2.0, 1e300, 5e8, 0.5, 1.5), (1.0, 1e308, 0.0, 900.0, 1e8, 0.5, 0.5))
    ]
    shots += [Snapshot(1, 5, 0, (math.nan,), (math.inf,)), Snapshot(2, 7, 3, (), ())]
    words = checked(render(summed_up(trials, space=space), trials, shots, now=NOW)).text
    expected = ["any number", "at least 0", "at most 3", "at least 1, log", "0 … 1000000000", "x6"]
    assert [e for e in expected if e not in words] == []
    assert "500000000 false 1" in words


def test_text_of_the_study_stays_text() -> None:
    space = Space({HOSTILE: Float(0, 1), "<b>": Int(0, 3), "x" * 500: Bool()})
    params = {HOSTILE: 0.5, "<b>": 2, "x" * 500: True}
    trials = [
        Trial(i, 0, params, "done", value=1.0 - i, worker=0, started=NOW, seconds=1.0) for i in range(3)
    ]
    trials[2] = replace(trials[2], constraints={HOSTILE: -1.0, "<i>": -2.0})
    trials.append(Trial(3, 0, params, "failed", reason=HOSTILE, stderr=HOSTILE * 3 + "\r\x1b]0;title\x07"))
    session = Session(NOW - 10, NOW, HOSTILE, 1, 1, HOSTILE, "")
    summary = summed_up(trials, name=HOSTILE, space=space, strategy=HOSTILE, sessions=[session])
    page = render(summary, trials, [Snapshot(0, 0, 0, (0.5, 1, 1), (0.1, 1, 1))], now=NOW)
    words = checked(page).text
    assert "<script>alert(1)</script>" in words
    assert "␛" in words
    assert "<script>alert" not in page
    assert "<i>" in words
    running = replace(session, ended=None, stop=None)
    assert (
        "(process 1, 1 worker)."
        in checked(render(replace(summary, sessions=[running], running=True), trials, [], now=NOW)).text
    )


def test_many_variables() -> None:
    space = Space([Float(0, 1) for _ in range(100)])
    rng = np.random.default_rng(1)
    trials = [Trial(i, 0, rng.random(100).tolist(), "done", value=rng.random()) for i in range(2000)]
    shots = [Snapshot(i, 2 * i, 0, (0.5,) * 100, (0.1 / (i + 1),) * 100) for i in range(1000)]
    page = render(summed_up(trials, space=space), trials, shots, now=NOW)
    assert "The first 60 of 100 variables." in checked(page).text
    assert page.count("<svg") == 60 + 2 * 3


def test_a_long_study_is_read_once_and_makes_a_small_page() -> None:
    few, shots = recorded(1000)

    def trials() -> Iterator[Trial]:
        for i in range(20_000):
            yield replace(few[i % 1000], id=i)

    def snapshots() -> Iterator[Snapshot]:
        for i in range(2_000):
            yield replace(shots[i % 100], generation=i, first=10 * i, restarts=i // 20)

    page = render(summed_up(few, shots), trials(), snapshots(), now=NOW)
    checked(page)
    assert "Dots are a selection of" in page
    assert len(page) < 550_000


numbers = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nothing_recorded_breaks_the_page(data: st.DataObject) -> None:
    words = st.text(st.characters(exclude_categories=()), max_size=20)
    names = data.draw(st.lists(words, min_size=1, max_size=4, unique=True))
    kinds = st.sampled_from(
        [
            Float(),
            Float(1e-3, log=True),
            Float(-1, 1),
            Int(1, 40, log=True),
            Int(0, 5),
            Bool(),
            Ordinal([1, 2.5]),
        ]
    )
    space = Space({n: data.draw(kinds) for n in names})
    trials = [
        Trial(
            i,
            0,
            {n: data.draw(numbers) for n in names},
            data.draw(st.sampled_from(["asked", "running", "done", "failed", "repeated"])),
            value=data.draw(st.none() | numbers),
            violation=data.draw(st.sampled_from([0.0, 0.0, 1e300, 2.0, math.inf])),
            reason=data.draw(st.none() | words),
            stderr=data.draw(st.none() | words),
            worker=data.draw(st.none() | st.integers(0, 3)),
            started=data.draw(st.none() | numbers),
            seconds=data.draw(st.none() | numbers),
        )
        for i in range(data.draw(st.integers(0, 8)))
    ]
    row = st.tuples(*[numbers] * len(names))
    shots = [
        Snapshot(i, 2 * i, i // 2, data.draw(row), data.draw(row))
        for i in range(data.draw(st.integers(0, 5)))
    ]
    session = Session(data.draw(numbers), data.draw(st.none() | numbers), data.draw(words), 1, 2, None, "")
    best = data.draw(st.sampled_from([None, *trials]))
    summary = summed_up(trials, name=data.draw(words), space=space, best=best, sessions=[session])
    checked(render(summary, trials, shots, now=data.draw(numbers)))
