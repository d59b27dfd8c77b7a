"""Runs the study, and draws the rays through the first lens and through the one that was found."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from examples.drawing import AFTER, BEFORE, GREY, panels, save
from saltus import Study
from saltus.cli import main as saltus

HERE = Path(__file__).parent
INDEX = {"air": 1.0} | {
    name: float(d)
    for name, d in re.findall(r"(N-\w+) [\d.]+ ([\d.]+) [\d.]+", (HERE / "lens.awk").read_text())
}


def prescription(params: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    """Curvature, distance to the next and index behind, of each surface; the last distance is the focus."""
    values = [f"{k}={str(v).lower()}" for k, v in params.items()]
    words = [
        "awk",
        *(word for value in values for word in ("-v", value)),
        "-v",
        "show=1",
        "-f",
        HERE / "lens.awk",
    ]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ +\d +(\S+) +([\d.]+) +(\S+)", shown, re.MULTILINE)
    return [(0.0 if r == "flat" else 1 / float(r), float(gap), INDEX[glass]) for r, gap, glass in rows]


def ray(surfaces: list[tuple[float, float, float]], height: float, angle: float, stop: float) -> np.ndarray:
    """The corners of a ray's way, from before the lens to the image; the height is that at the stop."""
    z, y, slope, n, vertex = -15.0, height - (stop + 15) * np.tan(angle), angle, 1.0, 0.0
    way = [(z, y)]
    for c, gap, m in surfaces:
        t = 0.0
        for _ in range(20):  # Newton: where it meets the surface
            at_z, at_y = z + t * np.cos(slope), y + t * np.sin(slope)
            root = np.sqrt(max(1e-9, 1 - (c * at_y) ** 2))
            off = at_z - vertex - c * at_y**2 / (1 + root)
            t -= off / (np.cos(slope) - c * at_y / root * np.sin(slope))
        z, y = z + t * np.cos(slope), y + t * np.sin(slope)
        way.append((z, y))
        normal = -np.arcsin(np.clip(c * y, -1, 1))
        slope = normal + np.arcsin(np.clip(n / m * np.sin(slope - normal), -1, 1))
        n, vertex = m, vertex + gap
    way.append((vertex, y + (vertex - z) * np.tan(slope)))
    return np.array(way)


def main() -> None:
    """Run, print, draw."""
    with tempfile.TemporaryDirectory() as folder:
        assert saltus(["run", str(HERE / "study.toml"), "--db", f"{folder}/lens.db"]) == 0
        study = Study.open(f"{folder}/lens.db")
        first, best = next(study.trials()), study.best
    assert best is not None
    assert first.value is not None
    figure, axes = panels(2, 2, height=2.2, width_ratios=[3.4, 1], sharex="col")
    for (ax, image), params, value, name in (
        (axes[0], first.params, first.value, "the first"),
        (axes[1], best.params, best.value, "the one that was found"),
    ):
        surfaces = prescription(params)
        vertices = np.cumsum([0.0, *(gap for _, gap, _ in surfaces)])
        rim = np.linspace(-15, 15, 41)
        outline = [
            v + c * rim**2 / (1 + np.sqrt(1 - (c * rim) ** 2))
            for (c, _, _), v in zip(surfaces, vertices, strict=False)
        ]
        for front, back in zip(outline[::2], outline[1::2], strict=True):
            ax.fill(np.r_[front, back[::-1]], np.r_[rim, rim[::-1]], facecolor="#dfeaf2", edgecolor=GREY)
        for angle, colour in ((0.0, AFTER), (7.0, GREY), (10.0, BEFORE)):
            ways = [ray(surfaces, height, np.deg2rad(angle), 0.0) for height in np.linspace(-9, 9, 7)]
            for way in ways:
                ax.plot(*way.T, color=colour, linewidth=0.7)
            ends = np.array([way[-1, 1] for way in ways])
            image.plot(1000 * (ends - ends.mean()), np.linspace(-9, 9, 7), "o-", color=colour, markersize=3)
        ax.axvline(vertices[-1], color="black", linewidth=1)
        ax.set(title=f"{name}: spots of {value:.1f} µm", aspect="equal", ylim=(-16, 24))
        ax.axis("off")
        image.set(title="off the spot's middle, µm", yticks=[])
        image.axvline(0, color="black", linewidth=0.5)
    save(figure, __file__)


if __name__ == "__main__":
    main()
