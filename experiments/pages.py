"""How long report and live page of a long study take, and whether the page stays smooth: docs/report.md.

    python -m experiments.pages                      # 10^5 trials; about two minutes
    python -m experiments.pages --trials 20000 --pictures out

It needs Chromium. Times are by the clock, from the start of the command on, and by the processor; what else
the machine had to do is beside them.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from experiments.harness import markdown, publish
from tests.browser import open_browser
from tests.watch.records import filled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE = 60_000  # milliseconds
WIDTHS, SCHEMES = (390, 1280), ("light", "dark")

# moves the pointer over a chart, or scrolls, once in each frame: the longest frames, in milliseconds
FRAMES = """async ([what, frames]) => {
    const chart = [...document.querySelectorAll("#convergence svg.chart")].find((svg) => svg.clientWidth);
    chart.scrollIntoView({ block: "center" });
    const box = chart.getBoundingClientRect();
    const frame = () => new Promise((next) => requestAnimationFrame(next));
    const lengths = [];
    let last = await frame();
    for (let i = 0; i < frames; i++) {
        if (what === "scroll") scrollTo(0, (document.body.scrollHeight * i) / frames);
        else {
            const x = box.left + (box.width * i) / frames;
            const y = box.top + box.height * (0.3 + 0.4 * (i % 2));
            const about = { clientX: x, clientY: y, bubbles: true, pointerType: "mouse" };
            document.elementFromPoint(x, y).dispatchEvent(new PointerEvent("pointermove", about));
        }
        const now = await frame();
        lengths.push(now - last);
        last = now;
    }
    lengths.sort((a, b) => a - b);
    return [lengths[Math.floor(0.5 * frames)], lengths[Math.floor(0.95 * frames)], lengths[frames - 1]];
}"""


def reported(record: Path) -> tuple[float, float]:
    """Seconds that `saltus report` takes: by the clock, and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "saltus", "report", str(record)], check=True, capture_output=True)
    spent, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def until(tab: Page, selector: str, words: str = "") -> None:
    """Until something is to be seen, with these words in it."""
    tab.locator(selector).filter(has_text=words).first.wait_for(timeout=PATIENCE)


def watched(browser: Browser, record: Path, trials: int, pictures: Path | None) -> list[list[str]]:
    """Rows about the live page."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "saltus", "watch", str(record)]
    serving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(url)
        until(tab, "#convergence svg:visible")
        first = time.monotonic() - begun
        until(tab, "#head .tiles", f"{trials:,}")
        read = time.monotonic() - begun
        until(tab, "#pairs svg:visible")
        complete = time.monotonic() - begun
        rows = [
            ["`saltus watch`, until the first charts are seen", f"{first:.1f} s"],
            ["... until all evaluations are", f"{read:.1f} s"],
            ["... until what the model tells is there, too", f"{complete:.1f} s"],
        ]
        for what, frames in (("point", 120), ("scroll", 120)):
            middle, most, longest = tab.evaluate(FRAMES, [what, frames])
            doing = "pointing at one place after the other" if what == "point" else "scrolling"
            told = f"{middle:.0f}, {most:.0f}, {longest:.0f} ms"
            rows.append([f"a frame while {doing}: median, 95 %, longest", told])
        begun = time.monotonic()
        tab.locator("#convergence svg:visible").press("Enter")
        until(tab, ".panel h2")
        rows.append(["from Enter on a point to its panel", f"{1000 * (time.monotonic() - begun):.0f} ms"])
        size = tab.evaluate(
            "[document.querySelectorAll('*').length, document.documentElement.outerHTML.length]"
        )
        rows.append(["elements on the page, and kB", f"{size[0]}, {size[1] // 1000}"])
        if pictures is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            for width in WIDTHS:
                for scheme in SCHEMES:
                    picture(browser, url, width, scheme, pictures / f"page-{width}-{scheme}.png")  # type: ignore[arg-type]
        return rows
    finally:
        serving.terminate()
        serving.wait()


def picture(browser: Browser, url: str, width: int, scheme: Literal["light", "dark"], out: Path) -> None:
    """The whole page, with a point chosen."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(url)
    until(tab, "#pairs svg:visible")
    tab.screenshot(path=out, full_page=True)
    tab.close()


def main() -> None:
    """Fill a record, measure, publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the page")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, open_browser() as browser:
        record = filled(Path(folder), options.trials).path
        load = os.getloadavg()[0]
        clock, processor = reported(record)
        rows = [["`saltus report`", f"{clock:.1f} s ({processor:.1f} s of the processor)"]]
        rows += watched(browser, record, options.trials, options.pictures)
        rows.append(
            [
                "load of the machine before and after, processors",
                f"{load:.1f}, {os.getloadavg()[0]:.1f}; {os.cpu_count()}",
            ]
        )
    publish("pages", markdown([f"{options.trials:,} trials of 4 variables", ""], rows))


if __name__ == "__main__":
    main()
