"""The pictures of docs/report.md, docs/terminal.md and docs/notebooks.md. They need Chromium and Pillow.

    python -m experiments.pictures           # all of them; two minutes
    python -m experiments.pictures report    # the lens of examples/lens, searched here: 240 evaluations
    python -m experiments.pictures terminal  # `saltus run` in a terminal of 80 x 24; needs tmux
    python -m experiments.pictures notebook  # examples/notebook in JupyterLab; needs jupyterlab on the PATH

The files have 256 colours, so that they are small.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from experiments.clusters import evaluations, free_port, wait_for
from saltus import Study
from tests.browser import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect, Page

FOLDER = Path("docs/images")
LENS = Path("examples/lens/study.toml")
BUDGET = 240
COLOURS = 256
PATIENCE = 120_000  # milliseconds for a machine that is busy with other things
NOTEBOOK = Path("examples/notebook/beam.ipynb")
# evaluations of about a second, some of which fail
EXCHANGER = (
    """[study]
name = "heat exchanger"
budget = 200
workers = 6
seed = 1
asynchronous = true
[space]
x = { type = "float", low = 0, high = 5 }
k = { type = "int", low = 1, high = 12 }
material = { type = "categorical", choices = ["steel", "nylon", "copper"] }
[objective]
command = ["PYTHON", "-c", """
    + "'''"
    + """
import json, random, time
p = json.loads(input())
luck = random.Random(str(p))
time.sleep(luck.lognormvariate(0, 0.7))
if luck.random() < 0.05:
    raise SystemExit(5)
value = (p["x"] - 0.7) ** 2 + (p["k"] - 4) ** 2 + {"steel": 3.5, "nylon": 3, "copper": 6}[p["material"]]
print(json.dumps({"value": value, "constraints": {"mass": p["k"] - 9}}))
"""
    + "''']\n"
)


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


def report(browser: Browser, folder: Path) -> None:
    """Search the lens, with and without a model, and look at the pages."""
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


def terminal(browser: Browser, folder: Path) -> None:
    """A study in a terminal while it runs."""
    from rich.console import Console
    from rich.terminal_theme import SVG_EXPORT_THEME
    from rich.text import Text

    file, session = folder / "study.toml", ["tmux", "-L", f"saltus-{os.getpid()}"]
    file.write_text(EXCHANGER.replace("PYTHON", sys.executable), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    about = {**os.environ, "PATH": path, "PS1": "$ ", "LANG": "C.UTF-8", "CI": ""}
    subprocess.run(
        [*session, "new-session", "-d", "-x", "80", "-y", "24", "sh"], check=True, env=about, cwd=folder
    )
    try:
        subprocess.run([*session, "send-keys", "saltus run", "Enter"], check=True)
        wait_for(lambda: evaluations(file) >= 60, 300)
        seen = subprocess.run([*session, "capture-pane", "-e", "-p"], check=True, capture_output=True)
    finally:
        subprocess.run([*session, "kill-server"], check=False)
    console = Console(record=True, width=80, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(seen.stdout.decode().rstrip().split("\n", 2)[2]))  # the display alone
    colours = SVG_EXPORT_THEME
    code = console.export_html(theme=colours, inline_styles=True, code_format="{code}")
    style = f"color: {colours.foreground_color.hex}; background: {colours.background_color.hex}"
    tab = browser.new_page(viewport={"width": 900, "height": 600}, device_scale_factor=2)
    tab.set_content(
        f'<pre style="{style}; font: 15px/1.3 monospace; display: inline-block; padding: 16px">{code}</pre>'
    )
    keep("terminal", tab.locator("pre").screenshot())


def notebook(browser: Browser, folder: Path) -> None:
    """The notebook of the examples, run in JupyterLab."""
    shutil.copy(NOTEBOOK, folder)
    url = f"http://127.0.0.1:{(port := free_port())}/doc/tree/{NOTEBOOK.name}?token=saltus"
    given = {"port": port, "ServerApp.root_dir": folder, "IdentityProvider.token": "saltus"}
    command = ["jupyter-lab", "--no-browser", "--allow-root", *(f"--{k}={v}" for k, v in given.items())]
    own = {"PYTHONPATH": str(Path("src").absolute()), "JUPYTER_CONFIG_DIR": str(folder / ".jupyter")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | own) as server:
        try:
            assert server.stderr is not None
            next(line for line in server.stderr if "is running at" in line)
            tab = browser.new_page(viewport={"width": 1120, "height": 2400})
            tab.goto(url)
            tab.get_by_text("| Idle").wait_for(timeout=PATIENCE)  # the kernel is there
            tab.keyboard.press("Control+b")  # without the list of files
            tab.locator(".jp-Cell").first.click()
            for _ in range(tab.locator(".jp-Cell").count()):
                tab.keyboard.press("Shift+Enter")
            tab.locator("iframe").wait_for(timeout=PATIENCE)
            tab.add_style_tag(content=".Toastify { display: none }")
            first = tab.locator(".jp-Cell", has_text="result = study.optimize(cost, budget=12").bounding_box()
            last = tab.locator(".jp-Cell", has_text="columns = [").bounding_box()
            assert first is not None
            assert last is not None
            high = last["y"] + last["height"] - first["y"]
            clip: FloatRect = {"x": first["x"], "y": first["y"], "width": first["width"], "height": high}
            keep("notebook", tab.screenshot(clip=clip))
        finally:
            server.terminate()


def main() -> None:
    """Take the pictures that are asked for."""
    kinds = {"report": report, "terminal": terminal, "notebook": notebook}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", choices=[*kinds, []])
    with open_browser() as browser:
        for what in parser.parse_args().what or kinds:
            with TemporaryDirectory() as folder:
                kinds[what](browser, Path(folder))


if __name__ == "__main__":
    main()
