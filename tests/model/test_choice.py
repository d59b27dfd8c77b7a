"""Which points a model is made of."""

from __future__ import annotations

import numpy as np

from saltus.model import chosen


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
