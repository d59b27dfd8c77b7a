"""Records to report on, and what every page must be."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Ordinal, Share, Space
from saltus.report import Insight, render
from saltus.search.slices import Effect, Pair
from saltus.study.summary import Summary
from saltus.study.trial import Session, Snapshot, Trial

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
    session = Session(NOW - 3600, NOW - 2500, "node17", 4711, 4, "Interrupted from the keyboard.", "")
    defaults: dict[str, Any] = {
        "name": "A small network",
        "direction": "minimize",
        "strategy": "saltus",
        "seed": 7,
        "population": 10,
        "batch": 4,
        "noisy": False,
        "asynchronous": False,
        "space": SPACE,
        "created": NOW - 3700,
        "version": "1.2.3",
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
            Session(NOW - 2400, NOW - 600, "node17", 4790, 4, "The budget of evaluations was used up.", ""),
        ],
    }
    return Summary(**(defaults | other))


SHARES = {
    "learning rate": Share(0.724, 0.65, 0.804, 0.6),
    "momentum": Share(0.2, 0.12, 0.31, 0.2),
    "layers": Share(0.15, 0.05, 0.22, 0.02),
    "width": Share(0.02, 0.01, 0.04, 0.0),
    "dropout": Share(0.0004, 0.0, 0.001, 0.0),
    "batch": Share(0.0, 0.0, 0.06, 0.0),
}


def effect(at: Any) -> Effect:
    middle = np.linspace(-1.0, 1.0, len(at)) ** 2 + 0.1
    return Effect(np.array(at, dtype=float), middle, middle / 3, middle * 3)


def pair(first: Any, second: Any) -> Pair:
    value = np.add.outer(np.linspace(-1, 1, len(second)) ** 2, np.linspace(0, 3, len(first)))
    return Pair(np.array(first, dtype=float), np.array(second, dtype=float), value)


RATES = np.geomspace(1e-5, 1e-1, 20)
WIDTHS = [16, 32, 64, 96, 128]
INSIGHT = Insight(
    SHARES,
    {"learning rate": effect(RATES), "layers": effect(range(1, 13)), "dropout": effect([0, 1])},
    {("learning rate", "width"): pair(RATES, WIDTHS), ("dropout", "layers"): pair([0, 1], range(1, 13))},
)


def sample() -> str:
    trials, snapshots = recorded()
    return render(summed_up(trials, snapshots), iter(trials), iter(snapshots), INSIGHT, now=NOW)


class Structure(HTMLParser):
    """Checks that every element is closed in its turn, and keeps the text outside of <style> and <script>."""

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
        if "style" not in self.open and "script" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def sha256(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def checked(page: str) -> Structure:
    """The structure of a page that is whole, safe, and needs nothing from elsewhere."""
    structure = Structure(page)
    page.encode("utf-8")
    assert structure.tags.count("script") == 2  # what is known of points, and what shows it
    data, script = re.findall(r"<script.*?>(.*?)</script>", page, re.S)
    assert script == resources.files("saltus.report").joinpath("page.js").read_text(encoding="utf-8")
    known = json.loads(data, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert f"'sha256-{sha256(script)}'" in page
    policies = [value for attribute, value in structure.attributes if attribute == "content"]
    assert "unsafe" not in str(policies)
    for numbers in re.findall(r'data-i="([^"]*)"', page):
        assert {*map(int, numbers.split())} <= {*range(len(known["rows"]))}
    assert not any(attribute.startswith("on") for attribute, _ in structure.attributes)
    links = [value for attribute, value in structure.attributes if attribute in ("href", "src", "xlink:href")]
    assert links[0] == "data:,"
    assert all(link.startswith("data:image/png;base64,") for link in links[1:] if link)
    assert "@import" not in page
    assert page.count("url(") == page.count('mask="url(#heat-')
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert not re.search(r"\b(nan|inf)\b", svg)
    assert len(page) < 1_500_000
    return structure
