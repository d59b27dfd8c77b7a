"""Type aliases that every room may use. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]
Params = Any  # what the objective gets: a dict for Space({...}), a 1-D array for Space([...])
PerVariable = float | Sequence[float] | Mapping[str, float] | FloatArray | None
