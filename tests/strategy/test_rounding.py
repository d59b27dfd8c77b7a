"""The simplest treatment of integers: it does nothing."""

from __future__ import annotations

import numpy as np

from saltus.space.lattice import Lattice
from saltus.strategy import Round

LATTICE = Lattice([(0.0, 1.0, 4), (-1.0, 2.0, 3)])


def test_points_are_evaluated_on_the_plateau_that_they_lie_on() -> None:
    x = np.array([[0.4, -0.2], [2.6, 0.1], [-9.0, 99.0]])
    assert Round().plateaus(LATTICE, (), np.zeros(2), x).tolist() == [[0, 0], [3, 1], [0, 2]]


def test_nothing_is_remembered_and_no_step_or_mean_is_changed() -> None:
    treatment, m, sd = Round(), np.array([0.3, 9.0]), np.full(2, 1e-9)
    assert treatment.start(LATTICE, 0.1, m, sd) == ()
    step = np.array([0.1, -0.2])
    assert treatment.bias_step((), m, step).tolist() == [0.1, -0.2]
    corrected, memory = treatment.correct_mean(LATTICE, 0.1, (), m, sd)
    assert corrected.tolist() == [0.3, 9.0]
    assert memory == ()
    assert not treatment.equals_share
