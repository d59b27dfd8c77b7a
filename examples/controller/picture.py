"""Tunes the controller, and draws its step before and after."""

from __future__ import annotations

from examples.controller.controller import SPACE, cost, simulate
from examples.drawing import AFTER, BEFORE, panels, save
from saltus import minimize

BY_HAND = {"kind": "PI", "gain": 0.3, "integral": 5.0, "period": 0.02, "anti_windup": False}


def main() -> None:
    """Tune, print, draw."""
    result = minimize(cost, SPACE, points=[BY_HAND], budget=200, batch=4, seed=1)
    print(result)
    print(f"by hand {cost(BY_HAND)[0]:.3f}, found {result.fun:.3f}")
    figure, (above, below) = panels(2)
    for params, colour, name in ((BY_HAND, BEFORE, "by hand"), (result.params, AFTER, "found")):
        times, angle, torque = simulate(params)
        above.plot(times, angle, color=colour, label=name)
        below.plot(times, torque, color=colour, linewidth=0.8)
    above.axhline(1.05, color="black", linewidth=0.5, linestyle=":")
    above.set(title="angle of the load; pushed after 3 s", xlabel="seconds")
    below.set(title="torque, limited to 1", xlabel="seconds")
    above.legend(loc="upper left")
    save(figure, __file__)


if __name__ == "__main__":
    main()
