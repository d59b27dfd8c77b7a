"""The pictures of docs/report.md: `python -m experiments.pictures`. It needs Chromium and Pillow.

They show the lens of examples/lens, searched here: 240 evaluations, about a minute. The files have 256
colours, so that they are small.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from saltus import Study
from tests.browser import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path("docs/images")
LENS = Path("examples/lens/study.toml")
BUDGET = 240
COLOURS = 256
PATIENCE = 120_000  # milliseconds for a machine that is busy with other things


def saltus(*arguments: str | Path) -> None:
    """The command."""
    subprocess.run(
        [sys.executable, "-m", "saltus", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )


def keep(name: str, png: bytes) -> None:
    """Write a picture with few colours."""
    from PIL import Image

    picture = (
        Image.open(BytesIO(png))
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    picture.save(FOLDER / f"{name}.png", optimize=True)
    print(FOLDER / f"{name}.png", (FOLDER / f"{name}.png").stat().st_size)


def opened(browser: Browser, url: str, width: int, scheme: Literal["light", "dark"] = "light") -> Page:
    """A page of a width."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(url)
    return tab


def section(tab: Page, name: str) -> bytes:
    """A part of the page."""
    return tab.locator(f"#{name}").screenshot()


def main() -> None:
    """Search, report, and take pictures."""
    with TemporaryDirectory() as name, open_browser() as browser:
        folder = Path(name)
        lens, other = folder / "lens.db", folder / "without.toml"
        shutil.copy(LENS.with_name("lens.awk"), folder)
        text = LENS.read_text(encoding="utf-8").replace('name = "lens"', 'name = "without a model"')
        other.write_text(text.replace("seed = 1", 'seed = 1\nstrategy = "saltus-es"'), encoding="utf-8")
        saltus("run", LENS, "--db", lens, "--budget", str(BUDGET), "--workers", "1")
        saltus("run", other, "--budget", str(BUDGET), "--workers", "1")
        saltus("report", lens, "--out", folder / "lens.html")
        saltus("report", lens, other, "--out", folder / "both.html")
        tab = opened(browser, (folder / "lens.html").as_uri(), 1128)
        for part in ("effects", "pairs", "designs", "together"):
            keep(f"report-{part}", section(tab, part))
        chart = tab.locator("#convergence svg:visible")
        chart.scroll_into_view_if_needed()
        chart.focus()
        for key in ("Home", *["PageUp"] * 12, "Enter"):
            tab.keyboard.press(key)
        keep("report-point", tab.screenshot())
        tab = opened(browser, (folder / "both.html").as_uri(), 1128)
        keep("report-compare", section(tab, "convergence"))
        tab = opened(browser, (folder / "lens.html").as_uri(), 390, "dark")
        tab.locator("#pairs").scroll_into_view_if_needed()
        keep("report-phone", tab.screenshot())
        with Study.open(lens).watch() as page:
            tab = opened(browser, page.url, 1128, "dark")
            tab.locator("#matters svg:visible").wait_for(timeout=PATIENCE)
            keep("report-watch", tab.screenshot())


if __name__ == "__main__":
    main()
