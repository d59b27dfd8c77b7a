"""Pictures of a result (needs matplotlib: `pip install saltus[plot]`)."""

from typing import Any

import numpy as np

from .result import Result

BLUE, GREY = "#2563ab", "#8a8f98"


def convergence(result: Result, *, best_known: float | None = None, ax: Any = None) -> Any:
    """Draw the best value against evaluations; a dashed line is a restart.

    Args:
        result: of `minimize`, or of a study.
        best_known: if given, the distance to it is drawn, on a logarithmic scale.
        ax: Matplotlib's axes to draw on; default those of a new figure.

    The axes come back.

    >>> from matplotlib.figure import Figure
    >>> from saltus import Float, Space, minimize
    >>> result = minimize(lambda p: p["x"] ** 2, Space({"x": Float(-1, 3)}), budget=60, seed=1)
    >>> convergence(result, best_known=0.0, ax=Figure().add_subplot()).get_yscale()
    'log'
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
    for i in np.flatnonzero(np.diff(history.restarts)):
        ax.axvline(evaluations[i], color=GREY, linestyle="--", linewidth=0.8)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("value" if best_known is None else "distance to the best known value")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
