"""Pictures of a result (needs matplotlib: `pip install saltus[plot]`)."""

from typing import Any

import numpy as np

from .result import Result

BLUE, GREY = "#2563ab", "#8a8f98"


def convergence(result: Result, *, best_known: float | None = None, ax: Any = None) -> Any:
    """Draw the best value against evaluations; restarts are dashed. Returns the axes.

    With `best_known`, the distance to it is drawn on a logarithmic scale.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(7, 4), layout="constrained").add_subplot()
    history = result.history
    evaluations, best, value = history.evaluations, history.best, history.value
    if best_known is not None:
        smallest = max(abs(best_known), 1.0) * 1e-12  # a log scale has no zero
        best, value = (np.maximum(np.abs(v - best_known), smallest) for v in (best, value))
        ax.set_yscale("log")
    ax.plot(evaluations, value, ".", color=GREY, markersize=3, label="best of a generation")
    ax.step(evaluations, best, where="post", color=BLUE, label="best so far")
    for i in np.flatnonzero(np.diff(history.population)):
        ax.axvline(evaluations[i], color=GREY, linestyle="--", linewidth=0.8)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("value" if best_known is None else "distance to the best known value")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
