"""A real browser for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_AXE = Path(__file__).parent.parent / ".venv" / "axe-core" / "package" / "axe.min.js"


def listen(tab: Page, seen: list[str]) -> None:
    """Note every request, message and error of a page."""
    tab.on("console", lambda message: seen.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: seen.append(str(error)))
    tab.on("request", lambda request: seen.append(request.url))


def violations(tab: Page) -> list[str]:
    """What axe-core has to object to a page; the test is skipped where it is not there."""
    if not _AXE.is_file():
        pytest.skip(f"needs axe-core in {_AXE.parent}: see .ci/run")
    tab.evaluate(_AXE.read_text(encoding="utf-8"))
    found = tab.evaluate("axe.run()")["violations"]
    return [f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]}" for v in found]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser without a window, closed at the end; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install saltus[dev]")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"needs a browser: none of {', '.join(_NAMES)} was found")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()
