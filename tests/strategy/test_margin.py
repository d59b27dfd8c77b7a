"""Margin, beside `tests/reference`."""

from __future__ import annotations

import numpy as np

from saltus.space.lattice import Lattice
from saltus.strategy import Integers
from saltus.strategy.margin import Margin


def test_a_binary_variable_exactly_on_its_threshold_keeps_its_margin() -> None:
    integers = Integers(0, Lattice([(0.0, 1.0, 2)]), 0.05, Margin())
    m, (magnification,) = integers.correct_mean((np.ones(1),), np.array([0.5]), np.array([0.3]))
    assert m.tolist() == [0.5]
    assert magnification.tolist() == [1.0]
