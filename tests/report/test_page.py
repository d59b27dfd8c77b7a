from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Ordinal, Space
from saltus.report import render
from saltus.report.axis import axis, fitting
from saltus.report.digest import Thinned, gather
from saltus.report.words import duration, lines, number, percent, text
from saltus.study.summary import Summary
from saltus.study.trial import Session, Snapshot, Trial

from .browser import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOW = 1_763_280_000.0
HOSTILE = "<script>alert(1)</script>\"'&\x00\x1b[31m\u202e\ud800\n"
SPACE = Space(
    {
        "learning rate": Float(1e-5, 1e-1, log=True),
        "momentum": Float(0, 1),
        "layers": Int(1, 12),
        "width": Ordinal([16, 32, 64, 96, 128]),
        "dropout": Bool(),
        "batch": Int(8, 512, log=True),
        "gain": Float(2.5, 2.5),
    }
)


def point(rng: np.random.Generator, progress: float) -> dict[str, Any]:
    narrow = 0.02 + (1 - progress) ** 2
    return {
        "learning rate": float(np.exp(np.clip(rng.normal(-6.2, 1.6 * narrow), -11.5, -2.31))),
        "momentum": float(np.clip(rng.normal(0.55 + 0.33 * progress, 0.15 * narrow), 0, 1)),
        "layers": int(np.clip(round(rng.normal(6.5 - 2.4 * progress, 2 * narrow)), 1, 12)),
        "width": [16, 32, 64, 96, 128][int(np.clip(round(rng.normal(2 + progress, 0.9 * narrow)), 0, 4))],
        "dropout": bool(rng.random() < 0.5 + 0.5 * progress),
        "batch": int(np.clip(np.exp(rng.normal(4.2, 0.8 * narrow)), 8, 512)),
        "gain": 2.5,
    }


def loss(p: dict[str, Any]) -> float:
    return float(
        0.05
        + 3 * (math.log(p["learning rate"]) + 6.2) ** 2
        + 40 * (p["momentum"] - 0.88) ** 2
        + 0.8 * (p["layers"] - 4) ** 2
        + ((p["width"] - 96) / 32) ** 2
        + (not p["dropout"])
        + 0.3 * (math.log(p["batch"]) - 4.2) ** 2
    )


