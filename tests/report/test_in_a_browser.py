"""The page in a browser: nothing is cut off, nothing is loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from saltus import Bool, Float, Share, Space
from saltus.report import Insight, render
from saltus.report.compare import compare
from saltus.report.digest import gather
from saltus.study.trial import Snapshot, Trial

from ..browser import listen, open_browser, violations
from .samples import HOSTILE, NOW, sample, summed_up


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
    shares = dict.fromkeys(hostile.keys, Share(1.0, 0.0, 1.0, 1.0))
    texts = {
        "usual": sample(),
        "hostile": render(
            summed_up(few, shots, space=hostile, name="n" * 300), few, shots, Insight(shares), now=NOW
        ),
        "empty": render(summed_up([], sessions=[]), [], [], now=NOW),
        "comparison": _comparison(),
    }
    for name, content in texts.items():
        (folder / f"{name}.html").write_text(content, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


def _comparison() -> str:
    """Two studies that share a variable and numbers of trials, and one in which nothing was found."""
    shared = {"x": 0.25, "only here": 3}
    first = [Trial(i, 0, shared, "done", 10.0 / (i + 1), seconds=2.0) for i in range(40)]
    limits = {"weight": -0.5}
    second = [Trial(i, 0, {"x": 0.75}, "done", 9.0 / (i + 2), constraints=limits) for i in range(30)]
    spaces = Space({"x": Float(0, 1), "only here": Float(0, 9)}), Space({"x": Float(0, 1)})
    both = [
        summed_up(trials, space=space, name=name)
        for trials, space, name in zip((first, second), spaces, ("slow", "fast"), strict=True)
    ]
    empty = summed_up([], sessions=[], name=HOSTILE)
    studies = [(both[0], gather(both[0], first, [])), (both[1], gather(both[1], second, []))]
    return compare([*studies, (empty, gather(empty, [], []))], now=NOW)


# of each chart that is shown: width, height, least size of text, how far text is cut off, right edge
MEASURE = """() => [...document.querySelectorAll('svg')].filter(s => s.checkVisibility()).map(s => {
    const box = s.getBoundingClientRect(), whole = s.viewBox.baseVal, scale = box.width / whole.width;
    const words = [...s.querySelectorAll('text')], places = words.map(t => t.getBBox());
    const sizes = words.map(t => scale * parseFloat(getComputedStyle(t).fontSize));
    const over = b => [-b.x, -b.y, b.x + b.width - whole.width, b.y + b.height - whole.height];
    const cut = places.flatMap(over);
    return [box.width, box.height, Math.min(...sizes), Math.max(...cut), box.right]})"""


def test_in_a_browser(pages: dict[str, Path]) -> None:
    shown = {"usual": 6 + 5 + 2 + 3 + 2, "hostile": 14 + 5, "empty": 0, "comparison": 1}
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    with open_browser() as browser:
        for name, page in pages.items():
            seen: list[str] = []
            tab = browser.new_page()
            listen(tab, seen)
            tab.goto(page.as_uri())
            for width in (390, 700, 1280, 1920):
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


@pytest.mark.machines
def test_points_tell_more(pages: dict[str, Path]) -> None:
    """By mouse and by keyboard; what is chosen is marked in every chart that shows it."""
    with open_browser() as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        seen: list[str] = []
        listen(tab, seen)
        tab.goto(pages["usual"].as_uri())
        chart = tab.locator("#convergence svg:visible")
        assert chart.get_attribute("role") == "slider"
        chart.focus()
        tab.keyboard.press("Home")
        assert str(chart.get_attribute("aria-valuetext")).startswith("trial 0, value ")
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowRight")
        words = str(chart.get_attribute("aria-valuetext"))
        assert words.startswith("trial 2, value ")
        assert "took" in words
        assert "learning rate = " in tab.locator(".tip").inner_text()
        tab.keyboard.press("Enter")
        panel = tab.locator(".panel")
        assert panel.locator("h2").inner_text() == "trial 2"
        assert panel.evaluate("panel => panel.contains(document.activeElement)")
        assert "holds" in panel.inner_text() or "violated" in panel.inner_text()
        assert tab.locator(".chosen.pinned:visible").count() > 5
        tab.keyboard.press("Escape")
        assert panel.is_hidden()
        assert tab.locator(".chosen").count() == 0

        chart = tab.locator("#timing svg:visible")
        chart.scroll_into_view_if_needed()
        place = chart.evaluate("""svg => {
            const [x, y] = svg.querySelector("path.failed").getAttribute("d").match(/[\\d.]+/g).map(Number);
            const at = new DOMPoint(x + 2, y + 2).matrixTransform(svg.getScreenCTM());
            return [at.x, at.y]}""")
        tab.mouse.move(*place)
        tab.locator(".tip:visible").wait_for()
        assert "failed: " in tab.locator(".tip").inner_text()
        tab.mouse.click(*place)
        assert "Traceback: <boom" in panel.inner_text()
        tab.locator("button.close").click()
        assert panel.is_hidden()
        tab.locator("button.trial").first.click()
        assert panel.is_visible()
        assert seen == [pages["usual"].as_uri()]


@pytest.mark.machines
def test_points_of_a_comparison_tell_more(pages: dict[str, Path]) -> None:
    """By mouse and by keyboard: of which study a point is, and its own variables alone."""
    with open_browser() as browser:
        for width in (390, 1280):
            tab = browser.new_page(viewport={"width": width, "height": 900})
            seen: list[str] = []
            listen(tab, seen)
            tab.goto(pages["comparison"].as_uri())
            chart = tab.locator("#convergence svg:visible")
            place = chart.evaluate("""svg => {
                const path = svg.querySelector("path.dots.c1").getAttribute("d");
                const [x, y] = path.match(/[\\d.]+/g).map(Number);
                const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
                return [at.x, at.y]}""")
            tab.mouse.move(*place)
            tab.locator(".tip:visible").wait_for()
            assert tab.locator(".tip").inner_text().split("\n") == ["fast, trial 0", "value 4.5", "x = 0.75"]
            tab.mouse.click(*place)
            panel = tab.locator(".panel")
            assert panel.locator("h2").inner_text() == "fast, trial 0"
            words = panel.inner_text()
            assert "holds" in words
            assert "only here" not in words
            assert tab.locator(".chosen.pinned:visible").count() == 1
            tab.locator("button.close").click()
            assert panel.is_hidden()

            chart.focus()
            tab.keyboard.press("Home")
            assert chart.get_attribute("aria-valuetext") == "slow, trial 0, value 10, took 2 s"
            tab.keyboard.press("Enter")
            assert panel.locator("h2").inner_text() == "slow, trial 0"
            assert "only here" in panel.inner_text()
            tab.keyboard.press("Escape")
            tab.locator("button.trial").nth(1).click()
            assert panel.locator("h2").inner_text() == "fast, trial 29"
            tab.close()
            assert seen == [pages["comparison"].as_uri()]


@pytest.mark.machines
@pytest.mark.parametrize("name", ["usual", "hostile", "empty", "comparison"])
def test_everybody_can_use_it(pages: dict[str, Path], name: str) -> None:
    with open_browser() as browser:
        tab = browser.new_page()
        tab.goto(pages[name].as_uri())
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            tab.emulate_media(color_scheme=scheme)
            assert violations(tab) == []
