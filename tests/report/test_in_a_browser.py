"""The page in a browser: nothing is cut off, nothing is loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from saltus import Bool, Float, Share, Space
from saltus.report import Insight, render
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
    shown = {"usual": 6 + 5 + 2 + 3 + 2, "hostile": 14 + 5, "empty": 0}
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
        tab.locator("button[data-trial]").first.click()
        assert panel.is_visible()
        assert seen == [pages["usual"].as_uri()]


@pytest.mark.machines
@pytest.mark.parametrize("name", ["usual", "hostile", "empty"])
def test_everybody_can_use_it(pages: dict[str, Path], name: str) -> None:
    with open_browser() as browser:
        tab = browser.new_page()
        tab.goto(pages[name].as_uri())
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            tab.emulate_media(color_scheme=scheme)
            assert violations(tab) == []
