"""Which points a model is made of."""

from __future__ import annotations

import numpy as np

from saltus.model import chosen
from saltus.model.choice import spread


def test_few_points_are_all_taken() -> None:
    assert chosen(np.zeros((3, 2)), np.arange(3.0), np.zeros(2), np.ones(2), 5).tolist() == [0, 1, 2]


def test_the_best_and_the_nearest() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((200, 3))
    y = rng.random(200)
    near = x[17]
    y[17] = -1.0
    rows = chosen(x, y, near, np.ones(3), 40)
    assert len(rows) == 40
    assert (np.diff(rows) > 0).all()
    assert 17 in rows
    left = np.setdiff1d(np.arange(200), rows)
    distance = ((x - near) ** 2).sum(axis=1)
    assert np.median(distance[rows]) < np.median(distance[left])
    assert np.median(y[rows]) < np.median(y[left])


def test_distances_are_in_units_of_lengths() -> None:
    x = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.1]])
    y = np.array([0.0, 2.0, 1.0])
    assert chosen(x, y, x[0], np.array([10.0, 0.01]), 2).tolist() == [0, 1]
    assert chosen(x, y, x[0], np.array([0.01, 10.0]), 2).tolist() == [0, 2]


def test_points_that_are_far_from_each_other() -> None:
    rng = np.random.default_rng(1)
    crowd = 0.5 + 1e-4 * rng.standard_normal((200, 2))
    x = np.concatenate((crowd, rng.random((30, 2)), crowd[:5]))
    rows = spread(x, 3, least=0.01)
    assert (np.diff(rows) > 0).all()
    assert 3 in rows
    assert np.count_nonzero(rows < 200) == 1
    assert len(rows) > 25
    assert len(spread(x, 3, most=7)) == 7
    assert len(spread(x, 3, least=10.0, fewest=6)) == 6
    assert len(spread(x, 3, most=1000)) == 230  # the same point is not taken twice
    assert spread(np.zeros((4, 2)), 2, fewest=4).tolist() == [2]
