"""Problems with known points, and what is made of their runs."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.known import BOOK, FUNCTIONS, REPEATS, STARTS, Key, Ran, data_table, points_table, problem


@pytest.mark.parametrize("function", FUNCTIONS)
def test_points_are_as_good_as_they_are_called(function: str) -> None:
    space, fun, points = problem(function, 3)
    good, middling, bad = (fun(points[name][0]) for name in ("good", "middling", "bad"))
    assert 0 <= good < middling < bad
    assert len(points["data"]) == 10 * space.dimension
    assert np.array_equal(problem(function, 3).points["good"][0], points["good"][0])


def test_a_run_comes_back_from_its_row() -> None:
    key, ran = Key("edges", "bad", 3, 1), Ran(2.5, [4.0, 4.0, 2.0, 0.5, 0.5])
    assert BOOK.parse([str(cell) for cell in BOOK.row(key, ran)]) == (key, ran)


def test_what_the_tables_say() -> None:
    record = {}
    for function in FUNCTIONS:
        for start in STARTS:
            for seed in range(2):
                for repeat in range(REPEATS):
                    pace = {"data": 2.0, "good": 2.0}.get(start, 1.0)
                    trail = [10.0 / (pace * (i + 1)) for i in range(500)]
                    record[Key(function, start, seed, repeat)] = Ran(1.0, trail)
    points, data = points_table(record, 2), data_table(record, 2)
    assert "| good | 60 of 60 | 2.00 (2.00 to 2.00) | 2.00 (2.00 to 2.00) |" in points
    assert "| bad | 60 of 60 | 1.00 (1.00 to 1.00) |" in points
    assert "| edges | 0.04 | 50 D | 25 D | 25 D (25 to 25) |" in data
