"""Several models of the same points, for error bars that can be believed.

One model knows how far it is from the points, but takes its own parameters for granted. So there are others
whose parameters were found from a part of the points each, as if the rest had not been evaluated; all of them
know all points. Where the parameters hardly matter, the models agree.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from .columns import Sizes
from .process import Fitted, condition, fit

PARTS = 4  # models besides the one that is fitted to all points
PART = 0.75  # of the points
LARGEST_PART = 120  # points: then a few more or less hardly change the parameters


def panel(x: FloatArray, y: FloatArray, rng: np.random.Generator, sizes: Sizes = ()) -> list[Fitted]:
    """Models of points of the unit cube and finite values; the first is fitted to all of them.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.random((30, 2))
    >>> models = panel(x, (x[:, 0] - 0.3) ** 2, rng)
    >>> len(models), len({model.theta.tobytes() for model in models})
    (5, 5)
    """
    n, D = x.shape
    size = min(LARGEST_PART, max(int(PART * n), D + 2), n)
    found = [fit(x, y, sizes=sizes)]
    for _ in range(PARTS):
        rows = np.sort(rng.permutation(n)[:size])
        found.append(fit(x[rows], y[rows], sizes=sizes))
    return [condition(theta, x, y, sizes) for theta in found]


def bars(models: list[Fitted], x: FloatArray, deviations: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What to expect at points: the middle by the first model, and between what all of them hold possible.

    Args:
        models: a panel.
        x: points, one row each.
        deviations: half the length of each model's bar, in standard deviations.
    """
    lows, middles, highs = zip(
        *(model.quantiles(x, np.array([-deviations, 0.0, deviations])) for model in models), strict=True
    )
    return np.min(lows, axis=0), middles[0], np.max(highs, axis=0)
