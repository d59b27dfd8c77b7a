"""The page that lives, in a real browser."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from saltus.study import SettingsError

from ..browser import listen, open_browser, violations
from .records import filled, grow, new

if TYPE_CHECKING:
    from playwright.sync_api import Page

SOON = 2.0  # seconds, on a machine that has time; of several points, the quickest must be within
LIMIT = 120_000  # milliseconds that a loaded machine may take
COUNT = """() => document.querySelectorAll("#head .tiles dd")[1].firstChild.textContent"""

# notes when the number of evaluations on the page becomes what is waited for
NOTE = """() => {
    window.noted = {};
    const look = () => {
        const n = document.querySelectorAll("#head .tiles dd")[1].firstChild.textContent;
        if (!(n in window.noted)) window.noted[n] = Date.now() / 1000;
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    look();
}"""


def wait_for(tab: Page, evaluations: str) -> None:
    """Until the page shows so many of them."""
    deadline = time.monotonic() + LIMIT / 1000
    while tab.evaluate(COUNT) != evaluations:
        assert time.monotonic() < deadline, f"not {evaluations} evaluations, but {tab.evaluate(COUNT)}"
        tab.wait_for_timeout(20)


@pytest.mark.machines
def test_it_changes_by_itself(tmp_path: Path) -> None:
    study, seen = new(tmp_path), list[str]()
    with study.watch() as page, open_browser() as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        listen(tab, seen)
        tab.goto(page.url)
        tab.evaluate(NOTE)
        told: dict[int, float] = {}
        for k in range(8):
            grow(study, 1)
            told[k + 1] = time.time()
            wait_for(tab, str(k + 1))
        noted = tab.evaluate("() => window.noted")
        assert min(noted[str(n)] - when for n, when in told.items()) < SOON
        tab.locator("#matters svg:visible").wait_for(timeout=LIMIT)  # the model comes later

        # whoever is looking at a point goes on looking at it
        chart = tab.locator("#convergence svg:visible")
        chart.focus()
        tab.keyboard.press("Home")
        tab.keyboard.press("Enter")
        assert tab.locator(".panel h2").inner_text() == "trial 0"
        chart.focus()
        grow(study, 1)
        wait_for(tab, "9")
        assert tab.evaluate("document.activeElement.closest('section').id") == "convergence"
        assert tab.locator(".panel h2").inner_text() == "trial 0"
        assert tab.locator("#convergence .chosen.pinned:visible").count() == 1
        for width in (390, 1920):
            tab.set_viewport_size({"width": width, "height": 900})
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        origin = "{0.scheme}://{0.netloc}/".format(urlsplit(page.url))
        assert [line for line in seen if not line.startswith(origin)] == []
        assert violations(tab) == []


@pytest.mark.slow
def test_many_trials(tmp_path: Path) -> None:
    """A hundred thousand open soon, and stay smooth; the page has no more elements than of a thousand."""
    study = filled(tmp_path, 100_000)
    with study.watch() as page, open_browser() as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        begun = time.monotonic()
        tab.goto(page.url)
        tab.locator("#convergence svg:visible").wait_for(timeout=LIMIT)
        assert time.monotonic() - begun < 3 * slowness()
        wait_for(tab, "100,000")
        begun = time.monotonic()
        tab.reload()
        assert time.monotonic() - begun < 3 * slowness()
        assert tab.evaluate("document.querySelectorAll('*').length") < 5000
        assert tab.evaluate("document.documentElement.outerHTML.length") < 800_000


def slowness() -> float:
    """How much longer than alone things take on this machine now: at least 1."""
    begun, spent = time.monotonic(), time.process_time()
    while time.process_time() - spent < 0.2:
        sum(range(1000))
    return max(1.0, (time.monotonic() - begun) / 0.2)


@pytest.mark.machines
def test_another_address_needs_the_token(tmp_path: Path) -> None:
    study = new(tmp_path)
    grow(study, 2)
    with study.watch(address="0.0.0.0") as page, open_browser() as browser:
        port = urlsplit(page.url).port
        tab = browser.new_page()
        answer = tab.goto(f"http://127.0.0.1:{port}/")
        assert answer is not None
        assert answer.status == 403
        assert "box" not in tab.content()
        tab.goto(f"http://127.0.0.1:{port}/?{urlsplit(page.url).query}")
        assert tab.url == f"http://127.0.0.1:{port}/"  # it is not in the address any more
        grow(study, 1)
        wait_for(tab, "3")


@pytest.mark.machines
def test_it_ends(tmp_path: Path) -> None:
    study = new(tmp_path)
    page = study.watch()
    assert repr(page) == f"<Watch {page.url}>"
    page.close()
    page.close()
    with pytest.raises(SettingsError, match="a port is a number"):
        study.watch(port=70_000)
    study.optimize(lambda p: p["width"], budget=5)  # nothing was locked


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.machines
def test_control_c_ends_the_command(tmp_path: Path) -> None:
    study = new(tmp_path)
    command = [sys.executable, "-m", "saltus", "watch", str(study.path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said


@pytest.mark.machines
def test_it_ends_with_the_process_that_opened_it(tmp_path: Path) -> None:
    study = new(tmp_path)
    code = f"""
import os
from saltus import Study
page = Study.open({str(study.path)!r}).watch()
print(page.url, flush=True)
os._exit(0)  # without closing anything
"""
    url = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    port, deadline = urlsplit(url.strip()).port, time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=10).close()
        except OSError:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
