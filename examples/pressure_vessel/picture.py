"""Designs the vessel, and draws it, and the way there."""

from __future__ import annotations

from matplotlib.patches import Arc, Rectangle

from examples.drawing import AFTER, BEFORE, GREY, best_so_far, panels, save
from examples.pressure_vessel.vessel import cost
from saltus import Float, Int, Space, minimize

SPACE = Space({"shell": Int(1, 32), "head": Int(1, 32), "radius": Float(10, 70), "length": Float(10, 200)})


def main() -> None:
    """Design, print, draw."""
    seen: list[float] = []

    def noted(p: dict[str, float]) -> tuple[float, dict[str, float]]:
        value, limits = cost(p)
        seen.append(value if max(limits.values()) <= 0 else float("nan"))
        return value, limits

    result = minimize(noted, SPACE, budget=300, target=6059.8, seed=1)
    print(result)
    figure, (left, right) = panels(width_ratios=[1.4, 1])
    for y, p, colour in (
        (130, {"shell": 16, "head": 16, "radius": 40, "length": 200}, BEFORE),
        (0, result.params, AFTER),
    ):
        r, half, thick = p["radius"], p["length"] / 2, p["shell"] / 4
        for side in (-1, 1):
            left.add_patch(Rectangle((-half, y + side * r - thick / 2), 2 * half, thick, color=colour))
        for centre, angle in ((-half, 90), (half, -90)):
            left.add_patch(
                Arc(
                    (centre, y),
                    2 * r,
                    2 * r,
                    theta1=angle,
                    theta2=angle + 180,
                    linewidth=p["head"] / 3,
                    color=colour,
                )
            )
        left.text(0, y, f"{cost(p)[0]:,.0f} $", ha="center", va="center")
    left.set(
        title="cut open; plates drawn four times too thick", xlim=(-170, 170), ylim=(-60, 190), aspect="equal"
    )
    left.axis("off")
    right.plot(range(1, len(seen) + 1), seen, ".", color=GREY, markersize=4)
    right.plot(range(1, len(seen) + 1), best_so_far(seen), color=AFTER)
    right.axhline(6059.714, color="black", linewidth=0.5, linestyle=":")
    right.set(title="dollars; dotted: the best known", xlabel="evaluation", yscale="log")
    save(figure, __file__)


if __name__ == "__main__":
    main()
