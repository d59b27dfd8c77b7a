"""Integer vectors next to a point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.integer_neighbours import IntegerNeighbours, affordable
from saltus.search.integer_sweep import IntegerSweep
from saltus.search.newton import Newton

from .playing import domain_of, evaluated, play


def test_neighbours_follow_a_stiff_valley() -> None:
    """One integer cannot change alone: the continuous variable has to follow, a hundred times as stiff."""
    domain = domain_of(Space([Float(), Int(0, 15)]))

    def fun(x: FloatArray) -> FloatArray:
        return np.asarray(1e4 * (x[:, 0] - 0.3 * x[:, 1]) ** 2 + (x[:, 1] - 11) ** 2)

    point = evaluated(domain, fun, [0.9], [3.0])
    sweep = IntegerSweep(domain, point, np.random.default_rng(1))
    play(sweep, fun)
    assert sweep.best is point
    assert affordable(domain)
    model: Any = Newton(domain, point, 1e-4 * np.eye(1))
    play(model, fun)
    rounds = 0
    while True:
        phase = IntegerNeighbours(domain, model)
        play(phase, fun)
        if phase.winner is model:
            break
        model, rounds = phase.winner, rounds + 1
    assert rounds == 8
    assert phase.best.plateaus.tolist() == [11.0]
    assert phase.best.value == pytest.approx(0.0, abs=1e-9)
