"""A model of the objective: what to expect at a point, and how sure that is, from what was evaluated.

A Gaussian process over the unit cube, in which every variable goes from 0 to 1. It knows no phase and no
objective: arrays come in, arrays go out, and all that has to be kept of it is a vector of parameters. Read
`process.py` first, then `kernel.py` and `warp.py`; `posterior.py` is how the parameters are found, and
`limits.py` has the same for constraints.
"""

from __future__ import annotations

from .choice import MOST_POINTS, chosen
from .limits import Limits, condition_limits, fit_limits
from .posterior import first_parameters
from .process import Fitted, Prediction, condition, fit

__all__ = [
    "MOST_POINTS",
    "Fitted",
    "Limits",
    "Prediction",
    "chosen",
    "condition",
    "condition_limits",
    "first_parameters",
    "fit",
    "fit_limits",
]
