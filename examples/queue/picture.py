"""Staffs the counter, and draws why the best value that was seen is not the point to take."""

from __future__ import annotations

import numpy as np

from examples.drawing import AFTER, BEFORE, GREY, panels, save
from examples.queue.queue_model import SPACE, day
from saltus import minimize


def main() -> None:
    """Search, check with many days, print, draw."""
    chance = np.random.default_rng(1)
    seen: list[float] = []

    def cost(p: dict[str, float]) -> float:
        seen.append(day(p, chance))
        return seen[-1]

    result = minimize(cost, SPACE, budget=400, seed=1, noisy=True)
    taken = result.recommended
    assert taken is not None
    days = {
        "best seen": [day(result.params, chance) for _ in range(300)],
        "recommended": [day(taken.params, chance) for _ in range(300)],
    }
    print(result)
    print(f"recommended: {taken.value:.0f} ± {taken.error:.0f}")
    for name, costs in days.items():
        print(f"{name}: {np.mean(costs):.0f} ± {np.std(costs) / len(costs) ** 0.5:.0f} over 300 new days")
    figure, (left, right) = panels()
    left.scatter(range(1, len(seen) + 1), seen, s=6, color=GREY)
    left.axhline(taken.value, color=AFTER)
    left.axhspan(taken.value - taken.error, taken.value + taken.error, color=AFTER, alpha=0.3)
    left.set(title="what a day cost; recommended, with its error", xlabel="evaluation", yscale="log")
    parts = right.violinplot(list(days.values()), showmeans=True, orientation="horizontal")
    for body, colour in zip(parts["bodies"], (BEFORE, AFTER), strict=True):
        body.set_facecolor(colour)
    right.axvline(result.fun, color=BEFORE, linestyle=":")
    right.set(title="300 new days; dotted: the best value seen", yticks=[1, 2], yticklabels=list(days))
    save(figure, __file__)


if __name__ == "__main__":
    main()
