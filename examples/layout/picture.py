"""Lays out the turbines, and draws them in their wakes before and after."""

from __future__ import annotations

import numpy as np

from examples.drawing import AFTER, BEFORE, panels, save
from examples.layout.layout import ANGLES, PITCH, PLACES, ROSE, SPACE, places, speeds, wasted
from saltus import minimize

GRID = {f"{axis}{i}": 6 * ((i // 3) if axis == "y" else i % 3) + 1 for i in range(9) for axis in "xy"}


def main() -> None:
    """Search, print, draw."""
    result = minimize(wasted, SPACE, points=[GRID], strategy="saltus-es", budget=6000, seed=1)
    print(result)
    figure, axes = panels(height=3.6)
    wind = ANGLES[[int(np.argmax(ROSE))]]
    ground = PITCH * np.stack(np.meshgrid(np.linspace(-1, PLACES, 180), np.linspace(-1, PLACES, 180)), -1)
    for ax, params, colour, name in (
        (axes[0], GRID, BEFORE, "three by three"),
        (axes[1], result.params, AFTER, f"after {result.nfev} evaluations"),
    ):
        at = places(params)
        print(f"{name}: {100 * wasted(params):.2f} % of the power lost in wakes")
        field = [speeds(np.vstack([at, point]), wind)[0, -1] for point in ground.reshape(-1, 2)]
        ax.imshow(
            np.reshape(field, ground.shape[:2]),
            origin="lower",
            extent=(-PITCH, PLACES * PITCH) * 2,
            cmap="Blues_r",
            vmin=0.4,
        )
        ax.scatter(*at.T, color=colour, s=30, zorder=2)
        ax.set(title=f"{name}: {100 * wasted(params):.1f} % lost", xticks=[], yticks=[])
    save(figure, __file__)


if __name__ == "__main__":
    main()
