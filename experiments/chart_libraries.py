"""Chart libraries for the report, side by side: the same chart by each, as one file that needs nothing else.

python -m experiments.chart_libraries

Each page shows 900 values and the best one so far. It is opened in Chromium under the report's own content
security policy: its script and its style by what stands in them, nothing inline, nothing evaluated. The
libraries come from npm, in their newest version.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.harness import markdown, publish

AXE = Path(__file__).parent.parent / ".venv" / "axe-core" / "package" / "axe.min.js"
REPEATS = 5
POINTS = 900
_STYLE = ":root{color-scheme:light dark} body{font:16px sans-serif} svg{max-width:100%}"


class Library(NamedTuple):
    """How a library is loaded and asked for a chart."""

    packages: Sequence[str]
    scripts: Sequence[str]  # in the packages, in the order of loading
    draw: str


LIBRARIES = {
    "uPlot": Library(
        ["uplot"],
        ["uplot/dist/uPlot.iife.min.js"],
        """new uPlot({width: 1000, height: 360, scales: {x: {time: false}, y: {distr: 3}}, series: [{},
        {stroke: "#777", paths: () => null, points: {show: true}}, {stroke: "#1f5fa8"}]},
        [data.x, data.y, data.best], document.querySelector("main"));""",
    ),
    "Observable Plot": Library(
        ["d3", "@observablehq/plot"],
        ["d3/dist/d3.min.js", "plot/dist/plot.umd.min.js"],
        """const rows = data.x.map((x, i) => ({x, y: data.y[i], best: data.best[i]}));
        document.querySelector("main").append(Plot.plot({width: 1000, height: 360, y: {type: "log"}, marks: [
        Plot.dot(rows, {x: "x", y: "y", r: 2, tip: true}), Plot.line(rows, {x: "x", y: "best"})]}));""",
    ),
    "Vega-Lite": Library(
        ["vega", "vega-lite", "vega-embed"],
        ["vega/build/vega.min.js", "vega-lite/build/vega-lite.min.js", "vega-embed/build/vega-embed.min.js"],
        """vegaEmbed("main", {width: 1000, height: 360, data: {values: data.x.map((x, i) => ({x, y: data.y[i],
        best: data.best[i]}))}, layer: [{mark: {type: "point", tooltip: true}, encoding: {x: {field: "x",
        type: "quantitative"}, y: {field: "y", type: "quantitative", scale: {type: "log"}}}}, {mark: "line",
        encoding: {x: {field: "x", type: "quantitative"}, y: {field: "best", type: "quantitative"}}}]},
        {renderer: "svg", actions: false});""",
    ),
    "Plotly (basic)": Library(
        ["plotly.js-basic-dist-min"],
        ["plotly.js-basic-dist-min/plotly-basic.min.js"],
        """const main = document.querySelector("main");
        Plotly.newPlot(main, [{x: data.x, y: data.y, mode: "markers", type: "scatter"},
        {x: data.x, y: data.best, mode: "lines"}], {width: 1000, height: 360, yaxis: {type: "log"}});""",
    ),
}

WAIT = """() => [...document.querySelectorAll('main svg, main canvas')].some(
    e => e.getBoundingClientRect().width > 200)"""


def fetched(packages: Sequence[str], folder: Path) -> list[str]:
    """Unpack packages of npm; their names and versions."""
    names = []
    for package in packages:
        done = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=True
        )
        archive = folder / done.stdout.split()[-1]
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "unpacked", filter="data")
        (folder / "unpacked" / "package").rename(folder / package.rpartition("/")[2])
        (folder / "unpacked").rmdir()
        version = archive.stem.rpartition("-")[2]
        names.append(f"{package.rpartition('/')[2]} {version}")
    return names


def sample() -> dict[str, list[float]]:
    """Values that become better."""
    rng, best, rows = random.Random(1), float("inf"), []
    for i in range(POINTS):
        value = 3 + 400 * rng.lognormvariate(0, 1) / (1 + i)
        best = min(best, value)
        rows.append((i + 1.0, value, best))
    x, y, line = ([*column] for column in zip(*rows, strict=True))
    return {"x": x, "y": y, "best": line}


def page(scripts: Sequence[str], draw: str) -> str:
    """One file, under the policy of the report."""
    script = "\n".join([*scripts, f"const data = {json.dumps(sample())};", draw]).replace(
        "</script", "<\\/script"
    )

    def sha(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    allowed = f"style-src 'sha256-{sha(_STYLE)}'; script-src 'sha256-{sha(script)}'; img-src data:"
    policy = f"default-src 'none'; {allowed}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>chart</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main><h1>chart</h1></main><script>{script}</script></body></html>"
    )


def ours() -> str:
    """The same chart as the report draws it, alone on its page."""
    from saltus import Float, Space
    from saltus.report import render
    from saltus.study.summary import summarise
    from saltus.study.trial import Head, Trial

    data = sample()
    head = Head("chart", Space({"x": Float(0, 1)}), "minimize", "saltus", 4, 1, 1, None, False, 0.0, "1")
    trials = [Trial(i, 0, {"x": 0.5}, "done", value) for i, value in enumerate(data["y"])]
    whole = render(summarise(head, trials, [], [], False), trials, [], now=0.0)
    begin = whole.index('<section id="convergence">')
    chart = whole[begin : whole.index("</section>", begin) + len("</section>")]
    start, end = whole.index('<header id="head">'), whole.index("<main>")
    stop, foot = whole.index("</main>"), whole.index('<script type="application/json"')
    return (
        whole[:start]
        + whole[end : end + 6]
        + "<h1>chart</h1>"
        + chart
        + whole[stop : stop + 7]
        + whole[foot:]
    )


def measured(name: str, path: Path) -> list[str]:
    """A row of the table."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        times, messages = [], list[str]()
        for _ in range(REPEATS):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            messages.clear()
            tab.on("console", lambda message: messages.append(message.text))
            tab.on("pageerror", lambda error: messages.append(str(error)))
            tab.goto(path.as_uri())
            drawn = False
            for _ in range(40):
                drawn = bool(tab.evaluate(WAIT))
                if drawn:
                    break
                tab.wait_for_timeout(50)
            took = "performance.getEntriesByType('navigation')[0].loadEventEnd"
            times.append(float(tab.evaluate(took)))
        tabbable = "[...document.querySelectorAll('main [tabindex], main [role=slider]')].length"
        walk = int(tab.evaluate(tabbable))
        named = "document.querySelectorAll('main svg [aria-label], main svg[aria-label]').length"
        labels = int(tab.evaluate(named))
        tab.set_viewport_size({"width": 390, "height": 900})
        over = bool(tab.evaluate("document.documentElement.scrollWidth > innerWidth"))
        axe = "-"
        if AXE.is_file():
            tab.evaluate(AXE.read_text(encoding="utf-8"))
            axe = str(len(tab.evaluate("axe.run()")["violations"]))
        browser.close()
    size = path.read_bytes()
    return [
        name,
        f"{len(size) / 1000:.0f}",
        f"{len(gzip.compress(size)) / 1000:.0f}",
        f"{statistics.median(times):.0f}",
        "yes" if drawn else "no",
        str(len(messages)),
        "no" if over else "yes",
        str(walk),
        str(labels),
        axe,
    ]


def main() -> None:
    """Measure all, and write the table."""
    head = ["", "kB", "kB, gzip", "load, ms", "draws", "refused by the policy", "fits a phone"]
    head += ["stops for the keyboard", "labels", "axe objects"]
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        for library, how in LIBRARIES.items():
            own = folder / library.replace(" ", "-")
            own.mkdir()
            versions = fetched(how.packages, own)
            scripts = [(own / script).read_text(encoding="utf-8") for script in how.scripts]
            path = own / "page.html"
            path.write_text(page(scripts, how.draw), encoding="utf-8")
            rows.append(measured(", ".join(versions), path))
            print(rows[-1], flush=True)
        path = folder / "ours.html"
        path.write_text(ours(), encoding="utf-8")
        rows.append(measured("ours", path))
        print(rows[-1], flush=True)
    publish("chart-libraries", markdown(head, rows), "chart_libraries")


if __name__ == "__main__":
    main()