def recorded(n: int = 300, seed: int = 1) -> tuple[list[Trial], list[Snapshot]]:
    """A study with failed, violated and repeated trials, two restarts and two sessions."""
    rng = np.random.default_rng(seed)
    trials, snapshots = [], []
    free = [0.0] * 4
    for i in range(n):
        run, progress = divmod(3 * i / n, 1)
        if i % 10 == 0:
            s = 0.03 + (1 - progress) ** 2
            drift = rng.normal(0, 0.4 * s, 5)
            mean = (
                math.exp(-6.2 + drift[0] * 2 + (1 - progress)),
                0.55 + 0.33 * progress + 0.2 * drift[1],
                6.5 - 2.4 * progress + drift[2],
                64 + 32 * progress + 10 * drift[3],
                0.5 + 0.4 * progress,
                math.exp(4.2 + drift[4]),
                2.5,
            )
            sd = (1.6 * s, 0.15 * s**1.5, 2 * s**0.9, 25 * s**0.8, 0.4 * s**0.5, 0.8 * s**1.2, 0.0)
            snapshots.append(Snapshot(i // 10, i, int(run), mean, sd))
        params = point(rng, progress)
        worker = int(np.argmin(free))
        seconds = float(rng.lognormal(1.2, 0.5)) * (1 + 3 * (params["layers"] > 8))
        started = NOW - 3600 + free[worker] + (1200 if i > n // 2 else 0)
        row = Trial(i, i // 10, params, "done", worker=worker, started=started, seconds=seconds, attempts=1)
        if i % 17 == 11:
            why = "the command was killed by signal 9" if i % 2 else "no number on the last line"
            row = replace(row, status="failed", reason=why, exit_code=-9, stderr=f"Traceback: <boom {i}>\n")
        elif i % 23 == 7:
            trials.append(
                replace(row, status="repeated", value=1.0, repeats=i - 1, worker=None, started=None)
            )
            continue
        else:
            limits = {"momentum": params["momentum"] - 0.87, "depth": params["layers"] - 9.5}
            row = replace(
                row,
                value=loss(params),
                constraints=limits,
                violation=sum(max(0.0, c) for c in limits.values()),
            )
        free[worker] += seconds + 0.4
        trials.append(row)
    return trials, snapshots


def summed_up(trials: list[Trial], snapshots: Sequence[Snapshot] = (), **other: Any) -> Summary:
    """What the study says of these trials."""
    sign = -1 if other.get("direction") == "maximize" else 1
    valued = [t for t in trials if t.status == "done" and t.value is not None]
    failed = [t for t in trials if t.status == "failed"]
    reasons = [t.reason or "unknown" for t in failed]
    session = Session(NOW - 3600, NOW - 2500, "node17", 4711, 4, "Interrupted from the keyboard.")
    defaults: dict[str, Any] = {
        "name": "A small network",
        "direction": "minimize",
        "strategy": "saltus",
        "seed": 7,
        "population": 10,
        "noisy": False,
        "space": SPACE,
        "created": NOW - 3700,
        "best": min(valued, key=lambda t: (t.violation, sign * (t.value or 0)), default=None),
        "evaluations": len(valued) + len(failed),
        "failures": {why: reasons.count(why) for why in sorted(set(reasons))},
        "last_failure": failed[-1] if failed else None,
        "repeated": sum(t.status == "repeated" for t in trials),
        "generations": len(snapshots),
        "restarts": max((s.restarts for s in snapshots), default=0),
        "unfinished": [t for t in trials if t.status in ("asked", "running")],
        "sessions": [
            session,
            Session(NOW - 2400, NOW - 600, "node17", 4790, 4, "The budget of evaluations was used up."),
        ],
    }
    return Summary(**(defaults | other))


def sample() -> str:
    trials, snapshots = recorded()
    return render(summed_up(trials, snapshots), iter(trials), iter(snapshots), now=NOW)


class Structure(HTMLParser):
    """Checks that every element is closed in its turn, and keeps the text outside of <style>."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def checked(page: str) -> Structure:
    """The structure of a page that is whole, safe, and needs nothing from elsewhere."""
    structure = Structure(page)
    page.encode("utf-8")
    assert "script" not in structure.tags
    assert not any(attribute.startswith("on") for attribute, _ in structure.attributes)
    links = [value for attribute, value in structure.attributes if attribute in ("href", "src", "xlink:href")]
    assert links == ["data:,"]
    assert "@import" not in page
    assert "url(" not in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert not re.search(r"\b(nan|inf)\b", svg)
    assert len(page) < 1_500_000
    return structure


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
        "Path of each variable",
        "Standard deviations",
        "Failures",
        "Timing",
        "Best evaluations",
    ]
    assert page.count("<svg") == 6 + 2 * 3  # the large ones come in two shapes
    assert page.count('<path class="restart"') == 6 + 2 * 2
    assert page == render(summary, trials, snapshots, now=NOW)


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
    session = Session(NOW - 10, NOW, HOSTILE, 1, 1, HOSTILE)
    summary = summed_up(trials, name=HOSTILE, space=space, strategy=HOSTILE, sessions=[session])
    page = render(summary, trials, [Snapshot(0, 0, 0, (0.5, 1, 1), (0.1, 1, 1))], now=NOW)
    words = checked(page).text
    assert "<script>alert(1)</script>" in words
    assert "␛" in words
    assert "<script" not in page
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
    assert page.count("<svg") == 60 + 4


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
    assert len(page) < 500_000


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
    session = Session(data.draw(numbers), data.draw(st.none() | numbers), data.draw(words), 1, 2, None)
    best = data.draw(st.sampled_from([None, *trials]))
    summary = summed_up(trials, name=data.draw(words), space=space, best=best, sessions=[session])
    checked(render(summary, trials, shots, now=data.draw(numbers)))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.booleans(),
)
def test_axes_hold_what_they_are_for(values: list[float], clip: bool) -> None:
    best = min(values)
    y = fitting(values, best, clip=clip)
    assert y.holds(best)
    assert clip or all(map(y.holds, values))
    for most in (3, 6):
        ticks = y.ticks(most)
        assert len(ticks) <= 3 * most
        assert len({t.label for t in ticks}) == len(ticks)
    assert all(0 <= y.share(v) <= 1 for v in values)


@pytest.mark.parametrize(
    ("low", "high", "kind", "labels"),
    [
        (0, 10, "linear", ["0", "2", "4", "6", "8", "10"]),
        (-0.1, 0.1, "linear", ["−0.10", "−0.05", "0", "0.05", "0.10"]),
        (0, 5e6, "linear", ["0", "10⁶", "2×10⁶", "3×10⁶", "4×10⁶", "5×10⁶"]),
        (1e-6, 1, "log", ["10⁻⁶", "10⁻⁴", "0.01", "1"]),
        (1, 60, "log", ["1", "2", "5", "10", "20", "50"]),
        (2, 3, "log", ["2.0", "2.2", "2.4", "2.6", "2.8", "3.0"]),
        (0, 20_000, "linear", ["0", "5,000", "10,000", "15,000", "20,000"]),
    ],
)
def test_ticks_are_round(low: float, high: float, kind: Any, labels: list[str]) -> None:
    assert [t.label for t in axis(low, high, kind).ticks(5)] == labels


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=0, exclude_min=True),
    st.floats(allow_nan=False, allow_infinity=False, min_value=0, exclude_min=True),
)
@example(5e-324, 5e-324)
@example(1e-307, 1.1e-307)
@example(1.79e308, 1.79e308)
def test_ticks_of_a_log_axis_lie_on_it(a: float, b: float) -> None:
    y = axis(min(a, b), max(a, b), "log", margin=0.05)
    assert y.holds(a)
    ticks = y.ticks(5)
    assert len({t.label for t in ticks}) == len(ticks) <= 15
    assert all(0 <= y.share(t.value) <= 1 for t in ticks)


def test_thinning_is_even_and_keeps_both_ends() -> None:
    for n in (0, 1, 2, 9, 10, 11, 57, 1000):
        chosen = Thinned[int](10)
        for i in range(n):
            chosen.add(i)
        items = chosen.items()
        assert len(items) <= 10
        assert items == sorted(set(items))
        assert items == list(range(n)) if n <= 9 else (items[0], items[-1]) == (0, n - 1)
        assert len(set(np.diff(items[:-1]).tolist())) <= 1


def test_time_is_counted_by_session() -> None:
    def trial(i: int, worker: int, started: float, seconds: float) -> Trial:
        return Trial(i, 0, {}, "done", value=1.0, worker=worker, started=started, seconds=seconds)

    sessions = [Session(100, 200, "a", 1, 2, "Done."), Session(1000, None, "a", 2, 1, None)]
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
    assert digest.best[0].value == min(t.value for t in trials if t.feasible and t.status == "done")  # type: ignore[type-var]
    values = [t.value for _, t in digest.improvements]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert digest.improvements[-1][1] == digest.best[0]


def test_words() -> None:
    assert [duration(s) for s in (0, 0.0123, 1, 59.99, 60, 3661, 9e5, 1e300, math.nan, None)] == (
        ["0 s", "12.3 ms", "1 s", "1 min", "1 min", "1.02 h", "10.4 d", "–", "–", "–"]
    )
    assert [percent(s) for s in (0, 1e-5, 0.0345, 0.5, 1)] == ["0.0 %", "< 0.1 %", "3.5 %", "50 %", "100 %"]
    assert text("a\tb<\ud800>") == "a␉b&lt;\ufffd&gt;"
    assert lines("\x1b[1mone\x1b[0m\r\ntwo\rthree\x07") == "one\ntwo\nthree␇"
    assert lines("x" * 9000).startswith("…xxx")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    hostile = Space(
        {HOSTILE * 3: Float(0, 1), "x" * 300: Bool(), **{f"v{i}": Float(0, 1) for i in range(12)}}
    )
    params: dict[str, Any] = dict.fromkeys(hostile.names or (), 0.123456789)
    few = [Trial(i, 0, params, "done", value=-(10.0**i), seconds=1.0) for i in range(5)]
    few.append(Trial(5, 0, params, "failed", reason="word" * 200, stderr="long" * 2000 + HOSTILE))
    shots = [Snapshot(i, 2 * i, 0, (0.5,) * 14, (0.1 / (i + 1),) * 14) for i in range(3)]
    texts = {
        "usual": sample(),
        "hostile": render(summed_up(few, shots, space=hostile, name="n" * 300), few, shots, now=NOW),
        "empty": render(summed_up([], sessions=[]), [], [], now=NOW),
    }
    for name, content in texts.items():
        (folder / f"{name}.html").write_text(content, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


# of each chart that is shown: width, height, least size of text, how far text is cut off, right edge
MEASURE = """() => [...document.querySelectorAll('svg')].filter(s => s.checkVisibility()).map(s => {
    const box = s.getBoundingClientRect(), whole = s.viewBox.baseVal, scale = box.width / whole.width;
    const words = [...s.querySelectorAll('text')], places = words.map(t => t.getBBox());
    const sizes = words.map(t => scale * parseFloat(getComputedStyle(t).fontSize));
    const over = b => [-b.x, -b.y, b.x + b.width - whole.width, b.y + b.height - whole.height];
    const cut = places.flatMap(over);
    return [box.width, box.height, Math.min(...sizes), Math.max(...cut), box.right]})"""


def test_in_a_browser(pages: dict[str, Path]) -> None:
    shown = {"usual": 6 + 3, "hostile": 14 + 3, "empty": 0}
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    with open_browser() as browser:
        for name, page in pages.items():
            seen: list[str] = []
            tab = browser.new_page()
            listen(tab, seen)
            tab.goto(page.as_uri())
            for width in (390, 700, 1280):
                tab.set_viewport_size({"width": width, "height": 900})
                backgrounds = set()
                for scheme in schemes:
                    tab.emulate_media(color_scheme=scheme)
                    backgrounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
                assert len(backgrounds) == 2
                assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
                charts = tab.evaluate(MEASURE)
                assert len(charts) == shown[name]
                for wide, high, smallest, cut, right in charts:
                    assert wide > 250
                    assert high > 100
                    assert smallest >= 9
                    assert cut <= 1
                    assert right <= width
            tab.close()
            assert seen == [page.as_uri()]


def listen(tab: Page, seen: list[str]) -> None:
    """Note every request, message and error of a page."""
    tab.on("console", lambda message: seen.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: seen.append(str(error)))
    tab.on("request", lambda request: seen.append(request.url))
