from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus._typing import FloatArray
from saltus.space.lattice import Lattice

grids = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12, unique=True).map(
    lambda v: np.array(sorted(v)) / 4.0
)


@settings(deadline=None)
@given(st.lists(grids, min_size=1, max_size=4), st.data())
def test_every_answer_agrees_with_a_search_in_each_coordinate(
    rows: list[FloatArray], data: st.DataObject
) -> None:
    lattice = Lattice(rows)
    points = st.floats(-300, 300) | st.integers(-1200, 1200).map(lambda v: v / 8)
    x = np.array([data.draw(points) for _ in rows])
    plateau, close = lattice.plateau(x), lattice.close(x)
    for j, grid in enumerate(rows):
        thresholds = (grid[:-1] + grid[1:]) / 2
        k = int(np.searchsorted(thresholds, x[j], side="left"))  # on a threshold: the one below
        assert plateau[j] == k
        assert lattice.value(plateau)[j] == grid[k]
        around = int(np.clip(np.searchsorted(grid, x[j]) - 1, 0, len(thresholds) - 1))
        assert close[j] == thresholds[around]


def test_even_grids_need_no_table() -> None:
    lattice = Lattice([(0.0, 1.0, 10**12), (5.0, 0.5, 3)])
    assert lattice.plateau(np.array([123456789.2, 5.26])).tolist() == [123456789.0, 1.0]
    assert lattice.plateau(np.array([-4.0, 99.0])).tolist() == [0.0, 2.0]


def test_rows_of_points() -> None:
    lattice = Lattice([np.array([0.0, 1.0, 5.0]), (0.0, 1.0, 4)])
    x = np.array([[0.6, 0.6], [3.1, 9.0], [-1.0, 1.5]])
    assert lattice.plateau(x).tolist() == [[1, 1], [2, 3], [0, 1]]
    assert lattice.value(lattice.plateau(x)).tolist() == [[1, 1], [5, 3], [0, 1]]
