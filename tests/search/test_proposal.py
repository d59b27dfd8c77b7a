"""Proposals and their results."""

from __future__ import annotations

import math

import numpy as np

from saltus.search.proposal import Proposals, Results


def test_violations_and_failures_come_last() -> None:
    batch = Proposals(np.zeros((4, 1)), np.zeros((4, 0)))
    told = Results(batch, np.array([1.0, 0.0, np.nan, 5.0]), np.array([0.5, 0.2, 0.0, 0.0]))
    assert [told.key(i) for i in range(4)] == [(0.5, 1.0), (0.2, 0.0), (math.inf, math.inf), (0.0, 5.0)]
    assert told.first() == 3
    assert not told.clean
    assert Results(batch, np.array([np.nan, np.inf, 3.0, 3.0]), None).first() == 2
